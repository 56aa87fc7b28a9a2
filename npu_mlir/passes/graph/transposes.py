"""Moving transposes through a graph, one op at a time and in program order (see `graph-layout`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from npu_mlir.analysis.reshapes import reshape_groups
from npu_mlir.dialects.graph import (
    ConcatOp,
    ConvOp,
    ElementwiseOp,
    GemmOp,
    GraphOp,
    Layout,
    LayoutAttr,
    LogSoftmaxOp,
    MatmulOp,
    PadOp,
    PoolOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    SoftmaxOp,
    TransposeOp,
    location_of,
    shape_of,
)
from npu_mlir.dialects.graph.base import int_attr, ints
from npu_mlir.dialects.graph.shapes import Shape
from npu_mlir.dialects.graph.window import GlobalPoolOp
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.weights import WeightStore
from npu_mlir.passes.graph.rewriting import insert_before, insert_constant, replace

Perm = tuple[int, ...]


def compose(first: Sequence[int], second: Sequence[int]) -> Perm:
    """The permutation of a transpose by `first` followed by one by `second`."""
    return tuple(first[axis] for axis in second)


def inverse(perm: Sequence[int]) -> Perm:
    """The permutation that undoes `perm`."""
    return tuple(perm.index(axis) for axis in range(len(perm)))


def keeps_order(shape: Sequence[int], perm: Sequence[int]) -> bool:
    """Whether a transpose of this shape moves extents of 1 only."""
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)


def is_reshape(op: TransposeOp) -> bool:
    """Whether a transpose moves extents of 1 only."""
    return keeps_order(shape_of(op.input), op.perm.get_values())


def channels_last(rank: int) -> Perm:
    """From NCHW to NHWC."""
    return (0, *range(2, rank), 1)


class Transposer:
    """Rewrites ops in program order; remembers what has been transposed already."""

    def __init__(self, store: WeightStore):
        self.store = store
        self.done: dict[tuple[SSAValue, Perm], SSAValue] = {}

    def rewrite(self, op: GraphOp) -> None:
        """Bring channels last in `op`, or move the transposes in front of it behind it."""
        for kind, rule in _RULES:
            if isinstance(op, kind):
                rule(self, op)
                return

    def source(self, value: SSAValue) -> tuple[SSAValue, Perm] | None:
        """What a value is a transpose of."""
        op = value.owner
        return (op.input, tuple(op.perm.get_values())) if isinstance(op, TransposeOp) else None

    def transposed(self, value: SSAValue, perm: Perm, anchor: Operation) -> SSAValue:
        """`value` with its dimensions reordered, merged with a transpose that it comes from."""
        if (source := self.source(value)) is not None:
            value, perm = source[0], compose(source[1], perm)
        if perm == tuple(range(len(perm))):
            return value
        if (value, perm) not in self.done:
            self.done[value, perm] = self._transpose(value, perm, anchor)
        return self.done[value, perm]

    def _transpose(self, value: SSAValue, perm: Perm, anchor: Operation) -> SSAValue:
        array = constant_of(value, self.store)
        if array is None:
            return insert_before(anchor, TransposeOp(value, perm))
        return self.constant(value, np.ascontiguousarray(array.transpose(perm)), anchor)

    def constant(self, old: SSAValue, array: np.ndarray, anchor: Operation) -> SSAValue:
        """A constant in place of `old`, named after it."""
        entry = getattr(old.owner, "entry_name", location_of(anchor) or "constant")
        return insert_constant(anchor, self.store, array, f"{entry}.nhwc")

    def aligned(self, value: SSAValue, perm: Perm, anchor: Operation) -> SSAValue:
        """An operand that broadcasts to the rank of `perm`, reordered like the others."""
        shape = shape_of(value)
        missing = len(perm) - len(shape)
        if not shape or prod(shape) == 1:
            return value
        if missing:
            array = constant_of(value, self.store)
            full = (1,) * missing + shape
            if array is not None:
                return self._aligned_constant(value, array.reshape(full).transpose(perm), anchor)
            value = insert_before(anchor, ReshapeOp(value, full))
        return self.transposed(value, perm, anchor)

    def _aligned_constant(self, value: SSAValue, array: np.ndarray, anchor: Operation) -> SSAValue:
        """Leading extents of 1 are dropped again: they say nothing."""
        leading = next((axis for axis, extent in enumerate(array.shape) if extent != 1), array.ndim - 1)
        return self.constant(value, np.ascontiguousarray(array.reshape(array.shape[leading:])), anchor)

    def cost(self, value: SSAValue, perm: Perm) -> int:
        """Elements that `aligned` would have to move at run time."""
        if constant_of(value, self.store) is not None or len(shape_of(value)) < len(perm):
            return 0
        if (source := self.source(value)) is not None:
            value, perm = source[0], compose(source[1], perm)
        return 0 if keeps_order(shape_of(value), perm) else prod(shape_of(value))

    def finish(self, op: GraphOp, new: GraphOp, perm: Perm) -> None:
        """Use a transpose of the result of `new` instead of `op`."""
        result = insert_before(op, new)
        replace(op, self.transposed(result, perm, op))


def _elementwise(transposer: Transposer, op: ElementwiseOp) -> None:
    _push(transposer, op, lambda perm: {})


def _concat(transposer: Transposer, op: ConcatOp) -> None:
    _push(transposer, op, lambda perm: {"axis": int_attr(perm[op.axis.value.data])})


def _softmax(transposer: Transposer, op: SoftmaxOp | LogSoftmaxOp) -> None:
    _push(transposer, op, lambda perm: {"axis": int_attr(perm[op.axis.value.data])})


def _slice(transposer: Transposer, op: SliceOp) -> None:
    _push(transposer, op, lambda perm: _reordered(op, perm, "offsets", "sizes", "strides"))


def _pad(transposer: Transposer, op: PadOp) -> None:
    _push(transposer, op, lambda perm: _reordered(op, perm, "low", "high"))


def _reordered(op: GraphOp, perm: Perm, *names: str) -> dict[str, Attribute]:
    back = inverse(perm)
    return {name: ints([getattr(op, name).get_values()[axis] for axis in back]) for name in names}


def _push(transposer: Transposer, op: GraphOp, properties: Callable[[Perm], dict[str, Attribute]]) -> None:
    """Move the transpose of the largest operand behind an op that works on any order of dimensions."""
    rank = len(shape_of(op.result))
    sources = [transposer.source(operand) for operand in op.operands if len(shape_of(operand)) == rank]
    found = max(filter(None, sources), key=lambda source: prod(shape_of(source[0])), default=None)
    if found is None:
        return
    perm = found[1]
    back = inverse(perm)
    if 2 * sum(transposer.cost(operand, back) for operand in op.operands) > prod(shape_of(op.result)):
        return
    operands = [transposer.aligned(operand, back, op) for operand in op.operands]
    transposer.finish(op, op.rebuilt(operands, properties(perm)), perm)


def _reduce(transposer: Transposer, op: ReduceOp) -> None:
    source = transposer.source(op.input)
    if source is None:
        return
    value, perm = source
    axes = op.axes.get_values()
    new = op.rebuilt([value], {"axes": ints(sorted(perm[axis] for axis in axes))})
    if op.keepdims is None:
        kept = [perm[axis] for axis in range(len(perm)) if axis not in axes]
        perm = tuple(sorted(kept).index(axis) for axis in kept)
    transposer.finish(op, new, perm)


def _image(transposer: Transposer, op: ConvOp | PoolOp | GlobalPoolOp) -> None:
    if op.layout.data is Layout.NHWC:
        return
    rank = len(shape_of(op.input))
    last = channels_last(rank)
    operands = [transposer.transposed(op.input, last, op), *op.operands[1:]]
    if isinstance(op, ConvOp):
        operands[1] = transposer.transposed(op.weight, (*range(2, rank), 1, 0), op)
    new = op.rebuilt(operands, {"layout": LayoutAttr(Layout.NHWC)})
    transposer.finish(op, new, inverse(last))


def _transpose(transposer: Transposer, op: TransposeOp) -> None:
    if transposer.source(op.input) is not None:
        replace(op, transposer.transposed(op.input, tuple(op.perm.get_values()), op))


def _reshape(transposer: Transposer, op: ReshapeOp) -> None:
    source = transposer.source(op.input)
    if source is None:
        return
    value, perm = source
    old, new = shape_of(op.input), shape_of(op.result)
    if keeps_order(shape_of(value), perm):
        replace(op, insert_before(op, ReshapeOp(value, new)))
    elif [extent for extent in old if extent != 1] == [extent for extent in new if extent != 1]:
        shape, moved = without_units(old, new, perm)
        transposer.finish(op, ReshapeOp(value, shape), moved)
    elif perm[0] == 0 and _is_flattened(transposer, op):
        _permute_rows(transposer, op, value, perm)
    elif (found := through_groups(shape_of(value), perm, new)) is not None:
        if not keeps_order(shape_of(value), found.order):
            value = transposer.transposed(value, found.order, op)
        transposer.finish(op, ReshapeOp(value, found.shape), found.moved)


@dataclass(frozen=True)
class Regrouped:
    """A reshape in front of a transpose instead of behind it: the order to bring the dims of groups into first, the
    shape to reshape to, and the transpose to follow."""

    order: Perm
    shape: Shape
    moved: Perm


def through_groups(shape: Sequence[int], perm: Perm, new: Sequence[int]) -> Regrouped | None:
    """How to put a transpose of a tensor of this shape by `perm` behind a reshape of its result to `new`; None if that
    needs more than to reorder dims that become one and lie side by side, with channels last behind it.

    Channels that are split in groups, and joined again in another order:

    >>> through_groups((1, 7, 7, 6), (0, 3, 1, 2), (1, 2, 3, 7, 7))
    Regrouped(order=(0, 1, 2, 3), shape=(1, 7, 7, 2, 3), moved=(0, 3, 4, 1, 2))
    >>> through_groups((1, 7, 7, 2, 3), (0, 4, 3, 1, 2), (1, 6, 7, 7))
    Regrouped(order=(0, 1, 2, 4, 3), shape=(1, 7, 7, 6), moved=(0, 3, 1, 2))
    """
    groups = reshape_groups([shape[axis] for axis in perm], new)
    # The dims of each group in the tensor, in the order in which they are joined.
    places = [[perm[axis] for axis in old] for old, _ in groups]
    if any(max(group) - min(group) != len(group) - 1 for group in places):
        return None
    by_place = sorted(range(len(groups)), key=lambda g: places[g][0])
    order = tuple(axis for g in by_place for axis in places[g])
    dims = [axis for g in by_place for axis in groups[g][1]]
    moved = inverse(dims)
    if not keeps_order(shape, order) and moved != inverse(channels_last(len(new))):
        return None
    return Regrouped(order, tuple(new[axis] for axis in dims), moved)


def without_units(old: Sequence[int], new: Sequence[int], perm: Perm) -> tuple[Shape, Perm]:
    """How to put a transpose behind a reshape from `old` to `new` that only adds or drops extents of 1.

    The shape to reshape to, and the transpose to follow. The extents of 1 of `new` stay where they are.
    """
    places = [axis for axis, extent in enumerate(new) if extent != 1]
    sources = [perm[axis] for axis, extent in enumerate(old) if extent != 1]
    moved = list(range(len(new)))
    shape = list(new)
    for at, source in zip(places, sources, strict=True):
        moved[at] = places[sorted(sources).index(source)]
        shape[moved[at]] = new[at]
    return tuple(shape), tuple(moved)


def _is_flattened(transposer: Transposer, op: ReshapeOp) -> bool:
    """Whether all that happens to a flattened image is a product with a constant matrix."""
    old, new = shape_of(op.input), shape_of(op.result)
    return new == (old[0], prod(old[1:])) and all(
        (isinstance(user := use.operation, MatmulOp) or (isinstance(user, GemmOp) and user.trans_a is None))
        and use.index == 0
        and constant_of(user.rhs, transposer.store) is not None
        and len(shape_of(user.rhs)) == 2
        for use in op.result.uses
    )


def _permute_rows(transposer: Transposer, op: ReshapeOp, value: SSAValue, perm: Perm) -> None:
    """Flatten the image in the order it has, and reorder the rows of the matrices instead."""
    image = [shape_of(op.input)[axis] for axis in range(1, len(perm))]
    order = [axis - 1 for axis in inverse(perm)[1:]]
    rows = np.arange(prod(image)).reshape(image).transpose(order).reshape(-1)
    for use in list(op.result.uses):
        user = use.operation
        assert isinstance(user, MatmulOp | GemmOp)
        matrix = constant_of(user.rhs, transposer.store)
        assert matrix is not None
        transposed = isinstance(user, GemmOp) and user.trans_b is not None
        user.operands[1] = transposer.constant(
            user.rhs, matrix[:, rows] if transposed else matrix[rows], user
        )
    replace(op, insert_before(op, ReshapeOp(value, shape_of(op.result))))


_RULES: list[tuple[type[GraphOp], Callable[[Transposer, GraphOp], None]]] = [
    (ConvOp, _image),
    (PoolOp, _image),
    (GlobalPoolOp, _image),
    (TransposeOp, _transpose),
    (ReshapeOp, _reshape),
    (ReduceOp, _reduce),
    (ConcatOp, _concat),
    (SliceOp, _slice),
    (PadOp, _pad),
    (SoftmaxOp, _softmax),
    (LogSoftmaxOp, _softmax),
    (ElementwiseOp, _elementwise),
]  # pyright: ignore[reportAssignmentType]
