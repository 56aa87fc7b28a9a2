"""Pooling, and the padding rules that it shares with convolution."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.converters.unpooling import positions_of_maxima
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts


def explicit_pads(
    node: Node,
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:
    """The pads that `pads` or `auto_pad` mean, all begins, then all ends."""
    pads = node.integers("pads")
    mode = node.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return pads or [0] * (2 * len(kernel))
    if mode == "VALID":
        return [0] * (2 * len(kernel))
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"attribute auto_pad = {mode} is not supported")
    begins: list[int] = []
    ends: list[int] = []
    for extent, size, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
        total = max(0, (-(-extent // stride) - 1) * stride + (size - 1) * dilation + 1 - extent)
        small, large = total // 2, total - total // 2
        begins.append(small if mode == "SAME_UPPER" else large)
        ends.append(large if mode == "SAME_UPPER" else small)
    return begins + ends


def ceil_excess(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:
    """The end padding that `ceil_mode` adds so that a partial last window counts, unless it would start in it."""
    excess: list[int] = []
    rank = len(extents)
    for axis in range(rank):
        begin, stride = pads[axis], strides[axis]
        padded = extents[axis] + begin + pads[rank + axis]
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        count = -(-(padded - reach) // stride) + 1
        if (count - 1) * stride >= extents[axis] + begin:
            count -= 1
        excess.append(max(0, (count - 1) * stride + reach - padded))
    return excess


@converts("MaxPool", "AveragePool")
def pool(node: Node) -> SSAValue | list[SSAValue]:
    """Maximum or average over windows of `kernel_shape` elements, with strides, dilations and padding in elements."""
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise Unsupported("attribute kernel_shape is missing")
    rank = len(kernel)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    extents = node.shape()[2:]
    _check_same(node, kernel, strides, dilations)
    pads = explicit_pads(node, extents, kernel, strides, dilations)
    excess = [0] * rank
    if node.integer("ceil_mode", 0):
        excess = ceil_excess(extents, kernel, strides, pads, dilations)
    if node.operator == "AveragePool":
        return _average_pool(node, kernel, strides, pads, dilations, excess)
    value, pads = node.value(0), _widen(pads, excess)
    pooled = node.add(graph.MaxPoolOp(value, kernel=kernel, strides=strides, pads=pads, dilations=dilations))
    node.integer("storage_order", 0)
    return [pooled, positions_of_maxima(node, value, pooled, pads)] if node.is_used(1) else pooled


def _check_same(node: Node, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> None:
    """Runtimes disagree about what SAME means for a pool whose windows leave gaps or are dilated."""
    if node.text("auto_pad", "NOTSET").startswith("SAME") and (
        any(stride > size for stride, size in zip(strides, kernel, strict=True))
        or any(d > 1 for d in dilations)
    ):
        raise Unsupported(f"auto_pad with kernel {list(kernel)}, strides {strides} and dilations {dilations}")


def _average_pool(
    node: Node,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: list[int],
    dilations: Sequence[int],
    excess: Sequence[int],
) -> SSAValue:
    """What `ceil_mode` adds never counts as an element, declared padding does if the model says so."""
    value, count_include_pad = node.value(0), bool(node.integer("count_include_pad", 0))
    if count_include_pad and any(excess):
        rank = len(kernel)
        value = node.add(graph.PadOp(value, [0, 0, *pads[:rank]], [0, 0, *pads[rank:]], 0.0))
        pads, count_include_pad = [0] * (2 * rank), False
    return node.add(
        graph.AvgPoolOp(
            value,
            kernel=kernel,
            strides=strides,
            pads=_widen(pads, excess),
            dilations=dilations,
            count_include_pad=count_include_pad,
        )
    )


def _widen(pads: Sequence[int], excess: Sequence[int]) -> list[int]:
    rank = len(excess)
    return [*pads[:rank], *(end + more for end, more in zip(pads[rank:], excess, strict=True))]


@converts("GlobalAveragePool")
def global_average_pool(node: Node) -> SSAValue:
    """The average over all spatial dims, which keep size 1."""
    return node.add(graph.GlobalAvgPoolOp(node.value(0)))


@converts("GlobalMaxPool")
def global_max_pool(node: Node) -> SSAValue:
    """The maximum over all spatial dims, which keep size 1."""
    return node.add(graph.GlobalMaxPoolOp(node.value(0)))


@converts("LpPool", "GlobalLpPool")
def lp_pool(node: Node) -> SSAValue:
    """The p-norm of each window, or of all spatial dims: the mean of powers times their number, and a root."""
    value, p = node.value(0), node.integer("p", 2)
    magnitude = node.add(graph.AbsOp(value)) if p != 2 else value
    powers = magnitude
    if p == 2:
        powers = node.add(graph.MulOp(value, value))
    elif p != 1:
        powers = node.add(graph.PowOp(magnitude, node.scalar(p, magnitude)))
    if node.operator == "GlobalLpPool":
        axes = list(range(2, len(shape_of(value))))
        return _root(node, node.add(graph.ReduceOp(graph.ReduceKind.SUM, powers, axes, keepdims=True)), p)
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise Unsupported("attribute kernel_shape is missing")
    rank = len(kernel)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    extents = node.shape()[2:]
    pads = explicit_pads(node, extents, kernel, strides, dilations)
    excess = (
        ceil_excess(extents, kernel, strides, pads, dilations) if node.integer("ceil_mode", 0) else [0] * rank
    )
    pads = _widen(pads, excess)
    if any(pads):
        powers = node.add(graph.PadOp(powers, [0, 0, *pads[:rank]], [0, 0, *pads[rank:]], 0.0))
    none = [0] * (2 * rank)
    mean = node.add(
        graph.AvgPoolOp(
            powers, kernel=kernel, strides=strides, pads=none, dilations=dilations, count_include_pad=False
        )
    )
    return _root(node, node.add(graph.MulOp(mean, node.scalar(prod(kernel), mean))), p)


def _root(node: Node, total: SSAValue, p: int) -> SSAValue:
    if p == 1:
        return total
    if p == 2:
        return node.add(graph.SqrtOp(total))
    return node.add(graph.PowOp(total, node.scalar(1 / p, total)))
