"""The checks of `hazards.py` as a sink: a call per entry."""

from __future__ import annotations

from npu_mlir.dialects import npu_isa
from npu_mlir.simulator.checks.hazards import KernelChecks
from npu_mlir.simulator.codegen.sink import Entry, Event, Sink
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.program.blocks import Blocks


class HazardSink(Sink):
    """Has the entries of a kernel checked. To stand before time and values: what is wrong is said before it is done."""

    needs_addresses = True

    def __init__(self, checks: KernelChecks):
        self.checks = checks

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        self.code = code

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        self.code.call("c", self.checks.instruction(entry.op, entry.bases), *entry.operands, *entry.slots)

    def set_flag(self, entry: Entry[npu_isa.SetFlagOp], event: Event) -> None:
        self.code.call("c", self.checks.set_flag(entry.op), str(event))

    def wait_flag(self, entry: Entry[npu_isa.WaitFlagOp], event: Event) -> None:
        self.code.call("c", self.checks.wait_flag(entry.op), str(event))

    def barrier(self, entry: Entry[npu_isa.BarrierOp]) -> None:
        self.code.call("c", self.checks.barrier)
