"""After how many iterations a loop does the same again, as far as time can tell.

Time depends on the scalar values of a program in three ways only: the event ids of flags, the bounds of loops and the
conditions of branches. Where all of these within a loop are linear in the numbers of iterations, and bounds and
conditions do not depend on the loop, only the event ids change from one iteration to the next: `e + v mod slots` with
`v = c * iteration + ...` repeats after `slots / gcd(c, slots)` iterations. The period of the loop is their least common
multiple.

    scf.for %i ... {                               period 2
      wait_flag [M, MTE1, 0 + %i/step mod 2]
      scf.for %j ... {                             period 1: %i does not change within
        set_flag [MTE2, MTE1, %i/step mod 4] } }   (and 4 for the outer loop)

A loop with a value in a flag, bound or condition that is not linear (see `analysis.linear_forms`) has no period.
"""

from __future__ import annotations

import math

from xdsl.dialects import scf
from xdsl.ir import Operation

from npu_mlir.analysis.linear_forms import LinearForms
from npu_mlir.dialects import npu_isa, tile


def loop_periods(kernel: tile.KernelOp) -> dict[scf.ForOp, int]:
    """The period of every loop of a kernel that has one."""
    forms = LinearForms(kernel.body.block)
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
    return {loop: period for loop in loops if (period := _period(loop, forms))}


def _period(loop: scf.ForOp, forms: LinearForms) -> int | None:
    if not forms.steady.get(loop, False):
        return None
    period = 1
    for op in loop.body.walk():
        own = _own_period(op, loop, forms)
        if own is None:
            return None
        period = math.lcm(period, own)
    return period


def _own_period(op: Operation, loop: scf.ForOp, forms: LinearForms) -> int | None:
    """The period of one op in a loop."""
    match op:
        case scf.ForOp():
            bounds = [forms.get(v) for v in (op.lb, op.ub, op.step)]
            fixed = all(f is not None and f.carried is None and not f.of(loop) for f in bounds)
            return 1 if fixed and forms.steady.get(op, False) else None
        case scf.IfOp():
            return None
        case npu_isa.SetFlagOp() | npu_isa.WaitFlagOp() if op.index is not None:
            form, slots = forms.get(op.index), op.slots.value.data
            if form is None or form.carried is not None:
                return None
            return slots // math.gcd(form.of(loop), slots)
        case _:
            return 1
