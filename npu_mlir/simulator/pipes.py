"""Time: what the scalar unit issues in order flows through in-order pipes, as max-plus recurrences in program order.

Integer cycles. The scalar unit issues one entry after the other into the queues of the pipes; a full queue holds it up.
A pipe takes the entries of its queue in order:

- an instruction starts when the pipe is free, its entry has arrived and, `head` cycles later, the pipe is filled; the
  fill overlaps with what the pipe still executes. It occupies the pipe, and is complete `latency` cycles after that;
- `set_flag` takes the flag cycles and raises the flag when everything before it in the pipe is complete;
- `wait_flag` stays at the front of the queue until the flag is raised, then takes the flag cycles.

All of it is known when an entry is issued, because a set precedes its wait in program order: no event queue is needed.
"""

from __future__ import annotations

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.targets.target import Target

EXECUTING = (Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)
"""The pipes that the scalar unit feeds."""


class PipeClock:
    """The state of one pipe. Methods take the scalar unit's time and return it after the issue."""

    __slots__ = ("busy", "depth", "done", "flag_cycles", "free", "gate", "issue_cycles", "position", "starts")

    def __init__(self, depth: int, issue_cycles: int, flag_cycles: int):
        self.depth = depth
        self.issue_cycles = issue_cycles
        self.flag_cycles = flag_cycles
        self.reset()

    def reset(self) -> None:
        """Back to time zero."""
        self.free = 0
        self.gate = 0
        """When the last entry that held up the pipe, a wait for a flag, let it go on."""
        self.done = 0
        """When everything so far is complete."""
        self.busy = 0
        self.starts = [0] * self.depth
        """When the last `depth` entries left the queue."""
        self.position = 0

    def run(self, now: int, occupancy: int, latency: int, head: int = 0) -> int:
        """Issue an instruction."""
        position = self.position
        starts = self.starts
        if starts[position] > now:
            now = starts[position]
        now += self.issue_cycles
        start = (now if now > self.gate else self.gate) + head
        if self.free > start:
            start = self.free
        starts[position] = start
        position += 1
        self.position = position if position < self.depth else 0
        self.free = end = start + occupancy
        self.busy += occupancy
        if end + latency > self.done:
            self.done = end + latency
        return now

    def set_flag(self, now: int) -> tuple[int, int]:
        """Issue a set; also returns when the flag is raised."""
        # Comparisons instead of max(): these two are called as often as instructions are.
        position = self.position
        starts = self.starts
        if starts[position] > now:
            now = starts[position]
        now += self.issue_cycles
        start = self.free if self.free > now else now
        starts[position] = start
        position += 1
        self.position = position if position < self.depth else 0
        self.free = free = start + self.flag_cycles
        return now, free if free > self.done else self.done

    def wait_flag(self, now: int, raised: int) -> int:
        """Issue a wait for a flag that is raised at the time `raised`."""
        position = self.position
        starts = self.starts
        if starts[position] > now:
            now = starts[position]
        now += self.issue_cycles
        ready = raised if raised > now else now
        start = self.free if self.free > ready else ready
        starts[position] = start
        position += 1
        self.position = position if position < self.depth else 0
        self.free = start + self.flag_cycles
        ready += self.flag_cycles
        if ready > self.gate:
            self.gate = ready
        return now

    def state(self, now: int) -> tuple[int, ...]:
        """All that later entries can depend on, relative to the scalar unit's time: what is past is as good as now."""
        order = self.starts[self.position :] + self.starts[: self.position]
        times = (*order, self.free, self.gate, self.done)
        return tuple([time - now if time > now else 0 for time in times])

    def advance(self, cycles: int, busy: int) -> None:
        """Let time pass in which the pipe does what leaves it as it is, `busy` of it occupied."""
        self.free += cycles
        self.gate += cycles
        self.done += cycles
        self.busy += busy
        self.starts = [start + cycles for start in self.starts]


class Clock:
    """All pipes of a core and the flags between them."""

    def __init__(self, target: Target):
        issue, flag = target.latencies["issue"], target.latencies["flag"]
        self.pipes = {pipe: PipeClock(target.queue_depth, issue, flag) for pipe in EXECUTING}
        self.flags: dict[tuple[Pipe, Pipe, int], int] = {}
        """When each pending flag is raised."""

    def reset(self) -> None:
        """Back to time zero, no flag pending."""
        for pipe in self.pipes.values():
            pipe.reset()
        self.flags.clear()

    def state(self, now: int) -> tuple[object, ...]:
        """All that later entries can depend on; equal states have equal futures."""
        flags = [(key, raised - now if raised > now else 0) for key, raised in self.flags.items()]
        return (*(pipe.state(now) for pipe in self.pipes.values()), frozenset(flags))

    def occupied(self) -> tuple[int, ...]:
        """The busy cycles of each pipe so far."""
        return tuple([pipe.busy for pipe in self.pipes.values()])

    def repeat(self, times: int, cycles: int, before: tuple[int, ...]) -> None:
        """Do again, so many times, what has led from an equal state to this one in `cycles`; `before` is what was
        `occupied` then."""
        for pipe, busy in zip(self.pipes.values(), before, strict=True):
            pipe.advance(times * cycles, times * (pipe.busy - busy))
        for key in self.flags:
            self.flags[key] += times * cycles

    def idle(self, now: int) -> int:
        """When every pipe has executed and completed everything."""
        return max(now, *(end for pipe in self.pipes.values() for end in (pipe.free, pipe.done)))

    def busy(self) -> dict[Pipe, int]:
        """Cycles that each pipe was occupied by instructions."""
        return {pipe: clock.busy for pipe, clock in self.pipes.items() if clock.busy}
