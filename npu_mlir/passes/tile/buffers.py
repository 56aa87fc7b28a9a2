"""What passes need to know of the buffers of a tiled kernel: what they are for, and the iteration they stand in."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import affine, scf
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.support.diagnostics import UserError


def buffer_role(alloc: tile.AllocOp, space: Space) -> str:
    """What a buffer is for: one of `tile.ROLES`."""
    users = [use.operation for use in alloc.buffer.uses]
    if space is Space.L1:
        if any(isinstance(op, tile.InsertOp) or _comes_from_ub(op, alloc.buffer) for op in users):
            return "link"
        readers = {
            space_of(op.tile_type)
            for op in users
            if isinstance(op, tile.LoadOp) and op.source is alloc.buffer
        }
        return "a" if Space.L0A in readers else "b" if Space.L0B in readers else "init"
    fillers = {
        space_of(op.source.type)
        for op in users
        if isinstance(op, tile.LoadOp | tile.GatherOp) and alloc.buffer is op.dest
    }
    return "in" if Space.GM in fillers else "acc" if Space.L0C in fillers else "out"


def _comes_from_ub(op: Operation, buffer: SSAValue) -> bool:
    return isinstance(op, tile.LoadOp) and op.dest is buffer and space_of(op.source.type) is Space.UB


def running_count(home: Block, top: Block) -> SSAValue:
    """The number of the current iteration of `home`, counted over all loops around it, as a value at its start.

    Raises UserError for what is no loop from zero with constant bounds."""
    variables: list[SSAValue] = []
    exprs: list[tuple[int, int]] = []
    trips = 1
    block = home
    while block is not top:
        loop = block.parent_op()
        if not isinstance(loop, scf.ForOp):
            raise UserError("a buffer stands in a region that is not a loop", loc=loop)
        indices = constant_trips(loop)
        if indices is None:
            raise UserError("the bounds of a loop over tiles have to be constant", loc=loop)
        if indices.start:
            raise UserError("the running count needs loops that start from zero", loc=loop)
        variables.append(loop.body.block.args[0])
        exprs.append((indices.step, trips))
        trips *= len(indices)
        block = cast("Block", loop.parent)
    total: AffineExpr | None = None
    for d, (step, factor) in enumerate(exprs):
        dim: AffineExpr = AffineDimExpr(d)
        term = dim if step == 1 else dim // step
        term = term if factor == 1 else term * factor
        total = term if total is None else total + term
    assert total is not None
    apply = affine.ApplyOp(variables, AffineMapAttr(AffineMap(len(variables), 0, (total,))))
    home.insert_op_before(apply, cast("Operation", home.first_op))
    return apply.result
