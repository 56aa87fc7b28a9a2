"""The description of a machine, read from a TOML file: the one source of every hardware number.

Each number stands as `{ value = ..., source = "..." }`; `source` says where it comes from, or that it is assumed. A
file may inherit another machine's numbers.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from xdsl.ir import Attribute

from npu_mlir.dialects.tile.cube import Cube
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.support.files import note_input
from npu_mlir.support.registry import table
from npu_mlir.targets.numbers import GROUPS, Number, Written, check, full_name

BUILT_IN = {file.stem: str(file) for file in Path(__file__).parent.glob("*.toml")}
"""The files of the machines that come with the package."""

TARGETS = table("target", dict(BUILT_IN))
"""The files that describe the machines known by a name, those of plugins included."""


SET_BY_USER = "set by the user"


@dataclass(frozen=True)
class Target:
    """A DaVinci-class machine. Sizes in bytes, rates in bytes per cycle, times in cycles."""

    name: str
    cores: int
    """How many there are; a kernel runs on one."""
    clock_mhz: int
    """Cycles per microsecond."""
    split_cores: bool
    """Cube and vector are separate cores: cube results reach the vector unit through GM only."""
    l1: int
    l0a: int
    l0b: int
    l0c: int
    ub: int
    cube_m: int
    """Rows of the product that the cube makes in one step, whatever the element type."""
    cube_n: int
    """Its columns."""
    vector_bytes: int
    """Bytes of the widest operand that a vector repeat covers."""
    event_ids: int
    """Event ids of each ordered pair of pipes."""
    queue_depth: int
    """Instructions that can wait in the queue of each pipe."""
    rates: Mapping[str, float]
    """Bytes per cycle by path: gm_l1, gm_ub, ub_gm, l0c_gm, l1_l0a, l1_l0b, and of l0c_ub, ub_l1 and l1_ub those
    that the machine has."""
    latencies: Mapping[str, int]
    """Cycles: gm (completion of a GM access), dma (fixed part of a transfer), l0_load, mmad, issue, flag, launch,
    scalar_read (the scalar unit makes an integer in UB an index)."""
    cube_steps: Mapping[str, tuple[int, int]]
    """(k, cycles) of a step of the cube by the element type of its factors (`f16`, `i8`): it multiplies `cube_m` x k by
    k x `cube_n` elements in that many cycles. The cube takes no other types."""
    fixpipe_scales: Mapping[str, bool]
    """Whether the fixpipe can multiply accumulators by a number on their way, by their type and that of the result:
    `i32_f16`. It can't for types that are not listed."""
    vector: Mapping[str, tuple[int, int, int]]
    """(head, slope, tail) in cycles per vector kind, the slope for each repeat; `default` for the rest."""
    sources: Mapping[str, str] = field(compare=False)
    """Where each number comes from, by its dotted name."""
    origin: str = field(compare=False, default="")
    """The name or the path of the TOML file that it was loaded by."""
    l2: Mapping[str, float] = field(default_factory=dict[str, float])
    """The cache between the cores and HBM; empty where GM is one flat memory. `size`, `line` and `sector` in bytes;
    `rate`, at which a core reads what is there, `prefetch`, at which a queue of its own brings data there, and `hbm`,
    of all cores together, in bytes per cycle; `latency` of a hit and of a store, in cycles. What is not there comes at
    `rates.gm_l1` or `rates.gm_ub` and takes `latencies.gm`."""

    @classmethod
    def load(cls, name: str | Path) -> Target:
        """The machine of that name, or the one that a TOML file describes. A `UserError` if there is none."""
        return get_target(str(name))

    def replace(self, settings: Mapping[str, Written] | None = None, /, **more: Written) -> Target:
        """This machine with other numbers, each by its dotted name (`rates.gm_l1`) or the last part of it (`gm_l1`).

        Sizes are bytes or texts with a unit: `replace(l1="512KiB", gm_l1=128)`. A name that is unknown or a value that
        can't be is a `UserError`. The source of such a number is "set by the user".
        """
        values = self.values()
        changes = {full_name(name, values): value for name, value in {**(settings or {}), **more}.items()}
        sources = {**self.sources, **dict.fromkeys(changes, SET_BY_USER)}
        return Target.of({**values, **changes}, sources, self.origin)

    @classmethod
    def of(cls, values: Mapping[str, Any], sources: Mapping[str, str], origin: str) -> Target:
        """The machine with these numbers, by their dotted names. A `UserError` if they are not those of a machine."""
        numbers = check(values)
        scalars: dict[str, Any] = {name: value for name, value in numbers.items() if "." not in name}
        tables: dict[str, Any] = {
            group: {k.removeprefix(f"{group}."): v for k, v in numbers.items() if k.startswith(f"{group}.")}
            for group in GROUPS
        }
        return cls(**scalars, **tables, sources=sources, origin=origin)

    def values(self) -> dict[str, Number]:
        """The name and all numbers, by their dotted names."""
        values: dict[str, Number] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in GROUPS:
                values |= {f"{entry.name}.{key}": number for key, number in value.items()}
            elif entry.compare:
                values[entry.name] = value
        return values

    def changes_from(self, other: Target) -> dict[str, Number | None]:
        """The numbers that `other` has otherwise, as they are here; None for those that are not here."""
        mine, others = self.values(), other.values()
        return {name: mine.get(name) for name in (others | mine) if mine.get(name) != others.get(name)}

    def capacity(self, space: str) -> int:
        """Bytes of an on-chip memory by its name in `#tile.space`; a `KeyError` for any other name."""
        sizes = {"l1": self.l1, "l0a": self.l0a, "l0b": self.l0b, "l0c": self.l0c, "ub": self.ub}
        return sizes[space]

    @cached_property
    def cube(self) -> Cube:
        """The steps of the cube by element type."""
        return Cube(
            self.name, self.cube_m, self.cube_n, {name: k for name, (k, _) in self.cube_steps.items()}
        )

    def scales(self, accumulator: Attribute, result: Attribute) -> bool:
        """Whether the fixpipe can multiply accumulators of a type by a number, and round them to the result's type."""
        return self.fixpipe_scales.get(f"{accumulator}_{result}", False)

    def peak_macs(self, element: str) -> float:
        """Multiply-adds per cycle of one core's cube on elements of a type (`f16`); 0 if it doesn't take them."""
        if element not in self.cube_steps:
            return 0.0
        return math.prod(self.cube.tile(element)) / self.cube_steps[element][1]


DEFAULT_TARGET = "ascend-910"
"""The machine of modules that name none."""


def _flatten(table: Mapping[str, Any], prefix: str, values: dict[str, Any], sources: dict[str, str]) -> None:
    for key, entry in table.items():
        name = f"{prefix}{key}"
        if isinstance(entry, dict) and "value" in entry:
            values[name], sources[name] = entry["value"], str(entry.get("source", ""))
        elif isinstance(entry, dict):
            _flatten(entry, f"{name}.", values, sources)
        else:
            values[name] = entry


def read_target(path: Path, origin: str = "", heirs: Sequence[Path] = ()) -> Target:
    """The machine that a TOML file describes; a mistake in it is a `UserError`.

    With `inherits = "NAME"`, or the path of another file beside it, it has that machine's numbers where it has none of
    its own, and the file's name if it has no `name`. `heirs` are the files that inherit from this one.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    note_input(path)
    try:
        _flatten(tomllib.loads(path.read_text()), "", values, sources)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"can't read the target description '{path}': {reason}") from error
    try:
        if "inherits" in values:
            base = _inherited(values.pop("inherits"), path, heirs)
            values = base.values() | {"name": path.stem} | values
            sources = {**base.sources, **sources}
        return Target.of(values, sources, origin or str(path))
    except UserError as error:
        error.message = f"{path}: {error.message}"
        raise


def _inherited(base: Any, path: Path, heirs: Sequence[Path]) -> Target:
    if not isinstance(base, str):
        raise UserError(f"'inherits' can't be {base!r}: it is the name of a target or a .toml file")
    if not base.endswith(".toml"):
        return get_target(base)
    file, heirs = path.parent / base, (*heirs, path.resolve())
    if file.resolve() in heirs:
        raise UserError(f"the target inherits from itself, through '{base}'")
    return read_target(file, heirs=heirs)


def get_target(name: str) -> Target:
    """The machine called `name`, or described by the TOML file at that path as it is now."""
    if name.endswith(".toml"):
        return read_target(Path(name), name)
    if name not in TARGETS:
        from npu_mlir.support.plugins import load_installed_plugins

        load_installed_plugins()
    if name not in TARGETS:
        known = f"the targets: {', '.join(target_names())}, or the path of a .toml file"
        raise UserError(f"unknown target '{name}'{closest(name, target_names())}", notes=[known])
    if BUILT_IN.get(name) == TARGETS[name]:
        return built_in(name)
    return read_target(Path(TARGETS[name]), name)


@cache
def built_in(name: str) -> Target:
    """A machine that comes with the package."""
    return read_target(Path(BUILT_IN[name]), name)


def target_names() -> list[str]:
    """The machines that are known by a name."""
    return sorted(TARGETS)
