"""The description of a machine, read from a TOML file: the one source of every hardware number.

Each number stands as `{ value = ..., source = "..." }`; `source` says where it comes from, or that it is assumed.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from npu_mlir.dialects.tile.cube import Cube
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.support.files import note_input
from npu_mlir.support.registry import table

TARGETS = table("target", {file.stem: str(file) for file in Path(__file__).parent.glob("*.toml")})
"""The files that describe the machines known by a name, those of plugins included."""


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
    """Bytes per cycle by path: gm_l1, gm_ub, ub_gm, l0c_gm, l1_l0a, l1_l0b, and l0c_ub unless the cores are split."""
    latencies: Mapping[str, int]
    """Cycles: gm (completion of a GM access), dma (fixed part of a transfer), l0_load, mmad, issue, flag, launch."""
    cube_steps: Mapping[str, tuple[int, int]]
    """(k, cycles) of a step of the cube by the element type of its factors (`f16`, `i8`): it multiplies `cube_m` x k by
    k x `cube_n` elements in that many cycles. The cube takes no other types."""
    vector: Mapping[str, tuple[int, int, int]]
    """(head, slope, tail) in cycles per vector kind, the slope for each repeat; `default` for the rest."""
    sources: Mapping[str, str]
    """Where each number comes from, by its dotted name."""

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

    def peak_macs(self, element: str) -> float:
        """Multiply-adds per cycle of one core's cube on elements of a type (`f16`); 0 if it doesn't take them."""
        if element not in self.cube_steps:
            return 0.0
        return math.prod(self.cube.tile(element)) / self.cube_steps[element][1]


DEFAULT_TARGET = "ascend-910"
"""The machine of modules that name none."""

_RATES = {"gm_l1", "gm_ub", "ub_gm", "l0c_gm", "l1_l0a", "l1_l0b"}
_LATENCIES = {"gm", "dma", "l0_load", "mmad", "issue", "flag", "launch"}


def _flatten(table: Mapping[str, Any], prefix: str, values: dict[str, Any], sources: dict[str, str]) -> None:
    for key, entry in table.items():
        name = f"{prefix}{key}"
        if isinstance(entry, dict) and "value" in entry:
            values[name], sources[name] = entry["value"], str(entry.get("source", ""))
        elif isinstance(entry, dict):
            _flatten(entry, f"{name}.", values, sources)
        else:
            values[name] = entry


def _group(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}


def _check(values: Mapping[str, Any], file: str) -> None:
    """Raise a `UserError` unless every entry is there, known, and a number of the right kind."""
    scalars = {f.name: f.type for f in fields(Target)} | {"sources": None}
    groups = {"rates": _RATES, "latencies": _LATENCIES, "cube_steps": set[str](), "vector": {"default"}}
    needed = [n for n in scalars if n not in groups and n != "sources"]
    needed += [f"{group}.{n}" for group, names in groups.items() for n in sorted(names)]
    missing = [n for n in needed if n not in values]
    if missing:
        raise UserError(f"{file}: the target lacks {', '.join(missing)}")
    for name, value in values.items():
        group = name.partition(".")[0]
        if name not in needed and group not in groups:
            raise UserError(f"{file}: unknown entry '{name}'{closest(name, needed)}")
        if not _is_valid(name, group, value):
            raise UserError(f"{file}: '{name}' can't be {value!r}")


def _is_valid(name: str, group: str, value: Any) -> bool:
    if name == "name":
        return isinstance(value, str)
    if name == "split_cores":
        return isinstance(value, bool)
    if group == "vector":
        return isinstance(value, list) and len(value) == 3 and all(type(v) is int and v >= 0 for v in value)
    if group == "cube_steps":
        return isinstance(value, list) and len(value) == 2 and all(type(v) is int and v >= 1 for v in value)
    if group == "rates":
        return type(value) in (int, float) and value > 0
    return type(value) is int and value >= (0 if group == "latencies" else 1)


def read_target(path: Path) -> Target:
    """Read a machine description; a mistake in it is a `UserError`."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    note_input(path)
    try:
        _flatten(tomllib.loads(path.read_text()), "", values, sources)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"can't read the target description '{path}': {reason}") from error
    _check(values, str(path))
    scalars = {k: values[k] for k in Target.__dataclass_fields__ if k in values}
    return Target(
        **scalars,
        rates=_group(values, "rates."),
        latencies=_group(values, "latencies."),
        cube_steps={k: tuple(v) for k, v in _group(values, "cube_steps.").items()},
        vector={k: tuple(v) for k, v in _group(values, "vector.").items()},
        sources=sources,
    )


@cache
def get_target(name: str) -> Target:
    """The machine called `name`, or described by the TOML file at that path."""
    if name.endswith(".toml"):
        return read_target(Path(name))
    if name not in TARGETS:
        from npu_mlir.support.plugins import load_installed_plugins

        load_installed_plugins()
    if name not in TARGETS:
        hint = closest(name, target_names())
        raise UserError(f"unknown target '{name}'{hint}", notes=[f"known: {', '.join(target_names())}"])
    return read_target(Path(TARGETS[name]))


def target_names() -> list[str]:
    """The machines that are known by a name."""
    return sorted(TARGETS)
