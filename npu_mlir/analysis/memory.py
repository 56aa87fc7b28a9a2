"""Memory planning: addresses for buffers with known lifetimes, so that what lives together does not overlap.

Buffers are placed in order of decreasing size, each at the lowest address that is free during its lifetime. When
everything fits side by side, it is placed so: reuse would order instructions that are independent otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is in use from time `start` to time `end`, both included."""

    size: int
    start: int
    end: int


def plan(buffers: Sequence[Lifetime], capacity: int | None = None) -> tuple[list[int], int]:
    """(address of every buffer, bytes used in all). More than `capacity` may be used: the caller compares.

    >>> plan([Lifetime(64, 0, 1), Lifetime(32, 1, 2), Lifetime(64, 2, 3)], capacity=100)
    ([0, 64, 0], 96)
    """
    total = sum(b.size for b in buffers)
    if capacity is not None and total <= capacity:
        return list(accumulate((b.size for b in buffers), initial=0))[: len(buffers)], total
    placed: list[tuple[int, Lifetime]] = []
    result = [0] * len(buffers)
    for i in sorted(range(len(buffers)), key=lambda i: (-buffers[i].size, buffers[i].start)):
        b = buffers[i]
        result[i] = _lowest_gap(b, [(a, o) for a, o in placed if o.start <= b.end and b.start <= o.end])
        placed.append((result[i], b))
    return result, max((a + b.size for a, b in placed), default=0)


def _lowest_gap(buffer: Lifetime, neighbours: Sequence[tuple[int, Lifetime]]) -> int:
    """The lowest address at which `buffer` overlaps none of the placed buffers that live at the same time."""
    address = 0
    for start, other in sorted(neighbours, key=lambda n: n[0]):
        if address + buffer.size <= start:
            break
        address = max(address, start + other.size)
    return address
