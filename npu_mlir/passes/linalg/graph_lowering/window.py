"""Pooling: a reduction over a window operand that is only a shape, as in upstream linalg, or over whole dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.ir.constants import make_constant
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.convolution import pad_spatial, window_read
from npu_mlir.passes.linalg.graph_lowering.registry import (
    add_into,
    elementwise,
    lowering,
    sum_over,
    widened,
)
from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.passes.linalg.signless import is_unsigned
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.dtypes import numpy_dtype


def lowest(type_: Attribute) -> float:
    """What never wins a maximum."""
    if isinstance(type_, AnyFloat):
        return float("-inf")
    return 0 if is_unsigned(type_) else -(1 << (bit_width(type_) - 1))


def highest(type_: Attribute) -> float:
    """What never wins a minimum."""
    if isinstance(type_, AnyFloat):
        return float("inf")
    return (1 << (bit_width(type_) - (not is_unsigned(type_)))) - 1


def max_into(body: Body, value: SSAValue, accumulator: SSAValue) -> SSAValue:
    """The body of a maximum."""
    return body.apply("max", value, accumulator)


def _slide(
    b: Builder,
    op: graph.PoolOp,
    padding: float,
    init: float,
    element: Attribute,
    build: Callable[[Body, SSAValue, SSAValue], SSAValue],
) -> SSAValue:
    """Reduce each window. Loops: the dims of the result, then those of the window."""
    nhwc = op.layout.data is graph.Layout.NHWC
    first = 1 if nhwc else 2
    kernel = op.kernel.get_values()
    x = pad_spatial(b, op.input, op.pads.get_values(), first, padding)
    shape = shape_of(op.result)
    rank, count = len(shape), len(kernel)
    outputs, loops = list(range(first, first + count)), list(range(rank, rank + count))
    steps = zip(outputs, loops, op.strides.get_values(), op.dilations.get_values(), strict=True)
    reads = [window_read(*step) for step in steps]
    x_map: Map = [*range(first), *reads, *range(first + count, rank)]
    extents = b.empty(tuple(kernel), element_of(op.input))
    start = b.fill(init, shape, element)
    return b.generic(
        [x, extents],
        start,
        [x_map, loops, range(rank)],
        rank + count,
        loops,
        lambda body: build(body, body.args[0], body.args[2]),
    )


@lowering(graph.MaxPoolOp)
def max_pool(b: Builder, op: graph.MaxPoolOp) -> SSAValue:
    element = element_of(op.input)
    return _slide(b, op, lowest(element), lowest(element), element, max_into)


@lowering(graph.AvgPoolOp)
def avg_pool(b: Builder, op: graph.AvgPoolOp) -> SSAValue:
    """The sum of each window times one over its size; by a tensor of sizes where padding doesn't count."""
    element, shape = element_of(op.result), shape_of(op.result)
    total = _slide(b, op, 0, 0, widened(element), add_into)
    counts = _counts(op)
    if (counts == counts.flat[0]).all():
        factor = 1.0 / float(counts.flat[0])
        return elementwise(b, [total], shape, element, lambda body, x: body.apply("mul", x, factor))
    array = (1.0 / counts).astype(numpy_dtype(element_of(total)))
    factors = _constant(b, op, array)
    first = 1 if op.layout.data is graph.Layout.NHWC else 2
    maps: list[Map] = [range(len(shape)), range(first, first + counts.ndim)]

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.cast(body.apply("mul", x, y), element)

    return b.map([total, factors], maps, shape, element, build)


def _constant(b: Builder, op: graph.AvgPoolOp, array: np.ndarray) -> SSAValue:
    from npu_mlir.ir.weights import weights_of

    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    return b.add(make_constant(weights_of(module), array, "avg_pool.factors"))


def _counts(op: graph.AvgPoolOp) -> np.ndarray:
    """The number of positions of each window that count."""
    nhwc = op.layout.data is graph.Layout.NHWC
    sizes = shape_of(op.input)[1:-1] if nhwc else shape_of(op.input)[2:]
    outputs = shape_of(op.result)[1:-1] if nhwc else shape_of(op.result)[2:]
    kernel = op.kernel.get_values()
    if op.count_include_pad is not None:
        return np.full(outputs, np.prod(kernel), np.float64)
    axes = [
        _axis_counts(*numbers)
        for numbers in zip(
            sizes,
            outputs,
            kernel,
            op.strides.get_values(),
            op.dilations.get_values(),
            op.pads.get_values()[: len(kernel)],
            strict=True,
        )
    ]
    counts = np.ones(outputs)
    for axis, values in enumerate(axes):
        counts = counts * values.reshape([-1 if d == axis else 1 for d in range(len(axes))])
    return counts


def _axis_counts(size: int, outputs: int, kernel: int, stride: int, dilation: int, pad: int) -> np.ndarray:
    position = np.arange(outputs)[:, None] * stride + np.arange(kernel) * dilation - pad
    return ((position >= 0) & (position < size)).sum(1).astype(np.float64)


def _spatial_axes(op: graph.GlobalAvgPoolOp | graph.GlobalMaxPoolOp) -> list[int]:
    rank = len(shape_of(op.input))
    return list(range(1, rank - 1) if op.layout.data is graph.Layout.NHWC else range(2, rank))


@lowering(graph.GlobalAvgPoolOp)
def global_avg_pool(b: Builder, op: graph.GlobalAvgPoolOp) -> SSAValue:
    return b.reshape(mean_over(b, op.input, _spatial_axes(op)), shape_of(op.result))


@lowering(graph.GlobalMaxPoolOp)
def global_max_pool(b: Builder, op: graph.GlobalMaxPoolOp) -> SSAValue:
    element = element_of(op.input)
    peak = b.reduce(op.input, _spatial_axes(op), lowest(element), element, max_into)
    return b.reshape(peak, shape_of(op.result))


def mean_over(b: Builder, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The mean over `axes`, which disappear, in the element type of the value."""
    count = float(np.prod([shape_of(value)[d] for d in axes]))
    # The mean of nothing is 0 times infinity.
    factor = 1.0 / count if count else float("inf")
    total = sum_over(b, value, axes)
    return elementwise(
        b,
        [total],
        shape_of(total),
        element_of(value),
        lambda body, x: body.apply("mul", x, factor),
    )
