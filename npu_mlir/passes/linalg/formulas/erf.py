"""The error function."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

from npu_mlir.passes.linalg.formulas.registry import Error, formula
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.support.accuracy import FAST

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


@formula("erf", element=f32, error=Error(ulp=4))
def erf(code: Code, x: SSAValue) -> SSAValue:
    """A polynomial near 0, elsewhere `1 - exp(p(|x|))` times the sign, which is 2x cut off at -1 and 1: there |x| is at
    least 0.6. 2.3 ulp measured, with an exponential that is within 2.4."""
    return _two_parts(code, x, 3.95, _ERF_FAR)


@formula("erf", element=f64, error=Error(ulp=1e8))
def double_erf(code: Code, x: SSAValue) -> SSAValue:
    """The same with a longer polynomial: within 1e-8 of the value."""
    return _two_parts(code, x, 5.9, _ERF_FAR_WIDE)


def _two_parts(code: Code, x: SSAValue, end: float, far_from_0: tuple[float, ...]) -> SSAValue:
    square = code.apply("mul", x, x)
    near = code.apply("mul", code.polynomial(square, _ERF_NEAR), x)
    size = code.apply("min", code.apply("abs", x), end)
    power = code.apply("exp", code.polynomial(size, far_from_0))
    sign = code.apply("max", code.apply("min", code.apply("mul", x, 2), 1), -1)
    far = code.apply("mul", code.apply("sub", 1, power), sign)
    return code.select_less(square, code.constant(0.36, x.type), near, far)


_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


@formula("erf", element=f32, accuracy=FAST, error=Error(ulp=4, absolute=6e-7))
def fast_erf(code: Code, x: SSAValue) -> SSAValue:
    """Abramowitz and Stegun, formula 7.1.26: for positive x, `1 - p(t) exp(-x * x)` with
    `t = 1 / (1 + 0.3275911 x)` and a polynomial p; negated for negative x. The formula is within 1.5e-7, the rest is
    the rounding of f32."""
    positive = code.apply("abs", x)
    t = code.apply("div", 1, code.apply("add", code.apply("mul", positive, 0.3275911), 1))
    polynomial = code.apply("mul", t, code.polynomial(t, _ERF))
    power = code.apply("exp", code.apply("neg", code.apply("mul", x, x)))
    value = code.apply("sub", 1, code.apply("mul", polynomial, power))
    return code.select_less(x, code.constant(0, x.type), code.apply("neg", value), value)


_ERF_OVER, _ERF_UNDER = (38.1229, 5.624061, 1), (33.786472, 16.230602, 2.9605129, 0.1231869)
"""`erf(x) / x` as a fraction p(z) / q(z) of z = x * x for |x| < 2.75, within 2^-15 (a minimax fit of ours). The last
coefficient of p is 1, which saves a product."""


@formula("erf", element=(f16, bf16), error=Error(ulp=1))
def narrow_erf(code: Code, x: SSAValue) -> SSAValue:
    """`x p(x * x) / q(x * x)` in f32, constant from 2.75 on. 0.6 ulp of f16 measured. The operand is cut off in its own
    type: as many instructions, half as long."""
    x, type_ = code.cast(code.apply("max", code.apply("min", x, 2.75), -2.75), f32), x.type
    square = code.apply("mul", x, x)
    numerator = code.apply("mul", x, code.polynomial(square, _ERF_OVER))
    return code.cast(code.apply("div", numerator, code.polynomial(square, _ERF_UNDER)), type_)


_LOGIT = (-2.263274, -0.19620127)
"""The logit of the normal distribution Phi over x, negated, as a polynomial of x * x, at x sqrt(2)."""


@formula("erf", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=2e-3))
def fast_narrow_erf(code: Code, x: SSAValue) -> SSAValue:
    """`1 - 2 / (1 + exp(2 x p(x * x)))` in f16 with a polynomial of degree 1: eight instructions."""
    square = code.apply("mul", x, x)
    power = code.apply("exp", code.apply("mul", code.polynomial(square, [-c for c in _LOGIT]), x))
    return code.apply("sub", 1, code.apply("div", 2, code.apply("add", power, 1)))
