"""linalg-fold-empty: compute nothing where there are no elements.

    %0 = linalg.generic ... ins(%x : tensor<0x4xf32>) outs(%e : tensor<0x4xf32>) ...         // no results
    %1 = linalg.generic ... ins(%x : tensor<0x4xf32>) outs(%zero : tensor<4xf32>) { addf }   // sums of nothing
    %2 = tensor.pad %x low[2, 0] high[0, 0] { tensor.yield %c } : tensor<0x4xf32> to tensor<2x4xf32>
  becomes
    %0 = tensor.empty() : tensor<0x4xf32>
    %1 = %zero
    %2 = linalg.fill ins(%c) outs(%e : tensor<2x4xf32>)

A result without elements needs no kernel; a reduction over no elements is what it starts from.

Does not handle: dynamic shapes.
"""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.generics import LOCATION, Builder
from npu_mlir.passes.linalg.structure import loop_extents, take_apart
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.locations import located

_COMPUTING = ("linalg.", "tensor.", "arith.", "math.")


class FoldEmpty(ModulePass):
    """Fold operations on tensors without elements."""

    name = "linalg-fold-empty"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in [o for o in op.walk() if o.name.startswith(_COMPUTING)]:
            if inner.parent is not None and not isinstance(inner, tensor.EmptyOp):
                with located(inner):
                    _fold(inner)
        erase_dead_ops(op)


def is_empty(value: SSAValue) -> bool:
    """Whether a value is a tensor without elements."""
    return isinstance(value.type, TensorType) and prod(value.type.get_shape()) == 0


def _fold(op: Operation) -> None:
    block = op.parent
    assert block is not None
    builder = Builder(op.attributes.get(LOCATION))
    results = [_folded(builder, op, at) for at in range(len(op.results))]
    if not results or any(result is None for result in results):
        return
    block.insert_ops_before(builder.ops, op)
    for old, new in zip(op.results, results, strict=True):
        assert new is not None
        old.replace_all_uses_with(new)
    block.erase_op(op)


def _folded(b: Builder, op: Operation, at: int) -> SSAValue | None:
    """What a result is, if it takes no computation."""
    result = op.results[at]
    if is_empty(result):
        return b.empty(shape_of(result), element_of(result))
    if isinstance(op, GenericOp) and any(map(is_empty, op.operands)):
        parts = take_apart(op)
        return parts.init if parts is not None and 0 in loop_extents(parts) else None
    if isinstance(op, tensor.PadOp) and is_empty(op.source):
        last = op.region.block.last_op
        scalar = last.operands[0].owner if last is not None else None
        if isinstance(scalar, arith.ConstantOp):
            return b.fill_with(b.add(scalar.clone()), shape_of(result))
    if isinstance(op, tensor.InsertSliceOp) and is_empty(op.source):
        return op.dest
    return None
