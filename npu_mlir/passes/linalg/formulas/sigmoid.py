"""The sigmoid, `1 / (1 + exp(-x))`, and what it gates: `x / (1 + exp(-alpha x))`, called swish or SiLU; hard swish."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

from npu_mlir.passes.linalg.formulas.registry import Error, formula
from npu_mlir.passes.linalg.scalar_code import Code
from npu_mlir.support.accuracy import FAST


@formula("sigmoid", element=f32, error=Error(ulp=4))
def sigmoid(code: Code, x: SSAValue) -> SSAValue:
    """`e / (e + 1)` with `e = exp(x)`: small results keep all their places, subnormal ones too. From 88 on it is 1.
    3.5 ulp measured, with an exponential that is within 2.4."""
    power = code.apply("exp", code.apply("min", x, 88))
    return code.apply("div", power, code.apply("add", power, 1))


@formula("sigmoid", element=(f16, bf16), error=Error(ulp=1))
def narrow_sigmoid(code: Code, x: SSAValue) -> SSAValue:
    """The same in f32; cut off in f16, which takes half as long."""
    power = code.apply("exp", code.cast(code.apply("min", x, 88), f32))
    return code.cast(code.apply("div", power, code.apply("add", power, 1)), x.type)


@formula("sigmoid", element=f16, accuracy=FAST, error=Error(ulp=2))
def fast_sigmoid(code: Code, x: SSAValue) -> SSAValue:
    """The same in f16, which is exact but for three roundings: the operand of the exponential has none. From 11 on
    it is 1."""
    power = code.apply("exp", code.apply("min", x, 11))
    return code.apply("div", power, code.apply("add", power, 1))


@formula("swish", element=f32, error=Error(ulp=4.5, absolute=1e-43))
def swish(code: Code, x: SSAValue, alpha: float) -> SSAValue:
    """`x` times the sigmoid of `alpha x`, which keeps small results as that does: 4.02 ulp measured, the last half of
    one from the product. With an alpha other than 1, errors of alpha x count as errors of the operand."""
    return code.apply("mul", x, sigmoid(code, x if alpha == 1 else code.apply("mul", x, alpha)))


@formula("swish", element=f16, error=Error(ulp=1))
def narrow_swish(code: Code, x: SSAValue, alpha: float) -> SSAValue:
    """`x / (1 + exp(-alpha x))` in f32. Where the exponential is infinite, f16 has nothing but 0 for the result."""
    wide = code.cast(x, f32)
    power = code.apply("exp", code.apply("mul", wide, -alpha))
    return code.cast(code.apply("div", wide, code.apply("add", power, 1)), x.type)


@formula("swish", element=f16, accuracy=FAST, error=Error(ulp=2, absolute=2e-4))
def fast_swish(code: Code, x: SSAValue, alpha: float) -> SSAValue:
    """The same in f16: four instructions. Below -11 / alpha the exponential is infinite and the result 0, which is what
    the absolute error is for; with an alpha other than 1, also for the rounding of alpha x."""
    power = code.apply("exp", code.apply("mul", x, -alpha))
    return code.apply("div", x, code.apply("add", power, 1))


@formula("hard_swish", element=(f16, bf16, f32, f64), error=Error(ulp=2.5))
def hard_swish(code: Code, x: SSAValue) -> SSAValue:
    """`x (min(max(x + 3, 0), 6) / 6)` with a factor, whose product with 6 is rounded to 1: three roundings. Near -3,
    where `x / 6 + 1 / 2` cancels, the sum is exact."""
    line = code.apply("min", code.apply("max", code.apply("add", x, 3), 0), 6)
    return code.apply("mul", code.apply("mul", line, 1 / 6), x)
