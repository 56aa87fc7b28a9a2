"""What passes count, for `--mlir-pass-statistics`.

    from npu_mlir.support.statistics import count
    count("num-fused", description="Pairs of operations fused")

Without the option, counting does nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Statistic:
    """A number that a pass keeps, and what it counts."""

    value: int = 0
    description: str = ""


_active: list[dict[str, Statistic]] = []


def count(name: str, amount: int = 1, description: str = "") -> None:
    """Add to a number of the pass that runs."""
    if _active:
        statistic = _active[-1].setdefault(name, Statistic())
        statistic.value += amount
        statistic.description = description or statistic.description


@contextmanager
def counting(statistics: dict[str, Statistic]) -> Generator[None]:
    """Within, `count` adds to `statistics`."""
    _active.append(statistics)
    try:
        yield
    finally:
        _active.pop()
