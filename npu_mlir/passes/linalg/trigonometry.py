"""Sines, tangents, their hyperbolic relatives and the inverses of all of them, in basic scalar operations.

Bounds are in units in the last place of f32 next to the exact value, over all finite operands unless one says less. For
f64 they hold in units of 2^-48 of the value. Infinities, NaN and signs of zero come out as in the C library.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, log, pi

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from npu_mlir.passes.linalg.scalar_code import Code, Expansion
from npu_mlir.passes.linalg.scalar_ops import bit_width


def _half_pi(bits: int, parts: int) -> list[float]:
    """Half of pi as a sum of numbers of so many bits (the last one of 53): products of all but the last with a count of
    as many bits as are missing to those of the type are exact."""
    # Half of pi to 110 bits.
    rest, result = 0x3243F6A8885A308D313198A2E037, []
    exponent = rest.bit_length() - 1
    for _ in range(parts - 1):
        shift = max(0, rest.bit_length() - bits)
        head = (rest >> shift) << shift
        result.append(head / 2.0**exponent)
        rest -= head
    return [*result, rest / 2.0**exponent]


_HALF_PI = {32: _half_pi(8, 5), 64: _half_pi(27, 4)}


def _is_odd(code: Code, whole: SSAValue) -> SSAValue:
    """0 for an even whole number, else 1 or -1."""
    half = code.apply("mul", whole, 0.5)
    return code.apply("mul", code.apply("sub", half, code.expand(math.TruncOp, half)), 2)


def _quarter(code: Code, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """How many quarter turns lie below x, rounded, and what is left of x, at most pi / 4, as a sum of two numbers."""
    count = code.expand(math.RoundEvenOp, code.apply("mul", x, 2 / pi))
    first, *parts = [code.apply("mul", count, part) for part in _HALF_PI[bit_width(x.type)]]
    rest = code.apply("sub", x, first)
    low = code.constant(0, x.type)
    for part in parts:
        taken = code.apply("sub", part, low)
        less = code.apply("sub", rest, taken)
        low = code.apply("sub", code.apply("sub", rest, less), taken)
        rest = less
    return count, rest, low


def _terms(code: Code, x: SSAValue, narrow: int, wide: int) -> int:
    """How many terms of a series f32 and f64 need, or another number that is not the same for both."""
    return narrow if bit_width(x.type) < 64 else wide


def _odd_series(code: Code, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """`x + x z p(z)` with z = x * x."""
    square = code.apply("mul", x, x)
    return code.apply(
        "add", x, code.apply("mul", x, code.apply("mul", square, code.polynomial(square, coefficients)))
    )


def _sine_and_cosine(code: Code, x: SSAValue, low: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Both for the sum of x, up to pi / 4, and a number that is small next to it, by their series."""
    count = _terms(code, x, 4, 8)
    square = code.apply("mul", x, x)
    series = code.polynomial(square, [(-1) ** n / factorial(2 * n + 1) for n in range(1, count + 1)])
    cubic = code.apply("mul", x, code.apply("mul", square, series))
    sine = code.apply("add", x, code.apply("add", cubic, low))
    series = code.polynomial(square, [(-1) ** n / factorial(2 * n) for n in range(2, count + 3)])
    high = code.apply(
        "sub", code.apply("mul", code.apply("mul", square, square), series), code.apply("mul", x, low)
    )
    cosine = code.apply("add", code.apply("sub", high, code.apply("mul", square, 0.5)), 1)
    return sine, cosine


def _turned(code: Code, x: SSAValue, turns: int) -> SSAValue:
    """The sine of x and so many quarter turns."""
    count, *rest = _quarter(code, x)
    sine, cosine = _sine_and_cosine(code, *rest)
    quarters = code.apply("add", count, turns) if turns else count
    value = code.select_equal(_is_odd(code, quarters), 0, sine, cosine)
    halves = code.expand(math.FloorOp, code.apply("mul", quarters, 0.5))
    return code.select_equal(_is_odd(code, halves), 0, value, code.apply("neg", value))


def _sin(code: Code, x: SSAValue) -> SSAValue:
    """Within 4 ulp for |x| up to 1e5 (f64: 1e8), from where on the rest of x in quarter turns loses digits."""
    return code.select_equal(x, 0, x, _turned(code, x, 0))


def _cos(code: Code, x: SSAValue) -> SSAValue:
    """Within 4 ulp for |x| up to 1e5 (f64: 1e8), as the sine."""
    return _turned(code, x, 1)


def _tan(code: Code, x: SSAValue) -> SSAValue:
    """Sine over cosine: within 7 ulp for |x| up to 1e5 (f64: 1e8)."""
    count, *rest = _quarter(code, x)
    sine, cosine = _sine_and_cosine(code, *rest)
    other = code.apply("neg", code.apply("div", cosine, sine))
    value = code.select_equal(_is_odd(code, count), 0, code.apply("div", sine, cosine), other)
    return code.select_equal(x, 0, x, value)


def _atan(code: Code, x: SSAValue) -> SSAValue:
    """`pi / 2 - atan(1 / x)` above 1; twice the arc of the half angle's tangent `t / (1 + sqrt(1 + t * t))`, whose
    series is short. Within 4 ulp."""
    size = code.apply("abs", x)
    one = code.constant(1, x.type)
    inverse = code.apply("div", 1, size)
    t = code.select_less(one, size, inverse, size)
    root = code.apply("sqrt", code.apply("add", code.apply("mul", t, t), 1))
    half = code.apply("div", t, code.apply("add", root, 1))
    count = _terms(code, x, 9, 20)
    arc = _odd_series(code, half, [(-1) ** n / (2 * n + 1) for n in range(1, count + 1)])
    arc = code.apply("add", arc, arc)
    arc = code.select_less(one, size, code.apply("sub", pi / 2, arc), arc)
    return _with_sign(code, x, arc)


def _with_sign(code: Code, x: SSAValue, value: SSAValue) -> SSAValue:
    """A value for |x| as one for x, of a function that is odd: x itself where that is 0."""
    zero = code.constant(0, x.type)
    return code.select_equal(x, 0, x, code.select_less(x, zero, code.apply("neg", value), value))


def _asin(code: Code, x: SSAValue) -> SSAValue:
    """`atan(x / sqrt((1 - x) (1 + x)))`: within 5 ulp; NaN for |x| above 1."""
    below = code.apply("mul", code.apply("sub", 1, x), code.apply("add", x, 1))
    return _atan(code, code.apply("div", x, code.apply("sqrt", below)))


def _acos(code: Code, x: SSAValue) -> SSAValue:
    """`2 atan(sqrt((1 - x) / (1 + x)))`: within 5 ulp; NaN for |x| above 1."""
    ratio = code.apply("div", code.apply("sub", 1, x), code.apply("add", x, 1))
    arc = _atan(code, code.apply("sqrt", ratio))
    return code.apply("add", arc, arc)


def _halves(code: Code, size: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Half of `exp(x)` and of `exp(-x)`, the former also where `exp(x)` is infinite, but not its half."""
    most = code.apply("min", size, _terms(code, size, 88, 709))
    power = code.apply("exp", most)
    half = code.apply("mul", code.apply("mul", power, 0.5), code.apply("exp", code.apply("sub", size, most)))
    return half, code.apply("div", 0.5, power)


def _sinh(code: Code, x: SSAValue) -> SSAValue:
    """A series near 0, else from exponentials: within 5 ulp."""
    size = code.apply("abs", x)
    count = _terms(code, x, 5, 9)
    near = _odd_series(code, size, [1 / factorial(2 * n + 1) for n in range(1, count + 1)])
    far = code.apply("sub", *_halves(code, size))
    return _with_sign(code, x, code.select_less(size, code.constant(1, x.type), near, far))


def _cosh(code: Code, x: SSAValue) -> SSAValue:
    """From exponentials: within 5 ulp."""
    return code.apply("add", *_halves(code, code.apply("abs", x)))


def _asinh(code: Code, x: SSAValue) -> SSAValue:
    """`log1p(x + x * x / (1 + sqrt(1 + x * x)))`, for large x `log(x) + log(2)`: within 6 ulp."""
    size = code.apply("abs", x)
    bound = code.constant(2.0 ** _terms(code, x, 12, 27), x.type)
    square = code.apply("mul", size, size)
    root = code.apply("sqrt", code.apply("add", square, 1))
    more = code.apply("add", size, code.apply("div", square, code.apply("add", root, 1)))
    near = code.expand(math.Log1pOp, more)
    far = code.apply("add", code.apply("log", size), log(2))
    return _with_sign(code, x, code.select_less(size, bound, near, far))


def _acosh(code: Code, x: SSAValue) -> SSAValue:
    """`log1p(t + sqrt(t (x + 1)))` with t = x - 1, for large x `log(x) + log(2)`: within 6 ulp; NaN below 1."""
    bound = code.constant(2.0 ** _terms(code, x, 12, 27), x.type)
    t = code.apply("sub", x, 1)
    root = code.apply("sqrt", code.apply("mul", t, code.apply("add", x, 1)))
    near = code.expand(math.Log1pOp, code.apply("add", t, root))
    far = code.apply("add", code.apply("log", x), log(2))
    return code.select_less(x, bound, near, far)


def _atanh(code: Code, x: SSAValue) -> SSAValue:
    """`log1p(2 x / (1 - x)) / 2`: within 6 ulp; NaN for |x| above 1."""
    size = code.apply("abs", x)
    ratio = code.apply("div", code.apply("add", size, size), code.apply("sub", 1, size))
    return _with_sign(code, x, code.apply("mul", code.expand(math.Log1pOp, ratio), 0.5))


TRIGONOMETRY: dict[type[Operation], Expansion] = {
    math.SinOp: _sin,
    math.CosOp: _cos,
    math.TanOp: _tan,
    math.AsinOp: _asin,
    math.AcosOp: _acos,
    math.AtanOp: _atan,
    math.SinhOp: _sinh,
    math.CoshOp: _cosh,
    math.AsinhOp: _asinh,
    math.AcoshOp: _acosh,
    math.AtanhOp: _atanh,
}
"""The expansions of these functions."""
