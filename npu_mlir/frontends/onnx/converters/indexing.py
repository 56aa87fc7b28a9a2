"""Operators that read or write at indices, and those that find them."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx
from xdsl.dialects.builtin import AnyFloat, i32
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import ReduceKind, element_of, shape_of
from npu_mlir.frontends.onnx.converters.selection import (
    INDEX,
    as_value,
    box,
    cast,
    check_indices,
    checked,
    index_of,
    is_outside,
    linear_index,
    listed,
    pick,
    place,
    positions,
    put_back,
    refuse_nothing,
    reshaped,
    select,
    take,
)
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, converts, normalise
from npu_mlir.support.dtypes import numpy_dtype


@converts("Gather")
def gather(node: Node) -> SSAValue:
    """Slices along `axis` by index. Constant indices become slices of the operand; those out of range are refused.

    Others are read in the run, where one that is out of range is an error.
    """
    value = node.value(0)
    shape = shape_of(value)
    axis = node.axis(0, len(shape))
    raw = node.raw(1)
    outer, inner = shape[:axis], shape[axis + 1 :]
    if isinstance(raw, np.ndarray):
        known = check_indices(raw, shape[axis], axis)
        return reshaped(node, take(node, value, known.reshape(-1), axis), (*outer, *raw.shape, *inner))
    return node.add(graph.GatherOp(value, raw, axis))


@converts("GatherElements")
def gather_elements(node: Node) -> SSAValue:
    """For each index, the element of the first operand at it along `axis`, elsewhere at the index's own position."""
    value, indices = node.value(0), node.shape(1)
    axis = node.axis(0, len(indices))
    rows = listed(node, 1, shape_of(value), axis)
    if rows is not None:
        return node.add(graph.GatherOp(value, rows, axis))
    index = index_of(node, 1, shape_of(value)[axis], axis)
    value = box(node, value, {d: (0, size, 1) for d, size in enumerate(indices) if d != axis})
    if isinstance(index, np.ndarray):
        lines = np.moveaxis(index, axis, 0).reshape(indices[axis], -1)
        if (lines == lines[:, :1]).all():
            return take(node, value, lines[:, 0], axis)
    return pick(node, value, as_value(node, index), axis)


@converts("GatherND")
def gather_nd(node: Node) -> SSAValue:
    """Slices of the first operand by tuples of indices, the last dim of the second; the first dims go along."""
    value, shape, indices = node.value(0), node.shape(), node.shape(1)
    batch = node.integer("batch_dims", 0)
    depth = indices[-1]
    extents, rest = shape[batch : batch + depth], shape[batch + depth :]
    raw = node.raw(1)
    if not isinstance(raw, np.ndarray):
        refuse_nothing(raw, prod(extents))
    if batch == 0 and depth == 1 and not isinstance(raw, np.ndarray):
        return node.add(graph.GatherOp(value, reshaped(node, raw, indices[:-1]), 0))
    index = linear_index(node, 1, extents)
    index = np.asarray(index) if isinstance(index, np.generic) else index
    if batch == 0:
        table = reshaped(node, value, (prod(extents), *rest))
        if isinstance(index, np.ndarray):
            return reshaped(node, take(node, table, index.reshape(-1), 0), (*indices[:-1], *rest))
        return node.add(graph.GatherOp(table, index, 0))
    if not isinstance(index, np.ndarray):
        table = reshaped(node, value, (prod(shape[: batch + depth]), *rest))
        index = reshaped(node, index, (prod(shape[:batch]), prod(indices[batch:-1])))
        lines = reshaped(node, _of_members(node, index, prod(extents)), indices[:-1])
        return node.add(graph.GatherOp(table, lines, 0))
    table = reshaped(node, value, (prod(shape[:batch]), prod(extents), prod(rest)))
    lines = reshaped(node, as_value(node, index), (prod(shape[:batch]), prod(indices[batch:-1]), 1))
    return reshaped(node, pick(node, table, lines, 1), (*indices[:-1], *rest))


def _of_members(node: Node, index: SSAValue, extent: int) -> SSAValue:
    """Positions in the parts of so many rows that each member of a batch, the first dim, has of one table; what is none
    stays none."""
    members, count = shape_of(index)[0], shape_of(index)[0] * extent
    first = positions(node, members, 2, 0, element_of(index))
    first = node.add(graph.MulOp(first, node.scalar(extent, index)))
    own = node.add(graph.AddOp(index, first))
    return node.add(graph.WhereOp(is_outside(node, index, extent), node.scalar(count, index), own))


@converts("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> SSAValue:
    """The first operand with elements of the third put at indices along `axis`, or combined with what is there."""
    value, updates, indices = node.value(0), node.value(2), node.shape(1)
    axis, reduction = node.axis(0, len(indices)), node.text("reduction", "none")
    rows = listed(node, 1, shape_of(value), axis) if reduction == "none" else None
    if rows is not None:
        return node.add(graph.ScatterOp(value, rows, updates, axis))
    index = index_of(node, 1, shape_of(value)[axis], axis)
    corner = box(node, value, {d: (0, size, 1) for d, size in enumerate(indices) if d != axis})
    return put_back(node, value, place(node, corner, as_value(node, index), updates, axis, reduction))


@converts("ScatterND")
def scatter_nd(node: Node) -> SSAValue:
    """The first operand with slices of the third put at tuples of indices, or combined with what is there."""
    value, shape, indices = node.value(0), node.shape(), node.shape(1)
    reduction = node.text("reduction", "none")
    extents, rest = shape[: indices[-1]], shape[indices[-1] :]
    count, size = prod(indices[:-1]), prod(extents)
    raw = node.raw(1)
    if not isinstance(raw, np.ndarray):
        refuse_nothing(raw, size)
    if len(extents) == 1 and reduction == "none" and not isinstance(raw, np.ndarray):
        rows = reshaped(node, raw, indices[:-1])
        return node.add(graph.ScatterOp(value, rows, node.value(2), 0))
    index = linear_index(node, 1, extents)
    table = reshaped(node, value, (size, prod(rest)))
    updates = reshaped(node, node.value(2), (count, prod(rest)))
    if isinstance(index, np.ndarray) and reduction == "none":
        # What each position holds in the end is known: itself, or an update.
        source = np.arange(size)
        source[index.reshape(-1)] = size + np.arange(count)
        both = node.add(graph.ConcatOp([table, updates], 0))
        return reshaped(node, take(node, both, source, 0), shape)
    if reduction == "none":
        rows = reshaped(node, as_value(node, index), (count,))
        return reshaped(node, node.add(graph.ScatterOp(table, rows, updates, 0)), shape)
    if not isinstance(index, np.ndarray):
        index = checked(node, index, size)
    lines = reshaped(node, as_value(node, index), (count, 1))
    return reshaped(node, place(node, table, lines, updates, 0, reduction), shape)


@converts("TensorScatter")
def tensor_scatter(node: Node) -> SSAValue:
    """A cache with an update written at positions that each member of the batch gives, along `axis`."""
    cache, update = node.value(0), node.value(1)
    rank = len(shape_of(cache))
    axis = node.axis(-2, rank)
    mode = node.text("mode", "linear")
    extent, count = shape_of(cache)[axis], shape_of(update)[axis]
    shape = shape_of(cache)
    outer, rest = shape[:axis], shape[axis + 1 :]
    if node.has(2):
        start = reshaped(node, node.value(2), (shape[0], 1))
        index = node.add(graph.AddOp(start, positions(node, count, 2, 1, element_of(start))))
    else:
        index = positions(node, count, 2, 1)
    if mode == "circular":
        back = node.add(graph.SubOp(index, node.scalar(extent, index)))
        fits = node.add(graph.LessOp(index, node.scalar(extent, index)))
        index = node.add(graph.WhereOp(fits, index, back))
    # What lies between the batch and the axis has the same places: a list for each of its members.
    index = reshaped(node, index, (shape_of(index)[0], 1, count))
    index = node.add(graph.ExpandOp(index, (shape[0], prod(outer[1:]), count)))
    rows = _of_members(node, reshaped(node, index, (prod(outer), count)), extent)
    table = reshaped(node, cache, (prod(outer) * extent, *rest))
    updates = reshaped(node, update, (prod(outer) * count, *rest))
    new = node.add(graph.ScatterOp(table, reshaped(node, rows, (prod(outer) * count,)), updates, 0))
    return reshaped(node, new, shape)


@converts("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> SSAValue:
    """The first (or last) position of the largest or smallest element along `axis`; of a NaN, if there is one."""
    value = node.value(0)
    rank = len(shape_of(value))
    axis = node.axis(0, rank)
    keepdims, last = bool(node.integer("keepdims", 1)), bool(node.integer("select_last_index", 0))
    kind = ReduceKind.MAX if node.operator == "ArgMax" else ReduceKind.MIN
    return cast(node, first_best(node, value, axis, kind, keepdims=keepdims, last=last), INDEX)


def first_best(
    node: Node, value: SSAValue, axis: int, kind: ReduceKind, *, keepdims: bool, last: bool = False
) -> SSAValue:
    """The position of the maximum or minimum along an axis, i32."""
    extent, rank = shape_of(value)[axis], len(shape_of(value))
    best = node.add(graph.ReduceOp(kind, value, [axis], keepdims=True))
    hit = node.add(graph.EqualOp(value, best))
    if isinstance(element_of(value), AnyFloat):
        number = node.add(graph.EqualOp(value, value))
        hit = node.add(graph.LogicalOrOp(hit, node.add(graph.LogicalNotOp(number))))
    order = positions(node, extent, rank, axis)
    candidates = node.add(graph.WhereOp(hit, order, node.scalar(-1 if last else extent, order)))
    return node.add(graph.ReduceOp(ReduceKind.MAX if last else ReduceKind.MIN, candidates, [axis], keepdims))


@converts("Hardmax")
def hardmax(node: Node) -> SSAValue:
    """1 at the first maximum along `axis`, else 0. Before opset 13 all dims from `axis` on form one."""
    value = node.value(0)
    shape = shape_of(value)
    axis = node.axis(-1 if node.opset >= 13 else 1, len(shape))
    if node.opset < 13:
        value, axis = reshaped(node, value, (prod(shape[:axis]), prod(shape[axis:]))), 1
    best = first_best(node, value, axis, ReduceKind.MAX, keepdims=True)
    order = positions(node, shape_of(value)[axis], len(shape_of(value)), axis)
    hit = node.add(graph.EqualOp(order, best))
    ones = node.add(graph.WhereOp(hit, node.scalar(1, value), node.scalar(0, value)))
    return reshaped(node, ones, shape)


@converts("TopK")
def top_k(node: Node) -> list[SSAValue]:
    """The `k` largest (or smallest) elements along `axis` in order, and where they are; equal ones by position.

    An element's rank is how many come before it. That takes a step for each pair, and no exchange of elements.
    """
    value = node.value(0)
    shape = shape_of(value)
    axis = node.axis(-1, len(shape))
    k = node.integer("k", 0) if node.opset < 10 else node.ints_input(1, "k")[0]
    node.integer("sorted", 1)
    better = graph.GreaterOp if node.integer("largest", 1) else graph.LessOp
    extent, rank = shape[axis], len(shape)
    if k > extent:
        raise Unsupported(f"k = {k} of {extent} elements")
    own = reshaped(node, value, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    other = reshaped(node, value, (*shape[:axis], 1, *shape[axis:]))
    earlier = node.array(
        np.tri(extent, k=-1, dtype=np.bool_).reshape(extent, extent, *[1] * (rank - 1 - axis)), "earlier"
    )
    tie = node.add(graph.LogicalAndOp(node.add(graph.EqualOp(other, own)), earlier))
    before = node.add(graph.LogicalOrOp(node.add(better(other, own)), tie))
    ranks = node.add(graph.ReduceOp(ReduceKind.SUM, cast(node, before, i32), [axis + 1]))
    ranks = reshaped(node, ranks, (*shape[:axis], 1, *shape[axis:]))
    hit = node.add(graph.EqualOp(ranks, positions(node, k, rank + 1, axis)))
    values = select(node, hit, other, axis + 1)
    order = positions(node, extent, rank + 1, axis + 1)
    return [values, cast(node, select(node, hit, order, axis + 1), INDEX)]


@converts("OneHot")
def one_hot(node: Node) -> SSAValue:
    """Along a new axis, the second of two values at the index and the first elsewhere, everywhere if out of range."""
    indices, values = node.value(0), node.value(2)
    depth = int(node.constant(1, "depth").reshape(-1)[0])
    rank = len(shape_of(indices)) + 1
    axis = node.axis(-1, rank)
    shape = list(shape_of(indices))
    indices = reshaped(node, indices, [*shape[:axis], 1, *shape[axis:]])
    type_ = element_of(indices)
    order = positions(node, depth, rank, axis, type_)
    hit = node.add(graph.EqualOp(indices, order))
    behind = node.add(graph.EqualOp(node.add(graph.AddOp(indices, node.scalar(depth, indices))), order))
    hit = node.add(graph.LogicalOrOp(hit, behind))
    off, on = (reshaped(node, box(node, values, {0: (at, 1, 1)}), ()) for at in (0, 1))
    return node.add(graph.WhereOp(hit, on, off))


@converts("ReverseSequence")
def reverse_sequence(node: Node) -> SSAValue:
    """The first elements along the time axis in reverse order, as many as each member of the batch says."""
    value = node.value(0)
    shape = shape_of(value)
    time, batch = node.axis(0, len(shape), "time_axis"), node.axis(1, len(shape), "batch_axis")
    lengths = cast(node, node.value(1), i32)
    lengths = reshaped(node, lengths, [shape[batch] if d == batch else 1 for d in range(len(shape))])
    order = positions(node, shape[time], len(shape), time)
    last = node.add(graph.SubOp(lengths, node.scalar(1, lengths)))
    mirrored = node.add(graph.SubOp(last, order))
    index = node.add(graph.WhereOp(node.add(graph.LessOp(order, lengths)), mirrored, order))
    return pick(node, value, index, time)


@converts("Compress")
def compress(node: Node) -> SSAValue:
    """The slices along `axis` (the elements, without one) for which a constant condition holds."""
    value = node.value(0)
    axis = node.attribute("axis")
    if axis is None:
        value, axis = reshaped(node, value, (prod(shape_of(value)),)), 0
    axis = normalise(int(axis), len(shape_of(value)))
    picked = np.flatnonzero(node.constant(1, "condition").reshape(-1))
    return take(node, value, check_indices(picked, shape_of(value)[axis], axis), axis)


@converts("Trilu")
def trilu(node: Node) -> SSAValue:
    """The upper (or lower) triangle of each matrix, from a diagonal on; 0 elsewhere."""
    value = node.value(0)
    rows, columns = shape_of(value)[-2:]
    k = int(node.constant(1, "diagonal").reshape(-1)[0]) if node.has(1) else 0
    upper = node.integer("upper", 1)
    below = np.tri(rows, columns, k - 1 if upper else k, dtype=np.bool_)
    kept = node.array(~below if upper else below, "triangle")
    return node.add(graph.WhereOp(kept, value, node.scalar(0, value)))


@converts("EyeLike")
def eye_like(node: Node) -> Constant:
    """Ones on a diagonal, as a constant of the operand's shape."""
    rows, columns = node.shape()
    raw = node.raw(0)
    given = raw.dtype if isinstance(raw, np.ndarray) else numpy_dtype(element_of(raw))
    target = node.attribute("dtype")
    dtype = given if target is None else onnx.helper.tensor_dtype_to_np_dtype(target)
    return np.eye(rows, columns, node.integer("k", 0)).astype(dtype)


@converts("Tile")
def tile(node: Node) -> SSAValue:
    """The operand repeated along each axis, a constant number of times."""
    value = node.value(0)
    shape = shape_of(value)
    if node.opset < 6:
        raise Unsupported("opset below 6")
    repeats = node.ints_input(1, "repeats")
    if len(repeats) != len(shape) or min(repeats, default=0) < 0:
        raise Unsupported(f"repeats {repeats} of rank {len(shape)}")
    apart = [part for extent in shape for part in (1, extent)]
    spread = [part for extent, count in zip(shape, repeats, strict=True) for part in (count, extent)]
    if apart == spread:
        return value
    value = node.add(graph.ExpandOp(reshaped(node, value, apart), spread))
    return reshaped(node, value, [extent * count for extent, count in zip(shape, repeats, strict=True)])


@converts("CumSum", "CumProd")
def cumulative(node: Node) -> SSAValue:
    """The sum (or product) of the elements up to each along a constant axis, from the end with `reverse`.

    Short axes in one step that selects what belongs to each sum; long ones in steps of doubled distance.
    """
    value = node.value(0)
    shape = shape_of(value)
    axis = normalise(int(node.constant(1, "axis").reshape(-1)[0]), len(shape))
    exclusive, reverse = bool(node.integer("exclusive", 0)), bool(node.integer("reverse", 0))
    kind, neutral = (ReduceKind.SUM, 0) if node.operator == "CumSum" else (ReduceKind.PROD, 1)
    extent = shape[axis]
    if extent > LONGEST_SCAN:
        return _doubling(node, value, axis, kind, exclusive=exclusive, reverse=reverse)
    mask = np.tri(extent, k=-1 if exclusive else 0, dtype=np.bool_)
    mask = (mask.T if reverse else mask).reshape(extent, extent, *[1] * (len(shape) - 1 - axis))
    parts = reshaped(node, value, (*shape[:axis], 1, *shape[axis:]))
    chosen = node.add(graph.WhereOp(node.array(mask, "summed"), parts, node.scalar(neutral, value)))
    return node.add(graph.ReduceOp(kind, chosen, [axis + 1]))


LONGEST_SCAN = 64
"""The longest axis along which cumulative sums are made in one step, of its length squared."""


def _doubling(
    node: Node, value: SSAValue, axis: int, kind: ReduceKind, *, exclusive: bool, reverse: bool
) -> SSAValue:
    extent, neutral = shape_of(value)[axis], 0 if kind is ReduceKind.SUM else 1
    combine = graph.AddOp if kind is ReduceKind.SUM else graph.MulOp

    def shifted(value: SSAValue, distance: int) -> SSAValue:
        kept = box(node, value, {axis: (distance if reverse else 0, extent - distance, 1)})
        widths = [distance if d == axis else 0 for d in range(len(shape_of(value)))]
        none = [0] * len(widths)
        low, high = (none, widths) if reverse else (widths, none)
        return node.add(graph.PadOp(kept, low, high, neutral))

    value = shifted(value, 1) if exclusive else value
    distance = 1
    while distance < extent:
        value = node.add(combine(value, shifted(value, distance)))
        distance *= 2
    return value
