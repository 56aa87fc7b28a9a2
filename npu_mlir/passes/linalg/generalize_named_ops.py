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

Beside the ops that xDSL's pass of this name knows, it takes `transpose`, `broadcast` and `reduce`. `linalg.fill` stays,
as the init of reductions.

Does not handle: named ops that xDSL does not have.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, ShapedType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import BroadcastOp, FillOp, GenericOp, ReduceOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.passes.linalg.generics import Map, make_generic


class GeneralizeNamedOps(ModulePass):
    """Turn named linalg ops into `linalg.generic`."""

    name = "linalg-generalize-named-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for named in list(op.walk()):
            new = _generalized(named)
            if new is not None:
                _replace(named, new)


def _generalized(op: Operation) -> GenericOp | None:
    if isinstance(op, GenericOp | FillOp):
        return None
    if isinstance(op, LinalgStructuredOperation):
        maps = [attr.data.results for attr in op.get_indexing_maps().data]
        kinds = [attr.data for attr in op.get_iterator_types().data]
        reductions = [d for d, kind in enumerate(kinds) if kind != IteratorType.PARALLEL]
        return _build(op, maps, len(kinds), reductions)
    if isinstance(op, BroadcastOp):
        rank = _rank(op.init.type)
        added = op.dimensions.get_values()
        return _build(op, [[d for d in range(rank) if d not in added], range(rank)], rank, ())
    if isinstance(op, ReduceOp):
        rank = _rank(op.input.type)
        reduced = op.dimensions.get_values()
        return _build(op, [range(rank), [d for d in range(rank) if d not in reduced]], rank, reduced)
    return None


def _rank(type_: object) -> int:
    assert isinstance(type_, ShapedType)
    return len(type_.get_shape())


def _build(op: Operation, maps: Sequence[Map], num_dims: int, reductions: Sequence[int]) -> GenericOp:
    block = op.regions[0].block
    op.regions[0].detach_block(block)
    return make_generic(op.operands, 1, maps, num_dims, reductions, block)


def _replace(op: Operation, new: GenericOp) -> None:
    block = op.parent
    assert block is not None
    new.location = op.location
    new.attributes.update(op.attributes)
    block.insert_op_before(new, op)
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    block.erase_op(op)
