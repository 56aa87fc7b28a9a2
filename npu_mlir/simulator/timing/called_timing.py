"""Time, a call per entry.

    S = t1(S + 2, 80, 200, 0)        an instruction, two scalar operations after the entry before
    S = t2(S, 0 + v3 % 2)            a flag

`S` is the time of the scalar unit; the functions are those of `pipes.py`. In `inlined_timing.py` the same is written
out in the generated code.
"""

from __future__ import annotations

from collections.abc import Callable

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.codegen.sink import Entry, Event, Sink
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.errors import wait_without_set
from npu_mlir.simulator.program.blocks import NEVER, Blocks, LoadCost
from npu_mlir.simulator.timing.load_counts import LoadCounts
from npu_mlir.simulator.timing.pipes import CoreClock

Step = Callable[..., int]
"""Takes the scalar time at which an entry is issued, and what it needs beside; returns the time after the issue."""


class CalledTiming(Sink):
    """A call per entry of the functions that `*_step` give."""

    def __init__(self, clock: CoreClock, counts: LoadCounts | None = None):
        self.clock = clock
        self.counts = LoadCounts() if counts is None else counts
        self.pending = 0

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        self.code, self.costs, self.loads = code, blocks.costs, blocks.loads
        self.issue = blocks.target.latencies["issue"]

    def settle(self) -> None:
        if self.pending:
            self.code.line(f"S += {self.pending}")
        self.pending = 0

    def scalar(self, cycles: int) -> None:
        self.pending += cycles

    def now(self) -> str:
        return f"S + {self.pending}" if self.pending else "S"

    def _call(self, step: Step, *arguments: str) -> None:
        self.code.line(f"S = {self.code.bind('t', step)}({', '.join([self.now(), *arguments])})")
        self.pending = 0

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        cost, load = self.costs[entry.op], self.loads.get(entry.op)
        if load is not None:
            slots = entry.slots if self.needs_addresses else ()
            self._call(self.load_step(entry.op, load), entry.first, *slots)
            return
        numbers = (str(cost.occupancy), str(cost.latency), str(cost.head))
        slots = entry.slots if self.needs_addresses else ()
        self._call(self.instruction_step(entry.op), *numbers, *slots)

    def set_flag(self, entry: Entry[npu_isa.SetFlagOp], event: Event) -> None:
        self._call(self.set_step(entry.op), str(event))

    def wait_flag(self, entry: Entry[npu_isa.WaitFlagOp], event: Event) -> None:
        self._call(self.wait_step(entry.op), str(event))

    def barrier(self, entry: Entry[npu_isa.BarrierOp]) -> None:
        self.scalar(self.issue)
        self._call(self.barrier_step(entry.op))

    # ---- what is called

    def instruction_step(self, op: npu_isa.Instruction) -> Step:
        """`(now, occupancy, latency, head)`; then the first bytes of the slots, if the sink needs addresses."""
        return self.clock.read if op.PIPE is Pipe.S else self.clock.pipes[op.PIPE].run

    def load_step(self, op: npu_isa.Instruction, load: LoadCost) -> Step:
        """`(now, first)` of a load that may miss if it is the first; then as `instruction_step`."""
        pipe, add, hit, miss = self.clock.pipes[op.PIPE], self.counts.add, load.hit, load.miss

        def step(now: int, first: bool) -> int:
            if not first:
                return pipe.run(now, *hit)
            if load.ready == NEVER:
                add(op, 1)
                return pipe.run(now, *miss)
            before = pipe.busy
            now, missed = pipe.load(now, load.ready, hit, miss)
            add(op, missed, pipe.busy - before - hit.occupancy)
            return now

        return step

    def set_step(self, op: npu_isa.SetFlagOp) -> Step:
        """`(now, event)`"""
        return _set(self.clock, *op.pipes)

    def wait_step(self, op: npu_isa.WaitFlagOp) -> Step:
        """`(now, event)`"""
        return _wait(self.clock, op)

    def barrier_step(self, op: npu_isa.BarrierOp) -> Step:
        """`(now)`"""
        return self.clock.idle


def _set(clock: CoreClock, src: Pipe, dst: Pipe) -> Step:
    set_flag, flags = clock.pipes[src].set_flag, clock.flags(src, dst)

    def step(now: int, event: int) -> int:
        now, flags[event] = set_flag(now)
        return now

    return step


def _wait(clock: CoreClock, op: npu_isa.WaitFlagOp) -> Step:
    src, dst = op.pipes
    wait_flag = clock.wait if dst is Pipe.S else clock.pipes[dst].wait_flag
    pop = clock.flags(src, dst).pop

    def step(now: int, event: int) -> int:
        raised = pop(event, None)
        if raised is None:
            raise wait_without_set(op, event)
        return wait_flag(now, raised)

    return step
