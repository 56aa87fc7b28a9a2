"""math: on scalars and, element by element, on arrays; 16-bit floats are computed in f32 and rounded once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from npu_mlir.interpreters.arith import Function, convert, float_function, wrapping
from npu_mlir.interpreters.registry import elementwise

_erf = np.frompyfunc(math.erf, 1, 1)


def erf(x: Any) -> Any:
    """The error function, in double precision and rounded to the type of `x`."""
    return np.asarray(_erf(x), np.float64).astype(x.dtype)[()]


def round_half_away(x: Any) -> Any:
    """Nearest integer, halves away from zero."""
    size = np.abs(x)
    whole = np.trunc(size)
    # The fraction is exact, unlike a sum with 0.5.
    return np.copysign(whole + (size - whole >= 0.5), x).astype(x.dtype)


for _name, _function in {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.divide(x.dtype.type(1), np.sqrt(x)),
    "cbrt": np.cbrt,
    "absf": np.abs,
    "tanh": np.tanh,
    "erf": erf,
    "powf": np.power,
    "fpowi": lambda x, n: np.power(x, convert(n, x.dtype)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": round_half_away,
    "roundeven": np.rint,
    "copysign": np.copysign,
    "fma": lambda a, b, c: a * b + c,
}.items():
    elementwise(f"math.{_name}")(float_function(_function))


@elementwise("math.absi")
def absi(op: Any) -> Function:
    return wrapping(abs)(op)


@elementwise("math.ipowi")
def ipowi(op: Any) -> Function:
    return wrapping(lambda a, b: a**b)(op)
