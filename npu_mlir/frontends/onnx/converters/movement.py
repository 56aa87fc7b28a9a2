"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of, shapes
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, converts, normalise


@converts("Transpose")
def transpose(node: Node) -> SSAValue:
    """A permutation of the dims; without `perm` they are reversed."""
    value = node.value(0)
    perm = node.integers("perm") or list(range(len(shape_of(value))))[::-1]
    return node.add(graph.TransposeOp(value, perm)) if shape_of(value) else value


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


@converts("Gather")
def gather(node: Node) -> SSAValue:
    """Slices along `axis` by index; constant indices out of range are refused."""
    value, indices = node.value(0), node.raw(1)
    axis = node.axis(0, len(shape_of(value)))
    if isinstance(indices, np.ndarray):
        extent = shape_of(value)[axis]
        _check_indices(indices, extent, axis)
        runs = _runs([int(index) % extent for index in indices.flat])
        if 0 < len(runs) <= MOST_SLICES:
            return _picked(node, value, runs, axis, indices.shape)
    return node.add(graph.GatherOp(value, node.value(1), axis))


MOST_SLICES = 8
"""A gather by constant indices becomes so many slices at most; else the host does it."""


def _runs(indices: Sequence[int]) -> list[tuple[int, int, int]]:
    """The indices as (offset, size, stride) of slices in order, each as long as it can be.

    >>> _runs([0, 2, 4, 3, 4, 5])
    [(0, 3, 2), (3, 3, 1)]
    """
    runs: list[tuple[int, int, int]] = []
    at = 0
    while at < len(indices):
        stride, end = 1, at + 1
        if end < len(indices) and indices[end] > indices[at]:
            stride = indices[end] - indices[at]
            while end < len(indices) and indices[end] - indices[end - 1] == stride:
                end += 1
        runs.append((indices[at], end - at, stride))
        at = end
    return runs


def _picked(
    node: Node, value: SSAValue, runs: Sequence[tuple[int, int, int]], axis: int, shape: Sequence[int]
) -> SSAValue:
    """Slices one behind the other, the shape of the indices in place of the axis."""
    old = shape_of(value)
    full = list(runs) == [(0, old[axis], 1)]
    parts = [value] if full else [_box(node, value, {axis: run}) for run in runs]
    joined = node.add(graph.ConcatOp(parts, axis)) if len(parts) > 1 else parts[0]
    target = (*old[:axis], *shape, *old[axis + 1 :])
    return joined if target == shape_of(joined) else node.add(graph.ReshapeOp(joined, target))


def _check_indices(indices: Constant, extent: int, axis: int) -> None:
    outside = indices[(indices < -extent) | (indices >= extent)]
    if outside.size:
        raise Unsupported(f"index {outside.flat[0]} is out of range: axis {axis} has {extent} elements")


@converts("Split")
def split(node: Node) -> list[SSAValue]:
    """Pieces along `axis`, of the sizes given or as equal as the number of outputs allows."""
    value = node.value(0)
    axis = node.axis(0, len(shape_of(value)))
    sizes = _split_sizes(node, shape_of(value)[axis])
    results: list[SSAValue] = []
    offset = 0
    for size in sizes:
        results.append(_box(node, value, {axis: (offset, size, 1)}))
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


def _box(node: Node, value: SSAValue, ranges: dict[int, tuple[int, int, int]]) -> SSAValue:
    """A slice that takes (offset, size, stride) of some axes and all of the others."""
    full = [ranges.get(axis, (0, extent, 1)) for axis, extent in enumerate(shape_of(value))]
    offsets, sizes, strides = zip(*full, strict=True)
    return node.add(graph.SliceOp(value, offsets, sizes, strides))


@converts("Slice")
def slice_(node: Node) -> SSAValue:
    """A box with strides. Starts, ends, axes and steps have to be constants; a negative step gathers from the end."""
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
        value = _box(node, value, ranges)
    for axis, picked in reversed_axes.items():
        indices = node.array(np.asarray(picked, np.int64), f"indices{axis}")
        value = node.add(graph.GatherOp(value, indices, axis))
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
    """Constant padding, in elements at both ends of each dim; negative padding crops."""
    node.require("mode", "constant")
    value = node.value(0)
    rank = len(shape_of(value))
    if node.opset < 11:
        pads, constant, axes = node.integers("pads") or [], node.real("value", 0.0), None
    else:
        pads = node.ints_input(1, "pads")
        constant = node.constant(2, "padding value").reshape(-1)[0] if node.has(2) else 0
        axes = node.ints_input(3, "axes") if node.has(3) else None
    low, high = [0] * rank, [0] * rank
    count = len(pads) // 2
    if len(pads) % 2 or count != len(range(rank) if axes is None else axes):
        raise Unsupported(f"{len(pads)} paddings for {rank if axes is None else len(axes)} dimensions")
    for axis, before, after in zip(
        range(count) if axes is None else axes, pads[:count], pads[count:], strict=True
    ):
        low[normalise(axis, rank)], high[normalise(axis, rank)] = before, after
    return _pad_or_crop(node, value, low, high, constant)


def _pad_or_crop(node: Node, value: SSAValue, low: list[int], high: list[int], constant: float) -> SSAValue:
    """Negative padding removes elements."""
    ranges = {
        axis: (max(0, -before), extent - max(0, -before) - max(0, -after), 1)
        for axis, (extent, before, after) in enumerate(zip(shape_of(value), low, high, strict=True))
    }
    if any(ranges[axis][1] != extent for axis, extent in enumerate(shape_of(value))):
        value = _box(node, value, ranges)
    low, high = [max(0, before) for before in low], [max(0, after) for after in high]
    return node.add(graph.PadOp(value, low, high, constant)) if any(low + high) else value
