"""Which edges of a block the others make redundant.

An edge goes if what it is wanted for is ordered without it, and if every remaining edge keeps a path from its wait to
the next set of its id, since a flag that is set must not be set again before it was waited for. First, paths from its
set to its wait have to do. Then, if instructions in loops or conditionals are among those it is wanted for, paths
between the instructions do, which may lead over edges there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npu_mlir.analysis.sync_edges import Edge, undominated
from npu_mlir.analysis.sync_paths import Edges, LoopTree, PathPlace, PathStep, path, return_path, step_of

Wanted = Mapping[Edge, Sequence[tuple[PathPlace, PathPlace]]]
"""The edges that conflicts ask for, each with its conflicts: the instruction before it and the one behind it."""


def prune(wanted: Wanted, block: int, nest: LoopTree) -> list[Edge]:
    """The edges of a block that are needed, given those of the blocks within."""
    pruning = _Pruning(wanted, block, nest)
    # Back edges first, those of many ids before others.
    for edge in sorted(pruning.kept, key=lambda e: (not e.back, -e.ids)):
        pruning.remove_if_implied(edge)
    if any(a.path[:-1] != b.path[:-1] for conflicts in wanted.values() for a, b in conflicts):
        pruning.find_ways()
        for edge in list(pruning.kept):
            pruning.remove_if_unused(edge)
    return pruning.kept


class _Pruning:
    def __init__(self, wanted: Wanted, block: int, nest: LoopTree):
        self.wanted = wanted
        self.nest = nest
        self.kept = undominated(list(wanted))
        self.crossings = nest.crossings(block)
        steps = self._steps(self.kept)
        self.returns = {e: return_path(e, steps) for e in self.kept} if nest.in_loop[block] else {}
        self.ways: dict[Edge, Edges] = {}
        """For each wanted edge, edges that are kept and do for it."""

    def _steps(self, edges: Sequence[Edge]) -> list[PathStep]:
        return [*map(step_of, edges), *self.crossings]

    def _without(self, edge: Edge) -> list[Edge]:
        return [e for e in self.kept if e is not edge]

    def remove_if_implied(self, edge: Edge) -> None:
        """Remove an edge if others lead from its set to its wait."""
        others = self._without(edge)
        if path(edge, self._steps(others)) is not None:
            self._remove(edge, others)

    def find_ways(self) -> None:
        """Find out which edges do for each wanted one."""
        steps = self._steps(self.kept)
        for edge in self.wanted:
            way = path(edge, steps)
            assert way is not None
            self.ways[edge] = way

    def remove_if_unused(self, edge: Edge) -> None:
        """Remove an edge if all conflicts that it does for are ordered without it."""
        others = self._without(edge)
        steps = self._steps(others)
        ways: dict[Edge, Edges] = {}
        for wanted in (w for w, way in self.ways.items() if edge in way):
            way = self._way(wanted, steps)
            if way is None:
                return
            ways[wanted] = way
        if self._remove(edge, others):
            self.ways |= ways

    def _way(self, wanted: Edge, steps: Sequence[PathStep]) -> Edges | None:
        way = path(wanted, steps)
        if way is not None:
            return way
        used: set[Edge] = set()
        for first, second in self.wanted[wanted]:
            way = self.nest.path(wanted, first, second, steps)
            if way is None:
                return None
            used |= way
        return frozenset(used)

    def _remove(self, edge: Edge, others: list[Edge]) -> bool:
        """Remove an edge unless another one then lacks a path to the next set of its id; whether it is removed."""
        affected = [e for e in others if edge in (self.returns.get(e) or ())]
        steps = self._steps(others)
        changed = {e: return_path(e, steps) for e in affected}
        if None in changed.values():
            return False
        self.returns |= changed
        self.kept = others
        return True
