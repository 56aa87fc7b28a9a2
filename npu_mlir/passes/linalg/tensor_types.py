"""Types of tensors and lists of numbers, each built once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

Shape = tuple[int, ...]


@cache
def tensor_type(element: Attribute, shape: Shape) -> TensorType[Attribute]:
    """The tensor type, built once."""
    return TensorType(element, shape)


@cache
def ints(values: Sequence[int]) -> DenseArrayBase[Any]:
    """A list of i64, built once."""
    return DenseArrayBase.from_list(i64, values)


@cache
def segments(*sizes: int) -> DenseArrayBase[Any]:
    """The operand segment sizes of an operation."""
    return DenseArrayBase.from_list(i32, sizes)


def shape_of(value: SSAValue) -> Shape:
    """The shape of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type
