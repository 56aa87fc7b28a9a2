"""linalg-expand-math: say in basic scalar operations what a vector unit has no instruction for.

    %y = math.tanh %x : f32
  becomes
    %d = arith.mulf %x, %two : f32
    %e = math.exp %d : f32
    %s = arith.addf %e, %one : f32
    %q = arith.divf %two, %s : f32
    %far = arith.subf %one, %q : f32
    %near = ...                                  // a polynomial of the square of x
    %small = arith.cmpf olt, %square, %bound : f32
    %y = arith.select %small, %near, %far : f32

Left are arith, and `math.exp`, `log`, `sqrt`, `absf`. Expanded are tanh, erf, rsqrt, powf, exp2, expm1, log2, log10,
log1p, floor, ceil, trunc, round, roundeven, fma, absi; sines, tangents, their hyperbolic relatives and the inverses
of all of them (`trigonometry.py`, with the bounds of each). Narrow floats are computed in f32 in between. None of the
forms makes a NaN of an infinity that the function maps to a number.

Accuracy is relative: results are within 4 ulp of f32 of the exact value (log1p, expm1: 5; powf, exp2, log2, log10:
the error of the exponential of a rounded product). With the flag `fastmath<afn>`, or under an attribute
`npu.accuracy = "fast"`, tanh, erf, log1p and expm1 take shorter forms, whose errors are small next to 1 alone.

Does not handle: atan2, cbrt, copysign, integer powers; they stay as they are.
"""

from __future__ import annotations

import math as python_math

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp, StringAttr, f32, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.passes.linalg.generics import LOCATION
from npu_mlir.passes.linalg.scalar_code import Code, Expansion
from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.passes.linalg.trigonometry import TRIGONOMETRY

ACCURACY = "npu.accuracy"
"""An attribute of a module, function or op: `"fast"` allows the forms that the flag `afn` allows."""

_WHOLE = {32: (float(1 << 23), i32), 64: (float(1 << 52), i64)}
"""By the width of a float: from here on it is a whole number, and an integer type for those below."""


class ExpandMath(ModulePass):
    """Expand functions that a vector unit lacks."""

    name = "linalg-expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for math_op in [o for o in op.walk() if type(o) in _EXPANSIONS]:
            if isinstance(math_op.results[0].type, AnyFloat) or isinstance(math_op, math.AbsIOp):
                _expand(math_op)


def _is_approximate(op: Operation) -> bool:
    """Whether the flags of an op, or the attribute `npu.accuracy` around it, ask for a fast form."""
    flags = op.properties.get("fastmath")
    if isinstance(flags, FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data:
        return True
    around: Operation | None = op
    while around is not None:
        if ACCURACY in around.attributes:
            return around.attributes[ACCURACY] == StringAttr("fast")
        around = around.parent_op()
    return False


def _expand(op: Operation) -> None:
    type_ = op.results[0].type
    wide = f32 if isinstance(type_, AnyFloat) and bit_width(type_) < 32 else type_
    expansions = _EXPANSIONS | (_FAST if _is_approximate(op) else {})
    code = Code(expansions)
    if wide != type_ and type(op) in _NARROW and not _is_approximate(op):
        result = _NARROW[type(op)](code, *op.operands)
    else:
        result = expansions[type(op)](code, *[code.cast(v, wide) for v in op.operands])
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


_TANH = (1, -0.33332768, 0.13316691, -0.052417807, 0.01596446)
"""`tanh(x) / x` as a polynomial of z = x * x below 0.33, within 6e-8 (a minimax fit of ours, the last places of its
coefficients chosen by the error in f32). A product with x keeps the sign of 0."""


def _tanh(code: Code, x: SSAValue) -> SSAValue:
    """A polynomial near 0, else `1 - 2 / (exp(2x) + 1)`, which is 1 where the exponential is infinite. Within 4 ulp of
    f32 (3.0 measured, with an exponential that is within 2.4): below x * x = 0.33 the error of the second form, for
    negative x that of a number above 1, would be more. f64 by `expm1(2x) / (expm1(2x) + 2)`."""
    if bit_width(x.type) == 64:
        power = _expm1(code, code.apply("mul", code.apply("max", code.apply("min", x, 20), -20), 2))
        return code.apply("div", power, code.apply("add", power, 2))
    square = code.apply("mul", x, x)
    near = code.apply("mul", code.polynomial(square, _TANH), x)
    far = _fast_tanh(code, x)
    return code.select_less(square, code.constant(0.33, x.type), near, far)


def _fast_tanh(code: Code, x: SSAValue) -> SSAValue:
    """`1 - 2 / (exp(2x) + 1)`: within 3e-7 absolutely."""
    power = code.apply("exp", code.apply("mul", x, 2))
    return code.apply("sub", 1, code.apply("div", 2, code.apply("add", power, 1)))


_ERF_NEAR = (
    1.128379157904419,
    -0.3761251261223701,
    0.1128099174541788,
    -0.02664698665674700,
    0.004512357854980684,
)
"""`erf(x) / x` as a polynomial of x * x for |x| < 0.6, within 9e-9 (a minimax fit of ours)."""

_ERF_FAR = (3.023563e-05, -1.1286855, -0.6353457, -0.10566803, 0.023125809, -0.003284513, 0.00022215681)
"""`erf(x) = 1 - exp(p(x))` for x from 0.6 to 3.95, within 5e-9 of the value; from there on it is 1 in f32 (a minimax
fit of ours, the last places of its coefficients chosen by the error in f32)."""

_ERF_FAR_WIDE = (
    4.308980393614386e-05,
    -1.128740792235089,
    -0.6353003887954588,
    -0.1055224817405743,
    0.02274097937376981,
    -0.002889158619212998,
    1.327807869299317e-05,
    5.597403874697273e-05,
    -6.009677160103785e-06,
)
"""The same to 5.9, within 5e-10: for f64."""


def _erf(code: Code, x: SSAValue) -> SSAValue:
    """A polynomial near 0, elsewhere `1 - exp(p(|x|))` times the sign, which is 2x cut off at -1 and 1: there |x| is at
    least 0.6. Within 4 ulp of f32 (2.3 measured, with an exponential that is within 2.4); f64 within 1e-8 of the
    value."""
    wide = bit_width(x.type) == 64
    square = code.apply("mul", x, x)
    near = code.apply("mul", code.polynomial(square, _ERF_NEAR), x)
    size = code.apply("min", code.apply("abs", x), 5.9 if wide else 3.95)
    power = code.apply("exp", code.polynomial(size, _ERF_FAR_WIDE if wide else _ERF_FAR))
    sign = code.apply("max", code.apply("min", code.apply("mul", x, 2), 1), -1)
    far = code.apply("mul", code.apply("sub", 1, power), sign)
    return code.select_less(square, code.constant(0.36, x.type), near, far)


_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def _fast_erf(code: Code, x: SSAValue) -> SSAValue:
    """Abramowitz and Stegun, formula 7.1.26: for positive x, `1 - p(t) exp(-x * x)` with
    `t = 1 / (1 + 0.3275911 x)` and a polynomial p; negated for negative x. The formula is within 1.5e-7, with the
    rounding of f32 within 5e-7."""
    positive = code.apply("abs", x)
    t = code.apply("div", 1, code.apply("add", code.apply("mul", positive, 0.3275911), 1))
    polynomial = code.apply("mul", t, code.polynomial(t, _ERF))
    power = code.apply("exp", code.apply("neg", code.apply("mul", x, x)))
    value = code.apply("sub", 1, code.apply("mul", polynomial, power))
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", value), value)


def _expm1(code: Code, x: SSAValue) -> SSAValue:
    """Near 0 `(u - 1) * x / log(u)` with `u = exp(x)`, where the errors of u cancel (Kahan); x itself where u is 1."""
    power = code.apply("exp", x)
    less = code.apply("sub", power, 1)
    near = code.apply("div", code.apply("mul", less, x), code.apply("log", power))
    near = code.select_equal(power, 1, x, near)
    return code.select_less(code.apply("abs", x), code.constant(1, x.type), near, less)


def _log1p(code: Code, x: SSAValue) -> SSAValue:
    """Near 0 `log(u) * x / (u - 1)` with `u = 1 + x`, where the errors of u cancel (Kahan); x itself where u is 1."""
    more = code.apply("add", x, 1)
    far = code.apply("log", more)
    near = code.apply("div", code.apply("mul", far, x), code.apply("sub", more, 1))
    near = code.select_equal(more, 1, x, near)
    return code.select_less(code.apply("abs", x), code.constant(1, x.type), near, far)


def _narrow_tanh(code: Code, x: SSAValue) -> SSAValue:
    """x itself below 0.02, where the next term, `x^3 / 3`, is less than 2^-12 of it, else `1 - 2 / (exp(2x) + 1)` in
    f32. Within 0.51 ulp of f16. Doubled and compared in 16 bits, which takes half as long."""
    if bit_width(x.type) < 16:
        x = code.cast(x, f32)
    power = code.apply("exp", code.cast(code.apply("mul", x, 2), f32))
    far = code.apply("sub", 1, code.apply("div", 2, code.apply("add", power, 1)))
    return code.select_less(code.apply("abs", x), code.constant(0.02, x.type), x, code.cast(far, x.type))


_ERF_OVER, _ERF_UNDER = (38.1229, 5.624061, 1), (33.786472, 16.230602, 2.9605129, 0.1231869)
"""`erf(x) / x` as a fraction p(z) / q(z) of z = x * x for |x| < 2.75, within 2^-15 (a minimax fit of ours). The last
coefficient of p is 1, which saves a product."""


def _narrow_erf(code: Code, x: SSAValue) -> SSAValue:
    """`x p(x * x) / q(x * x)` in f32, constant from 2.75 on, within 0.6 ulp of f16. The operand is cut off in its own
    type where that has 16 bits: as many instructions, half as long."""
    if bit_width(x.type) < 16:
        x = code.cast(x, f32)
    x = code.cast(code.apply("max", code.apply("min", x, 2.75), -2.75), f32)
    square = code.apply("mul", x, x)
    numerator = code.apply("mul", x, code.polynomial(square, _ERF_OVER))
    return code.apply("div", numerator, code.polynomial(square, _ERF_UNDER))


def _rsqrt(code: Code, x: SSAValue) -> SSAValue:
    return code.apply("div", 1, code.apply("sqrt", x))


def _powf(code: Code, x: SSAValue, y: SSAValue) -> SSAValue:
    """Products for small whole exponents, square roots for halves, `exp(y * log(x))` for other constants. The error of
    that is the one of y * log(x): up to 2^-24 of it, which is at most 88."""
    exponent = _constant(y)
    if exponent is None or not python_math.isfinite(exponent):
        return _general_power(code, x, y)
    whole, half = python_math.modf(2 * abs(exponent))[0] == 0, python_math.modf(exponent)[0] != 0
    if not whole or abs(exponent) > 16:
        if exponent == int(exponent):
            return _general_power(code, x, y)
        return code.apply("exp", code.apply("mul", code.apply("log", x), exponent))
    result = _product(code, x, int(abs(exponent)))
    if half:
        root = code.apply("sqrt", x)
        result = root if result is None else code.apply("mul", result, root)
    if result is None:
        return code.constant(1, x.type)
    return code.apply("div", 1, result) if exponent < 0 else result


def _general_power(code: Code, x: SSAValue, y: SSAValue) -> SSAValue:
    """`exp(y * log(|x|))`, negated for a negative x and an odd y; NaN where y is not whole; 1 if y is 0 or |x| is 1."""
    size, zero = code.apply("abs", x), code.constant(0, x.type)
    power = code.apply("exp", code.apply("mul", code.apply("log", size), y))
    power = code.select_equal(size, 1, code.constant(1, x.type), power)
    half = code.apply("mul", y, 0.5)
    signed = code.select_equal(
        code.apply("sub", half, _trunc(code, half)), 0, power, code.apply("neg", power)
    )
    rest = code.apply("sub", y, _trunc(code, y))
    # An infinite y is whole and even, but its rest is no number.
    rest = code.select_less(
        code.apply("abs", y), code.constant(_WHOLE[bit_width(x.type)][0], x.type), rest, zero
    )
    signed = code.select_less(
        code.apply("abs", rest), code.constant(1e-30, x.type), signed, code.constant(float("nan"), x.type)
    )
    even = code.select_less(
        code.apply("abs", y), code.constant(2 * _WHOLE[bit_width(x.type)][0], x.type), signed, power
    )
    result = code.select_less(x, zero, code.select_equal(y, y, even, y), power)
    # A power of NaN is NaN, unless the exponent is 0.
    return code.select_equal(y, 0, code.constant(1, x.type), result)


def _constant(value: SSAValue) -> float | None:
    """The number, also behind the widening of a constant."""
    owner = value.owner
    if isinstance(owner, arith.ExtFOp):
        owner = owner.input.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr):
        return owner.value.value.data
    return None


def _product(code: Code, x: SSAValue, count: int) -> SSAValue | None:
    """`x` to a whole power by repeated squaring, None for 0."""
    result: SSAValue | None = None
    while count:
        if count & 1:
            result = x if result is None else code.apply("mul", result, x)
        count >>= 1
        if count:
            x = code.apply("mul", x, x)
    return result


def _floor(code: Code, x: SSAValue) -> SSAValue:
    """Truncated, one less where that is above x."""
    truncated = _trunc(code, x)
    return code.select_less(x, truncated, code.apply("sub", truncated, 1), truncated)


def _trunc(code: Code, x: SSAValue) -> SSAValue:
    """To an integer and back; x itself where it is large and thereby whole."""
    whole, integer = _WHOLE[bit_width(x.type)]
    truncated = code.cast(code.cast(x, integer), x.type)
    return code.select_less(code.apply("abs", x), code.constant(whole, x.type), truncated, x)


def _round(code: Code, x: SSAValue) -> SSAValue:
    """Halves away from zero: the fraction is exact, unlike `x + 0.5`."""
    size = code.apply("abs", x)
    whole = _trunc(code, size)
    fraction = code.apply("sub", size, whole)
    up = code.apply("add", whole, 1)
    rounded = code.select_less(fraction, code.constant(0.5, x.type), whole, up)
    rounded = code.select_less(size, code.constant(_WHOLE[bit_width(x.type)][0], x.type), rounded, size)
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", rounded), rounded)


def _roundeven(code: Code, x: SSAValue) -> SSAValue:
    """Halves to even: what an addition of a number so large that the sum is whole does."""
    size, whole = code.apply("abs", x), _WHOLE[bit_width(x.type)][0]
    rounded = code.apply("sub", code.apply("add", size, whole), whole)
    rounded = code.select_less(size, code.constant(whole, x.type), rounded, size)
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", rounded), rounded)


def _ceil(code: Code, x: SSAValue) -> SSAValue:
    return code.apply("neg", _floor(code, code.apply("neg", x)))


def _absi(code: Code, x: SSAValue) -> SSAValue:
    return code.apply("max", x, code.apply("sub", 0, x))


def _fma(code: Code, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
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
    math.Log1pOp: _log1p,
    math.Exp2Op: lambda code, x: code.apply("exp", code.apply("mul", x, python_math.log(2))),
    math.ExpM1Op: _expm1,
    **TRIGONOMETRY,
}

_NARROW: dict[type[Operation], Expansion] = {math.TanhOp: _narrow_tanh, math.ErfOp: _narrow_erf}
"""For results of 16 bits and fewer: called with the operand as it is, computed in f32."""

_FAST: dict[type[Operation], Expansion] = {
    math.TanhOp: _fast_tanh,
    math.ErfOp: _fast_erf,
    math.Log1pOp: lambda code, x: code.apply("log", code.apply("add", x, 1)),
    math.ExpM1Op: lambda code, x: code.apply("sub", code.apply("exp", x), 1),
}
"""What is enough for the flag `afn` (approximate functions): small errors next to the largest value, not to each."""
