"""Pads, slices and reshapes in front of an operand that become part of its load.

    %p = tensor.pad %x low[0, 1] high[0, 1] {0.0}       // 1x8 to 1x10
    %v = tensor.collapse_shape %p [[0, 1]]              // to 10
    ... = linalg.generic ins(%v)                        // loads %x with the map (d0) -> (0, d0 - 1) and padding 0.0

Reshapes that only drop or add dims of size 1 are followed where a pad or slice lies behind them; others, and those of
whole values, stay in the host function: the same bytes under another shape. So does a slice that is a part of a tensor
in place.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import Linear, affine_expression
from npu_mlir.analysis.placed_parts import is_in_place
from npu_mlir.analysis.reshapes import kept_dims, reassociation_groups
from npu_mlir.support.diagnostics import UserError

Coordinates = list[Linear]
"""Of a value's dims, over the dims of the tile that is loaded."""


def fold_into_load(value: SSAValue) -> tuple[SSAValue, AffineMap, Attribute | None]:
    """What a load reads in place of `value`: (the value behind its pads and slices, the map from tile dims to its
    coordinates, the padding).

    A pad or slice that can't be followed is a `UserError`.
    """
    rank = len(_shape(value))
    coordinates = [Linear(tuple(int(i == d) for i in range(rank)), 0) for d in range(rank)]
    found = value, coordinates
    pad: Attribute | None = None
    while True:
        op = value.owner
        if isinstance(op, tensor.PadOp):
            constant = _pad_value(op)
            if constant is None or pad is not None:
                break
            pad = constant
            lows = op.static_low.iter_values()
            coordinates = [_scaled(c, 1, -low) for c, low in zip(coordinates, lows, strict=True)]
        elif is_in_place(op):
            break
        elif isinstance(op, tensor.ExtractSliceOp):
            if pad is not None or not _keeps_rank(op):
                break
            places = zip(op.static_offsets.iter_values(), op.static_strides.iter_values(), strict=True)
            coordinates = [
                _scaled(c, step, start) for c, (start, step) in zip(coordinates, places, strict=True)
            ]
        elif isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            behind = _through_reshape(op, coordinates)
            if behind is None:
                break
            coordinates = behind
        else:
            break
        value = op.operands[0]
        if isinstance(op, tensor.PadOp | tensor.ExtractSliceOp):
            found = value, coordinates
    source, coordinates = found
    op = source.owner
    if isinstance(op, tensor.PadOp | tensor.ExtractSliceOp) and not is_in_place(op):
        raise UserError(f"'{op.name}' behind another pad or slice cannot become part of a load", loc=op)
    return source, AffineMap(rank, 0, tuple(affine_expression(c) for c in coordinates)), pad


def _pad_value(op: tensor.PadOp) -> Attribute | None:
    """The constant that a pad fills in, None if it is none."""
    last = op.region.block.last_op
    assert last is not None
    source = last.operands[0].owner
    return source.value if isinstance(source, arith.ConstantOp) else None


def _keeps_rank(op: tensor.ExtractSliceOp) -> bool:
    """Whether a slice is static and drops no dims."""
    static = not (op.offsets or op.sizes or op.strides)
    return static and len(_shape(op.source)) == len(_shape(op.result))


def _through_reshape(
    op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, coordinates: Coordinates
) -> Coordinates | None:
    """The coordinates in the operand of a reshape, None if it does more than to drop or add dims of size 1."""
    collapses = isinstance(op, tensor.CollapseShapeOp)
    wide = _shape(op.operands[0] if collapses else op.results[0])
    kept = kept_dims(wide, reassociation_groups(op))
    if kept is None:
        return None
    if not collapses:
        return [coordinates[d] for d in kept]
    behind = [Linear((), 0)] * len(wide)
    for d, coordinate in zip(kept, coordinates, strict=True):
        behind[d] = coordinate
    return behind


def _scaled(value: Linear, factor: int, shift: int) -> Linear:
    return Linear(tuple(factor * c for c in value.coefficients), factor * value.constant + shift)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("TensorType[Attribute]", value.type).get_shape()
