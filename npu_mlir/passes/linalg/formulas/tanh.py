"""The hyperbolic tangent."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

from npu_mlir.passes.linalg.formulas.registry import Error, formula
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.support.accuracy import FAST

_TANH = (1, -0.33332768, 0.13316691, -0.052417807, 0.01596446)
"""`tanh(x) / x` as a polynomial of z = x * x below 0.33, within 6e-8 (a minimax fit of ours, the last places of its
coefficients chosen by the error in f32). A product with x keeps the sign of 0."""


@formula("tanh", element=f32, error=Error(ulp=4))
def tanh(code: Code, x: SSAValue) -> SSAValue:
    """A polynomial near 0, else `1 - 2 / (exp(2x) + 1)`, which is 1 where the exponential is infinite. 3.0 ulp
    measured, with an exponential that is within 2.4: below x * x = 0.33 the error of the second form, for negative x
    that of a number above 1, would be more."""
    square = code.apply("mul", x, x)
    near = code.apply("mul", code.polynomial(square, _TANH), x)
    far = fast_tanh(code, x)
    return code.select_less(square, code.constant(0.33, x.type), near, far)


@formula("tanh", element=f64, error=Error(ulp=16))
def double_tanh(code: Code, x: SSAValue) -> SSAValue:
    """`expm1(2x) / (expm1(2x) + 2)`."""
    double = code.apply("mul", code.apply("max", code.apply("min", x, 20), -20), 2)
    power = code.expand(math.ExpM1Op, double)
    return code.apply("div", power, code.apply("add", power, 2))


@formula("tanh", element=f32, accuracy=FAST, error=Error(ulp=4, absolute=3e-7))
def fast_tanh(code: Code, x: SSAValue) -> SSAValue:
    """`1 - 2 / (exp(2x) + 1)`."""
    power = code.apply("exp", code.apply("mul", x, 2))
    return code.apply("sub", 1, code.apply("div", 2, code.apply("add", power, 1)))


@formula("tanh", element=(f16, bf16), error=Error(ulp=1))
def narrow_tanh(code: Code, x: SSAValue) -> SSAValue:
    """x itself below 0.02, where the next term, `x^3 / 3`, is less than 2^-12 of it, else `1 - 2 / (exp(2x) + 1)` in
    f32. 0.51 ulp of f16 measured. Doubled and compared in 16 bits, which takes half as long."""
    power = code.apply("exp", code.cast(code.apply("mul", x, 2), f32))
    far = code.apply("sub", 1, code.apply("div", 2, code.apply("add", power, 1)))
    return code.select_less(code.apply("abs", x), code.constant(0.02, x.type), x, code.cast(far, x.type))


@formula("tanh", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=1.5e-3))
def fast_narrow_tanh(code: Code, x: SSAValue) -> SSAValue:
    """`1 - 2 / (exp(2x) + 1)` in f16: five instructions."""
    return fast_tanh(code, x)
