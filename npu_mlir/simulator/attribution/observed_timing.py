"""Time with an observer around the pipes, which explains it."""

from __future__ import annotations

from xdsl.dialects import scf

from npu_mlir.dialects import npu_isa
from npu_mlir.simulator.attribution.observed_steady_state import ObservedRepeats
from npu_mlir.simulator.attribution.observer import Observer
from npu_mlir.simulator.codegen.sink import Repeats
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.program.blocks import NEVER, Blocks, LoadCost, pipes_of
from npu_mlir.simulator.timing.called_timing import CalledTiming, Step
from npu_mlir.simulator.timing.load_counts import LoadCounts


class ObservedTiming(CalledTiming):
    """Calls the observer, which calls the pipes. A recording has every entry: its iterations are not skipped."""

    def __init__(self, observer: Observer, counts: LoadCounts | None = None):
        super().__init__(observer.clock, counts)
        self.observer = observer
        self.needs_addresses = observer.recording is not None
        self.skips = observer.recording is None

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        super().begin(code, blocks)
        self.missing = blocks.missing

    def instruction_step(self, op: npu_isa.Instruction) -> Step:
        return self.observer.instruction(op, op in self.missing)

    def load_step(self, op: npu_isa.Instruction, load: LoadCost) -> Step:
        return self.observer.load(op, load, self.counts)

    def set_step(self, op: npu_isa.SetFlagOp) -> Step:
        return self.observer.set_flag(op)

    def wait_step(self, op: npu_isa.WaitFlagOp) -> Step:
        return self.observer.wait_flag(op)

    def barrier_step(self, op: npu_isa.BarrierOp) -> Step:
        return self.observer.barrier(op)

    def loop(self, op: scf.ForOp) -> Repeats:
        ready = {load.ready for load in self.loads.values() if load.ready != NEVER}
        sums = (self.counts.misses, self.counts.delays)
        return ObservedRepeats(self.observer, pipes_of(op.body.block), sums, sorted(ready))
