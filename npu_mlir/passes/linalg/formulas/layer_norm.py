"""Layer normalisation: `(x - mean) / sqrt(variance + epsilon) * scale + bias`, over the dims from `axis` on;
and the form without mean and bias, RMS norm."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.formulas.registry import Error, formula
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.graph_lowering.registry import elementwise, scalar_of, sum_over, widened
from npu_mlir.passes.linalg.graph_lowering.rows import along, inverse_root
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.accuracy import FAST


@formula("layer_norm", element=(f32, f64, f16, bf16), rows=True, error=Error(ulp=1, absolute=4e-6))
def layer_norm(
    b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue | None = None, *, axis: int, epsilon: float
) -> SSAValue:
    """Mean, difference, mean of squares, factor, product, narrow floats in f32: five generics and two sums over one set
    of loops."""
    return _normalised(b, x, scale, bias, axis, epsilon, widened(element_of(x)))


@formula(
    "layer_norm",
    element=f16,
    accuracy=FAST,
    rows=True,
    error=Error(ulp=3, absolute=4e-3),
    fits=lambda axis, epsilon: epsilon >= 1e-9,
)
def fast_narrow_layer_norm(
    b: Builder, x: SSAValue, scale: SSAValue, bias: SSAValue | None = None, *, axis: int, epsilon: float
) -> SSAValue:
    """The same in f16 but for the sums and what is made of them, in half the time. The mean is rounded to f16, as if
    the elements were off by half an ulp of it, so the absolute error is for means of up to 4 deviations. Elements may
    be up to 65,504 from the mean, and deviations up to 16,000."""
    return _normalised(b, x, scale, bias, axis, epsilon, f16)


@formula("rms_norm", element=(f32, f64, f16, bf16), rows=True, error=Error(ulp=1, absolute=4e-6))
def rms_norm(b: Builder, x: SSAValue, scale: SSAValue, *, axis: int, epsilon: float) -> SSAValue:
    """The same without a mean."""
    return _divided(b, x, x, scale, None, axis, epsilon, widened(element_of(x)))


@formula(
    "rms_norm",
    element=f16,
    accuracy=FAST,
    rows=True,
    error=Error(ulp=2),
    fits=lambda axis, epsilon: epsilon >= 1e-9,
)
def fast_narrow_rms_norm(b: Builder, x: SSAValue, scale: SSAValue, *, axis: int, epsilon: float) -> SSAValue:
    """The same in f16 but for the sum and what is made of it. Roots of mean squares may be up to 16,000."""
    return _divided(b, x, x, scale, None, axis, epsilon, f16)


def _normalised(
    b: Builder,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue | None,
    axis: int,
    epsilon: float,
    inner: Attribute,
) -> SSAValue:
    """Layer normalisation with elements of the type `inner` in between; sums are f32 if that is narrow."""
    shape, rank = shape_of(x), len(shape_of(x))
    axes, count = list(range(axis, rank)), float(prod(shape[axis:]))
    total = sum_over(b, x, axes)

    def average(body: Body, sum_: SSAValue) -> SSAValue:
        return body.cast(body.apply("mul", sum_, 1 / count), inner)

    def difference(body: Body, value: SSAValue, mean: SSAValue) -> SSAValue:
        return body.apply("sub", body.cast(value, inner), mean)

    mean = elementwise(b, [total], shape_of(total), inner, average)
    centered = b.map([x, mean], along(rank, axes), shape, inner, difference)
    return _divided(b, x, centered, scale, bias, axis, epsilon, inner)


def _divided(
    b: Builder,
    x: SSAValue,
    centered: SSAValue,
    scale: SSAValue,
    bias: SSAValue | None,
    axis: int,
    epsilon: float,
    inner: Attribute,
) -> SSAValue:
    """What is centered over the root of the mean of its squares, scaled and shifted."""
    shape, element = shape_of(x), element_of(x)
    wide, rank = widened(element), len(shape)
    axes, count = list(range(axis, rank)), float(prod(shape[axis:]))

    def square(body: Body, value: SSAValue, sum_: SSAValue) -> SSAValue:
        value = body.cast(value, wide)
        return body.apply("add", body.apply("mul", value, value), sum_)

    def factor(body: Body, sum_: SSAValue) -> SSAValue:
        variance = body.apply("mul", sum_, 1 / count)
        return body.cast(inverse_root(body, variance, epsilon), inner)

    def times(body: Body, value: SSAValue, by: SSAValue) -> SSAValue:
        return body.apply("mul", body.cast(value, inner), by)

    def scaled(body: Body, value: SSAValue, gain: SSAValue, shift: SSAValue | None = None) -> SSAValue:
        value = body.apply("mul", value, body.cast(gain, inner))
        return value if shift is None else body.apply("add", value, body.cast(shift, inner))

    squares = b.reduce(centered, axes, 0, wide, square)
    factors = elementwise(b, [squares], shape_of(squares), inner, factor)
    normal = b.map([centered, factors], along(rank, axes), shape, inner, times)
    if bias is not None and scalar_of(bias) == 0:
        bias = None
    inputs = [normal, scale] if bias is None else [normal, scale, bias]
    return elementwise(b, inputs, shape, element, scaled)
