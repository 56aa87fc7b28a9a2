"""Bringing data to L2 ahead of the launch that reads it."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.tile.kernels import KernelOp


class PrefetchBase(IRDLOperation):
    """What prefetches have at each level: a tensor of known size, brought to L2 in the host function."""

    source = operand_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source)"

    def __init__(self, source: SSAValue):
        super().__init__(operands=[source])

    def verify_(self) -> None:
        around = self.parent_op()
        while around is not None:
            if isinstance(around, KernelOp):
                raise VerifyException("a prefetch stands in the host function, not in a kernel")
            around = around.parent_op()
        type_ = self.source.type
        if not isinstance(type_, TensorType) or not type_.has_static_shape():
            raise VerifyException(f"how many bytes to bring has to be known, not those of {type_}")


@irdl_op_definition
class PrefetchOp(PrefetchBase):
    """Begin to bring a tensor from HBM to L2, and go on at once: a queue of its own takes one prefetch after the other.

    A hint, which changes no value. What L2 has no room for is not kept; what a launch needs earlier it loads itself.

    Example:

    ```mlir
    tile.prefetch %w : tensor<64x32xf16>
    ```
    """

    name = "tile.prefetch"
