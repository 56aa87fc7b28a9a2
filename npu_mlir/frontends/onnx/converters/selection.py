"""Reading and writing at indices without addresses: every position compares itself with the index, and selects.

    pick:   result[n] = max over k of (index[n] == k ? data[k] : the lowest value)
    place:  result[k] = data[k] combined with all updates[n] with index[n] == k

A machine without indexed loads can do this, and as something is selected and nothing multiplied, infinities, NaN and
the sign of zero stay what they are. It takes as many steps as there are pairs (n, k). Indices that are known now take
none: they become slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import ReduceKind, element_of, shape_of
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported
from npu_mlir.support.dtypes import numpy_dtype

MOST_SLICES = 8
"""Up to so many slices, constant indices become slices even where selecting is possible."""

MOST_PAIRS = 1 << 22
"""Up to so many pairs of a position and an index, selecting them is preferred to more slices."""


def lowest(type_: Attribute) -> float:
    """The value of a type that never wins a maximum."""
    if isinstance(type_, AnyFloat):
        return float("-inf")
    return 0 if type_ == i1 else int(np.iinfo(numpy_dtype(type_)).min)


def highest(type_: Attribute) -> float:
    """The value of a type that never wins a minimum."""
    if isinstance(type_, AnyFloat):
        return float("inf")
    return 1 if type_ == i1 else int(np.iinfo(numpy_dtype(type_)).max)


def reshaped(node: Node, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The elements in row-major order under another shape."""
    return value if shape_of(value) == tuple(shape) else node.add(graph.ReshapeOp(value, shape))


def cast(node: Node, value: SSAValue, type_: Attribute) -> SSAValue:
    """The elements converted to another type."""
    return value if element_of(value) == type_ else node.add(graph.CastOp(value, type_))


def positions(node: Node, extent: int, rank: int, axis: int, like: Attribute = i32) -> SSAValue:
    """0, 1, 2, ... along one axis of a tensor of that rank; the other extents are 1."""
    shape = [extent if d == axis else 1 for d in range(rank)]
    array = np.arange(extent, dtype=numpy_dtype(like)).reshape(shape)
    return node.array(array, f"positions{extent}.{rank}.{axis}")


def check_indices(indices: Constant, extent: int, axis: int) -> Constant:
    """Known indices, counted from the front; those out of range are refused."""
    outside = indices[(indices < -extent) | (indices >= extent)]
    if outside.size:
        raise Unsupported(f"index {outside.flat[0]} is out of range: axis {axis} has {extent} elements")
    return np.where(indices < 0, indices + extent, indices).astype(np.int64)


def refuse_nothing(index: SSAValue, extent: int) -> None:
    """Refuse indices into no positions: any is out of range."""
    if not extent and prod(shape_of(index)):
        raise Unsupported(f"{prod(shape_of(index))} indices are out of range: there are 0 elements")


def index_of(node: Node, at: int, extent: int, axis: int) -> SSAValue | Constant:
    """The node's input `at` as indices into an extent, counted from the front, i32 if known at run time only."""
    raw = node.raw(at)
    if isinstance(raw, np.ndarray):
        return check_indices(raw, extent, axis)
    return from_front(node, checked(node, raw, extent), extent)


def checked(node: Node, index: SSAValue, extent: int) -> SSAValue:
    """Run-time indices, for what selects by them: one that is out of range ends the run with an error.

    The least and the largest of them take a row each from a table of zeros, and these are added.
    """
    if not prod(shape_of(index)):
        return index
    refuse_nothing(index, extent)
    flat = reshaped(node, index, (prod(shape_of(index)),))
    ends = [
        node.add(graph.ReduceOp(kind, flat, [0], keepdims=True)) for kind in (ReduceKind.MIN, ReduceKind.MAX)
    ]
    zeros = node.array(np.zeros(extent, numpy_dtype(element_of(index))), "zeros")
    taken = node.add(graph.GatherOp(zeros, node.add(graph.ConcatOp(ends, 0)), 0))
    total = node.add(graph.ReduceOp(ReduceKind.SUM, taken, [0], keepdims=True))
    return node.add(graph.AddOp(index, reshaped(node, total, [1] * len(shape_of(index)))))


def from_front(node: Node, index: SSAValue, extent: int) -> SSAValue:
    """Run-time indices as i32; negative ones count from the end."""
    index = cast(node, index, i32)
    wrapped = node.add(graph.AddOp(index, node.scalar(extent, index)))
    return node.add(graph.WhereOp(node.add(graph.LessOp(index, node.scalar(0, index))), wrapped, index))


def as_value(node: Node, index: SSAValue | Constant, role: str = "indices") -> SSAValue:
    """Indices as a value of the module."""
    return node.array(index.astype(np.int32), role) if isinstance(index, np.ndarray) else index


def take(node: Node, data: SSAValue, indices: Constant, axis: int) -> SSAValue:
    """`data` at known indices, a list that counts from the front, along `axis`: slices one behind the other."""
    extent, count = shape_of(data)[axis], len(indices)
    pieces = runs(indices)
    if len(pieces) > 1 and (pattern := _repetition(indices, extent)) is not None:
        return _in_blocks(node, data, indices, axis, *pattern)
    if len(pieces) <= MOST_SLICES:
        return _joined(node, [_run(node, data, axis, *piece) for piece in pieces], axis)
    parts = _stretches(pieces)
    if len(parts) > 1 and len(parts) <= MOST_SLICES:
        return _joined(node, [_stretch(node, data, part, axis) for part in parts], axis)
    if extent * count * (prod(shape_of(data)) // max(extent, 1)) <= MOST_PAIRS:
        return _selected(node, data, indices, axis)
    return _joined(node, [_run(node, data, axis, *piece) for piece in pieces], axis)


def _joined(node: Node, parts: Sequence[SSAValue], axis: int) -> SSAValue:
    return node.add(graph.ConcatOp(parts, axis)) if len(parts) > 1 else parts[0]


def _selected(node: Node, data: SSAValue, indices: Constant, axis: int) -> SSAValue:
    """`data` at known indices by selection, from the part of it in which they lie."""
    first, last = int(indices.min()), int(indices.max())
    data = box(node, data, {axis: (first, last + 1 - first, 1)})
    shape = [len(indices) if d == axis else 1 for d in range(len(shape_of(data)))]
    return pick(node, data, as_value(node, (indices - first).reshape(shape)), axis)


def _stretches(pieces: Sequence[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    """Runs together that are short, such as the elements of a reversal, and those that are long alone."""
    found: list[list[tuple[int, int, int]]] = []
    for piece in pieces:
        if found and piece[1] < LONG_RUN and found[-1][-1][1] < LONG_RUN:
            found[-1].append(piece)
        else:
            found.append([piece])
    return found


LONG_RUN = 8
"""A slice of so many elements isn't taken together with others to be selected."""


def _stretch(node: Node, data: SSAValue, pieces: Sequence[tuple[int, int, int]], axis: int) -> SSAValue:
    if len(pieces) == 1:
        return _run(node, data, axis, *pieces[0])
    return _selected(
        node, data, np.concatenate([first + step * np.arange(n) for first, n, step in pieces]), axis
    )


def runs(indices: Constant) -> list[tuple[int, int, int]]:
    """A list of indices as (first, count, step) with steps of 0 or more; an empty list is one empty run."""
    found: list[tuple[int, int, int]] = []
    at, total = 0, len(indices)
    while at < total:
        step = int(indices[at + 1] - indices[at]) if at + 1 < total else 1
        end = at + 1
        while step >= 0 and end < total and indices[end] - indices[end - 1] == step:
            end += 1
        found.append((int(indices[at]), end - at, step if end - at > 1 else 1))
        at = end
    return found or [(0, 0, 1)]


def _repetition(indices: Constant, extent: int) -> tuple[int, int] | None:
    """Whether the first indices pick from a block what all others pick from the blocks behind it, in order: how many
    indices that are, and the size of a block. Enlarging by 3/2 is 3 indices for each 2 elements."""
    count = len(indices)
    for size in (n for n in range(1, count // 2 + 1) if count % n == 0):
        block = int(indices[size] - indices[0])
        first = indices[:size]
        repeated = first + block * np.arange(count // size)[:, None]
        inside = block > 0 and first.min() >= 0 and first.max() < block and block * (count // size) <= extent
        if inside and np.array_equal(repeated.reshape(-1), indices):
            return size, block
    return None


def _in_blocks(node: Node, data: SSAValue, indices: Constant, axis: int, count: int, block: int) -> SSAValue:
    shape = shape_of(data)
    blocks = len(indices) // count
    data = box(node, data, {axis: (0, blocks * block, 1)})
    apart = reshaped(node, data, (*shape[:axis], blocks, block, *shape[axis + 1 :]))
    taken = take(node, apart, indices[:count], axis + 1)
    return reshaped(node, taken, (*shape[:axis], len(indices), *shape[axis + 1 :]))


def _run(node: Node, data: SSAValue, axis: int, first: int, count: int, step: int) -> SSAValue:
    shape = list(shape_of(data))
    piece = box(node, data, {axis: (first, count if step else 1, step or 1)})
    shape[axis] = count
    return piece if step else node.add(graph.ExpandOp(piece, shape))


def box(node: Node, value: SSAValue, ranges: dict[int, tuple[int, int, int]]) -> SSAValue:
    """A slice that takes (offset, size, stride) of some axes and all of the others."""
    full = [ranges.get(axis, (0, extent, 1)) for axis, extent in enumerate(shape_of(value))]
    offsets, sizes, strides = zip(*full, strict=True)
    if sizes == shape_of(value):
        return value
    return node.add(graph.SliceOp(value, offsets, sizes, strides))


def _inserted(node: Node, value: SSAValue, axis: int) -> SSAValue:
    shape = list(shape_of(value))
    return reshaped(node, value, [*shape[:axis], 1, *shape[axis:]])


def pick(node: Node, data: SSAValue, index: SSAValue, axis: int) -> SSAValue:
    """`data` at i32 indices along `axis`; `index` has the rank of `data` and broadcasts with it along other axes."""
    extent, rank = shape_of(data)[axis], len(shape_of(data))
    place = positions(node, extent, rank + 1, axis + 1)
    hit = node.add(graph.EqualOp(_inserted(node, index, axis + 1), place))
    return select(node, hit, _inserted(node, data, axis), axis + 1)


def select(node: Node, hit: SSAValue, data: SSAValue, axis: int) -> SSAValue:
    """The element of `data` along `axis` where `hit`, which is true at most once; the lowest value if it never is."""
    chosen = node.add(graph.WhereOp(hit, data, node.scalar(lowest(element_of(data)), data)))
    return node.add(graph.ReduceOp(ReduceKind.MAX, chosen, [axis]))


_COMBINE = {
    "add": (ReduceKind.SUM, graph.AddOp),
    "mul": (ReduceKind.PROD, graph.MulOp),
    "max": (ReduceKind.MAX, graph.MaximumOp),
    "min": (ReduceKind.MIN, graph.MinimumOp),
}


def place(
    node: Node, data: SSAValue, index: SSAValue, updates: SSAValue, axis: int, reduction: str
) -> SSAValue:
    """`data` with `updates` at i32 indices along `axis`, combined by `reduction`; with `none`, the last one stays.

    `updates` has the extents of `data` except along `axis`, and `index` broadcasts to it.
    """
    extent, rank = shape_of(data)[axis], len(shape_of(data))
    at = positions(node, extent, rank + 1, axis)
    hit = node.add(graph.EqualOp(_inserted(node, index, axis), at))
    values = _inserted(node, updates, axis)
    if reduction == "none":
        return _replaced(node, data, hit, updates, axis)
    if reduction not in _COMBINE:
        raise Unsupported(f"attribute reduction = {reduction}")
    kind, combine = _COMBINE[reduction]
    element = element_of(data)
    neutral = {"add": 0, "mul": 1, "max": lowest(element), "min": highest(element)}[reduction]
    chosen = node.add(graph.WhereOp(hit, values, node.scalar(neutral, values)))
    return node.add(combine(data, node.add(graph.ReduceOp(kind, chosen, [axis + 1]))))


def _replaced(node: Node, data: SSAValue, hit: SSAValue, updates: SSAValue, axis: int) -> SSAValue:
    """`data` where no update hits, else the last update that does."""
    count, rank = shape_of(updates)[axis], len(shape_of(data))
    order = positions(node, count, rank + 1, axis + 1)
    numbers = node.add(graph.WhereOp(hit, order, node.scalar(-1, order)))
    last = node.add(graph.ReduceOp(ReduceKind.MAX, numbers, [axis + 1]))
    new = pick(node, updates, last, axis)
    return node.add(graph.WhereOp(node.add(graph.LessOp(last, node.scalar(0, last))), data, new))


def put_back(node: Node, data: SSAValue, part: SSAValue) -> SSAValue:
    """`data` with its corner at the origin replaced by `part`."""
    for axis in reversed(range(len(shape_of(data)))):
        covered, extent = shape_of(part)[axis], shape_of(data)[axis]
        if covered < extent:
            ranges = {d: (0, size, 1) for d, size in enumerate(shape_of(part))}
            rest = box(node, data, {**ranges, axis: (covered, extent - covered, 1)})
            part = node.add(graph.ConcatOp([part, rest], axis))
    return part


def listed(node: Node, at: int, shape: Sequence[int], axis: int) -> SSAValue | None:
    """The node's input `at` as a list of run-time indices along `axis`, if they are the same all along the other axes
    of `shape`: those of whole rows."""
    raw = node.raw(at)
    if isinstance(raw, np.ndarray):
        return None
    others = [n for d, n in enumerate(shape) if d != axis]
    if [n for d, n in enumerate(shape_of(raw)) if d != axis] != others:
        return None
    source = raw
    while isinstance(source.owner, graph.ExpandOp) and len(shape_of(source.owner.input)) == len(shape):
        source = source.owner.input
    if any(n != 1 for d, n in enumerate(shape_of(source)) if d != axis):
        return None
    return (
        reshaped(node, source, (shape_of(source)[axis],))
        if shape_of(source)[axis] == shape_of(raw)[axis]
        else None
    )


def linear_index(node: Node, at: int, extents: Sequence[int]) -> SSAValue | Constant:
    """The node's input `at`, whose last dim has one index for each of the extents, as row-major positions; one that is
    out of range as the position behind the last, which is none."""
    raw = node.raw(at)
    count = node.shape(at)[-1]
    steps = [prod(extents[d + 1 :]) for d in range(count)]
    if isinstance(raw, np.ndarray):
        columns = [check_indices(raw[..., d], extents[d], d) for d in range(count)]
        return sum(
            (c * step for c, step in zip(columns, steps, strict=True)), np.zeros(raw.shape[:-1], np.int64)
        )
    total: SSAValue | None = None
    outside: SSAValue | None = None
    for d, step in enumerate(steps):
        column = box(node, raw, {len(shape_of(raw)) - 1: (d, 1, 1)})
        column = reshaped(node, column, shape_of(raw)[:-1])
        outside = _either(node, outside, is_outside(node, column, extents[d], least=-extents[d]))
        column = from_front(node, column, extents[d])
        scaled = column if step == 1 else node.add(graph.MulOp(column, node.scalar(step, column)))
        total = scaled if total is None else node.add(graph.AddOp(total, scaled))
    assert total is not None and outside is not None
    return node.add(graph.WhereOp(outside, node.scalar(prod(extents), total), total))


def is_outside(node: Node, index: SSAValue, extent: int, least: int = 0) -> SSAValue:
    """Whether an index is not from `least` to the last of an extent."""
    below = node.add(graph.LessOp(index, node.scalar(least, index)))
    return _either(node, below, node.add(graph.GreaterOrEqualOp(index, node.scalar(extent, index))))


def _either(node: Node, one: SSAValue | None, other: SSAValue) -> SSAValue:
    return other if one is None else node.add(graph.LogicalOrOp(one, other))


INDEX = i64
"""The type of the indices that operators return."""
