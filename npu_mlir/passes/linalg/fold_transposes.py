"""linalg-fold-transposes: let contractions read and write in the order that their neighbours have.

    %t = linalg.generic {maps = [(d0, d1, d2) -> (d2, d0, d1), identity]} ins(%x) { yield }       // channels last
    %p = tensor.pad %t low[1, 1, 0] high[1, 1, 0]
    %c = linalg.generic {(h, w, o, y, x, i) -> (h + y, w + x, i), ..., (h, w, o)} ins(%p, %w)     // a convolution
    %r = linalg.generic {maps = [(d0, d1, d2) -> (d1, d2, d0), identity]} ins(%c) { relu }        // channels first
  becomes
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1]
    %c = linalg.generic {(h, w, o, y, x, i) -> (i, h + y, w + x), ..., (o, h, w)} ins(%p, %w)
    %r = linalg.generic {maps = [identity, identity]} ins(%c) { relu }

The cube multiplies matrices that lie transposed as fast as others, while the vector unit moves what it reorders element
by element. Two rules, both of which give an intermediate value another order of dims:

- what an elementwise producer reorders, and only contractions read (through pads or not), keeps the order of the
  producer's source. A producer that does nothing else goes.
- the result of a contraction that one elementwise consumer alone reads, and reorders, has the order of that consumer.

A rule is followed where the contractions lose less by it, as `analysis.operand_layouts` estimates, than reordering
takes.

Why values stay the same: an intermediate value with its dims in another order, written and read through maps that are
permuted alike, holds each element where its readers look for it.
Changes values: by the order of a sum, where summed loops are nested as the new operand has them.

Leaves alone: values that anything else reads, that the function returns, or that are read through reshapes; copies of
a padded tensor or of a slice that is padded once more, which only a copy can do.
Does not handle: contractions that read the same value as both operands, producers that compute with positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import linear_map, plain_dims
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.operand_layouts import Map, copying, estimate, reordering, summed_in_order
from npu_mlir.analysis.structured.nest import describe, factor_type, is_indirect, maps_of, sums_products
from npu_mlir.dialects.tile import cube_type, element_bits, element_bytes
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.structure import (
    Generic,
    is_parallel,
    loop_extents,
    reshaped_init,
    substitute,
    take_apart,
)
from npu_mlir.passes.linalg.structure import replace as put_together
from npu_mlir.passes.linalg.tensor_types import element_of, ints, shape_of, tensor_type
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

Order = Sequence[int]
"""For each dim of a value in its new order, which dim it was."""


class FoldTransposes(ModulePass):
    """Let contractions read and write in the order that their neighbours have."""

    name = "linalg-fold-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for generic in [o for o in op.walk() if isinstance(o, GenericOp)]:
            if generic.parent is not None:
                _fold_producer(generic, target)
        for generic in [o for o in op.walk() if isinstance(o, GenericOp)]:
            if generic.parent is not None and sums_products(generic):
                _fold_consumer(generic, target)
        erase_dead_ops(op)


# ---- what a contraction reads ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    """An operand of a contraction: its number, and the pads between it and the value."""

    op: GenericOp
    operand: int
    pads: tuple[tensor.PadOp, ...]


def _fold_producer(op: GenericOp, target: Target) -> None:
    """Give the result of an elementwise operation the order of its source, if contractions alone read it."""
    order = _source_order(op)
    if order is None:
        return
    reads = _reads(op.results[0])
    if not reads or len({read.op for read in reads}) != len(reads):
        return
    parts = take_apart(op)
    assert parts is not None
    copied = _copies(parts)
    if copied is not None and any(read.pads for read in reads) and _is_part(copied):
        return
    elements, size = prod(shape_of(op.results[0])), element_bytes(element_of(op.results[0]))
    gain = reordering(elements, size, _keeps_rows(order, shape_of(op.results[0])), target)
    if copied is not None:
        gain += copying(elements, size, target)
    changes: list[_Change] = []
    for read in reads:
        compute = _contraction(read.op, target)
        if compute is None:
            return
        changes.append(_change(compute, read.operand, order, target))
    if sum(change.loss for change in changes) >= gain:
        return
    value = copied if copied is not None else _reordered_producer(parts, order)
    for read, change in zip(reads, changes, strict=True):
        _read_in_order(read, value, order, change.summed)


def _source_order(op: GenericOp) -> Order | None:
    """The order of dims of what an elementwise operation reads whole, if it is another than that of its result."""
    parts = take_apart(op)
    if parts is None or not is_parallel(parts) or is_indirect(op) or parts.block.args[-1].uses:
        return None
    if plain_dims(parts.result_exprs) != list(range(parts.num_dims)):
        return None
    if not isinstance(parts.init.owner, tensor.EmptyOp):
        return None
    if any(isinstance(inner, IndexOp) for inner in parts.block.ops):
        return None
    orders = [_order(exprs, parts.num_dims) for exprs in parts.maps[:-1]]
    found = {tuple(order) for order in orders if order is not None}
    if len(found) != 1:
        return None
    order = found.pop()
    extents = loop_extents(parts)
    moved = [d for d in order if extents[d] != 1]
    return None if moved == sorted(moved) else order


def _order(exprs: Sequence[AffineExpr], num_dims: int) -> Order | None:
    """The loops that a map is a permutation of all of, None for any other."""
    dims = plain_dims(exprs)
    return dims if dims is not None and sorted(dims) == list(range(num_dims)) else None


def _keeps_rows(order: Order, shape: Sequence[int]) -> bool:
    """Whether the innermost of the dims that have more than one element stays the innermost."""
    dims = [d for d in order if shape[d] != 1]
    return not dims or dims[-1] == max(dims)


def _reads(value: SSAValue) -> list[_Read] | None:
    """Where contractions read a value; None if anything else does."""
    reads: list[_Read] = []
    for use in value.uses:
        user = use.operation
        if isinstance(user, tensor.PadOp) and user.source is value and len(user.operands) == 1:
            behind = _reads(user.result)
            if behind is None:
                return None
            reads += [_Read(read.op, read.operand, (user, *read.pads)) for read in behind]
        elif isinstance(user, GenericOp) and sums_products(user) and use.index < len(user.inputs):
            reads.append(_Read(user, use.index, ()))
        else:
            return None
    return reads


def _contraction(op: GenericOp, target: Target) -> LoopNestOp | None:
    """A contraction of the cube as plain data, None for any other operation."""
    if any(linear_map(map_) is None for map_ in maps_of(op)):
        return None
    compute = describe(op)
    if not compute.contraction or cube_type(factor_type(compute)) not in target.cube_steps:
        return None
    return compute


@dataclass(frozen=True)
class _Change:
    """A contraction with an operand in another order: the order of its summed loops that suits it, and the cycles that
    it takes more."""

    summed: tuple[int, ...]
    loss: float


def _change(compute: LoopNestOp, operand: int, order: Order, target: Target) -> _Change:
    maps: list[Map] = list(compute.maps[:2])
    summed = [d for d, reduced in enumerate(compute.reduction) if reduced]
    before = _cycles(compute, maps, summed, target)
    maps[operand] = [maps[operand][d] for d in order]
    orders = (tuple(summed), summed_in_order(maps[operand], summed))
    cycles = {summed: _cycles(compute, maps, summed, target) for summed in orders}
    best = min(cycles, key=cycles.__getitem__)
    return _Change(best, cycles[best] - before)


def _cycles(compute: LoopNestOp, maps: Sequence[Map], summed: Sequence[int], target: Target) -> float:
    element = factor_type(compute)
    return estimate(compute, maps, summed, cube_type(element), element_bits(element), target)


def _copies(parts: Generic) -> SSAValue | None:
    """The input that an operation yields as it is."""
    last = parts.block.last_op
    assert isinstance(last, YieldOp)
    value = last.operands[0]
    return parts.inputs[value.index] if isinstance(value, BlockArgument) else None


def _is_part(value: SSAValue) -> bool:
    """Whether a value is a padded tensor or a part of one, maybe reshaped: no load can pad that once more."""
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, tensor.PadOp | tensor.ExtractSliceOp | FillOp)


def _reordered_producer(parts: Generic, order: Order) -> SSAValue:
    """The operation with its loops, and the dims of its result, in another order."""
    builder = Builder()
    shape = shape_of(parts.op.results[0])
    parts.init = builder.empty(tuple(shape[d] for d in order), element_of(parts.op.results[0]))
    places = [AffineExpr.dimension(order.index(d)) for d in range(parts.num_dims)]
    parts.maps = [substitute(exprs, places, parts.num_dims) for exprs in parts.maps[:-1]]
    parts.maps.append([AffineExpr.dimension(d) for d in range(parts.num_dims)])
    return put_together(parts, builder.ops).results[0]


def _read_in_order(read: _Read, value: SSAValue, order: Order, summed: Sequence[int]) -> None:
    """Let a contraction read `value`, whose dims have another order, through pads like those that it read through, with
    its summed loops in the order of `summed`."""
    builder = Builder()
    for pad in read.pads:
        value = _padded(builder, pad, value, order)
    parts = take_apart(read.op)
    assert parts is not None
    parts.inputs[read.operand] = value
    parts.maps[read.operand] = [parts.maps[read.operand][d] for d in order]
    _nest(parts, summed)
    put_together(parts, builder.ops)


def _nest(parts: Generic, summed: Sequence[int]) -> None:
    """Nest the summed loops in this order, in the places that they have."""
    order = iter(summed)
    loops = [next(order) if reduced else d for d, reduced in enumerate(parts.reductions)]
    dims = [AffineExpr.dimension(loops.index(d)) for d in range(parts.num_dims)]
    parts.maps = [substitute(exprs, dims, parts.num_dims) for exprs in parts.maps]


def _padded(b: Builder, pad: tensor.PadOp, value: SSAValue, order: Order) -> SSAValue:
    low, high = ([widths.get_values()[d] for d in order] for widths in (pad.static_low, pad.static_high))
    shape = shape_of(pad.result)
    new = tensor.PadOp.create(
        operands=[value],
        result_types=[tensor_type(element_of(value), tuple(shape[d] for d in order))],
        properties={
            **pad.properties,
            "static_low": ints(tuple(low)),
            "static_high": ints(tuple(high)),
        },
        attributes=pad.attributes,
        regions=[pad.region.clone()],
    )
    b.ops.append(new)
    return new.result


# ---- what a contraction writes --------------------------------------------------------------------------------------


def _fold_consumer(op: GenericOp, target: Target) -> None:
    """Give the result of a contraction the order of the elementwise operation that alone reads it."""
    uses = list(op.results[0].uses)
    if len(uses) != 1 or not isinstance(uses[0].operation, GenericOp):
        return
    consumer = take_apart(uses[0].operation)
    if consumer is None or not is_parallel(consumer) or uses[0].index >= len(consumer.inputs):
        return
    loops = _order(consumer.maps[uses[0].index], consumer.num_dims)
    if loops is None or plain_dims(consumer.result_exprs) != list(range(consumer.num_dims)):
        return
    order = [loops.index(d) for d in range(len(loops))]
    shape = shape_of(op.results[0])
    moved = [d for d in order if shape[d] != 1]
    compute = _contraction(op, target)
    if moved == sorted(moved) or compute is None:
        return
    new = replace(compute, result=tuple(compute.result[d] for d in order))
    summed = [d for d, reduced in enumerate(compute.reduction) if reduced]
    loss = _cycles(new, new.maps[:2], summed, target) - _cycles(compute, compute.maps[:2], summed, target)
    size = element_bytes(consumer.block.args[-1].type)
    if loss >= reordering(prod(shape), size, _keeps_rows(order, shape), target):
        return
    _write_in_order(op, consumer, uses[0].index, order)


def _write_in_order(op: GenericOp, consumer: Generic, operand: int, order: Order) -> None:
    builder = Builder()
    parts = take_apart(op)
    assert parts is not None
    shape = shape_of(op.results[0])
    init = reshaped_init(builder, parts.init, tuple(shape[d] for d in order))
    if init is None:
        return
    parts.init = init
    parts.maps[-1] = [parts.result_exprs[d] for d in order]
    consumer.maps[operand] = [consumer.maps[operand][d] for d in order]
    # The consumer reads a value of another type: it is put together before the old one goes.
    _replace_both(parts, builder.ops, consumer, operand)


def _replace_both(parts: Generic, new_ops: Sequence[Operation], consumer: Generic, operand: int) -> None:
    contraction = put_together(parts, new_ops)
    consumer.inputs[operand] = contraction.results[0]
    put_together(consumer)
