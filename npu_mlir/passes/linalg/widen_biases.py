"""linalg-widen-biases: add a bias to a product before it is narrowed, where the cube starts from biases.

    %p = linalg.generic ins(%x, %w) ...                       // a matrix product of f16, summed in f32
    %y = linalg.generic ins(%p, %b : f32, f16) ... {
      %0 = arith.truncf %p : f32 to f16
      %1 = arith.addf %0, %b : f16
      ... }
  becomes
    %y = linalg.generic ins(%p, %b : f32, f16) ... {
      %0 = arith.extf %b : f16 to f32
      %1 = arith.addf %p, %0 : f32
      %2 = arith.truncf %1 : f32 to f16
      ... }

Accumulators that start from the bias need no addition (`tile-init-accumulators`), and nothing is left between the
product and what the fixpipe does. With the addition in f16, the vector unit took each result once, at half its lanes
where tiles are narrow.

Leaves alone: products that something else reads as well or in f32 too, what is added along the rows or everywhere (the
vector unit adds that in half the time in f16), biases that do not lie side by side or are computed.
Changes values: a result is rounded once instead of twice.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import Float16Type, Float32Type, ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.structured.epilogues import Bias, bias_of
from npu_mlir.analysis.structured.nest import sums_products


class WidenBiases(ModulePass):
    """Add biases to products before these are narrowed."""

    name = "linalg-widen-biases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for product in [o for o in op.walk() if isinstance(o, GenericOp) and sums_products(o)]:
            bias = bias_of(product, narrowed=True)
            if bias is not None and bias.cast is None and _is_loaded(bias.user.inputs[bias.operand]):
                _widen(bias)


def _is_loaded(value: SSAValue) -> bool:
    """Whether a kernel finds a value in memory: nothing computes it that might be in the same kernel."""
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        value = value.owner.src
    return not isinstance(value.owner, GenericOp)


def _widen(bias: Bias) -> None:
    """Turn `truncf(acc) + b` into `truncf(acc + extf(b))`."""
    addition = cast("arith.AddfOp", bias.addition)
    row = bias.user.body.block.args[bias.operand]
    narrow = cast("arith.TruncFOp", (addition.rhs if addition.lhs is row else addition.lhs).owner)
    wide_type = cast("Float32Type", narrow.input.type)
    wide = arith.ExtFOp(row, wide_type)
    total = arith.AddfOp(narrow.input, wide.result, flags=addition.fastmath)
    result = arith.TruncFOp(total.result, cast("Float16Type", narrow.result.type))
    block = bias.user.body.block
    for op in (wide, total, result):
        op.location = addition.location
        block.insert_op_before(op, addition)
    addition.result.replace_all_uses_with(result.result)
    for op in (addition, narrow):
        op.detach()
        op.erase()
