"""Reductions, and what normalises by them. Narrow floats are computed in f32 in between."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.registry import apply_rows, elementwise, lowering, widened
from npu_mlir.passes.linalg.graph_lowering.rows import along, exponentials, inverse_root
from npu_mlir.passes.linalg.graph_lowering.window import highest, lowest, mean_over
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


@lowering(graph.SoftmaxOp)
def softmax(b: Builder, op: graph.SoftmaxOp) -> SSAValue:
    return apply_rows(b, op, "softmax", op.input, axis=op.axis.value.data)


@lowering(graph.LogSoftmaxOp)
def log_softmax(b: Builder, op: graph.LogSoftmaxOp) -> SSAValue:
    """`x - maximum - log(sum(exp(x - maximum)))`."""
    axis, element, shape = op.axis.value.data, element_of(op.result), shape_of(op.result)
    peak, _, total = exponentials(b, op.input, axis, widened(element))
    wide = element_of(total)

    def shift(body: Body, maximum: SSAValue, power: SSAValue) -> SSAValue:
        return body.apply("add", body.cast(maximum, wide), body.apply("log", power))

    rank = len(shape_of(total))
    offset = b.map([peak, total], [range(rank), range(rank)], shape_of(total), wide, shift)

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.cast(body.apply("sub", body.cast(x, wide), y), element)

    return b.map([op.input, offset], along(len(shape), [axis]), shape, element, build)


@lowering(graph.LayerNormOp)
def layer_norm(b: Builder, op: graph.LayerNormOp) -> SSAValue:
    axis, epsilon = op.axis.value.data, op.epsilon.value.data
    return apply_rows(b, op, "layer_norm", *op.operands, axis=axis, epsilon=epsilon)


@lowering(graph.RmsNormOp)
def rms_norm(b: Builder, op: graph.RmsNormOp) -> SSAValue:
    axis, epsilon = op.axis.value.data, op.epsilon.value.data
    return apply_rows(b, op, "rms_norm", *op.operands, axis=axis, epsilon=epsilon)


@lowering(graph.BatchNormOp)
def batch_norm(b: Builder, op: graph.BatchNormOp) -> SSAValue:
    """A factor per channel, then `(x - mean) * factor + bias`."""
    shape, element = shape_of(op.input), element_of(op.input)
    wide, rank = widened(element), len(shape)

    def factor(body: Body, scale: SSAValue, variance: SSAValue) -> SSAValue:
        return body.apply("mul", scale, inverse_root(body, variance, op.epsilon.value.data))

    factors = elementwise(b, [op.scale, op.variance], shape_of(op.scale), wide, factor, wide=True)

    def build(body: Body, x: SSAValue, mean: SSAValue, gain: SSAValue, bias: SSAValue) -> SSAValue:
        x, mean, bias = (body.cast(v, wide) for v in (x, mean, bias))
        x = body.apply("mul", body.apply("sub", x, mean), gain)
        return body.cast(body.apply("add", x, bias), element)

    maps: list[Map] = [range(rank), [1], [1], [1]]
    return b.map([op.input, op.mean, factors, op.bias], maps, shape, element, build)
