"""Reductions, and what normalises by them. Narrow floats are computed in f32 in between."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.registry import (
    add_into,
    elementwise,
    lowering,
    sum_over,
    widened,
)
from npu_mlir.passes.linalg.graph_lowering.window import highest, lowest, max_into, mean_over
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.diagnostics import UserError


@lowering(graph.ReduceOp)
def reduce(b: Builder, op: graph.ReduceOp) -> SSAValue:
    kind, axes, element = op.kind.data, op.axes.get_values(), element_of(op.input)
    if not axes:
        return op.input
    if kind is graph.ReduceKind.MEAN:
        if not isinstance(element, AnyFloat):
            raise UserError("graph.reduce mean of integers has no lowering to linalg", loc=op)
        result = mean_over(b, op.input, axes)
    else:
        init, name = _start(kind, element)
        wide = widened(element) if name in ("add", "mul") else element

        def build(body: Body, x: SSAValue, acc: SSAValue) -> SSAValue:
            return body.apply(name, body.cast(x, acc.type), acc)

        result = b.reduce(op.input, axes, init, wide, build)
        if wide != element:
            result = elementwise(b, [result], shape_of(result), element, lambda body, x: x)
    return b.reshape(result, shape_of(op.result))


def _start(kind: graph.ReduceKind, element: Attribute) -> tuple[float, str]:
    """The neutral element and the combining function."""
    if element == i1 and kind in (graph.ReduceKind.MAX, graph.ReduceKind.MIN):
        return (0, "or") if kind is graph.ReduceKind.MAX else (1, "and")
    match kind:
        case graph.ReduceKind.MAX:
            return lowest(element), "max"
        case graph.ReduceKind.MIN:
            return highest(element), "min"
        case graph.ReduceKind.PROD:
            return 1, "mul"
        case _:
            return 0, "add"


def _along(rank: int, axes: Sequence[int]) -> list[Map]:
    """The maps of a tensor and of its reduction over `axes`."""
    return [range(rank), [d for d in range(rank) if d not in axes]]


def _exponentials(b: Builder, x: SSAValue, axis: int) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The maximum along the axis, `exp(x - maximum)` and its sum."""
    shape, element = shape_of(x), element_of(x)
    wide = widened(element)
    peak = b.reduce(x, [axis], lowest(element), element, max_into)

    def build(body: Body, value: SSAValue, maximum: SSAValue) -> SSAValue:
        return body.apply("exp", body.apply("sub", body.cast(value, wide), body.cast(maximum, wide)))

    powers = b.map([x, peak], _along(len(shape), [axis]), shape, wide, build)
    return peak, powers, b.reduce(powers, [axis], 0, wide, add_into)


@lowering(graph.SoftmaxOp)
def softmax(b: Builder, op: graph.SoftmaxOp) -> SSAValue:
    return softmax_of(b, op.input, op.axis.value.data)


def softmax_of(b: Builder, value: SSAValue, axis: int) -> SSAValue:
    """`exp(x - maximum) / sum(exp(x - maximum))` along the axis."""
    element, shape = element_of(value), shape_of(value)
    _, powers, total = _exponentials(b, value, axis)
    maps = _along(len(shape), [axis])

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.cast(body.apply("div", x, y), element)

    return b.map([powers, total], maps, shape, element, build)


@lowering(graph.LogSoftmaxOp)
def log_softmax(b: Builder, op: graph.LogSoftmaxOp) -> SSAValue:
    """`x - maximum - log(sum(exp(x - maximum)))`."""
    axis, element, shape = op.axis.value.data, element_of(op.result), shape_of(op.result)
    peak, _, total = _exponentials(b, op.input, axis)
    wide = element_of(total)

    def shift(body: Body, maximum: SSAValue, power: SSAValue) -> SSAValue:
        return body.apply("add", body.cast(maximum, wide), body.apply("log", power))

    rank = len(shape_of(total))
    offset = b.map([peak, total], [range(rank), range(rank)], shape_of(total), wide, shift)

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.cast(body.apply("sub", body.cast(x, wide), y), element)

    return b.map([op.input, offset], _along(len(shape), [axis]), shape, element, build)


@lowering(graph.LayerNormOp)
def layer_norm(b: Builder, op: graph.LayerNormOp) -> SSAValue:
    """Mean, difference, mean of squares, factor, product: five generics and two sums over one set of loops."""
    shape, element = shape_of(op.input), element_of(op.input)
    wide, rank = widened(element), len(shape)
    axes = list(range(op.axis.value.data, rank))
    count = 1.0
    for d in axes:
        count *= shape[d]
    maps = _along(rank, axes)
    total = sum_over(b, op.input, axes)
    outer = shape_of(total)

    def difference(body: Body, x: SSAValue, sum_: SSAValue) -> SSAValue:
        return body.apply("sub", body.cast(x, wide), sum_)

    mean = elementwise(b, [total], outer, wide, lambda body, x: body.apply("mul", x, 1 / count))
    centered = b.map([op.input, mean], maps, shape, wide, difference)
    squares = b.reduce(
        centered,
        axes,
        0,
        wide,
        lambda body, x, acc: body.apply("add", body.apply("mul", x, x), acc),
    )
    factor = elementwise(
        b,
        [squares],
        outer,
        wide,
        lambda body, x: _inverse_root(body, body.apply("mul", x, 1 / count), op.epsilon.value.data),
    )
    normal = b.map([centered, factor], maps, shape, wide, lambda body, x, y: body.apply("mul", x, y))

    def scale(body: Body, x: SSAValue, gain: SSAValue, bias: SSAValue | None = None) -> SSAValue:
        x = body.apply("mul", x, gain)
        return x if bias is None else body.apply("add", x, bias)

    inputs = [normal, op.scale] if op.bias is None else [normal, op.scale, op.bias]
    return elementwise(b, inputs, shape, element, scale, wide=True)


def _inverse_root(body: Body, variance: SSAValue, epsilon: float) -> SSAValue:
    return body.apply("div", 1, body.apply("sqrt", body.apply("add", variance, epsilon)))


@lowering(graph.BatchNormOp)
def batch_norm(b: Builder, op: graph.BatchNormOp) -> SSAValue:
    """A factor per channel, then `(x - mean) * factor + bias`."""
    shape, element = shape_of(op.input), element_of(op.input)
    wide, rank = widened(element), len(shape)

    def factor(body: Body, scale: SSAValue, variance: SSAValue) -> SSAValue:
        return body.apply("mul", scale, _inverse_root(body, variance, op.epsilon.value.data))

    factors = elementwise(b, [op.scale, op.variance], shape_of(op.scale), wide, factor, wide=True)

    def build(body: Body, x: SSAValue, mean: SSAValue, gain: SSAValue, bias: SSAValue) -> SSAValue:
        x, mean, bias = (body.cast(v, wide) for v in (x, mean, bias))
        x = body.apply("mul", body.apply("sub", x, mean), gain)
        return body.cast(body.apply("add", x, bias), element)

    maps: list[Map] = [range(rank), [1], [1], [1]]
    return b.map([op.input, op.mean, factors, op.bias], maps, shape, element, build)
