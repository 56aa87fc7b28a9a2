"""Element types of the IR as NumPy data types."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
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

FLOATS: dict[type[Attribute], np.dtype[Any]] = {
    Float16Type: np.dtype(np.float16),
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
    BFloat16Type: np.dtype(ml_dtypes.bfloat16),
    Float8E4M3FNType: np.dtype(ml_dtypes.float8_e4m3fn),
    Float8E4M3FNUZType: np.dtype(ml_dtypes.float8_e4m3fnuz),
    Float8E5M2Type: np.dtype(ml_dtypes.float8_e5m2),
    Float8E5M2FNUZType: np.dtype(ml_dtypes.float8_e5m2fnuz),
    Float8E8M0FNUType: np.dtype(ml_dtypes.float8_e8m0fnu),
    Float4E2M1FNType: np.dtype(ml_dtypes.float4_e2m1fn),
}
"""The float types, each with NumPy's of the same values."""


NARROW_INTEGERS: dict[tuple[int, bool], np.dtype[Any]] = {
    (4, False): np.dtype(ml_dtypes.int4),
    (4, True): np.dtype(ml_dtypes.uint4),
    (2, False): np.dtype(ml_dtypes.int2),
    (2, True): np.dtype(ml_dtypes.uint2),
}
"""By width and whether they have no sign. Arrays of them take a byte an element."""


class NoNumpyType(UserError, TypeError):
    """An element type that NumPy has no data type for."""


@cache
def numpy_dtype(type_: Attribute) -> np.dtype[Any]:
    """NumPy's data type of an element type, or of the elements of a tensor or memref. Signless is signed.

    A `NoNumpyType` for types of which NumPy has no values.
    """
    if isinstance(type_, TensorType | MemRefType):
        type_ = type_.element_type
    if type(type_) in FLOATS:
        return FLOATS[type(type_)]
    if isinstance(type_, IndexType):
        return np.dtype(np.int64)
    if isinstance(type_, IntegerType):
        width = type_.width.data
        if width == 1:
            return np.dtype(np.bool_)
        unsigned = type_.signedness.data == Signedness.UNSIGNED
        if width in (8, 16, 32, 64):
            return np.dtype(f"{'u' if unsigned else 'i'}{width // 8}")
        if (width, unsigned) in NARROW_INTEGERS:
            return NARROW_INTEGERS[width, unsigned]
    raise NoNumpyType(f"no NumPy data type for {type_}, so values of it can't be computed")


def is_narrow_integer(dtype: np.dtype[Any]) -> bool:
    """Whether elements are integers of fewer than 8 bits, which NumPy itself knows nothing of."""
    return dtype in NARROW_INTEGERS.values()


def converted(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The array in another type. Floats become integers of fewer than 8 bits by their low bits, as integers do:
    releases of ml_dtypes differ in that (0.6 wraps, 0.7 makes zeros of what doesn't fit).

    >>> converted(np.array([9.0, -1.5]), NARROW_INTEGERS[4, False]).tolist()
    [-7, -1]
    """
    if is_narrow_integer(dtype) and array.dtype.kind not in "biu":
        array = array.astype(np.int64, copy=False)
    return array.astype(dtype, copy=False)


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether elements are integers of any width; truth values are none."""
    return dtype.kind in "iu" or is_narrow_integer(dtype)


def static_shape(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor or memref type, () for a scalar."""
    return tuple(type_.get_shape()) if isinstance(type_, ShapedType) else ()
