"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of, shapes
from npu_mlir.frontends.onnx.converters.selection import box, reshaped, take
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts, normalise


@converts("Transpose")
def transpose(node: Node) -> SSAValue:
    """A permutation of the dims; without `perm` they are reversed."""
    value = node.value(0)
    perm = node.integers("perm") or list(range(len(shape_of(value))))[::-1]
    return node.add(graph.TransposeOp(value, perm)) if shape_of(value) else value


@converts("DepthToSpace", "SpaceToDepth")
def depth_space(node: Node) -> SSAValue:
    """Blocks of the image as channels, or channels as blocks: N x C*b*b x H x W and N x C x H*b x W*b.

    With `mode` DCR the channels are those of all images of the blocks' places, with CRD all places of each image.
    """
    value, block = node.value(0), node.integer("blocksize", 0)
    mode = node.text("mode", "DCR")
    shape = shape_of(value)
    to_space = node.operator == "DepthToSpace"
    extents = [(1, block * block)] if to_space else [(2, block), (3, block)]
    if len(shape) != 4 or block < 1 or any(shape[d] % by for d, by in extents):
        raise Unsupported(f"{shapes.text(shape)} has no blocks of {block} x {block}")
    if mode not in ("DCR", "CRD"):
        raise Unsupported(f"attribute mode = {mode}")
    places = (block, block)
    if to_space:
        n, depth, h, w = shape
        c = depth // (block * block)
        split = (n, *places, c, h, w) if mode == "DCR" else (n, c, *places, h, w)
        order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
        joined = (n, c, h * block, w * block)
    else:
        n, c, h, w = shape[0], shape[1], shape[2] // block, shape[3] // block
        split = (n, c, h, block, w, block)
        order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
        joined = (n, c * block * block, h, w)
    return reshaped(node, node.add(graph.TransposeOp(reshaped(node, value, split), order)), joined)


@converts("Concat")
def concat(node: Node) -> SSAValue:
    """The operands one behind the other along `axis`."""
    values = node.values()
    axis = node.axis(None, len(shape_of(values[0])))
    return node.add(graph.ConcatOp(values, axis)) if len(values) > 1 else values[0]


@converts("Expand")
def expand(node: Node) -> SSAValue:
    """The operand broadcast to the common shape of its own and the second operand, which has to be a constant."""
    value = node.value(0)
    target = shapes.broadcast(shape_of(value), tuple(node.ints_input(1, "shape")))
    return value if target == shape_of(value) else node.add(graph.ExpandOp(value, target))


@converts("Split")
def split(node: Node) -> list[SSAValue]:
    """Pieces along `axis`, of the sizes given or as equal as the number of outputs allows."""
    value = node.value(0)
    axis = node.axis(0, len(shape_of(value)))
    sizes = _split_sizes(node, shape_of(value)[axis])
    results: list[SSAValue] = []
    offset = 0
    for size in sizes:
        results.append(box(node, value, {axis: (offset, size, 1)}))
        offset += size
    return results


def _split_sizes(node: Node, extent: int) -> list[int]:
    sizes = node.integers("split")
    if node.has(1):
        sizes = node.ints_input(1, "split")
    count = node.integer("num_outputs", node.output_count)
    if sizes is None:
        size = -(-extent // count)
        sizes = [max(0, min(size, extent - at * size)) for at in range(count)]
    if sum(sizes) != extent or len(sizes) != node.output_count:
        raise Unsupported(f"split sizes {sizes} of extent {extent} into {node.output_count} outputs")
    return sizes


@converts("Slice")
def slice_(node: Node) -> SSAValue:
    """A box with strides, backwards where a step is negative. Starts, ends, axes and steps have to be constants."""
    value = node.value(0)
    shape = shape_of(value)
    starts, ends, axes, steps = _slice_lists(node)
    ranges: dict[int, tuple[int, int, int]] = {}
    reversed_axes: dict[int, range] = {}
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Unsupported(f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = normalise(axis, len(shape))
        if step == 0 or axis in ranges or axis in reversed_axes:
            raise Unsupported(f"step {step} along axis {axis}")
        picked = range(*slice(start, end, step).indices(shape[axis]))
        if step > 0:
            ranges[axis] = (picked.start if picked else 0, len(picked), step)
        else:
            reversed_axes[axis] = picked
    if any(ranges[axis] != (0, shape[axis], 1) for axis in ranges):
        value = box(node, value, ranges)
    for axis, picked in reversed_axes.items():
        value = take(node, value, np.asarray(picked, np.int64), axis)
    return value


def _slice_lists(node: Node) -> tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]:
    if node.opset < 10:
        starts, ends, axes = node.integers("starts"), node.integers("ends"), node.integers("axes")
        if starts is None or ends is None:
            raise Unsupported("attribute starts or ends is missing")
        steps = None
    else:
        starts, ends = node.ints_input(1, "starts"), node.ints_input(2, "ends")
        axes = node.ints_input(3, "axes") if node.has(3) else None
        steps = node.ints_input(4, "steps") if node.has(4) else None
    return starts, ends, range(len(starts)) if axes is None else axes, steps or [1] * len(starts)


@converts("Pad")
def pad(node: Node) -> SSAValue:
    """Padding in elements at both ends of each dim, by a constant or by elements of the operand; negative crops."""
    mode = node.text("mode", "constant")
    value = node.value(0)
    rank = len(shape_of(value))
    if node.opset < 11:
        pads, constant, axes = node.integers("pads") or [], node.real("value", 0.0), None
    else:
        pads = node.ints_input(1, "pads")
        constant = _padding_value(node)
        axes = node.ints_input(3, "axes") if node.has(3) else None
    low, high = [0] * rank, [0] * rank
    count = len(pads) // 2
    if len(pads) % 2 or count != len(range(rank) if axes is None else axes):
        raise Unsupported(f"{len(pads)} paddings for {rank if axes is None else len(axes)} dimensions")
    for axis, before, after in zip(
        range(count) if axes is None else axes, pads[:count], pads[count:], strict=True
    ):
        low[normalise(axis, rank)], high[normalise(axis, rank)] = before, after
    if mode == "constant" and isinstance(constant, SSAValue):
        return _pad_with(node, value, low, high, constant)
    if mode == "constant":
        return pad_or_crop(node, value, low, high, constant)
    if mode not in ("reflect", "edge", "wrap"):
        raise Unsupported(f"attribute mode = {mode}")
    value = pad_or_crop(node, value, [min(0, n) for n in low], [min(0, n) for n in high], 0)
    for axis in range(rank):
        widths = (max(0, low[axis]), max(0, high[axis]))
        if any(widths):
            picked = np.pad(np.arange(shape_of(value)[axis]), widths, mode=mode)
            value = take(node, value, picked, axis)
    return value


def _padding_value(node: Node) -> Any:
    """The number that is put around, or a value of the module that has it."""
    if not node.has(2):
        return 0
    value = node.raw(2)
    return value if isinstance(value, SSAValue) else value.reshape(-1)[0]


def _pad_with(node: Node, value: SSAValue, low: list[int], high: list[int], constant: SSAValue) -> SSAValue:
    """Padding by a number that is not known now: it is selected where zeros were put around."""
    padded = pad_or_crop(node, value, low, high, 0)
    kept = np.ones(
        [max(0, e + min(0, b) + min(0, a)) for e, b, a in zip(shape_of(value), low, high)], np.bool_
    )
    inside = np.pad(kept, [(max(0, before), max(0, after)) for before, after in zip(low, high)])
    if inside.all():
        return padded
    number = constant if shape_of(constant) == () else node.add(graph.ReshapeOp(constant, ()))
    return node.add(graph.WhereOp(node.array(inside, "inside"), padded, number))


def pad_or_crop(node: Node, value: SSAValue, low: list[int], high: list[int], constant: float) -> SSAValue:
    """Negative padding removes elements."""
    ranges = {
        axis: (max(0, -before), extent - max(0, -before) - max(0, -after), 1)
        for axis, (extent, before, after) in enumerate(zip(shape_of(value), low, high, strict=True))
    }
    if any(ranges[axis][1] != extent for axis, extent in enumerate(shape_of(value))):
        value = box(node, value, ranges)
    low, high = [max(0, before) for before in low], [max(0, after) for after in high]
    return node.add(graph.PadOp(value, low, high, constant)) if any(low + high) else value
