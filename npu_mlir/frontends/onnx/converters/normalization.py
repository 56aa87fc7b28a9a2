"""Reductions, softmax and normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnx import TensorProto
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, f32, f64
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import ReduceKind, element_of, shape_of
from npu_mlir.frontends.onnx.converters.selection import cast, reshaped
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts, normalise

REDUCTIONS = {
    "ReduceSum": ReduceKind.SUM,
    "ReduceMean": ReduceKind.MEAN,
    "ReduceMax": ReduceKind.MAX,
    "ReduceMin": ReduceKind.MIN,
    "ReduceProd": ReduceKind.PROD,
    "ReduceSumSquare": ReduceKind.SUM,
    "ReduceL1": ReduceKind.SUM,
    "ReduceL2": ReduceKind.SUM,
    "ReduceLogSum": ReduceKind.SUM,
    "ReduceLogSumExp": ReduceKind.SUM,
}


@converts(*REDUCTIONS)
def reduction(node: Node) -> SSAValue:
    """A reduction over `axes`, attribute or constant operand; all dims without them. What goes before and behind it
    is done even if there is nothing to reduce, in f32 at least. Roots and logarithms of integers are cut off, as is
    their mean."""
    value, operator = node.value(0), node.operator
    element = element_of(value)
    axes = _axes(node, len(shape_of(value)))
    keepdims = bool(node.integer("keepdims", 1))
    if operator == "ReduceLogSumExp":
        return cast(node, _log_sum_exp(node, _widened(node, value), axes, keepdims), element)
    if operator in ("ReduceSumSquare", "ReduceL2", "ReduceLogSum") and isinstance(element, AnyFloat):
        value = _widened(node, value)
    if operator in ("ReduceSumSquare", "ReduceL2"):
        value = node.add(graph.MulOp(value, value))
    elif operator == "ReduceL1":
        value = node.add(graph.AbsOp(value))
    if operator == "ReduceMean" and not isinstance(element, AnyFloat):
        return _integer_mean(node, value, axes, keepdims)
    result = _reduced(node, REDUCTIONS[operator], value, axes, keepdims)
    if operator in ("ReduceL2", "ReduceLogSum"):
        make = graph.SqrtOp if operator == "ReduceL2" else graph.LogOp
        result = node.add(make(_widened(node, result)))
    return cast(node, result, element)


def _reduced(node: Node, kind: ReduceKind, value: SSAValue, axes: Sequence[int], keepdims: bool) -> SSAValue:
    return node.add(graph.ReduceOp(kind, value, axes, keepdims)) if axes else value


def _widened(node: Node, value: SSAValue) -> SSAValue:
    """Integers and narrow floats as f32."""
    return value if element_of(value) == f64 else cast(node, value, f32)


def _integer_mean(node: Node, value: SSAValue, axes: Sequence[int], keepdims: bool) -> SSAValue:
    """The sum over the count, towards 0."""
    count = prod(shape_of(value)[axis] for axis in axes)
    if not count:
        raise Unsupported("the mean of no integers")
    total = _reduced(node, ReduceKind.SUM, value, axes, keepdims)
    return node.add(graph.DivOp(total, node.scalar(count, total)))


def _log_sum_exp(node: Node, value: SSAValue, axes: Sequence[int], keepdims: bool) -> SSAValue:
    """`m + log(sum(exp(x - m)))` with the maximum m, or 0 in place of an infinite one."""
    peak = _reduced(node, ReduceKind.MAX, value, axes, True)
    infinite = node.add(graph.EqualOp(node.add(graph.AbsOp(peak)), node.scalar(float("inf"), peak)))
    peak = node.add(graph.WhereOp(infinite, node.scalar(0, peak), peak))
    powers = node.add(graph.ExpOp(node.add(graph.SubOp(value, peak))))
    total = _reduced(node, ReduceKind.SUM, powers, axes, keepdims)
    return node.add(graph.AddOp(node.add(graph.LogOp(total)), reshaped(node, peak, shape_of(total))))


def _axes(node: Node, rank: int) -> list[int]:
    """The axes, from an attribute or an input; none where an empty list means that nothing is reduced."""
    axes = node.integers("axes")
    no_op = bool(node.integer("noop_with_empty_axes", 0))
    if node.has(1):
        axes = node.ints_input(1, "axes")
    if not axes:
        return [] if no_op else list(range(rank))
    return sorted({normalise(axis, rank) for axis in axes})


@converts("Softmax", "LogSoftmax")
def softmax(node: Node) -> SSAValue:
    """Before opset 13 all dimensions from `axis` on form one."""
    make = graph.SoftmaxOp if node.operator == "Softmax" else graph.LogSoftmaxOp
    value = node.value(0)
    shape = shape_of(value)
    if node.opset >= 13:
        return node.add(make(value, node.axis(-1, len(shape))))
    axis = node.axis(1, len(shape)) if len(shape) != 1 else node.axis(0, 1)
    if prod(shape[axis + 1 :]) == 1:
        return node.add(make(value, axis))
    matrix = node.add(graph.ReshapeOp(value, (prod(shape[:axis]), prod(shape[axis:]))))
    return node.add(graph.ReshapeOp(node.add(make(matrix, 1)), shape))


@converts("LayerNormalization")
def layer_normalization(node: Node) -> SSAValue | list[SSAValue]:
    """Layer normalisation of the dims from `axis` on, with scale and bias. Mean and InvStdDev are f32."""
    node.require("stash_type", TensorProto.FLOAT)
    value = node.value(0)
    axis = node.axis(-1, len(shape_of(value)))
    epsilon = node.real("epsilon", 1e-5)
    result = node.add(graph.LayerNormOp(value, node.value(1), node.optional(2), axis=axis, epsilon=epsilon))
    if not (node.is_used(1) or node.is_used(2)):
        return result
    mean, variance = moments(node, cast(node, value, f32), range(axis, len(shape_of(value))))
    return [result, mean, inverse_root(node, variance, epsilon)]


def moments(node: Node, value: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """The mean and the variance (of the whole, not of a sample) over axes, which stay as extents of 1."""
    mean = node.add(graph.ReduceOp(ReduceKind.MEAN, value, axes, keepdims=True))
    centered = node.add(graph.SubOp(value, mean))
    squares = node.add(graph.MulOp(centered, centered))
    return mean, node.add(graph.ReduceOp(ReduceKind.MEAN, squares, axes, keepdims=True))


def inverse_root(node: Node, variance: SSAValue, epsilon: float) -> SSAValue:
    """`1 / sqrt(variance + epsilon)`."""
    shifted = node.add(graph.AddOp(variance, node.scalar(epsilon, variance)))
    return node.add(graph.ReciprocalOp(node.add(graph.SqrtOp(shifted))))


@converts("BatchNormalization")
def batch_normalization(node: Node) -> SSAValue | list[SSAValue]:
    """Batch normalisation with the statistics of the model, in training mode with those of the operand."""
    node.require("spatial", 1)
    momentum, epsilon = node.real("momentum", 0.9), node.real("epsilon", 1e-5)
    if not node.integer("training_mode", 0):
        return node.add(graph.BatchNormOp(*node.values(), epsilon=epsilon))
    value, scale, bias, *before = node.values()
    element, rank = element_of(value), len(shape_of(value))
    wide = cast(node, value, f32) if isinstance(element, Float16Type | BFloat16Type) else value
    mean, variance = moments(node, wide, [axis for axis in range(rank) if axis != 1])
    scale, bias = (cast(node, _by_channel(node, each, rank), element_of(wide)) for each in (scale, bias))
    factor = node.add(graph.MulOp(inverse_root(node, variance, epsilon), scale))
    result = node.add(graph.MulOp(node.add(graph.SubOp(wide, mean)), factor))
    result = node.add(graph.AddOp(result, bias))
    running = [
        _running(node, old, reshaped(node, new, shape_of(old)), momentum)
        for old, new in zip(before, (mean, variance), strict=True)
    ]
    return [cast(node, result, element), *running]


def _by_channel(node: Node, value: SSAValue, rank: int) -> SSAValue:
    """A vector with an entry for each channel, as one that broadcasts with tensors of that rank."""
    return reshaped(node, value, (*shape_of(value), *[1] * (rank - 2)))


def _running(node: Node, old: SSAValue, new: SSAValue, momentum: float) -> SSAValue:
    """`old * momentum + new * (1 - momentum)`, in the type of the old one."""
    new = cast(node, new, element_of(old))
    kept = node.add(graph.MulOp(old, node.scalar(momentum, old)))
    return node.add(graph.AddOp(kept, node.add(graph.MulOp(new, node.scalar(1 - momentum, new)))))


@converts("InstanceNormalization")
def instance_normalization(node: Node) -> SSAValue:
    """Each channel of each image by its own mean and variance, with a scale and a bias per channel."""
    value, shape = node.value(0), node.shape()
    lines = reshaped(node, value, (shape[0], shape[1], prod(shape[2:])))
    scale, bias = (reshaped(node, node.value(at), (shape[1], 1)) for at in (1, 2))
    epsilon = node.real("epsilon", 1e-5)
    return reshaped(node, node.add(graph.LayerNormOp(lines, scale, bias, axis=2, epsilon=epsilon)), shape)


@converts("LpNormalization")
def lp_normalization(node: Node) -> SSAValue:
    """The elements over the norm of their line along `axis`; a line of zeros stays."""
    value = node.value(0)
    axis, p = node.axis(-1, len(shape_of(value))), node.integer("p", 2)
    if p not in (1, 2):
        raise Unsupported(f"attribute p = {p}")
    powers = node.add(graph.AbsOp(value) if p == 1 else graph.MulOp(value, value))
    norm = node.add(graph.ReduceOp(ReduceKind.SUM, powers, [axis], keepdims=True))
    norm = node.add(graph.SqrtOp(norm)) if p == 2 else norm
    nothing = node.add(graph.EqualOp(norm, node.scalar(0, norm)))
    divisor = node.add(graph.WhereOp(nothing, node.scalar(1, norm), norm))
    return node.add(graph.DivOp(value, divisor))


@converts("LRN")
def local_response_normalization(node: Node) -> SSAValue:
    """Each element over `(bias + alpha * mean of the squares of size channels around it) ^ beta`; zeros count."""
    value, shape = node.value(0), node.shape()
    size = node.integer("size", 0)
    alpha, beta, bias = node.real("alpha", 1e-4), node.real("beta", 0.75), node.real("bias", 1.0)
    if size < 1:
        raise Unsupported(f"attribute size = {size}")
    squares = node.add(graph.MulOp(value, value))
    image = reshaped(node, squares, (shape[0], 1, shape[1], prod(shape[2:])))
    padded = node.add(graph.PadOp(image, [0, 0, (size - 1) // 2, 0], [0, 0, size // 2, 0], 0.0))
    pool = graph.AvgPoolOp(
        padded, kernel=[size, 1], strides=[1, 1], pads=[0] * 4, dilations=[1, 1], count_include_pad=False
    )
    mean = reshaped(node, node.add(pool), shape)
    scaled = node.add(graph.MulOp(mean, node.scalar(alpha, mean)))
    base = node.add(graph.AddOp(scaled, node.scalar(bias, scaled)))
    return node.add(graph.DivOp(value, node.add(graph.PowOp(base, node.scalar(beta, base)))))
