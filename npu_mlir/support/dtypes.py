"""Element types of the IR as NumPy data types."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    ShapedType,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute

from npu_mlir.support.diagnostics import UserError

_FLOATS: dict[type[Attribute], np.dtype[Any]] = {
    Float16Type: np.dtype(np.float16),
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
    BFloat16Type: np.dtype(ml_dtypes.bfloat16),
    IndexType: np.dtype(np.int64),
}


class NoNumpyType(UserError, TypeError):
    """An element type that NumPy has no data type for."""


@cache
def numpy_dtype(type_: Attribute) -> np.dtype[Any]:
    """NumPy's data type of an element type, or of the elements of a tensor or memref. Signless is signed.

    A `NoNumpyType` for types of which NumPy has no values.
    """
    if isinstance(type_, TensorType | MemRefType):
        type_ = type_.element_type
    if type(type_) in _FLOATS:
        return _FLOATS[type(type_)]
    if isinstance(type_, IntegerType):
        width = type_.width.data
        if width == 1:
            return np.dtype(np.bool_)
        if width in (8, 16, 32, 64):
            sign = "u" if type_.signedness.data == Signedness.UNSIGNED else "i"
            return np.dtype(f"{sign}{width // 8}")
    raise NoNumpyType(f"no NumPy data type for {type_}, so values of it can't be computed")


def static_shape(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor or memref type, () for a scalar."""
    return tuple(type_.get_shape()) if isinstance(type_, ShapedType) else ()
