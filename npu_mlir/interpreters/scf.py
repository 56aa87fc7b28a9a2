"""scf: structured control flow."""

from __future__ import annotations

from xdsl.dialects import scf

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, impl
from npu_mlir.ir.loop_bounds import iterations


@impl("scf.for")
def for_(interp: Interpreter, op: scf.ForOp, args: Results) -> Results:
    start, stop, step, *carried = args
    body = op.body.block
    values = tuple(carried)
    for i in iterations(op, start, stop, step):
        values = interp.run_block(body, (i, *values))
    return values


@impl("scf.if")
def if_(interp: Interpreter, op: scf.IfOp, args: Results) -> Results:
    region = op.true_region if args[0] else op.false_region
    return interp.run_block(region.block) if region.blocks else ()


@impl("scf.while")
def while_(interp: Interpreter, op: scf.WhileOp, args: Results) -> Results:
    while True:
        condition, *values = interp.run_block(op.before_region.block, args)
        if not condition:
            return tuple(values)
        args = interp.run_block(op.after_region.block, values)


@impl("scf.execute_region")
def execute_region(interp: Interpreter, op: scf.ExecuteRegionOp, args: Results) -> Results:
    return interp.run_block(op.region.block)
