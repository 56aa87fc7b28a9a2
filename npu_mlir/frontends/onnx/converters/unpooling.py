"""The positions of the maxima of windows, and elements put back at such positions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of, shape_of
from npu_mlir.frontends.onnx.converters.movement import pad_or_crop
from npu_mlir.frontends.onnx.converters.selection import box, cast, lowest, place, reshaped
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts
from npu_mlir.support.dtypes import numpy_dtype


def positions_of_maxima(node: Node, value: SSAValue, pooled: SSAValue, pads: Sequence[int]) -> SSAValue:
    """Where in the whole tensor each maximum of a window stands: the first of equal ones. `pads` have what
    `ceil_mode` adds. With `storage_order` 1 the spatial dims are counted in column-major order."""
    kernel = node.integers("kernel_shape") or []
    rank = len(kernel)
    strides = node.integers("strides") or [1] * rank
    dilations = node.integers("dilations") or [1] * rank
    extents, outputs = shape_of(value)[2:], shape_of(pooled)[2:]
    sizes = [prod(extents[d + 1 :]) for d in range(rank)]
    if node.integer("storage_order", 0):
        sizes = [prod(extents[:d]) for d in range(rank)]
    low, high = [0, 0, *pads[:rank]], [0, 0, *pads[rank:]]
    padded = pad_or_crop(node, value, low, high, lowest(element_of(value)))
    best: SSAValue | None = None
    for taps in reversed([*product(*map(range, kernel))]):
        starts = [tap * dilation for tap, dilation in zip(taps, dilations, strict=True)]
        ranges = {2 + d: (starts[d], outputs[d], strides[d]) for d in range(rank)}
        hit = node.add(graph.EqualOp(box(node, padded, ranges), pooled))
        along = [np.arange(outputs[d]) * strides[d] + starts[d] - pads[d] for d in range(rank)]
        grid = np.meshgrid(*along, indexing="ij")
        inside = np.all([(at >= 0) & (at < extent) for at, extent in zip(grid, extents, strict=True)], 0)
        if not inside.all():
            hit = node.add(graph.LogicalAndOp(hit, node.array(inside, "inside" + "_".join(map(str, taps)))))
        places = sum(positions * size for positions, size in zip(grid, sizes, strict=True))
        here = node.array(np.asarray(places, np.int32), "place" + "_".join(map(str, taps)))
        best = here if best is None else node.add(graph.WhereOp(hit, here, best))
    assert best is not None
    batch, channels = shape_of(value)[:2]
    planes = np.arange(batch * channels, dtype=np.int32) * prod(extents)
    planes = planes.reshape(batch, channels, *[1] * rank)
    return cast(node, node.add(graph.AddOp(node.array(planes, "planes"), best)), i64)


@converts("MaxUnpool")
def max_unpool(node: Node) -> SSAValue:
    """Each element at the position of the maximum that it was, in its own channel; zeros elsewhere. A larger shape than
    that of the pool's operand has zeros at the ends."""
    value, index = node.value(0), node.value(1)
    batch, channels, *spatial = shape_of(value)
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise Unsupported("attribute kernel_shape is missing")
    rank = len(kernel)
    strides, pads = node.integers("strides") or [1] * rank, node.integers("pads") or [0] * (2 * rank)
    extents = [
        (extent - 1) * strides[d] + kernel[d] - pads[d] - pads[rank + d] for d, extent in enumerate(spatial)
    ]
    lines, size = batch * channels, prod(extents)
    index = reshaped(node, cast(node, index, i32), (lines, prod(spatial)))
    offsets = (np.arange(lines, dtype=np.int32) * size).reshape(-1, 1)
    index = node.add(graph.SubOp(index, node.array(offsets, "planes")))
    zeros = node.array(np.zeros((lines, size), numpy_dtype(element_of(value))), "zeros")
    updates = reshaped(node, value, (lines, prod(spatial)))
    result = reshaped(node, place(node, zeros, index, updates, 1, "none"), (batch, channels, *extents))
    if not node.has(2):
        return result
    wanted = node.ints_input(2, "output shape")
    high = [target - extent for target, extent in zip(wanted, shape_of(result), strict=True)]
    return pad_or_crop(node, result, [0] * len(high), high, 0)
