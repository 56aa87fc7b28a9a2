"""After how many iterations a loop does the same again, as far as time can tell.

Time depends on the scalar values of a program in three ways only: the event ids of flags, the bounds of loops and the
conditions of branches. Where all of these within a loop are linear in the numbers of iterations (`scalar_forms.py`),
and bounds do not depend on the loop, only the event ids change from one iteration to the next: `e + v mod slots` with
`v = c * iteration + ...` repeats after `slots / gcd(c, slots)` iterations. The period of the loop is their least common
multiple.

    scf.for %i ... {                               period 2
      wait_flag [M, MTE1, 0 + %i/step mod 2]
      scf.for %j ... {                             period 1: %i does not change within
        set_flag [MTE2, MTE1, %i/step mod 4] } }   (and 4 for the outer loop)

Does not handle: branches, and loops that carry what does not grow by the same in each iteration: they have no period.
"""

from __future__ import annotations

import math

from xdsl.dialects import scf
from xdsl.ir import Operation

from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.dialects import npu_isa, tile


def loop_periods(kernel: tile.KernelOp) -> dict[scf.ForOp, int]:
    """The period of every loop of a kernel that has one, in iterations."""
    forms = ScalarForms()
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
    return {loop: period for loop in loops if (period := _period(loop, forms)) is not None}


def _period(loop: scf.ForOp, forms: ScalarForms) -> int | None:
    if not _is_plain(loop, forms):
        return None
    period = 1
    for op in loop.body.walk():
        own = _own_period(op, loop, forms)
        if own is None:
            return None
        period = math.lcm(period, own)
    return period


def _is_plain(loop: scf.ForOp, forms: ScalarForms) -> bool:
    """Whether all values that a loop carries grow by a constant."""
    return all(forms.growth(loop, number) is not None for number in range(len(loop.iter_args)))


def _own_period(op: Operation, loop: scf.ForOp, forms: ScalarForms) -> int | None:
    match op:
        case scf.ForOp():
            fixed = all(forms.step(bound, loop) == 0 for bound in (op.lb, op.ub, op.step))
            return 1 if fixed and _is_plain(op, forms) else None
        case scf.IfOp():
            return None
        case npu_isa.SetFlagOp() | npu_isa.WaitFlagOp() if op.index is not None:
            step, slots = forms.step(op.index, loop), op.slots.value.data
            return None if step is None else slots // math.gcd(step, slots)
        case _:
            return 1
