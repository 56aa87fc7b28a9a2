"""Skip the iterations of a loop that repeat what was seen, exactly.

At the iterations where a loop is about to do the same again (see `loop_periods`), the state of all sinks, times
relative to the scalar unit, is looked up among the earlier ones. If it is there, everything from then on is a
repetition: the loop goes round from that state to this one as often as it fits, and only the rest is executed. Where a
loop begins to do something else, states are forgotten, and what repeats is looked for anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from npu_mlir.analysis.loop_periods import Period
from npu_mlir.simulator.codegen.sink import Repeats

FEWEST = 8
"""Periods that a loop has to have for a look to pay."""

MOST_STATES = 300
"""States that are kept of one execution of a loop."""

MOST_FAILURES = 4
"""Executions of a loop in which nothing repeated, before it is left alone."""


@dataclass(frozen=True)
class Seen:
    """When a loop was in a state, and what else was to be remembered."""

    iteration: int
    now: int
    counters: tuple[int, ...]
    memories: list[Any]


class SteadyState:
    """Watches one loop of a kernel. What is not in the variables of the generated code is repeated by `parts`."""

    def __init__(self, period: Period, parts: Sequence[Repeats] = (), first: bool = False):
        self.period = period.length
        self.parts = parts
        # The first iteration may be unlike the others, whatever the state.
        self.starts = sorted({0, *period.parts, *([1] if first else ())})
        """The iterations at which it begins to do something else."""
        self.part = -1
        """The part that is being looked at."""
        self.next = -1
        """The iteration to look at next; -1 for none."""
        self.stop = 0
        """Where the part ends."""
        self.trips = 0
        self.failures = 0
        self.seen: dict[Hashable, Seen] = {}

    def begin(self, trips: int) -> None:
        """The loop begins."""
        self.trips = trips
        self.part = -1
        self.next = -1
        if self.failures < MOST_FAILURES:
            self._go_on()

    def _go_on(self) -> None:
        """Look at the next part that is long enough."""
        self.seen.clear()
        self.next = -1
        while self.next < 0 and self.part + 1 < len(self.starts):
            self.part += 1
            start = self.starts[self.part]
            after = self.starts[self.part + 1] if self.part + 1 < len(self.starts) else self.trips
            self.stop = min(after, self.trips)
            if self.stop - start >= FEWEST * self.period:
                self.next = start

    def look(
        self, iteration: int, now: int, counters: tuple[int, ...], times: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """What to add to the iteration, the scalar time and each counter, if iterations can be skipped.

        `times` are those of the generated code that later entries can depend on, -1 for a flag that is not pending.
        """
        # What is past is as good as now.
        relative = [time - now if time > now else 0 if time >= 0 else -1 for time in times]
        state = (*relative, *(part.state(now) for part in self.parts))
        before = self.seen.get(state)
        if before is None:
            memories = [part.remember() for part in self.parts]
            self.seen[state] = Seen(iteration, now, counters, memories)
            self.next = iteration + self.period
            if len(self.seen) > MOST_STATES or self.next >= self.stop:
                self.failures += 1
                self._go_on()
            return None
        self.failures = 0
        length, cycles = iteration - before.iteration, now - before.now
        times_more = (self.stop - iteration) // length
        self._go_on()
        if not times_more:
            return None
        for part, memory in zip(self.parts, before.memories, strict=True):
            part.repeat(times_more, cycles, memory)
        growth = [times_more * (c - o) for c, o in zip(counters, before.counters, strict=True)]
        return (times_more * length, times_more * cycles, *growth)
