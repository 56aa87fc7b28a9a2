"""Convolutions the other way around: each element of the input adds a window to the result.

  y = ConvTranspose(x, w), stride 2
is
  spread = x with a zero between each two elements
  y = Conv(pad(spread), w mirrored, with input and output channels exchanged), stride 1

That multiplies zeros which ONNX doesn't have by weights. Where a weight may be infinite, since it is or since the run
brings it, each element is multiplied by its window first, and the windows are then put where they belong and added:

  part[p] = matmul(x, w[..., p]) for each position p of a window
  y = sum over p of pad(spread(part[p])) cut to the result
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as positions_of
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.converters.movement import pad_or_crop
from npu_mlir.frontends.onnx.converters.selection import box, reshaped, take
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts


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
    place = _Placement(strides, dilations, pads, extra)
    if _is_finite(node.raw(1)):
        return _convolved(node, place, _mirrored(node, group), group)
    return _with_bias(node, _added(node, _windows(node, group), list(kernel), place))


@dataclass(frozen=True)
class _Placement:
    """Where windows lie in a result: `pads` are cut off, all begins, then all ends; `extra` positions added at ends."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    extra: Sequence[int]

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.strides)


def _is_finite(weight: object) -> bool:
    """Whether a weight is known, and 0 times each of its elements is 0 in any float type that it may be cast to."""
    if not isinstance(weight, np.ndarray):
        return False
    return bool(np.all(np.abs(weight.astype(np.float64)) <= np.finfo(np.float16).max))


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


def _convolved(node: Node, place: _Placement, weight: SSAValue, group: int) -> SSAValue:
    """A convolution of the spread input with mirrored weights, and the bias."""
    rank, pads, strides = place.rank, place.pads, place.strides
    reach = [
        (size - 1) * dilation for size, dilation in zip(shape_of(weight)[2:], place.dilations, strict=True)
    ]
    value = _spread(node, node.value(0), strides)
    low = [0, 0, *(reach[d] - pads[d] for d in range(rank))]
    # Behind the last element stand stride - 1 zeros already.
    high = [0, 0, *(reach[d] - pads[rank + d] + place.extra[d] - (strides[d] - 1) for d in range(rank))]
    value = pad_or_crop(node, value, low, high, 0.0)
    ones, none = [1] * rank, [0] * (2 * rank)
    bias = node.optional(2)
    return node.add(
        graph.ConvOp(value, weight, bias, strides=ones, pads=none, dilations=place.dilations, group=group)
    )


def _windows(node: Node, group: int) -> SSAValue:
    """Each element of the input times its window: (batch, channels of the result * positions, spatial)."""
    shape, rank = node.shape(1), len(node.shape(1)) - 2
    inputs, columns = shape[0] // group, prod(shape[1:])
    weight = reshaped(node, node.value(1), (group, inputs, columns))
    weight = node.add(graph.TransposeOp(weight, [0, 2, 1]))
    weight = reshaped(node, weight, (group * columns, inputs, *[1] * rank))
    ones, none = [1] * rank, [0] * (2 * rank)
    return node.add(
        graph.ConvOp(node.value(0), weight, None, strides=ones, pads=none, dilations=ones, group=group)
    )


def _with_bias(node: Node, value: SSAValue) -> SSAValue:
    bias = node.optional(2)
    if bias is None:
        return value
    spatial = [1] * (len(shape_of(value)) - 2)
    return node.add(graph.AddOp(value, reshaped(node, bias, (1, shape_of(value)[1], *spatial))))


def _added(node: Node, windows: SSAValue, block: list[int], place: _Placement) -> SSAValue:
    """Windows added up where they overlap: for each channel of `windows` one position of a block after the other."""
    batch, columns, *spatial = shape_of(windows)
    rank, size = place.rank, prod(block)
    windows = reshaped(node, windows, (batch, columns // size, size, prod(spatial)))
    total: SSAValue | None = None
    for number, at in enumerate(positions_of(*map(range, block))):
        part = box(node, windows, {2: (number, 1, 1)})
        part = _spread(node, reshaped(node, part, (batch, columns // size, *spatial)), place.strides)
        first = [position * dilation for position, dilation in zip(at, place.dilations, strict=True)]
        low = [0, 0, *(first[d] - place.pads[d] for d in range(rank))]
        reach = [(block[d] - 1) * place.dilations[d] - first[d] for d in range(rank)]
        high = [
            *(0, 0),
            *(reach[d] - place.pads[rank + d] + place.extra[d] - (place.strides[d] - 1) for d in range(rank)),
        ]
        part = pad_or_crop(node, part, low, high, 0.0)
        total = part if total is None else node.add(graph.AddOp(total, part))
    assert total is not None
    return total


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
    """Columns of blocks added up where they overlap."""
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
    parts = reshaped(node, value, (batch, columns, *blocks))
    return _added(node, parts, block, _Placement(strides, dilations, pads, extra))
