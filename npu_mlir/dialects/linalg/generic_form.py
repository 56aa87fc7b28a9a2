"""Named linalg ops as `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ShapedType, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import BroadcastOp, FillOp, GenericOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from npu_mlir.dialects.linalg.special import MapOp, ReduceOp

PARALLEL, REDUCTION = IteratorTypeAttr.parallel(), IteratorTypeAttr.reduction()


def is_named(op: Operation) -> bool:
    """Whether the op is one that `generic_of` knows. A fill is none: it is the init of reductions."""
    if isinstance(op, GenericOp | FillOp):
        return False
    return isinstance(op, LinalgStructuredOperation | BroadcastOp | ReduceOp | MapOp)


def take_body(op: Operation) -> Block:
    """The body of an op that is about to be replaced."""
    return op.regions[0].detach_block(0)


def generic_of(op: Operation, operands: Sequence[SSAValue], body: Block) -> GenericOp:
    """The generic with the meaning of `op`, on the given operands with the given body."""
    if isinstance(op, BroadcastOp):
        rank, added = _rank(op.init), op.dimensions.get_values()
        kept = [d for d in range(rank) if d not in added]
        return _generic(operands, 1, [_dims(rank, kept), _dims(rank)], [PARALLEL] * rank, body)
    if isinstance(op, ReduceOp):
        rank, count, reduced = _rank(op.inputs[0]), len(op.inits), op.dimensions.get_values()
        kept = _dims(rank, [d for d in range(rank) if d not in reduced])
        kinds = [REDUCTION if d in reduced else PARALLEL for d in range(rank)]
        return _generic(operands, count, [_dims(rank)] * count + [kept] * count, kinds, body)
    if isinstance(op, MapOp):
        rank = _rank(op.init)
        return _generic(operands, 1, [_dims(rank)] * len(operands), [PARALLEL] * rank, body)
    structured = cast("LinalgStructuredOperation", op)
    maps = [attr.data for attr in structured.get_indexing_maps().data]
    kinds = structured.get_iterator_types().data
    return _generic(operands, len(structured.outputs), maps, kinds, body)


def _rank(value: SSAValue) -> int:
    return len(cast("ShapedType", value.type).get_shape())


def _dims(rank: int, kept: Sequence[int] | None = None) -> AffineMap:
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(d) for d in (range(rank) if kept is None else kept)))


def _generic(
    operands: Sequence[SSAValue],
    num_outputs: int,
    maps: Sequence[AffineMap],
    kinds: Sequence[IteratorTypeAttr],
    body: Block,
) -> GenericOp:
    split = len(operands) - num_outputs
    return GenericOp(
        operands[:split],
        operands[split:],
        Region(body),
        [AffineMapAttr(map_) for map_ in maps],
        kinds,
        [value.type for value in operands[split:] if isinstance(value.type, TensorType)],
    )
