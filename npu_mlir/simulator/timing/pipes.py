"""Time: what the scalar unit issues in order flows through in-order pipes, as max-plus recurrences in program order.

Integer cycles. The scalar unit issues one entry after the other into the queues of the pipes; a full queue holds it up.
A pipe takes the entries of its queue in order:

- an instruction starts when the pipe is free, its entry has arrived and, `head` cycles later, the pipe is filled; the
  fill overlaps with what the pipe still executes. It occupies the pipe, and is complete `latency` cycles after that;
- `set_flag` takes the flag cycles and raises the flag when everything before it in the pipe is complete;
- `wait_flag` stays at the front of the queue until the flag is raised, then takes the flag cycles.

What is on the pipe S, reads of the scalar unit and its waits for flags, has no queue: the scalar unit issues nothing
else until it is over.

All of it is known when an entry is issued, because a set precedes its wait in program order: no event queue is needed.
The same rules, for many executions, are in `inlined_timing.py`; the tests hold the two and an oracle together.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.targets.cost import Cost
from npu_mlir.targets.target import Target

EXECUTING = (Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)
"""The pipes that the scalar unit feeds."""


class PipeClock:
    """The state of one pipe. Methods take the scalar unit's time and return it after the issue."""

    __slots__ = ("busy", "depth", "done", "flag_cycles", "free", "gate", "issue_cycles", "starts")

    def __init__(self, depth: int, issue_cycles: int, flag_cycles: int):
        self.depth = depth
        self.issue_cycles = issue_cycles
        self.flag_cycles = flag_cycles
        self.free = 0
        self.gate = 0
        """When the last entry that held up the pipe, a wait for a flag, let it go on."""
        self.done = 0
        """When everything so far is complete."""
        self.busy = 0
        """Cycles that instructions have occupied it."""
        self.starts = deque([0] * depth, depth)
        """When the last `depth` entries left the queue."""

    def run(self, now: int, occupancy: int, latency: int, head: int = 0) -> int:
        """Issue an instruction."""
        starts = self.starts
        # Comparisons instead of max(): these three are called for every entry.
        if starts[0] > now:
            now = starts[0]
        now += self.issue_cycles
        start = (now if now > self.gate else self.gate) + head
        if self.free > start:
            start = self.free
        starts.append(start)
        self.free = end = start + occupancy
        self.busy += occupancy
        if end + latency > self.done:
            self.done = end + latency
        return now

    def load(self, now: int, ready: int, hit: Cost, miss: Cost) -> tuple[int, bool]:
        """Issue a load of what a prefetch brings to L2, where it is when it is `ready` (see `served`). Also returns
        whether it misses."""
        starts = self.starts
        if starts[0] > now:
            now = starts[0]
        now += self.issue_cycles
        start = now if now > self.gate else self.gate
        if self.free > start:
            start = self.free
        starts.append(start)
        free, done, missed = served(start, ready, hit, miss)
        self.busy += free - start
        self.free = free
        if done > self.done:
            self.done = done
        return now, missed

    def set_flag(self, now: int) -> tuple[int, int]:
        """Issue a set; also returns when the flag is raised."""
        starts = self.starts
        if starts[0] > now:
            now = starts[0]
        now += self.issue_cycles
        start = self.free if self.free > now else now
        starts.append(start)
        self.free = free = start + self.flag_cycles
        return now, free if free > self.done else self.done

    def wait_flag(self, now: int, raised: int) -> int:
        """Issue a wait for a flag that is raised at the time `raised`."""
        starts = self.starts
        if starts[0] > now:
            now = starts[0]
        now += self.issue_cycles
        ready = raised if raised > now else now
        start = self.free if self.free > ready else ready
        starts.append(start)
        self.free = start + self.flag_cycles
        ready += self.flag_cycles
        if ready > self.gate:
            self.gate = ready
        return now

    def state(self) -> tuple[int, int, int, list[int]]:
        """`free`, `done`, `gate` and `starts`, which is all that the time of later entries depends on."""
        return self.free, self.done, self.gate, list(self.starts)

    def go_on(self, free: int, done: int, gate: int, starts: Sequence[int]) -> None:
        """Be in the state that these describe."""
        self.free, self.done, self.gate = free, done, gate
        self.starts.extend(starts)

    def shift(self, cycles: int) -> None:
        """Let time pass in which the pipe does what leaves it as it is."""
        self.free += cycles
        self.gate += cycles
        self.done += cycles
        self.starts.extend([start + cycles for start in self.starts])


def served(start: int, ready: int, hit: Cost, miss: Cost) -> tuple[int, int, bool]:
    """When a load that starts at `start` leaves its pipe and when it is complete, if a prefetch has its data in L2 when
    it is `ready`; and whether it misses.

    Both times are the earlier of those of a miss and of a hit that waits: minima of what grows with `start` and
    `ready`, so nothing is ever late because something else was early.
    """
    missed = start + miss.occupancy
    found = max(start, ready) + hit.occupancy
    return (
        min(missed, found),
        min(missed + miss.latency, found + hit.latency),
        missed + miss.latency < found + hit.latency,
    )


CorePipe = tuple[int, Pipe]
"""A pipe of a machine: the number of its core, and its name there."""


PipeState = tuple[int, int, int, tuple[int, ...]]
"""`free`, `done`, `gate` and `starts`."""

ClockState = tuple[tuple[PipeState, ...], tuple[tuple[CorePipe, CorePipe, int, int], ...]]
"""The state of the pipes of a core, and the flags that are pending there: who set it, who waits, event, when it is
raised. Times count from that of the scalar unit."""


class Clock:
    """All pipes of a machine and the flags between them. Time goes on from one kernel to the next."""

    def __init__(self, target: Target, cores: int = 1):
        issue, flag = target.latencies["issue"], target.latencies["flag"]
        self.issue_cycles, self.flag_cycles = issue, flag
        self.pipes: dict[CorePipe, PipeClock] = {
            (core, pipe): PipeClock(target.queue_depth, issue, flag)
            for core in range(cores)
            for pipe in EXECUTING
        }
        self.flags = defaultdict[tuple[CorePipe, CorePipe], dict[int, int]](dict)
        """When each pending flag is raised: by the pipe that sets it and the one that waits for it, and by event."""
        self.cores = [CoreClock(self, core) for core in range(cores)]


class CoreClock:
    """The part of a clock that belongs to one core."""

    def __init__(self, clock: Clock, core: int):
        self.clock = clock
        self.core = core
        self.now = 0
        """The time of the scalar unit after the last kernel, in cycles."""
        self.pipes = {pipe: clock.pipes[core, pipe] for pipe in EXECUTING}

    def flags(self, src: Pipe, dst: Pipe) -> dict[int, int]:
        """When each pending flag between two pipes is raised, by event."""
        return self.clock.flags[(self.core, src), (self.core, dst)]

    def read(self, now: int, occupancy: int, latency: int, head: int = 0) -> int:
        """The scalar unit executes an instruction of its own."""
        return now + head + occupancy + latency

    def wait(self, now: int, raised: int) -> int:
        """The scalar unit waits for a flag that is raised at the time `raised`; returns when it goes on."""
        flags = self.clock
        now += flags.issue_cycles
        return (raised if raised > now else now) + flags.flag_cycles

    def rebase(self) -> ClockState:
        """Let this moment of the scalar unit be time 0; returns what later times depend on. What is past is as good as
        now."""
        now, self.now = self.now, 0
        pipes: list[PipeState] = []
        for pipe in self.pipes.values():
            free, done, gate, *starts = (
                time - now if time > now else 0 for time in (pipe.free, pipe.done, pipe.gate, *pipe.starts)
            )
            pipe.go_on(free, done, gate, starts)
            pipes.append((free, done, gate, tuple(starts)))
        pending: list[tuple[CorePipe, CorePipe, int, int]] = []
        for (src, dst), flags in self.clock.flags.items():
            if src[0] == self.core:
                for event, raised in flags.items():
                    flags[event] = max(raised - now, 0)
                    pending.append((src, dst, event, flags[event]))
        return tuple(pipes), tuple(sorted(pending))

    def be(self, state: ClockState) -> None:
        """Be in a state that `rebase` has returned."""
        pipes, pending = state
        for pipe, (free, done, gate, starts) in zip(self.pipes.values(), pipes, strict=True):
            pipe.go_on(free, done, gate, starts)
        for (src, _), flags in self.clock.flags.items():
            if src[0] == self.core:
                flags.clear()
        for src, dst, event, raised in pending:
            self.clock.flags[src, dst][event] = raised

    def idle(self, now: int) -> int:
        """When the scalar unit, at `now`, and every pipe have executed and completed everything."""
        return max(now, *(end for pipe in self.pipes.values() for end in (pipe.free, pipe.done)))
