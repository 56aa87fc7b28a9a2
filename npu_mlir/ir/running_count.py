"""The number of the current iteration over all loops around a block."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import affine, scf
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.support.diagnostics import UserError


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
