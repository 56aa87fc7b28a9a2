"""Softmax along an axis: `exp(x - m) / sum(exp(x - m))` with the maximum m."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.formulas.registry import Error, formula
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.graph_lowering.registry import elementwise
from npu_mlir.passes.linalg.graph_lowering.rows import along, exponentials
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.accuracy import FAST


@formula("softmax", element=(f32, f64), rows=True, error=Error(ulp=4, absolute=1e-6))
def softmax(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    """As it is defined. Differences from the maximum are rounded, which the exponential amplifies: where a result is
    small, by half an ulp of the difference."""
    _, powers, total = exponentials(b, x, axis, element_of(x))
    maps = along(len(shape_of(x)), [axis])
    return b.map(
        [powers, total], maps, shape_of(x), element_of(x), lambda body, e, s: body.apply("div", e, s)
    )


@formula("softmax", element=(f16, bf16), rows=True, error=Error(ulp=1))
def narrow_softmax(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    """In f32, where differences of numbers of f16 are next to exact, times the reciprocal of the sum."""
    _, powers, total = exponentials(b, x, axis, f32)
    inverse = elementwise(b, [total], shape_of(total), f32, lambda body, s: body.apply("div", 1, s))

    def build(body: Body, power: SSAValue, factor: SSAValue) -> SSAValue:
        return body.cast(body.apply("mul", power, factor), element_of(x))

    return b.map([powers, inverse], along(len(shape_of(x)), [axis]), shape_of(x), element_of(x), build)


@formula("softmax", element=f16, accuracy=FAST, rows=True, error=Error(ulp=2, absolute=3e-4))
def fast_narrow_softmax(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    """In f16 but for the sum and its reciprocal. A difference from the maximum is off by up to 2^-12 of it, and so are
    exponentials; they are small where that is much."""
    _, powers, total = exponentials(b, x, axis, f16)
    inverse = elementwise(
        b, [total], shape_of(total), f16, lambda body, s: body.cast(body.apply("div", 1, s), f16)
    )
    maps = along(len(shape_of(x)), [axis])
    return b.map([powers, inverse], maps, shape_of(x), f16, lambda body, e, r: body.apply("mul", e, r))
