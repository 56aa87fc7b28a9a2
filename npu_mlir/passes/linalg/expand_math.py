"""linalg-expand-math: say in basic scalar operations what a vector unit has no instruction for.

    %y = math.tanh %x : f32
  becomes
    %two = arith.constant 2.0 : f32
    %one = arith.constant 1.0 : f32
    %d = arith.mulf %x, %two : f32
    %e = math.exp %d : f32
    %s = arith.addf %e, %one : f32
    %q = arith.divf %two, %s : f32
    %y = arith.subf %one, %q : f32

Left are arith, and `math.exp`, `log`, `sqrt`, `absf`. Expanded are tanh, erf, rsqrt, powf, exp2, expm1, log2, log10,
log1p, floor, ceil, trunc, round, roundeven, fma, absi. Narrow floats are computed in f32 in between. None of the forms makes a NaN of
an infinity that the function maps to a number.

Does not handle: powers whose exponent is not a constant (the sign of the result depends on it), trigonometric and
rounding functions other than the above; they stay as they are.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp, f32, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.passes.linalg.generics import (
    LOCATION,
    bit_width,
    cast_op,
    compare_op,
    scalar_attr,
    scalar_op,
)

_WHOLE = {32: (float(1 << 23), i32), 64: (float(1 << 52), i64)}
"""By the width of a float: from here on it is a whole number, and an integer type for those below."""


class ExpandMath(ModulePass):
    """Expand functions that a vector unit lacks."""

    name = "linalg-expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for math_op in [o for o in op.walk() if type(o) in _EXPANSIONS]:
            if isinstance(math_op.results[0].type, AnyFloat) or isinstance(math_op, math.AbsIOp):
                _expand(math_op)


class _Code:
    """Scalar operations under construction."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []
        self._constants: dict[Attribute, SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def apply(self, name: str, *operands: SSAValue | float) -> SSAValue:
        """A function on values of one type, of which numbers become constants."""
        type_ = next(v.type for v in operands if isinstance(v, SSAValue))
        values = [v if isinstance(v, SSAValue) else self.constant(v, type_) for v in operands]
        return self.add(scalar_op(name, values))

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A constant; equal ones are made once."""
        attr = scalar_attr(value, type_)
        if attr not in self._constants:
            op = arith.ConstantOp.create(result_types=[type_], properties={"value": attr})
            self._constants[attr] = self.add(op)
        return self._constants[attr]

    def select_less(self, a: SSAValue, b: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`a < b ? yes : no`."""
        condition = self.add(compare_op("lt", a, b))
        return self.add(arith.SelectOp.create(operands=[condition, yes, no], result_types=[yes.type]))

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        return value if value.type == type_ else self.add(cast_op(value, type_))


Expansion = Callable[..., "SSAValue | None"]
"""Called with the code and the operands; returns the result, None to leave the op alone."""


def _expand(op: Operation) -> None:
    code, type_ = _Code(), op.results[0].type
    wide = f32 if isinstance(type_, AnyFloat) and bit_width(type_) < 32 else type_
    result = _EXPANSIONS[type(op)](code, *[code.cast(v, wide) for v in op.operands])
    if result is None:
        return
    result = code.cast(result, type_)
    block = op.parent
    assert block is not None
    for new in code.ops:
        new.location = op.location
        if LOCATION in op.attributes:
            new.attributes[LOCATION] = op.attributes[LOCATION]
    block.insert_ops_before(code.ops, op)
    op.results[0].replace_all_uses_with(result)
    block.erase_op(op)


def _tanh(code: _Code, x: SSAValue) -> SSAValue:
    """`1 - 2 / (exp(2x) + 1)`: within 3e-7 absolutely; 1 where the exponential is infinite."""
    power = code.apply("exp", code.apply("mul", x, 2))
    return code.apply("sub", 1, code.apply("div", 2, code.apply("add", power, 1)))


_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def _erf(code: _Code, x: SSAValue) -> SSAValue:
    """Abramowitz and Stegun, formula 7.1.26: for positive x, `1 - p(t) exp(-x * x)` with
    `t = 1 / (1 + 0.3275911 x)` and a polynomial p; negated for negative x. The formula is within 1.5e-7, with the
    rounding of f32 within 5e-7."""
    positive = code.apply("abs", x)
    t = code.apply("div", 1, code.apply("add", code.apply("mul", positive, 0.3275911), 1))
    polynomial = code.apply("mul", t, _ERF[-1])
    for coefficient in reversed(_ERF[:-1]):
        polynomial = code.apply("mul", code.apply("add", polynomial, coefficient), t)
    power = code.apply("exp", code.apply("neg", code.apply("mul", x, x)))
    value = code.apply("sub", 1, code.apply("mul", polynomial, power))
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", value), value)


def _rsqrt(code: _Code, x: SSAValue) -> SSAValue:
    return code.apply("div", 1, code.apply("sqrt", x))


def _powf(code: _Code, x: SSAValue, y: SSAValue) -> SSAValue | None:
    """Products for small whole exponents, square roots for halves, `exp(y * log(x))` for other constants."""
    exponent = _constant(y)
    if exponent is None:
        return None
    whole, half = python_math.modf(2 * abs(exponent))[0] == 0, python_math.modf(exponent)[0] != 0
    if not whole or abs(exponent) > 16:
        if exponent == int(exponent):
            return None
        return code.apply("exp", code.apply("mul", code.apply("log", x), exponent))
    result = _product(code, x, int(abs(exponent)))
    if half:
        root = code.apply("sqrt", x)
        result = root if result is None else code.apply("mul", result, root)
    if result is None:
        return code.constant(1, x.type)
    return code.apply("div", 1, result) if exponent < 0 else result


def _constant(value: SSAValue) -> float | None:
    """The number, also behind the widening of a constant."""
    owner = value.owner
    if isinstance(owner, arith.ExtFOp):
        owner = owner.input.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr):
        return owner.value.value.data
    return None


def _product(code: _Code, x: SSAValue, count: int) -> SSAValue | None:
    """`x` to a whole power by repeated squaring, None for 0."""
    result: SSAValue | None = None
    while count:
        if count & 1:
            result = x if result is None else code.apply("mul", result, x)
        count >>= 1
        if count:
            x = code.apply("mul", x, x)
    return result


def _floor(code: _Code, x: SSAValue) -> SSAValue:
    """Truncated, one less where that is above x."""
    truncated = _trunc(code, x)
    return code.select_less(x, truncated, code.apply("sub", truncated, 1), truncated)


def _trunc(code: _Code, x: SSAValue) -> SSAValue:
    """To an integer and back; x itself where it is large and thereby whole."""
    whole, integer = _WHOLE[bit_width(x.type)]
    truncated = code.cast(code.cast(x, integer), x.type)
    return code.select_less(code.apply("abs", x), code.constant(whole, x.type), truncated, x)


def _round(code: _Code, x: SSAValue) -> SSAValue:
    """Halves away from zero: the fraction is exact, unlike `x + 0.5`."""
    size = code.apply("abs", x)
    whole = _trunc(code, size)
    fraction = code.apply("sub", size, whole)
    up = code.apply("add", whole, 1)
    rounded = code.select_less(fraction, code.constant(0.5, x.type), whole, up)
    rounded = code.select_less(size, code.constant(_WHOLE[bit_width(x.type)][0], x.type), rounded, size)
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", rounded), rounded)


def _roundeven(code: _Code, x: SSAValue) -> SSAValue:
    """Halves to even: what an addition of a number so large that the sum is whole does."""
    size, whole = code.apply("abs", x), _WHOLE[bit_width(x.type)][0]
    rounded = code.apply("sub", code.apply("add", size, whole), whole)
    rounded = code.select_less(size, code.constant(whole, x.type), rounded, size)
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", rounded), rounded)


def _ceil(code: _Code, x: SSAValue) -> SSAValue:
    return code.apply("neg", _floor(code, code.apply("neg", x)))


def _absi(code: _Code, x: SSAValue) -> SSAValue:
    return code.apply("max", x, code.apply("sub", 0, x))


def _fma(code: _Code, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
    return code.apply("add", code.apply("mul", a, b), c)


def _scaled_log(factor: float) -> Expansion:
    return lambda code, x: code.apply("mul", code.apply("log", x), factor)


_EXPANSIONS: dict[type[Operation], Expansion] = {
    math.TanhOp: _tanh,
    math.ErfOp: _erf,
    math.RsqrtOp: _rsqrt,
    math.PowFOp: _powf,
    math.FloorOp: _floor,
    math.CeilOp: _ceil,
    math.TruncOp: _trunc,
    math.RoundOp: _round,
    math.RoundEvenOp: _roundeven,
    math.AbsIOp: _absi,
    math.FmaOp: _fma,
    math.Log2Op: _scaled_log(1 / python_math.log(2)),
    math.Log10Op: _scaled_log(1 / python_math.log(10)),
    math.Log1pOp: lambda code, x: code.apply("log", code.apply("add", x, 1)),
    math.Exp2Op: lambda code, x: code.apply("exp", code.apply("mul", x, python_math.log(2))),
    math.ExpM1Op: lambda code, x: code.apply("sub", code.apply("exp", x), 1),
}
