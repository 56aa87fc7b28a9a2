"""Convolutions the other way around: each element of the input adds a window to the result.

  y = ConvTranspose(x, w), stride 2
is
  spread = x with a zero between each two elements
  y = Conv(pad(spread), w mirrored, with input and output channels exchanged), stride 1
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as positions_of
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of, shape_of
from npu_mlir.frontends.onnx.converters.movement import pad_or_crop
from npu_mlir.frontends.onnx.converters.selection import reshaped, take
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, converts
from npu_mlir.support.dtypes import numpy_dtype


@converts("ConvTranspose")
def conv_transpose(node: Node) -> SSAValue:
    """A transposed convolution: strides, dilations, groups, output padding or shape, a bias."""
    kernel = node.shape(1)[2:]
    rank = len(kernel)
    if node.integers("kernel_shape") not in (None, list(kernel)):
        raise Unsupported(f"kernel_shape {node.integers('kernel_shape')} for weights {node.shape(1)}")
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    extra = node.integers("output_padding") or [0] * rank
    pads = _pads(node, kernel, strides, dilations, extra)
    group = node.integer("group", 1)
    weight = _mirrored(node, group)
    return scattered(node, node.value(0), weight, strides, dilations, pads, extra, group, node.optional(2))


def _pads(
    node: Node, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], extra: Sequence[int]
) -> list[int]:
    """How much of the result is cut off, all begins, then all ends."""
    pads, wanted = node.integers("pads"), node.integers("output_shape")
    mode = node.text("auto_pad", "NOTSET")
    extents = node.shape()[2:]
    if wanted is None and mode in ("NOTSET", "VALID"):
        return pads if pads and mode == "NOTSET" else [0] * (2 * len(kernel))
    if wanted is None:
        wanted = [extent * stride for extent, stride in zip(extents, strides, strict=True)]
    totals = [
        stride * (extent - 1) + more + (size - 1) * dilation + 1 - target
        for extent, size, stride, dilation, more, target in zip(
            extents, kernel, strides, dilations, extra, wanted[-len(kernel) :], strict=True
        )
    ]
    small = [total // 2 for total in totals]
    large = [total - half for total, half in zip(totals, small, strict=True)]
    return [*small, *large] if mode == "SAME_UPPER" else [*large, *small]


def _mirrored(node: Node, group: int) -> SSAValue:
    """Weights of a convolution out of those of a transposed one: (out, in of a group, window), windows reversed."""
    raw, shape = node.raw(1), node.shape(1)
    inputs, outputs, window = shape[0] // group, shape[1], shape[2:]
    apart = (group, inputs, outputs, *window)
    perm = [0, 2, 1, *range(3, len(apart))]
    result = (group * outputs, inputs, *window)
    if isinstance(raw, np.ndarray):
        array = np.flip(raw, tuple(range(2, raw.ndim))).reshape(apart).transpose(perm).reshape(result)
        return node.array(np.ascontiguousarray(array), "mirrored")
    value = raw
    for axis in range(2, len(shape)):
        value = take(node, value, np.arange(shape[axis])[::-1], axis)
    return reshaped(node, node.add(graph.TransposeOp(reshaped(node, value, apart), perm)), result)


def scattered(
    node: Node,
    value: SSAValue,
    weight: SSAValue,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    extra: Sequence[int],
    group: int,
    bias: SSAValue | None = None,
) -> SSAValue:
    """A convolution with mirrored weights of the spread input. `pads` are cut off, `extra` positions added at ends."""
    rank = len(strides)
    reach = [(size - 1) * dilation for size, dilation in zip(shape_of(weight)[2:], dilations, strict=True)]
    value = _spread(node, value, strides)
    low = [0, 0, *(reach[d] - pads[d] for d in range(rank))]
    # Behind the last element stand stride - 1 zeros already.
    high = [0, 0, *(reach[d] - pads[rank + d] + extra[d] - (strides[d] - 1) for d in range(rank))]
    value = pad_or_crop(node, value, low, high, 0.0)
    ones, none = [1] * rank, [0] * (2 * rank)
    conv = graph.ConvOp(value, weight, bias, strides=ones, pads=none, dilations=dilations, group=group)
    return node.add(conv)


def _spread(node: Node, value: SSAValue, strides: Sequence[int]) -> SSAValue:
    """Each element followed by stride - 1 zeros along each spatial axis."""
    if all(stride == 1 for stride in strides):
        return value
    batch, channels, *spatial = shape_of(value)
    apart = [batch, channels, *(part for extent in spatial for part in (extent, 1))]
    high = [0, 0, *(part for stride in strides for part in (0, stride - 1))]
    padded = node.add(graph.PadOp(reshaped(node, value, apart), [0] * len(high), high, 0.0))
    together = [extent * stride for extent, stride in zip(spatial, strides, strict=True)]
    return reshaped(node, padded, (batch, channels, *together))


@converts("Col2Im")
def col2im(node: Node) -> SSAValue:
    """Columns of blocks added up where they overlap: a transposed convolution whose weights pick a block's position."""
    image, block = node.ints_input(1, "image shape"), node.ints_input(2, "block shape")
    rank, size = len(image), prod(block)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    pads = node.integers("pads") or [0] * (2 * rank)
    value = node.value(0)
    batch, columns, count = shape_of(value)
    blocks = [
        (image[d] + pads[d] + pads[rank + d] - (block[d] - 1) * dilations[d] - 1) // strides[d] + 1
        for d in range(rank)
    ]
    if prod(blocks) != count or columns % size:
        raise Unsupported(f"{columns} x {count} columns for an image {image} and blocks {block}")
    covered = [
        (blocks[d] - 1) * strides[d] + (block[d] - 1) * dilations[d] + 1 - pads[d] - pads[rank + d]
        for d in range(rank)
    ]
    extra = [extent - made for extent, made in zip(image, covered, strict=True)]
    channels = columns // size
    weight = node.array(_one_hot(channels, block, numpy_dtype(element_of(value))), "positions")
    parts = reshaped(node, value, (batch, columns, *blocks))
    return scattered(node, parts, weight, strides, dilations, pads, extra, channels)


def _one_hot(channels: int, block: Sequence[int], dtype: np.dtype[np.generic]) -> Constant:
    """For each channel the same mirrored windows, one for each position of a block."""
    window = np.zeros((1, prod(block), *block), dtype)
    for number, at in enumerate(positions_of(*map(range, block))):
        window[(0, number, *(size - 1 - position for size, position in zip(block, at, strict=True)))] = 1
    return np.ascontiguousarray(np.broadcast_to(window, (channels, *window.shape[1:])))
