"""The queue that brings data from HBM to L2."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def

from npu_mlir.dialects.tile.prefetch import check_prefetch


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """HBM -> L2, in the host function, by a queue that belongs to no core: begins when the launches before are over and
    the prefetches before are complete. Nothing waits for it but loads that are the faster for it.

    Example:

    ```mlir
    npu_isa.prefetch %w : tensor<64x32xf16>
    ```
    """

    name = "npu_isa.prefetch"
    source = operand_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue):
        super().__init__(operands=[source])

    def verify_(self) -> None:
        check_prefetch(self)
