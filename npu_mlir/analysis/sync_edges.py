"""The flags of one block as edges between pipes, and which of them the others make redundant.

An edge leads from a point on one pipe (after an item of the block) to a point on another (before an item), in the same
iteration of the block (forward) or a later one (back): the next one, or for a slotted edge the next one that uses the
same slot. In-order pipes and edges make paths. An edge goes if a path over the others leads from its set to its wait,
and if every remaining edge keeps a path from its wait to the next set of its id, since a flag that is set must not be
set again before it was waited for.

Iterations are told apart as `NOW`, `NEXT` and `REUSE` (the next use of the slot in question, which may be `NEXT`):
a forward edge stays in its iteration, an unslotted back edge leads from `NOW` to `NEXT`, a slotted one with the slot
value in question from `NOW` to `REUSE`, and along a pipe, `NOW` comes before both and `NEXT` not after `REUSE`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

NOW, NEXT, REUSE = 0, 1, 2

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


class _Goal(NamedTuple):
    """A point on a pipe to be reached, at the latest."""

    pipe: str
    point: int
    iteration: int


def prune(edges: Sequence[Edge], in_loop: bool) -> list[Edge]:
    """The edges that are needed, back edges being tried first."""
    kept = _undominated(edges)
    returns = {e: _return_path(e, kept) for e in kept} if in_loop else {}
    for edge in sorted(kept, key=lambda e: (not e.back, -e.ids)):
        others = [e for e in kept if e is not edge]
        if _path(edge.src, edge.set_point, _wait_goal(edge), edge.slot, others) is None:
            continue
        affected = [e for e in others if edge in (returns.get(e) or ())]
        changed = {e: _return_path(e, others) for e in affected}
        if None in changed.values():
            continue
        returns.update(changed)
        kept = others
    return kept


def _undominated(edges: Sequence[Edge]) -> list[Edge]:
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


def _later(edge: Edge) -> int:
    return NEXT if edge.slot is None else REUSE


def _wait_goal(edge: Edge) -> _Goal:
    return _Goal(edge.dst, edge.wait_point, _later(edge) if edge.back else NOW)


def _return_path(edge: Edge, edges: Sequence[Edge]) -> frozenset[Edge] | None:
    """The edges on a path from the wait of an edge to the next set of its id."""
    goal = _Goal(edge.src, edge.set_point, NOW if edge.back else _later(edge))
    return _path(edge.dst, edge.wait_point, goal, edge.slot, edges)


class _Search:
    """Earliest points reached on each pipe and iteration, and over which edge."""

    def __init__(self, slot: SlotKey | None, goal: _Goal):
        self.slot, self.goal = slot, goal
        self.best: dict[tuple[str, int], int] = {}
        self.via: dict[tuple[str, int], tuple[tuple[str, int] | None, Edge | None]] = {}
        self.work: list[tuple[str, int]] = []

    def reach(
        self, pipe: str, iteration: int, point: int, came: tuple[str, int] | None, edge: Edge | None
    ) -> None:
        """Note that `point` is reached, and with it the later iterations of the pipe that the goal cares for."""
        state = (pipe, iteration)
        if iteration > self.goal.iteration or self.best.get(state, point + 1) <= point:
            return
        self.best[state] = point
        self.via[state] = (came, edge)
        self.work.append(state)
        if iteration == NOW:
            self.reach(pipe, NEXT, 0, state, None)
        elif iteration == NEXT:
            self.reach(pipe, REUSE, point, state, None)

    def follow(self, state: tuple[str, int], edge: Edge) -> None:
        """Go over an edge if it starts no earlier than where the pipe was reached."""
        pipe, iteration = state
        if edge.src != pipe or edge.set_point < self.best[state]:
            return
        if not edge.back:
            self.reach(edge.dst, iteration, edge.wait_point, state, edge)
        elif iteration == NOW and edge.slot is None:
            self.reach(edge.dst, NEXT, edge.wait_point, state, edge)
        elif iteration == NOW and edge.slot == self.slot:
            self.reach(edge.dst, REUSE, edge.wait_point, state, edge)

    def found(self) -> bool:
        """Whether the goal is reached."""
        return self.best.get((self.goal.pipe, self.goal.iteration), self.goal.point + 1) <= self.goal.point

    def edges(self) -> frozenset[Edge]:
        """The edges on the way to the goal."""
        used: set[Edge] = set()
        state: tuple[str, int] | None = (self.goal.pipe, self.goal.iteration)
        while state is not None:
            state, edge = self.via[state]
            if edge is not None:
                used.add(edge)
        return frozenset(used)


def _path(
    pipe: str, point: int, goal: _Goal, slot: SlotKey | None, edges: Sequence[Edge]
) -> frozenset[Edge] | None:
    """The edges on a path from a point of this iteration to the goal; None without one."""
    search = _Search(slot, goal)
    search.reach(pipe, NOW, point, None, None)
    while search.work and not search.found():
        state = search.work.pop()
        for edge in edges:
            search.follow(state, edge)
    return search.edges() if search.found() else None


def merge(one: Edge, other: Edge) -> Iterator[tuple[int, Edge]]:
    """One edge that stands for two, with what it costs in items waited for needlessly; nothing if there is none."""
    if (one.pair, one.back, one.slot) != (other.pair, other.back, other.slot):
        return
    last, first = max(one.set_item, other.set_item), min(one.wait_item, other.wait_item)
    if not one.back and last >= first:
        return
    merged = one._replace(set_item=last, wait_item=first)
    yield abs(one.set_item - other.set_item) + abs(one.wait_item - other.wait_item), merged
