"""What functions of rows are made of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.registry import add_into, widened
from npu_mlir.passes.linalg.graph_lowering.window import lowest, max_into
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of


def along(rank: int, axes: Sequence[int]) -> list[Map]:
    """The maps of a tensor and of its reduction over `axes`."""
    return [range(rank), [d for d in range(rank) if d not in axes]]


def exponentials(
    b: Builder, x: SSAValue, axis: int, element: Attribute
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The maximum along the axis, `exp(x - maximum)` computed in a type, and its sum, in f32 if that is narrow."""
    shape = shape_of(x)
    peak = b.reduce(x, [axis], lowest(element_of(x)), element_of(x), max_into)

    def build(body: Body, value: SSAValue, maximum: SSAValue) -> SSAValue:
        return body.apply("exp", body.apply("sub", body.cast(value, element), body.cast(maximum, element)))

    powers = b.map([x, peak], along(len(shape), [axis]), shape, element, build)
    return peak, powers, b.reduce(powers, [axis], 0, widened(element), add_into)


def inverse_root(body: Body, variance: SSAValue, epsilon: float) -> SSAValue:
    """`1 / sqrt(variance + epsilon)`."""
    return body.apply("div", 1, body.apply("sqrt", body.apply("add", variance, epsilon)))
