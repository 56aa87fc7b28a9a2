"""linalg-generalize-named-ops: say named linalg ops as `linalg.generic`.

    %0 = linalg.matmul ins(%x, %y : tensor<4x8xf16>, tensor<8x2xf16>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
  becomes
    %0 = linalg.generic {indexing_maps = [(d0, d1, d2) -> (d0, d2), (d0, d1, d2) -> (d2, d1),
                         (d0, d1, d2) -> (d0, d1)], iterator_types = ["parallel", "parallel", "reduction"]} ... {
    ^bb0(%a: f16, %b: f16, %c: f32):
      %a32 = arith.extf %a : f16 to f32
      %b32 = arith.extf %b : f16 to f32
      %p = arith.mulf %a32, %b32 : f32
      %s = arith.addf %p, %c : f32
      linalg.yield %s : f32
    }

`linalg.fill` stays, as the init of reductions. `linalg.softmax` becomes four operations: maximum, exponentials, sum and
quotient. `linalg.pack` becomes a pad, a `tensor.expand_shape` and a transposition, `linalg.unpack` a transposition, a
`tensor.collapse_shape` and a slice.

Does not handle: named ops that our dialect lacks (Winograd transforms), padding values of `linalg.pack` that are not
constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.linalg import PackOp, SoftmaxOp, UnPackOp
from npu_mlir.dialects.linalg.generic_form import generic_of, is_named, take_body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.graph_lowering.registry import apply_rows
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.accuracy import add_formulas
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located


class GeneralizeNamedOps(ModulePass):
    """Turn named linalg ops into `linalg.generic`."""

    name = "linalg-generalize-named-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for named in list(op.walk()):
            with located(named):
                builder = Builder()
                if isinstance(named, SoftmaxOp):
                    apply_rows(builder, named, "softmax", named.input, axis=named.dimension.value.data)
                    add_formulas(op, builder.formulas)
                    _replace(named, builder.ops)
                elif isinstance(named, PackOp):
                    _replace_by(named, builder, _packed(builder, named))
                elif isinstance(named, UnPackOp):
                    _replace_by(named, builder, _unpacked(builder, named))
                elif is_named(named):
                    _replace(named, [generic_of(named, named.operands, take_body(named))])


def _packed(b: Builder, op: PackOp) -> SSAValue:
    packing, value = op.packing, op.source
    if packing.padded != packing.shape:
        fill = cast("SSAValue", op.padding_value).owner
        if not isinstance(fill, ConstantOp) or not isinstance(fill.value, FloatAttr | IntegerAttr):
            raise UserError("the padding value of linalg.pack has to be a constant", loc=op)
        high = [m - n for n, m in zip(packing.shape, packing.padded, strict=True)]
        value = b.pad(value, [0] * len(high), high, fill.value.value.data)
    return _transposed(b, b.reshape(value, packing.split), packing.permutation)


def _unpacked(b: Builder, op: UnPackOp) -> SSAValue:
    packing = op.packing
    inverse = [packing.permutation.index(d) for d in range(len(packing.permutation))]
    padded = b.reshape(_transposed(b, op.source, inverse), packing.padded)
    return b.slice(padded, [(0, n) for n in packing.shape])


def _transposed(b: Builder, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
    shape = tuple(shape_of(value)[d] for d in permutation)
    place = [permutation.index(d) for d in range(len(permutation))]
    return b.map([value], [place], shape, element_of(value), lambda body, x: x)


def _replace_by(op: Operation, builder: Builder, result: SSAValue) -> None:
    """Put what a builder made in place of `op`."""
    block = op.parent
    assert block is not None
    block.insert_ops_before(builder.ops, op)
    op.results[0].replace_all_uses_with(result)
    block.erase_op(op)


def _replace(op: Operation, new: Sequence[Operation]) -> None:
    """Put `new` in place of `op`; the last one has the results."""
    block = op.parent
    assert block is not None
    for part in new:
        part.attributes.update(
            {k: v for k, v in op.attributes.items() if k != "linalg.memoized_indexing_maps"}
        )
        block.insert_op_before(part, op)
    for old, result in zip(op.results, new[-1].results, strict=True):
        old.replace_all_uses_with(result)
    block.erase_op(op)
