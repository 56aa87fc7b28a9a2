"""GELU: `x Phi(x)` with the normal distribution Phi, which is `x (1 + erf(x / sqrt(2))) / 2`; and the form with tanh,
`x (1 + tanh(u)) / 2 = x / (1 + exp(-2u))` with `u = sqrt(2 / pi) (x + 0.044715 x^3)`.

Phi is written as `1 / (1 + exp(-x p(x * x)))`, since its logit is odd, or as `exp(q(x))` for negative x.
"""

from __future__ import annotations

from math import pi, sqrt

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from npu_mlir.passes.linalg.formulas.registry import Error, formula
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.support.accuracy import FAST

TANH_FORM = (2 * sqrt(2 / pi), 2 * sqrt(2 / pi) * 0.044715)
"""`2 u / x` as a polynomial of x * x."""

_LOGIT_1 = (1.6003767372343563, 0.06936752719412453)
"""The logit of Phi over x as a polynomial of x * x, such that x Phi(x) is within 2.8e-4 (a minimax fit of ours)."""

_LOGIT_4 = (
    1.5956551533462435,
    0.0729398614515092,
    -0.0002509523763834028,
    -6.0934399974977085e-05,
    2.2252635347580485e-06,
)
"""The same within 3.1e-6."""

_LOG_PHI = (
    -0.6932294792428013,
    -0.796662596372521,
    -0.3214550990705807,
    -0.03362634617492376,
    0.004098274584393102,
    -0.00022846257580477758,
)
"""`log(Phi(-a))` for a from 0 to 6 within 2^-13.9 where the result is normal in f16 (a minimax fit of ours)."""


@formula("gelu", element=f32, error=Error(ulp=4, operand=2.0**-23))
def gelu(code: Code, x: SSAValue) -> SSAValue:
    """As ONNX spells it. The sum cancels for negative x, hence the error that is relative to the operand."""
    error = code.apply("erf", code.apply("mul", x, sqrt(0.5)))
    return code.apply("mul", code.apply("mul", x, 0.5), code.apply("add", error, 1))


@formula("gelu", element=f32, accuracy=FAST, error=Error(ulp=4, absolute=5e-6))
def fast_gelu(code: Code, x: SSAValue) -> SSAValue:
    """`x / (1 + exp(-x p(x * x)))` with a polynomial of degree 4."""
    return _gated(code, x, _LOGIT_4)


@formula("gelu", element=f16, error=Error(ulp=1))
def narrow_gelu(code: Code, x: SSAValue) -> SSAValue:
    """`max(x, 0) - a Phi(-a)` with `a = |x|`, the second term as `a exp(q(a))` in f32: small results of negative x keep
    all their places. It is 0 long before 30, where a is cut off so that it stays finite."""
    size = code.cast(code.apply("min", code.apply("abs", x), 30), f32)
    tail = code.apply("mul", code.apply("exp", code.polynomial(size, _LOG_PHI)), size)
    return code.apply("sub", code.apply("max", x, 0), code.cast(tail, x.type))


@formula("gelu", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=6.5e-4))
def fast_narrow_gelu(code: Code, x: SSAValue) -> SSAValue:
    """`x / (1 + exp(-x p(x * x)))` in f16 with a polynomial of degree 1: seven instructions."""
    return _gated(code, x, _LOGIT_1)


@formula("gelu_tanh", element=f32, error=Error(ulp=4, operand=2.0**-24))
def gelu_tanh(code: Code, x: SSAValue) -> SSAValue:
    """`x e / (1 + e)` with the exponential of 2u, cut off at 88."""
    power = code.apply("exp", code.apply("min", _odd(code, x, TANH_FORM), 88))
    return code.apply("mul", x, code.apply("div", power, code.apply("add", power, 1)))


@formula("gelu_tanh", element=f16, error=Error(ulp=1))
def narrow_gelu_tanh(code: Code, x: SSAValue) -> SSAValue:
    """`x / (1 + exp(-2u))` in f32. Where the exponential is infinite, f16 has nothing but 0 for the result."""
    return code.cast(_gated(code, code.cast(x, f32), TANH_FORM), x.type)


@formula("gelu_tanh", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=2.5e-4))
def fast_narrow_gelu_tanh(code: Code, x: SSAValue) -> SSAValue:
    """The same in f16: seven instructions."""
    return _gated(code, x, TANH_FORM)


def _gated(code: Code, x: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
    """`x / (1 + exp(-x p(x * x)))`."""
    power = code.apply("exp", _odd(code, x, tuple(-c for c in coefficients)))
    return code.apply("div", x, code.apply("add", power, 1))


def _odd(code: Code, x: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
    """`x p(x * x)`."""
    return code.apply("mul", code.polynomial(code.apply("mul", x, x), coefficients), x)
