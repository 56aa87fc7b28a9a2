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

Does not handle: values made by anything but sums, differences, products with constants and exact divisions. A loop
with such a value in a flag, bound or condition has no period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.loop_bounds import iterations


@dataclass(frozen=True)
class Form:
    """`sum(terms[loop] * iteration number of loop) + constant`, and for carried values not known yet: `+ carried`."""

    terms: tuple[tuple[Operation, int], ...] = ()
    constant: int = 0
    carried: SSAValue | None = None

    def of(self, loop: Operation) -> int:
        """The coefficient of a loop."""
        return dict(self.terms).get(loop, 0)


def loop_periods(kernel: tile.KernelOp) -> dict[scf.ForOp, int]:
    """The period of every loop of a kernel that has one."""
    analysis = _Analysis()
    analysis.block(kernel.body.block)
    return {op: p for op in kernel.walk() if isinstance(op, scf.ForOp) and (p := analysis.period(op))}


class _Analysis:
    def __init__(self) -> None:
        self.forms: dict[SSAValue, Form | None] = {}
        self.plain: dict[scf.ForOp, bool] = {}
        """Whether all values that a loop carries grow by a constant."""

    # ---- forms

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, scf.ForOp):
                self.loop(op)
            elif isinstance(op, scf.IfOp):
                for region in (op.true_region, op.false_region):
                    for inner in region.blocks:
                        self.block(inner)
                self.forms |= dict.fromkeys(op.results)
            else:
                for result in op.results:
                    self.forms[result] = self.scalar(op)

    def loop(self, op: scf.ForOp) -> None:
        lower, step = self.forms.get(op.lb), self.forms.get(op.step)
        index, *carried = op.body.block.args
        constant = lower is not None and step is not None and not lower.terms and not step.terms
        self.forms[index] = (
            Form(((op, step.constant),), lower.constant) if constant and lower and step else None
        )
        # First with the carried values unknown, to see what they grow by; then with that known.
        for arg in carried:
            self.forms[arg] = Form(carried=arg)
        self.block(op.body.block)
        last = op.body.block.last_op
        yields = list(last.operands) if last is not None else []
        growth = [self.growth(arg, self.forms.get(value)) for arg, value in zip(carried, yields)]
        self.plain[op] = None not in growth
        for arg, init, step_ in zip(carried, op.iter_args, growth, strict=True):
            start = self.forms.get(init)
            self.forms[arg] = _add(start, Form(((op, step_),))) if step_ is not None else None
        if carried:
            self.block(op.body.block)
        trips = self.trips(op)
        for result, init, step_ in zip(op.results, op.iter_args, growth, strict=True):
            grown = None if step_ is None or trips is None else Form(constant=step_ * trips)
            self.forms[result] = _add(self.forms.get(init), grown)

    def growth(self, arg: SSAValue, value: Form | None) -> int | None:
        """What a carried value grows by in each iteration."""
        if value is None or value.carried is not arg or value.terms:
            return None
        return value.constant

    def trips(self, op: scf.ForOp) -> int | None:
        """The number of iterations, if it is a constant."""
        bounds = [self.forms.get(v) for v in (op.lb, op.ub, op.step)]
        if any(b is None or b.terms or b.carried is not None for b in bounds):
            return None
        lower, upper, step = (b.constant for b in bounds if b is not None)
        return len(iterations(op, lower, upper, step))

    def scalar(self, op: Operation) -> Form | None:
        forms = [self.forms.get(v) for v in op.operands]
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                return Form(constant=op.value.value.data)
            case arith.AddiOp():
                return _add(forms[0], forms[1])
            case arith.SubiOp():
                return _add(forms[0], _scale(forms[1], -1))
            case arith.MuliOp():
                return _product(forms[0], forms[1])
            case arith.FloorDivSIOp() | arith.DivUIOp():
                return _quotient(forms[0], forms[1])
            case arith.IndexCastOp():
                return forms[0]
            case affine.ApplyOp():
                map_ = op.map.data
                return _affine(map_.results[0], forms[: map_.num_dims], forms[map_.num_dims :])
            case _:
                return None

    # ---- periods

    def period(self, loop: scf.ForOp) -> int | None:
        """The period of a loop, None if it has none."""
        if not self.plain.get(loop, False):
            return None
        period = 1
        for op in loop.body.walk():
            own = self.own_period(op, loop)
            if own is None:
                return None
            period = math.lcm(period, own)
        return period

    def own_period(self, op: Operation, loop: scf.ForOp) -> int | None:
        match op:
            case scf.ForOp():
                forms = [self.forms.get(v) for v in (op.lb, op.ub, op.step)]
                fixed = all(f is not None and f.carried is None and not f.of(loop) for f in forms)
                return 1 if fixed and self.plain.get(op, False) else None
            case scf.IfOp():
                return None
            case npu_isa.SetFlagOp() | npu_isa.WaitFlagOp() if op.index is not None:
                form, slots = self.forms.get(op.index), op.slots.value.data
                if form is None or form.carried is not None:
                    return None
                return slots // math.gcd(form.of(loop), slots)
            case _:
                return 1


def _add(a: Form | None, b: Form | None) -> Form | None:
    if a is None or b is None or (a.carried is not None and b.carried is not None):
        return None
    terms = dict(a.terms)
    for loop, c in b.terms:
        terms[loop] = terms.get(loop, 0) + c
    kept = tuple((loop, c) for loop, c in terms.items() if c)
    return Form(kept, a.constant + b.constant, a.carried if a.carried is not None else b.carried)


def _scale(a: Form | None, factor: int) -> Form | None:
    if a is None or (a.carried is not None and factor != 1):
        return None
    return Form(tuple((loop, c * factor) for loop, c in a.terms if factor), a.constant * factor, a.carried)


def _product(a: Form | None, b: Form | None) -> Form | None:
    if a is None or b is None:
        return None
    if not a.terms and a.carried is None:
        a, b = b, a
    return _scale(a, b.constant) if not b.terms and b.carried is None else None


def _quotient(a: Form | None, b: Form | None) -> Form | None:
    """An exact quotient: every term is a multiple of the divisor."""
    if a is None or b is None or b.terms or b.carried is not None or b.constant <= 0:
        return None
    parts = [*(c for _, c in a.terms), a.constant]
    if b.constant != 1 and (a.carried is not None or any(part % b.constant for part in parts)):
        return None
    terms = tuple((loop, c // b.constant) for loop, c in a.terms)
    return Form(terms, a.constant // b.constant, a.carried)


def _affine(expr: AffineExpr, dims: list[Form | None], symbols: list[Form | None]) -> Form | None:
    match expr:
        case AffineConstantExpr():
            return Form(constant=expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (_affine(e, dims, symbols) for e in (expr.lhs, expr.rhs))
            if expr.kind is AffineBinaryOpKind.Add:
                return _add(lhs, rhs)
            if expr.kind is AffineBinaryOpKind.Mul:
                return _product(lhs, rhs)
            return _quotient(lhs, rhs) if expr.kind is AffineBinaryOpKind.FloorDiv else None
        case _:
            return None
