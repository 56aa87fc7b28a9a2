"""Rows of a table taken by indices: what a `linalg.generic` with a `tensor.extract` in its body may be.

%y = linalg.generic {maps = [(d0, d1, d2) -> (d1), (d0, d1, d2) -> (d0, d1, d2)]} ins(%indices) outs(%init) {
^bb0(%i: i64, %out: f32):
  %neg = arith.cmpi slt, %i, %c0                                RowGather(%table, %indices, axis 1)
  %end = arith.addi %i, %c50
  %row = arith.select %neg, %end, %i
  %at = arith.index_cast %row : i64 to index
  %d0 = linalg.index 0
  %d2 = linalg.index 2
  %v = tensor.extract %table[%d0, %at, %d2] : tensor<3x50x8xf32>
  linalg.yield %v
}

Does not handle: indices that are computed in the body, or that have more dims than one; a table that is read at
constant places, or whose dims are not those of the result in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from npu_mlir.analysis.structured.bodies import yielded
from npu_mlir.analysis.structured.nest import is_indirect, is_reduction, maps_of


@dataclass(frozen=True)
class RowGather:
    """`result[..., i, ...] = table[..., indices[i], ...]`, the index and `i` at position `axis`. A single index may
    have no dims."""

    table: SSAValue
    indices: SSAValue
    axis: int


def row_gather(op: GenericOp) -> RowGather | None:
    """The rows that an operation takes, None if it is anything else. Negative indices count from the end."""
    maps = maps_of(op)
    if len(op.inputs) != 1 or len(op.outputs) != 1 or any(is_reduction(op)):
        return None
    rank, value = maps[0].num_dims, yielded(op.body.block)
    extract = value.owner if value is not None else None
    if maps[1] != AffineMap.identity(rank) or not isinstance(extract, tensor.ExtractOp):
        return None
    axis = next((d for d, v in enumerate(extract.indices) if isinstance(v.owner, arith.IndexCastOp)), None)
    if axis is None or len(extract.indices) != rank:
        return None
    own = _shape(op.results[0])
    if maps[0].results != (AffineDimExpr(axis),) and (maps[0].results or own[axis] != 1):
        return None
    table = extract.tensor
    if not isinstance(table.type, TensorType) or op.body.block in (table.owner, table.owner.parent):
        return None
    for d, index in enumerate(extract.indices):
        if d != axis and not (isinstance(index.owner, IndexOp) and index.owner.dim.value.data == d):
            return None
    shape = table.type.get_shape()
    if [n for d, n in enumerate(shape) if d != axis] != [n for d, n in enumerate(own) if d != axis]:
        return None
    if not _counts_from_end(extract.indices[axis], op.body.block.args[0], shape[axis]):
        return None
    return RowGather(table, op.inputs[0], axis)


def rows_of(value: SSAValue) -> RowGather | None:
    """The rows that a value is, None if it is anything else."""
    owner = value.owner
    return row_gather(owner) if isinstance(owner, GenericOp) and is_indirect(owner) else None


def _counts_from_end(position: SSAValue, index: SSAValue, extent: int) -> bool:
    """Whether a position is an index of either sign, counted from the start of so many positions."""
    if not isinstance(position.owner, arith.IndexCastOp):
        return False
    chosen = position.owner.input.owner
    if not isinstance(chosen, arith.SelectOp) or chosen.rhs is not index:
        return False
    negative, moved = chosen.cond.owner, chosen.lhs.owner
    return (
        isinstance(negative, arith.CmpiOp)
        and negative.predicate.value.data == _SIGNED_LESS
        and negative.lhs is index
        and _number(negative.rhs) == 0
        and isinstance(moved, arith.AddiOp)
        and moved.lhs is index
        and _number(moved.rhs) == extent
    )


_SIGNED_LESS = 2
"""The predicate `slt`."""


def _number(value: SSAValue) -> int | None:
    attr = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _shape(value: SSAValue) -> tuple[int, ...]:
    type_ = value.type
    assert isinstance(type_, TensorType)
    shaped: TensorType[Attribute] = type_
    return shaped.get_shape()
