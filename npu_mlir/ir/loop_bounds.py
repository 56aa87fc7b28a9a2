"""What is known of index values and loops from constants alone."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from npu_mlir.support.diagnostics import UserError


def constant_index(value: SSAValue) -> int | None:
    """The integer that a value is, None if no `arith.constant` makes it."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def iterations(op: Operation, start: int, stop: int, step: int) -> range:
    """The values of the index of a loop; a `UserError` for a step that leads nowhere."""
    if step < 1:
        raise UserError(f"the step of a loop has to be positive, not {step}", loc=op)
    return range(start, stop, step)


def constant_trips(loop: scf.ForOp) -> range | None:
    """The values of the index of a loop, None if its bounds are not constants; a `UserError` for a step that leads
    nowhere."""
    lower, upper, step = (constant_index(v) for v in (loop.lb, loop.ub, loop.step))
    return None if lower is None or upper is None or step is None else iterations(loop, lower, upper, step)


def times_run(op: Operation) -> int:
    """How often an op in a function runs when that is called once: the product of the iterations of the loops around
    it. A loop whose bounds are not constants counts as one iteration."""
    times, outer = 1, op.parent_op()
    while outer is not None:
        if isinstance(outer, scf.ForOp):
            trips = constant_trips(outer)
            times *= 1 if trips is None else len(trips)
        outer = outer.parent_op()
    return times
