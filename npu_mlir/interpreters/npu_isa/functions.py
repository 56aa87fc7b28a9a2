"""What the kinds of vector instructions compute, on arrays of the type in which they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npu_mlir.dialects.tile import Offset, Relu, Scale, Scales, Step

Function = Callable[..., Any]

F32 = np.dtype(np.float32)


def compute_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which elements of `dtype` are computed: f32 for floats of at most 16 bits, which are rounded once."""
    return F32 if dtype.itemsize <= 2 and dtype.kind in "fV" else dtype


def _divide(a: Any, b: Any) -> Any:
    """Floats divide, integers truncate towards zero (and give 0 for a division by zero)."""
    if a.dtype.kind not in "iu":
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0)) & (b != 0)).astype(a.dtype)


def _invert(a: Any) -> Any:
    return np.logical_not(a) if a.dtype == np.bool_ else np.invert(a)


UNARY: dict[str, Function] = {
    "copy": np.positive,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "neg": np.negative,
    "relu": lambda a: np.maximum(a, a.dtype.type(0)),
    "not": _invert,
    "rint": np.rint,
}

BINARY: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}

COMPARE: dict[str, np.ufunc] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

REDUCE: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def epilogue(
    values: np.ndarray,
    steps: Sequence[Step],
    result: np.dtype[Any],
    scales: np.ndarray | None = None,
) -> np.ndarray:
    """Accumulators after these steps of the fixpipe, as numbers that a cast makes elements of type `result`: integers
    are rounded and limited. `scales` broadcast to the accumulators."""
    offset, scaled = 0, False
    for step in steps:
        match step:
            case Scale(factor):
                values, scaled = values.astype(F32) * F32.type(factor), True
            case Scales():
                assert scales is not None
                values, scaled = values.astype(F32) * scales, True
            case Relu():
                values = UNARY["relu"](values)
            case Offset(number):
                offset = number
    if scaled and result.kind == "i":
        limits = np.iinfo(result)
        return np.clip(np.rint(values) + F32.type(offset), limits.min, limits.max)
    return values


def rounded(value: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The nearest integers that the type has, the even one of two."""
    limits = np.iinfo(dtype)
    return np.rint(np.clip(value.astype(compute_type(value.dtype)), limits.min, limits.max)).astype(dtype)


def convert(value: np.ndarray, dtype: np.dtype[Any], unsigned: bool) -> np.ndarray:
    """The cast: floats to nearest even, to integers towards zero; a true i1 is -1, or 1 if `unsigned`."""
    if value.dtype == np.bool_:
        number = value.astype(np.int8)
        return (number if unsigned else -number).astype(dtype)
    if dtype == np.bool_:
        return value.astype(np.int64) & 1 != 0
    if unsigned and value.dtype.kind == "i":
        value = value.view(f"u{value.dtype.itemsize}")
    return value.astype(dtype)
