"""Reshapes as at most one collapse and one expand: which dims go together, and what can be seen through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    i64,
)
from xdsl.ir import SSAValue

from npu_mlir.passes.linalg.tensor_types import Shape, shape_of


def without_units(shape: Shape) -> Shape:
    """The shape without dims of size 1."""
    return tuple(n for n in shape if n != 1)


def seen_through(value: SSAValue, shape: Shape) -> SSAValue:
    """The earliest value that `value` is a reshape of and that differs from `shape` by unit dims at most."""
    best = value
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        value = value.owner.operands[0]
        if without_units(shape_of(value)) == without_units(shape):
            best = value
    return best


def reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[Any]:
    """The groups of dims as `tensor.collapse_shape` and `tensor.expand_shape` have them."""
    return ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in group]) for group in groups])
