"""A pass that raises an exception when the instructions are there."""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.dialects.npu_isa import Instruction


class LateCrash(ModulePass):
    """Look for an operand that no instruction has."""

    name = "late-crash"
    runs_after: ClassVar[str] = "convert-tile-to-npu-isa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for instruction in op.walk():
            if isinstance(instruction, Instruction):
                instruction.operands[7]
