"""Time with an observer around the pipes, which explains it."""

from __future__ import annotations

from xdsl.dialects import scf

from npu_mlir.dialects import npu_isa
from npu_mlir.simulator.attribution.observed_steady_state import ObservedRepeats
from npu_mlir.simulator.attribution.observer import Observer
from npu_mlir.simulator.codegen.sink import Repeats
from npu_mlir.simulator.program.blocks import pipes_of
from npu_mlir.simulator.timing.called_timing import CalledTiming, Step


class ObservedTiming(CalledTiming):
    """Calls the observer, which calls the pipes. A recording has every entry: its iterations are not skipped."""

    def __init__(self, observer: Observer):
        super().__init__(observer.clock)
        self.observer = observer
        self.needs_addresses = observer.recording is not None
        self.skips = observer.recording is None

    def instruction_step(self, op: npu_isa.Instruction) -> Step:
        return self.observer.instruction(op, self.costs[op])

    def set_step(self, op: npu_isa.SetFlagOp) -> Step:
        return self.observer.set_flag(op)

    def wait_step(self, op: npu_isa.WaitFlagOp) -> Step:
        return self.observer.wait_flag(op)

    def barrier_step(self, op: npu_isa.BarrierOp) -> Step:
        return self.observer.barrier(op)

    def loop(self, op: scf.ForOp) -> Repeats:
        return ObservedRepeats(self.observer, pipes_of(op.body.block))
