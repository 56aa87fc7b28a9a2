"""The numbers of a machine by their dotted names (`l1`, `rates.gm_l1`): which there are, what they can be, and how
people write them.

>>> number("l1", "512KiB"), number("rates.gm_l1", "78.4"), number("cube_steps.f16", "16,1")
(524288, 78.4, (16, 1))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from npu_mlir.support.diagnostics import UserError, closest

Number = int | float | bool | tuple[int, ...] | str
"""A number, or the machine's name."""

Written = Number | Sequence[int]
"""A number as it is given: a `Number`, its text, or a list."""

UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

SIZES = ("l1", "l0a", "l0b", "l0c", "ub", "vector_bytes", "l2.line", "l2.sector", "l2.size")
RATES = ("l2.hbm", "l2.prefetch", "l2.rate")
COUNTS = ("cores", "clock_mhz", "cube_m", "cube_n", "event_ids", "queue_depth")
LARGEST_SIZE, LARGEST_COUNT = 1 << 30, 1 << 40
"""The most that a number may be: a memory on chip of 1 GiB, which the simulator sets up byte by byte."""

GROUPS: Mapping[str, Sequence[str]] = {
    "rates": ("gm_l1", "gm_ub", "l0c_gm", "l1_l0a", "l1_l0b", "ub_gm"),
    "latencies": ("dma", "flag", "gm", "issue", "l0_load", "launch", "mmad", "scalar_read", "section"),
    "cube_steps": (),
    "fixpipe_scales": (),
    "vector": ("default",),
    "l2": (),
}
"""The tables, and the entries that each needs."""

L2 = ("hbm", "latency", "line", "prefetch", "rate", "sector", "size")
"""The entries of the table `l2`: all, or none on a machine whose GM is one flat memory."""

SCALES = tuple(f"fixpipe_scales.{a}_{r}" for a in ("i32", "f32") for r in ("f16", "bf16", "f32", "i8"))
"""The types of accumulators, and of what they may become, for which a fixpipe can have a scale."""

NEEDED = (
    "name",
    "split_cores",
    *COUNTS,
    *(name for name in SIZES if "." not in name),
    *(f"{group}.{entry}" for group, entries in GROUPS.items() for entry in entries),
)
"""What every machine has."""


def check(values: Mapping[str, Any]) -> dict[str, Number]:
    """The numbers of a machine as they are kept. A `UserError` unless each is there, known, and of its kind."""
    l2 = {f"l2.{entry}" for entry in L2} if any(name.startswith("l2.") for name in values) else set[str]()
    missing = [name for name in (*NEEDED, *sorted(l2)) if name not in values]
    if missing:
        raise UserError(f"the target lacks {', '.join(missing)}")
    for name in values:
        if name not in NEEDED and name not in l2 and not _may_be_new(name):
            raise UserError(f"unknown entry '{name}'{closest(name, [*NEEDED, *sorted(l2), *SCALES])}")
    return {name: number(name, value) for name, value in values.items()}


def full_name(name: str, known: Iterable[str]) -> str:
    """The dotted name of a number that may be given without its table. A `UserError` unless it is one of `known`, or a
    new entry of `vector`, `cube_steps` or `fixpipe_scales`."""
    known = [*dict.fromkeys([*known, *SCALES])]
    if name in known or re.fullmatch(r"(vector|cube_steps)\.\w+", name):
        return name
    found = [k for k in known if k.rpartition(".")[2] == name]
    if len(found) > 1:
        raise UserError(f"'{name}' may be {' or '.join(found)}: give the whole name")
    if not found:
        short = {k.rpartition(".")[2] for k in known}
        raise UserError(f"a target has no number '{name}'{closest(name, [*known, *sorted(short)])}")
    return found[0]


def _may_be_new(name: str) -> bool:
    """Whether a machine may have an entry of this name beside those that every machine has."""
    group = name.partition(".")[0]
    return group in GROUPS and group != "l2" and (group != "fixpipe_scales" or name in SCALES)


def number(name: str, value: Any) -> Number:
    """A number as it is kept, from how it is written. A `UserError` if it can't be this one."""
    group = name.partition(".")[0]
    found = _read(name, group, value)
    if found is None:
        raise UserError(f"'{name}' can't be {value!r}: it is {_kind(name, group)}")
    return found


def _read(name: str, group: str, value: Any) -> Number | None:
    if name == "name":
        return value if isinstance(value, str) else None
    if _is_flag(name):
        return {"true": True, "false": False}.get(value) if isinstance(value, str) else _only(bool, value)
    if group in _LISTS:
        length, least = _LISTS[group]
        items = (
            [_integer(v) for v in (value.split(",") if isinstance(value, str) else value)]
            if _many(value)
            else []
        )
        good = len(items) == length and all(v is not None and least <= v <= LARGEST_COUNT for v in items)
        return tuple(v for v in items if v is not None) if good else None
    if group == "rates" or name in RATES:
        rate = _rate(value)
        return rate if rate is not None and 0 < rate <= LARGEST_COUNT else None
    count = _bytes(value) if name in SIZES else _integer(value)
    latency = group == "latencies" or name == "l2.latency"
    least, most = 0 if latency else 1, LARGEST_SIZE if name in SIZES else LARGEST_COUNT
    return count if count is not None and least <= count <= most else None


_LISTS = {"vector": (3, 0), "cube_steps": (2, 1)}
"""How many integers an entry of the table has, and the least that they may be."""


def _is_flag(name: str) -> bool:
    return name == "split_cores" or name in SCALES


def _only(type_: type[bool], value: Any) -> bool | None:
    return value if type(value) is type_ else None


def _many(value: Any) -> bool:
    return isinstance(value, str | list | tuple)


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\s*\d+\s*", value, re.ASCII):
        return int(value)
    return value if type(value) is int else None


def _rate(value: Any) -> float | int | None:
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
        return float(value) if "." in value else int(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bytes(value: Any) -> int | None:
    if not isinstance(value, str):
        return _integer(value)
    found = re.fullmatch(r"(\d+) ?(|B|KiB|MiB|GiB)", value, re.ASCII)
    return int(found[1]) * UNITS[found[2]] if found else None


def _kind(name: str, group: str) -> str:
    if name == "name":
        return "a text"
    if _is_flag(name):
        return "true or false"
    if name in SIZES:
        return "a number of bytes, like 65536, 64KiB or 1MiB, at most 1GiB"
    if group == "rates" or name in RATES:
        return "bytes per cycle, like 64 or 78.4"
    if group == "vector":
        return "three numbers of cycles: head, slope, tail"
    if group == "cube_steps":
        return "two numbers: k and cycles of a step"
    latency = group == "latencies" or name == "l2.latency"
    return "a number of cycles" if latency else "an integer of at least 1"
