"""arith: scalars, and element by element arrays (the body of a `linalg.generic` runs on whole arrays).

Floating point of 16 bits is computed in f32 and rounded once per operation. Integers wrap around.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Step, elementwise, prepare
from npu_mlir.ir.constants import dense_array
from npu_mlir.support.dtypes import converted, is_narrow_integer, numpy_dtype

Function = Callable[..., Any]


def narrow(type_: Attribute) -> bool:
    """Whether values of the type are computed in f32."""
    return numpy_dtype(type_).itemsize < 4


def convert(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value in another type, rounded to nearest even or towards zero (to integers)."""
    return dtype.type(value) if isinstance(value, int) else value.astype(dtype)


def rounded(ufunc: Function, dtype: np.dtype[Any]) -> Function:
    """The function computed in f32 and rounded to `dtype`."""
    single = np.dtype(np.float32)
    return lambda *args: ufunc(*[convert(a, single) for a in args]).astype(dtype)


def float_function(ufunc: Function) -> Callable[[Any], Function]:
    """What makes the meaning of a floating-point operation out of a NumPy function."""

    def make(op: Any) -> Function:
        type_ = op.results[0].type
        return rounded(ufunc, numpy_dtype(type_)) if narrow(type_) else ufunc

    return make


for _name, _ufunc in {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "negf": np.negative,
}.items():
    elementwise(f"arith.{_name}")(float_function(_ufunc))


def constant_value(attr: Attribute) -> Any:
    """The value of a constant: an array, a NumPy scalar (float) or an integer."""
    if isinstance(attr, DenseIntOrFPElementsAttr):
        return dense_array(attr)
    if isinstance(attr, FloatAttr):
        return numpy_dtype(attr.type).type(attr.value.data)
    if isinstance(attr, IntegerAttr):
        return attr.value.data & 1 if _is_i1(attr.type) else attr.value.data
    raise TypeError(f"no value for the constant {attr}")


@prepare("arith.constant")
def constant(interp: Interpreter, op: Any) -> Step:
    if isinstance(op.value, DenseResourceAttr):
        from npu_mlir.ir.weights import weights_of

        store = weights_of(interp.module) if interp.weights is None else interp.weights
        value = store.get(op.value.resource_handle.data)
    else:
        value = constant_value(op.value)
    return lambda args: (value,)


def _first(a: Any, b: Any) -> Any:
    return a


def _neither(a: Any, b: Any) -> Any:
    return a ^ a


_I1: dict[str, Function] = {
    "addi": operator.xor,
    "subi": operator.xor,
    "muli": operator.and_,
    "maxsi": operator.and_,
    "minsi": operator.or_,
    "maxui": operator.or_,
    "minui": operator.and_,
    # What is left are divisors of true and shifts by false; anything else is undefined.
    **dict.fromkeys(
        ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "shli", "shrsi", "shrui"), _first
    ),
    **dict.fromkeys(("remsi", "remui"), _neither),
}
"""The integers of one bit: arithmetic modulo 2, in which true is -1 where it has a sign."""

_I1_SIGNED: dict[Function, Function] = {
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}


def _is_i1(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType) and type_.width.data == 1


def wrapping(function: Function) -> Callable[[Any], Function]:
    """What makes the meaning of an integer operation that may overflow; arrays wrap on their own."""

    def make(op: Any) -> Function:
        type_ = op.results[0].type
        if not isinstance(type_, IntegerType):
            return function
        if _is_i1(type_) and op.name.removeprefix("arith.") in _I1:
            return _I1[op.name.removeprefix("arith.")]
        width = type_.width.data

        def wrapped(*args: Any) -> Any:
            value = function(*args)
            return wrap(value, width) if isinstance(value, int) else value

        return wrapped

    return make


def wrap(value: int, width: int) -> int:
    """The value as a signed integer of `width` bits (i1: 0 or 1)."""
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def _divsi(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a // b + ((a % b != 0) & ((a < 0) ^ (b < 0)))


def _remsi(a: Any, b: Any) -> Any:
    return a - _divsi(a, b) * b


def _select_minmax(ufunc: Function, scalar: Function) -> Function:
    return lambda a, b: scalar(a, b) if isinstance(a, int) and isinstance(b, int) else ufunc(a, b)


for _name, _function in {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "divsi": _divsi,
    "floordivsi": operator.floordiv,
    "ceildivsi": lambda a, b: -(-a // b),
    "remsi": _remsi,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "shli": operator.lshift,
    "shrsi": operator.rshift,
    "maxsi": _select_minmax(np.maximum, max),
    "minsi": _select_minmax(np.minimum, min),
}.items():
    elementwise(f"arith.{_name}")(wrapping(_function))


def unsigned(function: Function) -> Callable[[Any], Function]:
    """What makes the meaning of an operation that reads its integer operands as unsigned."""

    def make(op: Any) -> Function:
        width = bit_width(op.operands[0].type)
        result = numpy_dtype(op.results[0].type)
        if _is_i1(op.results[0].type):
            return _I1[op.name.removeprefix("arith.")]

        def run(*args: Any) -> Any:
            value = function(*[as_unsigned(a, width) for a in args])
            return wrap(value, width) if isinstance(value, int) else value.astype(result)

        return run

    return make


def bit_width(type_: Attribute) -> int:
    """Bits of an integer type; 64 for `index`."""
    return type_.width.data if isinstance(type_, IntegerType) else 64


def as_unsigned(value: Any, width: int) -> Any:
    """The same bits read as an unsigned integer."""
    if isinstance(value, int):
        return value & ((1 << width) - 1)
    return value if value.dtype == np.bool_ else value.astype(f"u{value.dtype.itemsize}")


for _name, _function in {
    "divui": operator.floordiv,
    "remui": operator.mod,
    "ceildivui": lambda a, b: (a + b - 1) // b,
    "maxui": _select_minmax(np.maximum, max),
    "minui": _select_minmax(np.minimum, min),
    "shrui": operator.rshift,
}.items():
    elementwise(f"arith.{_name}")(unsigned(_function))

_SIGNED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
_UNSIGNED = [operator.lt, operator.le, operator.gt, operator.ge]


@elementwise("arith.cmpi")
def cmpi(op: Any) -> Function:
    predicate = op.predicate.value.data
    if predicate < len(_SIGNED):
        signed: Function = _SIGNED[predicate]
        return _I1_SIGNED.get(signed, signed) if _is_i1(op.operands[0].type) else signed
    function, width = _UNSIGNED[predicate - len(_SIGNED)], bit_width(op.operands[0].type)
    return lambda a, b: function(as_unsigned(a, width), as_unsigned(b, width))


def _unordered(a: Any, b: Any) -> Any:
    return np.isnan(a) | np.isnan(b)


_CMPF: list[Function] = [
    lambda a, b: np.zeros(np.broadcast(a, b).shape, np.bool_)[()],
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    lambda a, b: np.less(a, b) | np.greater(a, b),
    lambda a, b: ~_unordered(a, b),
    lambda a, b: np.equal(a, b) | _unordered(a, b),
    lambda a, b: ~np.less_equal(a, b),
    lambda a, b: ~np.less(a, b),
    lambda a, b: ~np.greater_equal(a, b),
    lambda a, b: ~np.greater(a, b),
    np.not_equal,
    _unordered,
    lambda a, b: np.ones(np.broadcast(a, b).shape, np.bool_)[()],
]


@elementwise("arith.cmpf")
def cmpf(op: Any) -> Function:
    return _CMPF[op.predicate.value.data]


@elementwise("arith.select")
def select(op: Any) -> Function:
    def run(condition: Any, a: Any, b: Any) -> Any:
        if isinstance(condition, np.ndarray):
            return np.where(condition, a, b)
        return a if condition else b

    return run


@elementwise("arith.extf", "arith.truncf", "arith.fptosi", "arith.sitofp", "arith.index_cast")
def cast(op: Any) -> Function:
    dtype = numpy_dtype(op.results[0].type)
    if numpy_dtype(op.operands[0].type) == np.bool_:
        return lambda value: -convert(value, dtype)
    if dtype == np.bool_:
        return lambda value: convert(value, np.dtype(np.int64)) & 1 != 0
    if is_narrow_integer(dtype):
        return lambda value: converted(np.asarray(value), dtype)[()]
    return lambda value: convert(value, dtype)


@elementwise("arith.fptoui")
def fptoui(op: Any) -> Function:
    dtype = numpy_dtype(op.results[0].type)
    if dtype == np.bool_:
        return cast(op)
    return lambda value: np.asarray(value).astype(f"u{dtype.itemsize}").astype(dtype)[()]


@elementwise("arith.extsi")
def extsi(op: Any) -> Function:
    dtype = numpy_dtype(op.results[0].type)
    if numpy_dtype(op.operands[0].type) == np.bool_:
        return lambda value: -convert(value, dtype)
    return lambda value: convert(value, dtype)


@elementwise("arith.trunci")
def trunci(op: Any) -> Function:
    width, dtype = bit_width(op.results[0].type), numpy_dtype(op.results[0].type)

    def run(value: Any) -> Any:
        if isinstance(value, int):
            return wrap(value, width)
        return value & 1 != 0 if width == 1 else value.astype(dtype)

    return run


@elementwise("arith.extui", "arith.uitofp", "arith.index_castui")
def from_unsigned(op: Any) -> Function:
    width, dtype = bit_width(op.operands[0].type), numpy_dtype(op.results[0].type)
    return lambda value: convert(as_unsigned(value, width), dtype)


@elementwise("arith.bitcast")
def bitcast(op: Any) -> Function:
    source, dtype = numpy_dtype(op.operands[0].type), numpy_dtype(op.results[0].type)
    return lambda value: np.asarray(value, source).view(dtype)[()]
