"""How long which pipes are busy at once.

Each pipe's busy intervals come in order, but those of different pipes do not. What lies before the time of the
scalar unit is final, since nothing can start earlier any more: it is counted and forgotten now and then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from npu_mlir.dialects.npu_isa import Pipe

LIMIT = 1 << 16
"""Intervals that are kept before they are counted."""


class Activity:
    """Cycles by the set of pipes that are busy."""

    def __init__(self, pipes: Sequence[Pipe]):
        self.pipes = list(pipes)
        self.intervals: dict[Pipe, list[list[int]]] = {pipe: [] for pipe in pipes}
        self.cycles: Counter[int] = Counter()
        """By bit mask over `pipes`."""
        self.kept = 0
        self.first: dict[Pipe, int] = {}
        """When each pipe was busy for the first time since `begin`."""

    def begin(self) -> None:
        """Something begins for which pipes are busy for the first time."""
        self.first = {}

    def mark(self, pipe: Pipe) -> Callable[[int, int, int], None]:
        """The function `(start, end, now)` that notes a busy interval of a pipe."""
        intervals = self.intervals[pipe]

        def note(start: int, end: int, now: int) -> None:
            if pipe not in self.first:
                self.first[pipe] = start
            if intervals and intervals[-1][1] == start:
                intervals[-1][1] = end
                return
            intervals.append([start, end])
            self.kept += 1
            if self.kept > LIMIT:
                self.count(now)

        return note

    def count(self, until: int) -> None:
        """Count what lies before `until`, and keep the rest."""
        times: list[int] = []
        changes: list[int] = []
        for bit, pipe in enumerate(self.pipes):
            intervals = self.intervals[pipe]
            rest: list[list[int]] = []
            for start, end in intervals:
                stop = min(end, until)
                if stop > start:
                    times += (start, stop)
                    changes += (1 << bit, -(1 << bit))
                if end > until:
                    rest.append([max(start, until), end])
            # In place: the function that notes intervals holds the list.
            intervals[:] = rest
        self.kept = sum(map(len, self.intervals.values()))
        self._sweep(np.array(times, np.int64), np.array(changes, np.int64))

    def _sweep(self, times: np.ndarray, changes: np.ndarray) -> None:
        order = np.argsort(times, kind="stable")
        masks = np.cumsum(changes[order])[:-1]
        lengths = np.diff(times[order])
        for mask in np.unique(masks):
            self.cycles[int(mask)] += int(lengths[masks == mask].sum())

    def overlap(self, *pipes: Pipe, of: Counter[int] | None = None) -> int:
        """Cycles in which all of these pipes are busy; `of` part of all cycles, by bit mask."""
        wanted = sum(1 << self.pipes.index(pipe) for pipe in pipes)
        cycles = self.cycles if of is None else of
        return sum(count for mask, count in cycles.items() if mask & wanted == wanted)
