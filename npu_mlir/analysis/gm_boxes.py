"""Which elements of GM an instruction touches, and in which iterations of the loops around it the same ones again.

scf.for %i = 0 to 4 {                                      loops of the load: %i moves it, %j does not
  scf.for %j = 0 to 8 {
    npu_isa.load_l1 %A[%i] -> ... over [16, 64]            rows 16 i .. 16 i + 15, again in each iteration of %j
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from npu_mlir.analysis.boxes import Box, Coordinate, Term
from npu_mlir.analysis.scalar_forms import Form, ScalarForms, affine_form
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.npu_isa.gm import dim_coefficients
from npu_mlir.ir.loop_bounds import constant_index

Transfer = npu_isa.GmLoad | npu_isa.GmStore | tile.LoadOp | tile.StoreOp
"""What touches GM, as instructions or as tiles. Those of tiles may also move within the core."""


def gm_value(op: Transfer) -> SSAValue:
    """What an instruction touches in GM."""
    return op.source if isinstance(op, npu_isa.GmLoad | tile.LoadOp) else op.dest


def _shape(op: Transfer) -> Sequence[int]:
    match op:
        case tile.LoadOp():
            return op.tile_type.get_shape()
        case tile.StoreOp():
            return cast("tile.TileType", op.value.type).get_shape()
        case _:
            return ints(op.shape)


def gm_box(op: Transfer, forms: ScalarForms) -> Box:
    """The elements of GM that an instruction touches, by coordinate."""
    origins = [forms.of(index) for index in op.indices]
    origins += [Form()] * (op.map.data.num_dims - len(origins))
    starts = [affine_form(expr, origins) for expr in op.map.data.results]
    dims, shape = dim_coefficients(op.map, len(op.indices)), _shape(op)
    extents = cast("tile.TileType", gm_value(op).type).get_shape()
    return tuple(
        _coordinate(start, used, shape, extent, forms)
        for start, used, extent in zip(starts, dims, extents, strict=True)
    )


def _coordinate(
    start: Form, used: Mapping[int, int], shape: Sequence[int], extent: int, forms: ScalarForms
) -> Coordinate | None:
    terms: list[Term] = []
    for loop, factor in start.terms:
        if not isinstance(loop, scf.ForOp):
            return None
        terms.append(Term(loop, factor, forms.trips(loop)))
    # Of an instruction, a coordinate depends on one dim at most.
    if len(used) > 1:
        return None
    dim, step = next(iter(used.items()), (None, 1))
    return Coordinate(start.constant, tuple(terms), 1 if dim is None else shape[dim], step, extent)


def argument_of(op: Transfer) -> int | None:
    """The number of the kernel's argument that an instruction touches; None for memory that is none."""
    value = gm_value(op)
    if isinstance(value, BlockArgument) and isinstance(value.block.parent_op(), tile.KernelOp):
        return value.index
    return None


def covers_all(op: Transfer, forms: ScalarForms) -> bool:
    """Whether an instruction is known to touch every element of its operand, over all its executions."""
    for around in _around(op):
        if isinstance(around, scf.IfOp) and leaves_out_repeats(around, op, forms):
            continue
        if not isinstance(around, scf.ForOp) or not forms.trips(around):
            return False
    box = gm_box(op, forms)
    loops = [term.loop for c in box if c is not None for term in c.terms]
    return len(set(loops)) == len(loops) and all(c is not None and _covers(c) for c in box)


def _covers(c: Coordinate) -> bool:
    """Whether the values of a coordinate are all from 0 to the extent."""
    if c.count > 1 and c.step != 1:
        return False
    length = c.count
    for term in sorted(c.terms, key=lambda term: abs(term.coefficient)):
        if not term.trips or not 0 < term.coefficient <= length:
            return False
        length += term.coefficient * (term.trips - 1)
    return c.constant <= 0 and c.constant + length >= c.extent


def loops_that_repeat(op: Transfer, forms: ScalarForms) -> tuple[scf.ForOp, ...]:
    """The loops around an instruction in each of whose iterations it touches, all else being equal, the same elements
    and is executed as often: what it touches in the second it has touched in the first. From the outermost on."""
    found: list[scf.ForOp] = []
    inside: list[scf.ForOp] = []
    for around in _around(op):
        if isinstance(around, scf.IfOp) and leaves_out_repeats(around, op, forms):
            continue
        if not isinstance(around, scf.ForOp):
            break
        bounds = [bound for loop in inside for bound in (loop.lb, loop.ub, loop.step)]
        if all(forms.step(value, around) == 0 for value in (*op.indices, *bounds)):
            found.append(around)
        inside.append(around)
    return tuple(reversed(found))


def leaves_out_repeats(around: scf.IfOp, op: Transfer, forms: ScalarForms) -> bool:
    """Whether a conditional around an instruction leaves out only what has been touched already: it is executed in the
    first iterations of loops that do not move it, or but for the first tiles, which are loaded at the top of the
    kernel (`tile-keep-operands`, `tile-load-ahead`)."""
    if around.true_region.block.find_ancestor_op_in_block(op) is None:
        return False
    conditions, found = [around.cond], []
    while conditions:
        owner = conditions.pop().owner
        if isinstance(owner, arith.AndIOp):
            conditions += owner.operands
        elif isinstance(owner, arith.CmpiOp):
            found.append(owner)
        else:
            return False
    return all(_is_first_of(c, op, forms) or _is_behind_first(c, op) for c in found)


EQ, UGE = 0, 9
"""Predicates of `arith.cmpi`."""


def _is_first_of(condition: arith.CmpiOp, op: Transfer, forms: ScalarForms) -> bool:
    """Whether a condition holds in the first iteration of a loop that does not move an instruction."""
    index = condition.lhs
    loop = index.owner.parent_op() if isinstance(index, BlockArgument) and not index.index else None
    return (
        condition.predicate.value.data == EQ
        and isinstance(loop, scf.ForOp)
        and condition.rhs is loop.lb
        and all(forms.step(value, loop) == 0 for value in op.indices)
    )


def _is_behind_first(condition: arith.CmpiOp, op: Transfer) -> bool:
    """Whether a condition leaves out first tiles, of an instruction that there is at the top of the kernel as well."""
    if condition.predicate.value.data != UGE or not constant_index(condition.rhs):
        return False
    kernel = op.parent_op()
    while kernel is not None and not isinstance(kernel, tile.KernelOp):
        kernel = kernel.parent_op()
    first = kernel.body.block.ops if kernel is not None else ()
    return any(type(o) is type(op) and gm_value(o) is gm_value(op) and _tiles(o) == _tiles(op) for o in first)


def _tiles(op: Transfer) -> tuple[object, ...]:
    """What an instruction touches wherever it does: indices that are constants may have gone into the map."""
    return _shape(op), dim_coefficients(op.map, len(op.indices))


def _around(op: Operation) -> Iterator[Operation]:
    """The loops and conditionals of the kernel around an operation, from the innermost on."""
    around = op.parent_op()
    while around is not None and not isinstance(around, tile.KernelOp):
        yield around
        around = around.parent_op()
