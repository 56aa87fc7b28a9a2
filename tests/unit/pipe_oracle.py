"""The oracle for the simulator's time: queues and pipes stepped through cycle by cycle.

It shares nothing with the recurrences of `npu_mlir.simulator.timing.pipes`, and needs no order between a set and its
wait but the one in time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple


class Scalar(NamedTuple):
    """Scalar operations that take `cycles`."""

    cycles: int


class Run(NamedTuple):
    """An instruction."""

    pipe: int
    occupancy: int
    latency: int
    head: int


class Set(NamedTuple):
    """Raise a flag, each flag once."""

    pipe: int
    flag: int


class Wait(NamedTuple):
    """Wait for a flag."""

    pipe: int
    flag: int


class Barrier(NamedTuple):
    """Wait until all pipes are idle."""


Entry = Scalar | Run | Set | Wait | Barrier


@dataclass
class _Pipe:
    queue: deque[tuple[Entry, int]] = field(default_factory=deque)
    """Entries and the time of their arrival."""
    free_at: int = 0
    gate: int = 0
    complete_at: int = 0
    busy: int = 0

    def idle(self, now: int) -> bool:
        return not self.queue and self.free_at <= now and self.complete_at <= now


def simulate(
    program: list[Entry], pipes: int, depth: int, issue: int, flag_cycles: int
) -> tuple[int, list[int]]:
    """The time at which everything is complete, and the busy cycles of each pipe."""
    state = [_Pipe() for _ in range(pipes)]
    raised_at: dict[int, int] = {}
    pending = deque(program)
    scalar_free, now = 0, 0
    while True:
        moved = True
        while moved:
            moved = any(_step(pipe, now, raised_at, flag_cycles) for pipe in state)
            if pending and now >= scalar_free:
                taken = _issue(pending[0], state, now, depth, issue)
                if taken is not None:
                    scalar_free = now + taken
                    pending.popleft()
                    moved = True
        if not pending and now >= scalar_free and all(pipe.idle(now) for pipe in state):
            return now, [pipe.busy for pipe in state]
        now += 1
        assert now < 100_000, "deadlock"


def _issue(entry: Entry, state: list[_Pipe], now: int, depth: int, issue: int) -> int | None:
    """The cycles that the scalar unit takes for an entry, None if it can't begin."""
    if isinstance(entry, Scalar):
        return entry.cycles
    if isinstance(entry, Barrier):
        return 0 if all(pipe.idle(now) for pipe in state) else None
    queue = state[entry.pipe].queue
    if len(queue) >= depth:
        return None
    queue.append((entry, now + issue))
    return issue


def _step(pipe: _Pipe, now: int, raised_at: dict[int, int], flag_cycles: int) -> bool:
    """Let the pipe take the front entry of its queue if it can."""
    if not pipe.queue:
        return False
    entry, arrival = pipe.queue[0]
    if arrival > now or pipe.free_at > now:
        return False
    if isinstance(entry, Run):
        if max(arrival, pipe.gate) + entry.head > now:
            return False
        pipe.free_at = now + entry.occupancy
        pipe.busy += entry.occupancy
        pipe.complete_at = max(pipe.complete_at, pipe.free_at + entry.latency)
    elif isinstance(entry, Set):
        pipe.free_at = now + flag_cycles
        raised_at[entry.flag] = max(pipe.free_at, pipe.complete_at)
    elif isinstance(entry, Wait):
        if raised_at.get(entry.flag, now + 1) > now:
            return False
        pipe.free_at = now + flag_cycles
        pipe.gate = max(pipe.gate, max(arrival, raised_at[entry.flag]) + flag_cycles)
    pipe.queue.popleft()
    return True
