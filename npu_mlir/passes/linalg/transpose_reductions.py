"""linalg-transpose-reductions: reduce the results of products along an outer dim, not along rows.

    %s = linalg.generic {(b, q, k, d) -> (b, q, d), (b, k, d), (b, q, k)} ins(%q, %k)           // scores
    %m = linalg.generic {(b, q, k) -> (b, q, k), (b, q)} ins(%s) { maximumf }                   // of each row
    %p = linalg.generic {(b, q, k) -> (b, q, k), (b, q), (b, q, k)} ins(%s, %m) { subf, exp }
    %o = linalg.generic {(b, q, e, k) -> (b, q, k), (b, k, e), (b, q, e)} ins(%p, %v)
  becomes
    %s = linalg.generic {(b, q, k, d) -> (b, q, d), (b, k, d), (b, k, q)} ins(%q, %k)
    %m = linalg.generic {(b, k, q) -> (b, k, q), (b, q)} ins(%s) { maximumf }                   // lane by lane
    %p = linalg.generic {(b, k, q) -> (b, k, q), (b, q), (b, k, q)} ins(%s, %m) { subf, exp }
    %o = linalg.generic {(b, q, e, k) -> (b, k, q), (b, k, e), (b, q, e)} ins(%p, %v)

since a vector unit combines rows lane by lane in less than a third of the time that it takes to reduce lanes (2 cycles
a step and 7 on ascend-910), and the cube writes and reads a matrix that lies transposed as fast as any other. Whatever
lies between the contractions, its last two dims change places.

It is done where tiles of UB hold so many rows beside the whole reduced dim that the lanes of what is broadcast along it
are full, and where that is faster by the target's costs.

Why values stay the same: an intermediate value with its dims in another order, written and read through maps that are
permuted alike, holds each element where its readers look for it.
Changes values: by the order of a sum.

Leaves alone: values that anything but elementwise operations, reductions of the last dim and contractions reads, or
that meet others of their shape from elsewhere (a mask for each query and key).
Does not handle: contractions that sum over several loops of such a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import linear_map, plain_dims
from npu_mlir.analysis.folding import FoldCosts, best_fold
from npu_mlir.analysis.structured.nest import describe, is_indirect, is_reduction, maps_of, sums_products
from npu_mlir.dialects.tile import element_bytes
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.structure import (
    Generic,
    is_parallel,
    replace,
    reshaped_init,
    substitute,
    take_apart,
)
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, shape_of
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class TransposeReductions(ModulePass):
    """Reduce results of products along an outer dim."""

    name = "linalg-transpose-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        products = [o for o in op.walk() if isinstance(o, GenericOp) and sums_products(o)]
        for product in products:
            # Contractions that read what was transposed are others now, and may be the first of a group themselves.
            group = _group_of(product) if product.parent is not None else None
            if group is not None and _pays(group, target):
                products += _transpose(group)
        erase_dead_ops(op)


@dataclass
class _Group:
    """What lies between contractions: the first, the operations that read its result or what is made of it element
    by element, and the contractions behind."""

    product: GenericOp
    elementwise: list[GenericOp] = field(default_factory=list[GenericOp])
    reductions: list[GenericOp] = field(default_factory=list[GenericOp])
    readers: list[tuple[GenericOp, int]] = field(default_factory=list[tuple[GenericOp, int]])

    @property
    def shape(self) -> Shape:
        """The shape of all values of the group."""
        return shape_of(self.product.results[0])


def _group_of(product: GenericOp) -> _Group | None:
    """The group behind a contraction whose values may all be transposed; None if there is none."""
    shape = shape_of(product.results[0])
    if len(shape) < 2 or min(shape[-2:]) < 2 or not _is_contraction(product):
        return None
    group, values = _Group(product), [product.results[0]]
    for value in values:
        for use in value.uses:
            user = use.operation
            if (
                not isinstance(user, GenericOp)
                or user.parent is not product.parent
                or use.index >= len(user.inputs)
            ):
                return None
            if user in group.elementwise:
                continue
            if _is_contraction(user):
                if list(user.inputs).count(value) > 1 or sum(is_reduction(user)) != 1:
                    return None
                group.readers.append((user, use.index))
            elif _is_row_reduction(user):
                group.reductions.append(user)
            elif _is_elementwise(user, len(shape)):
                group.elementwise.append(user)
                values.append(user.results[0])
            else:
                return None
    whole = set(values)
    for op in group.elementwise:
        parts = take_apart(op)
        assert parts is not None
        for value, exprs in zip(parts.inputs, parts.maps, strict=False):
            dims = plain_dims(exprs)
            crossing = dims is None or {len(shape) - 1, len(shape) - 2} <= set(dims)
            if crossing and (value not in whole or dims != list(range(len(shape)))):
                return None
    if (
        not group.reductions
        or not group.readers
        or len({op for op, _ in group.readers}) != len(group.readers)
    ):
        return None
    return group


def _is_contraction(op: GenericOp) -> bool:
    if not sums_products(op) or any(linear_map(map_) is None for map_ in maps_of(op)):
        return False
    return plain_dims(list(maps_of(op)[-1].results)) is not None and describe(op).contraction


def _is_row_reduction(op: GenericOp) -> bool:
    """Whether an operation reduces its one operand along the last dim, and keeps the others in order."""
    parts = take_apart(op)
    if parts is None or len(parts.inputs) != 1 or _has_positions(op):
        return False
    rank = parts.num_dims
    return (
        parts.reductions == [False] * (rank - 1) + [True]
        and plain_dims(parts.maps[0]) == list(range(rank))
        and plain_dims(parts.result_exprs) == list(range(rank - 1))
    )


def _is_elementwise(op: GenericOp, rank: int) -> bool:
    """Whether an operation makes a new value of this rank in the order of its loops."""
    parts = take_apart(op)
    return (
        parts is not None
        and parts.num_dims == rank
        and is_parallel(parts)
        and plain_dims(parts.result_exprs) == list(range(rank))
        and isinstance(parts.init.owner, tensor.EmptyOp)
        and not parts.block.args[-1].uses
        and not _has_positions(op)
    )


def _has_positions(op: GenericOp) -> bool:
    return is_indirect(op) or any(isinstance(inner, IndexOp) for inner in op.body.block.ops)


# ---- whether it pays ------------------------------------------------------------------------------------------------


def _pays(group: _Group, target: Target) -> bool:
    *_, rows, extent = group.shape
    most = target.ub // (extent * _bytes_on_chip(group))
    # A tile of a product is cut into equal parts for UB.
    lanes = max((d for d in range(1, min(rows, most) + 1) if rows % d == 0), default=0)
    if not lanes:
        return False
    for op in group.elementwise:
        broadcasts = any(len(map_.results) < len(group.shape) for map_ in maps_of(op))
        if broadcasts and lanes * _width(op) < target.vector_bytes:
            return False
    return sum(_row_cycles(op, target) for op in group.reductions) > sum(
        _outer_cycles(op, lanes, target) for op in group.reductions
    )


def _bytes_on_chip(group: _Group) -> int:
    """Bytes of UB for an element: of what the fixpipe hands over and what is stored in two slots each, and of what is
    wider in between. Where nothing is, results overwrite their operands."""
    widths = [element_bytes(element_of(op.results[0])) for op in group.elementwise] or [4]
    inner = max(widths)
    return 2 * widths[0] + (inner + 2 * widths[-1] if inner > widths[0] else 0)


def _width(op: GenericOp) -> int:
    """Bytes of the widest value in the body of an operation."""
    values = [value for inner in op.body.block.ops for value in inner.results]
    return max(element_bytes(value.type) for value in [*op.body.block.args, *values])


def _slope(target: Target, kind: str) -> int:
    return target.vector.get(kind, target.vector["default"])[1]


def _row_cycles(op: GenericOp, target: Target) -> float:
    shape, size = shape_of(op.inputs[0]), element_bytes(element_of(op.results[0]))
    combine, reduce = _slope(target, "add"), _slope(target, "reduce")
    fold = best_fold(shape[-1], size, FoldCosts(target.vector_bytes, combine, 2, combine, reduce, reduce))
    whole = reduce * -(-shape[-1] * size // target.vector_bytes)
    return prod(shape[:-1]) * (whole if fold is None else fold.cycles)


def _outer_cycles(op: GenericOp, lanes: int, target: Target) -> float:
    shape, size = shape_of(op.inputs[0]), element_bytes(element_of(op.results[0]))
    steps = -(-lanes * size // target.vector_bytes)
    return prod(shape) / lanes * steps * _slope(target, "add")


# ---- the change ------------------------------------------------------------------------------------------------------


def _transpose(group: _Group) -> list[GenericOp]:
    """Transpose the values of a group; the contractions that read them, as they are now."""
    rank = len(group.shape)
    order = [*range(rank - 2), rank - 1, rank - 2]
    readers = dict(group.readers)
    changed = {group.product, *group.elementwise, *group.reductions, *readers}
    inner = set(group.elementwise)
    values: set[SSAValue] = set()
    behind: list[GenericOp] = []
    for op in _in_order(group.product, changed):
        parts = take_apart(op)
        assert parts is not None
        if op is group.product:
            new = _written(parts, order)
        elif op in readers:
            parts.maps[readers[op]] = [parts.maps[readers[op]][d] for d in order]
            behind.append(replace(parts))
            continue
        else:
            new = _relooped(parts, order, values, op in inner)
        if op is group.product or op in inner:
            values.add(new.results[0])
    return behind


def _in_order(first: Operation, ops: set[GenericOp]) -> list[GenericOp]:
    """The operations in the order of their block, from the first on."""
    found: list[GenericOp] = []
    op: Operation | None = first
    while op is not None and len(found) < len(ops):
        if isinstance(op, GenericOp) and op in ops:
            found.append(op)
        op = op.next_op
    return found


def _written(parts: Generic, order: Sequence[int]) -> GenericOp:
    """A contraction that writes its result with the dims in another order."""
    b = Builder()
    shape = shape_of(parts.init)
    init = reshaped_init(b, parts.init, tuple(shape[d] for d in order))
    assert init is not None, "a contraction starts from a fill"
    parts.init = init
    parts.maps[-1] = [parts.maps[-1][d] for d in order]
    return replace(parts, b.ops)


def _relooped(parts: Generic, order: Sequence[int], values: set[SSAValue], writes: bool) -> GenericOp:
    """An operation with its loops, and the dims of the values of the group, in another order."""
    b = Builder()
    places = [AffineExpr.dimension(order.index(d)) for d in range(parts.num_dims)]
    parts.maps = [substitute(exprs, places, parts.num_dims) for exprs in parts.maps]
    parts.reductions = [parts.reductions[d] for d in order]
    for k, value in enumerate(parts.inputs):
        if value in values:
            parts.maps[k] = [parts.maps[k][d] for d in order]
    if writes:
        shape = shape_of(parts.init)
        parts.init = b.empty(tuple(shape[d] for d in order), element_of(parts.init))
        parts.maps[-1] = [parts.maps[-1][d] for d in order]
    return replace(parts, b.ops)
