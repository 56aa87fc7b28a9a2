"""The flags of one block as edges between pipes.

An edge leads from a point on one pipe (after an item of the block) to a point on another (before an item), in the same
iteration of the block (forward) or a later one (back): the next one, or for a slotted edge the next one that uses the
same slot.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

SlotKey = tuple[int, int]
"""A slot value, as the number that identifies it, and how many slots it chooses among."""


class Edge(NamedTuple):
    """Set by `src` after item `set_item`, waited for by `dst` before item `wait_item`."""

    src: str
    dst: str
    set_item: int
    wait_item: int
    back: bool
    slot: SlotKey | None
    """What selects the id, None for an edge of one id."""
    ids: int
    changing: bool = False
    """The next execution of the block uses another slot."""

    @property
    def pair(self) -> tuple[str, str]:
        """The pipes."""
        return self.src, self.dst

    @property
    def set_point(self) -> int:
        """Where the set stands; points count the gaps before (even) and after (odd) items."""
        return 2 * self.set_item + 1

    @property
    def wait_point(self) -> int:
        """Where the wait stands."""
        return 2 * self.wait_item


def undominated(edges: Sequence[Edge]) -> list[Edge]:
    """The edges without those that one of the same kind with a later set and an earlier wait implies."""
    groups: dict[Hashable, list[Edge]] = {}
    for e in edges:
        groups.setdefault((e.src, e.dst, e.back, e.slot), []).append(e)
    kept: list[Edge] = []
    for group in groups.values():
        earliest: int | None = None
        for e in sorted(group, key=lambda e: (-e.set_item, e.wait_item)):
            if earliest is None or e.wait_item < earliest:
                kept.append(e)
                earliest = e.wait_item
    return sorted(kept, key=lambda e: (e.wait_item, e.set_item, e.back))


def merge(one: Edge, other: Edge) -> Iterator[tuple[int, Edge]]:
    """One edge that stands for two, with what it costs in items waited for needlessly; nothing if there is none."""
    if (one.pair, one.back, one.slot) != (other.pair, other.back, other.slot):
        return
    last, first = max(one.set_item, other.set_item), min(one.wait_item, other.wait_item)
    if not one.back and last >= first:
        return
    merged = one._replace(set_item=last, wait_item=first)
    yield abs(one.set_item - other.set_item) + abs(one.wait_item - other.wait_item), merged
