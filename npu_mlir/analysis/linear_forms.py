"""Scalar values as linear functions of the numbers of iterations of the loops around them.

    scf.for %i = %c4 to %n step %c16 {
      scf.for %j = %i to %c64 step %c1 {
        %x = affine.apply affine_map<(i, j) -> (i floordiv 4 + 3 * j)>(%i, %j)     4 * #i + 3 * (4 + 16 * #i + #j) + 1

`#i` is the number of the iteration, which counts from 0. Values that loops carry are linear if they grow by a constant.

Does not handle: values made by anything but sums, differences, products with constants and exact divisions; results of
conditionals.
"""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(frozen=True)
class LinearForm:
    """`sum(terms[loop] * iteration number of loop) + constant`, and for carried values not known yet: `+ carried`."""

    terms: tuple[tuple[scf.ForOp, int], ...] = ()
    constant: int = 0
    carried: SSAValue | None = None

    def of(self, loop: scf.ForOp) -> int:
        """The coefficient of a loop."""
        return dict(self.terms).get(loop, 0)

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.terms and self.carried is None


class LinearForms:
    """The forms of all scalar values of a block, and of those within."""

    def __init__(self, block: Block) -> None:
        self.forms: dict[SSAValue, LinearForm | None] = {}
        self.steady: dict[scf.ForOp, bool] = {}
        """Whether all values that a loop carries grow by a constant."""
        self._block(block)

    def get(self, value: SSAValue) -> LinearForm | None:
        """The form of a value, None if it has none."""
        return self.forms.get(value)

    def trips(self, op: scf.ForOp) -> int | None:
        """The number of iterations, if it is a constant."""
        bounds = [self.forms.get(v) for v in (op.lb, op.ub, op.step)]
        if any(b is None or not b.is_constant for b in bounds):
            return None
        lower, upper, step = (b.constant for b in bounds if b is not None)
        return len(range(lower, upper, step)) if step > 0 else None

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, scf.ForOp):
                self._loop(op)
            elif isinstance(op, scf.IfOp):
                for region in (op.true_region, op.false_region):
                    for inner in region.blocks:
                        self._block(inner)
                self.forms |= dict.fromkeys(op.results)
            else:
                for result in op.results:
                    self.forms[result] = self._scalar(op)

    def _loop(self, op: scf.ForOp) -> None:
        lower, step = self.forms.get(op.lb), self.forms.get(op.step)
        index, *carried = op.body.block.args
        known = step is not None and step.is_constant
        self.forms[index] = _add(lower, LinearForm(((op, step.constant),))) if known and step else None
        # First with the carried values unknown, to see what they grow by; then with that known.
        for arg in carried:
            self.forms[arg] = LinearForm(carried=arg)
        self._block(op.body.block)
        last = op.body.block.last_op
        yields = list(last.operands) if last is not None else []
        growth = [_growth(arg, self.forms.get(value)) for arg, value in zip(carried, yields)]
        self.steady[op] = None not in growth
        for arg, init, step_ in zip(carried, op.iter_args, growth, strict=True):
            start = self.forms.get(init)
            self.forms[arg] = _add(start, LinearForm(((op, step_),))) if step_ is not None else None
        if carried:
            self._block(op.body.block)
        trips = self.trips(op)
        for result, init, step_ in zip(op.results, op.iter_args, growth, strict=True):
            grown = None if step_ is None or trips is None else LinearForm(constant=step_ * trips)
            self.forms[result] = _add(self.forms.get(init), grown)

    def _scalar(self, op: Operation) -> LinearForm | None:
        forms = [self.forms.get(v) for v in op.operands]
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                return LinearForm(constant=op.value.value.data)
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
                return affine_form(map_.results[0], forms[: map_.num_dims], forms[map_.num_dims :])
            case _:
                return None


def affine_form(
    expr: AffineExpr, dims: Sequence[LinearForm | None], symbols: Sequence[LinearForm | None] = ()
) -> LinearForm | None:
    """The form of an affine expression of values with these forms, None if it has none."""
    match expr:
        case AffineConstantExpr():
            return LinearForm(constant=expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (affine_form(e, dims, symbols) for e in (expr.lhs, expr.rhs))
            if expr.kind is AffineBinaryOpKind.Add:
                return _add(lhs, rhs)
            if expr.kind is AffineBinaryOpKind.Mul:
                return _product(lhs, rhs)
            return _quotient(lhs, rhs) if expr.kind is AffineBinaryOpKind.FloorDiv else None
        case _:
            return None


def _growth(arg: SSAValue, value: LinearForm | None) -> int | None:
    """What a carried value grows by in each iteration."""
    if value is None or value.carried is not arg or value.terms:
        return None
    return value.constant


def _add(a: LinearForm | None, b: LinearForm | None) -> LinearForm | None:
    if a is None or b is None or (a.carried is not None and b.carried is not None):
        return None
    terms = dict(a.terms)
    for loop, c in b.terms:
        terms[loop] = terms.get(loop, 0) + c
    kept = tuple((loop, c) for loop, c in terms.items() if c)
    return LinearForm(kept, a.constant + b.constant, a.carried if a.carried is not None else b.carried)


def _scale(a: LinearForm | None, factor: int) -> LinearForm | None:
    if a is None or (a.carried is not None and factor != 1):
        return None
    return LinearForm(
        tuple((loop, c * factor) for loop, c in a.terms if factor), a.constant * factor, a.carried
    )


def _product(a: LinearForm | None, b: LinearForm | None) -> LinearForm | None:
    if a is None or b is None:
        return None
    if a.is_constant:
        a, b = b, a
    return _scale(a, b.constant) if b.is_constant else None


def _quotient(a: LinearForm | None, b: LinearForm | None) -> LinearForm | None:
    """An exact quotient: every term is a multiple of the divisor."""
    if a is None or b is None or not b.is_constant or b.constant <= 0:
        return None
    parts = [*(c for _, c in a.terms), a.constant]
    if b.constant != 1 and (a.carried is not None or any(part % b.constant for part in parts)):
        return None
    terms = tuple((loop, c // b.constant) for loop, c in a.terms)
    return LinearForm(terms, a.constant // b.constant, a.carried)
