"""The description of a machine, read from a TOML file: the one source of every hardware number."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TARGETS = Path(__file__).parent


@dataclass(frozen=True)
class Target:
    """A DaVinci-class machine. Sizes in bytes, rates in bytes per cycle, times in cycles.

    The TOML file gives each number as `{ value, source }`; `source` says where it comes from or that it is assumed.
    """

    name: str
    cores: int
    clock_mhz: int
    split_cores: bool
    """Cube and vector are separate cores: cube results reach the vector unit through GM only."""
    l1: int
    l0a: int
    l0b: int
    l0c: int
    ub: int
    cube_m: int
    cube_k_bytes: int
    """Bytes of the k side of one cube step (32: 16 f16 or 32 int8)."""
    cube_n: int
    cube_f32_slowdown: int
    """How many times as long an f32 step takes, beyond its doubled k steps."""
    vector_bytes: int
    event_ids: int
    queue_depth: int
    rates: Mapping[str, int]
    """Bytes per cycle by path: gm_l1, gm_ub, ub_gm, l0c_gm, l0c_ub, l1_l0a, l1_l0b."""
    latencies: Mapping[str, int]
    """Cycles: gm (completion of a GM access), dma (fixed part of a transfer), l0_load, mmad, issue, flag, launch."""
    vector: Mapping[str, tuple[int, int, int]]
    """(head, slope, tail) per vector kind; `default` for the rest."""
    sources: Mapping[str, str]
    """Where each number comes from, by its dotted name."""

    def capacity(self, space: str) -> int:
        """Bytes of an on-chip memory by its name in `#tile.space`."""
        sizes = {"l1": self.l1, "l0a": self.l0a, "l0b": self.l0b, "l0c": self.l0c, "ub": self.ub}
        return sizes[space]


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


def read_target(path: Path) -> Target:
    """Read a machine description. Raises OSError, tomllib.TOMLDecodeError or KeyError on a bad file."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    _flatten(tomllib.loads(path.read_text()), "", values, sources)
    scalars = {k: values[k] for k in Target.__dataclass_fields__ if k in values}
    return Target(
        **scalars,
        rates=_group(values, "rates."),
        latencies=_group(values, "latencies."),
        vector={k: tuple(v) for k, v in _group(values, "vector.").items()},
        sources=sources,
    )


@cache
def get_target(name: str) -> Target:
    """The machine called `name`, or described by the TOML file at that path."""
    path = Path(name) if name.endswith(".toml") else TARGETS / f"{name}.toml"
    return read_target(path)


def target_names() -> list[str]:
    """The machines that come with the package."""
    return sorted(p.stem for p in TARGETS.glob("*.toml"))
