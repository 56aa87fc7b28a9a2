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

A branch whose condition compares what grows with the iterations of loops parts a loop: before, while and after its
outcome changes, each part repeats on its own.

    scf.for %i = 0 to 8 {                          parts: iteration 0, iterations 1 to 7
      %again = arith.cmpi ne, %i, %c0
      scf.if %again { ... } }

Does not handle: other branches, and loops that carry what does not grow by the same in each iteration: they have no
period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from npu_mlir.analysis.scalar_forms import Form, ScalarForms
from npu_mlir.dialects import npu_isa, tile

MOST_CHANGES = 4
"""Iterations, one after the other, in which the outcome of a condition may change."""


@dataclass(frozen=True)
class Period:
    """After how many iterations a loop does the same again, and at which iterations it begins to do something else."""

    length: int
    parts: tuple[int, ...] = ()


def loop_periods(kernel: tile.KernelOp) -> dict[scf.ForOp, Period]:
    """The period of every loop of a kernel that has one."""
    forms = ScalarForms()
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
    return {loop: period for loop in loops if (period := _period(loop, forms)) is not None}


def _period(loop: scf.ForOp, forms: ScalarForms) -> Period | None:
    if not _is_plain(loop, forms):
        return None
    length, parts = 1, set[int]()
    for op in loop.body.walk():
        if isinstance(op, scf.IfOp):
            changes = _changes(op.cond, loop, forms)
            if changes is None:
                return None
            parts |= changes
            continue
        own = _own_period(op, loop, forms)
        if own is None:
            return None
        length = math.lcm(length, own)
    return Period(length, tuple(sorted(parts)))


def _changes(condition: SSAValue, loop: scf.ForOp, forms: ScalarForms) -> set[int] | None:
    """The iterations of a loop in which the outcome of a condition may be another one than in that before; None if that
    is not known."""
    owner = condition.owner
    match owner:
        case arith.ConstantOp():
            return set()
        case arith.AndIOp() | arith.OrIOp():
            parts = [_changes(operand, loop, forms) for operand in owner.operands]
            return None if None in parts else set[int]().union(*(part for part in parts if part is not None))
        case arith.CmpiOp():
            return _changes_of(owner, loop, forms)
        case _:
            return None


def _changes_of(op: arith.CmpiOp, loop: scf.ForOp, forms: ScalarForms) -> set[int] | None:
    sides = forms.of(op.lhs), forms.of(op.rhs)
    unsigned = op.predicate.value.data > 5
    if unsigned and any(least is None or least[0] < 0 for least in (_range(s, forms) for s in sides)):
        return None
    difference = sides[0].plus(sides[1], -1)
    step = dict(difference.terms).get(loop, 0)
    others = _range(difference.plus(Form(((loop, step),)), -1), forms)
    if not step:
        return set() if others is not None or forms.step(op.result, loop) == 0 else None
    if others is None:
        return None
    low, high = others
    if step < 0:
        step, low, high = -step, -high, -low
    # Without the part of this loop, the difference is from low to high: it may be 0 in the iterations first to last, is
    # less before them and greater after them.
    first, last = max(-(high // step), 0), -low // step
    if last - first >= MOST_CHANGES:
        return None
    return {iteration for iteration in range(first, last + 2) if iteration > 0}


def _is_plain(loop: scf.ForOp, forms: ScalarForms) -> bool:
    """Whether all values that a loop carries grow by a constant."""
    return all(forms.growth(loop, number) is not None for number in range(len(loop.iter_args)))


def _range(form: Form, forms: ScalarForms) -> tuple[int, int] | None:
    """The least and the largest value of a sum over iteration numbers; None if that is not known."""
    low = high = form.constant
    for symbol, factor in form.terms:
        trips = forms.trips(symbol) if isinstance(symbol, scf.ForOp) else None
        if not trips:
            return None
        low, high = low + min(factor * (trips - 1), 0), high + max(factor * (trips - 1), 0)
    return low, high


def _own_period(op: Operation, loop: scf.ForOp, forms: ScalarForms) -> int | None:
    match op:
        case scf.ForOp():
            fixed = all(forms.step(bound, loop) == 0 for bound in (op.lb, op.ub, op.step))
            return 1 if fixed and _is_plain(op, forms) else None
        case npu_isa.SetFlagOp() | npu_isa.WaitFlagOp() if op.index is not None:
            step, slots = forms.step(op.index, loop), op.slots.value.data
            return None if step is None else slots // math.gcd(step, slots)
        case _:
            return 1
