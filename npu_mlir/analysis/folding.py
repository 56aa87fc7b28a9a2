"""Sums, products and extrema along rows: how many lanes to fold a row into before the lanes are reduced.

A vector unit reduces the lanes of one step slowly and combines whole steps fast. A row of `extent` elements is
`chunks * lanes + rest`: the chunks are combined lane by lane, and what is left, `lanes` elements and the rest, is
reduced as a row.

Costs are cycles for a step of the vector unit; a step covers `width` bytes of a row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FoldCosts:
    """Cycles of a step of each instruction."""

    width: int
    """Bytes that a step covers."""
    start: int
    """Makes lanes of the first chunks."""
    started: int
    """How many chunks that takes in."""
    combine: int
    """Combines a further chunk with the lanes."""
    reduce: int
    """Reduces lanes to one element."""
    whole: int
    """What a step of a row takes without folding."""
    may_rest: bool = True
    """Whether elements that fill no chunk can be reduced alone."""


@dataclass(frozen=True)
class Fold:
    """A row as chunks of lanes and a rest; the cycles that it takes."""

    lanes: int
    chunks: int
    rest: int
    cycles: int


def best_fold(extent: int, element_bytes: int, costs: FoldCosts) -> Fold | None:
    """The cheapest way to fold rows of `extent` elements of a type, None if none is cheaper than not to.

    >>> costs = FoldCosts(width=256, start=2, started=2, combine=2, reduce=7, whole=7)
    >>> best_fold(768, 4, costs)
    Fold(lanes=64, chunks=12, rest=0, cycles=29)
    >>> best_fold(197, 4, costs)
    Fold(lanes=64, chunks=3, rest=5, cycles=18)
    >>> best_fold(100, 4, costs)
    Fold(lanes=50, chunks=2, rest=0, cycles=9)
    >>> best_fold(64, 4, costs) is None
    True
    """
    step = max(1, costs.width // element_bytes)
    found: list[Fold] = []
    for lanes in {step, *_divisors(extent, step)}:
        chunks, rest = divmod(extent, lanes)
        if chunks < max(2, costs.started) or (rest and not costs.may_rest):
            continue
        cycles = costs.start + costs.combine * (chunks - costs.started) + costs.reduce
        if rest:
            cycles += costs.reduce
        found.append(Fold(lanes, chunks, rest, cycles))
    best = min(found, key=lambda fold: (fold.cycles, -fold.lanes), default=None)
    whole = costs.whole * -(-extent // step)
    return best if best is not None and best.cycles < whole else None


def _divisors(number: int, most: int) -> list[int]:
    """The divisors of a number up to `most`."""
    return [d for d in range(1, min(number, most) + 1) if number % d == 0]
