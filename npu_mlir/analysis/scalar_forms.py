"""Index values as linear forms: sums of the iteration numbers of loops, and of what nothing more is known of.

    %n0 = ...                                                    %n0
    scf.for %i = %c8 to %c40 step %c16 iter_args(%n = %n0) {     %i = 16 * #i + 8,  %n = %n0 + 2 * #i
      scf.for %j = %c0 to %c12 step %c4 {                        %j = 4 * #j
        %x = affine.apply (i, j) -> (i floordiv 16 * 3 + j)      %x = 3 * #i + 4 * #j
        %r = arith.remui %x, %c5                                 %r = (3 * #i + 4 * #j) mod 5
      }
      %m = arith.addi %n, %c2
      scf.yield %m
    }

`#i` is the number of the iteration, from 0. Sums and products are exact where the values of the program neither
overflow nor, for unsigned operations, are negative.

Does not handle: what conditions choose, which is a value that nothing more is known of; neither is what a loop carries
and does not grow by the same in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.traits import Pure

from npu_mlir.ir.loop_bounds import constant_trips, iterations


@dataclass(frozen=True)
class Form:
    """`sum(factor * symbol) + constant`"""

    terms: tuple[tuple[Symbol, int], ...] = ()
    constant: int = 0

    def plus(self, other: Form, factor: int = 1) -> Form:
        """The sum with a multiple of another form."""
        terms = dict(self.terms)
        for symbol, own in other.terms:
            terms[symbol] = terms.get(symbol, 0) + factor * own
        kept = tuple((symbol, own) for symbol, own in terms.items() if own)
        return Form(kept, self.constant + factor * other.constant)


@dataclass(frozen=True)
class Function:
    """A value that depends on forms, and not linearly: `floordiv` and `mod` by a constant, the second, or what
    `value`, the result of an operation, is."""

    kind: str
    operands: tuple[Form, ...]
    value: SSAValue | None = None


Symbol = scf.ForOp | SSAValue | Function
"""The iteration number of a loop; a value that nothing more is known of; a function."""


class ScalarForms:
    """The forms of values, found on demand; the IR must not change meanwhile."""

    def __init__(self) -> None:
        self._forms: dict[SSAValue, Form] = {}
        self._solved: dict[Symbol, Form] = {}
        """Forms of values that loops carry. Those found before may still have the value as a symbol."""
        self._growth: dict[scf.ForOp, list[int | None]] = {}
        """What the values that a loop carries grow by."""

    def of(self, value: SSAValue) -> Form:
        """The form of a value."""
        owner = value.owner
        self._enter(owner.parent_op())
        return self._of(value)

    def _enter(self, op: Operation | None) -> None:
        """Find what the loops around carry, the outermost first: the result does not depend on what is asked for."""
        if op is None or op in self._growth:
            return
        self._enter(op.parent_op())
        # The loop around has asked for the results of this one, if it carries them.
        if isinstance(op, scf.ForOp) and op not in self._growth:
            growth = self._growth[op] = [None for _ in op.iter_args]
            for number, arg in enumerate(op.body.block.args[1:]):
                growth[number] = self._carried(op, number, arg)

    def _of(self, value: SSAValue) -> Form:
        # Chains of scalar code may be longer than Python's stack.
        work = [value]
        while work:
            missing = (
                [] if work[-1] in self._forms else [v for v in _sources(work[-1]) if v not in self._forms]
            )
            if missing:
                work += missing
                continue
            found = work.pop()
            if found not in self._forms:
                self._forms[found] = self._find(found)
        form = self._forms[value] = self._resolved(self._forms[value])
        return form

    def step(self, value: SSAValue, loop: scf.ForOp) -> int | None:
        """The difference of a value between consecutive iterations of a loop, all else being equal; None if it is not
        known."""
        return self._step(self.of(value), loop)

    def trips(self, loop: scf.ForOp) -> int | None:
        """How often a loop runs, None if its bounds are not constants."""
        bounds = [self.of(v) for v in (loop.lb, loop.ub, loop.step)]
        if any(bound.terms for bound in bounds):
            return None
        return len(iterations(loop, *(bound.constant for bound in bounds)))

    def growth(self, loop: scf.ForOp, number: int) -> int | None:
        """What the value with this number that a loop carries grows by in each iteration; None if that differs."""
        self._enter(loop)
        return self._growth[loop][number]

    def changes(self, value: SSAValue, loop: scf.ForOp, modulus: int) -> bool:
        """Whether consecutive executions of the body of a loop, also those in different iterations of loops around it,
        are known to have values that differ modulo `modulus`."""
        inner = 0
        around: Operation | None = loop
        while isinstance(around, scf.ForOp):
            step, trips = self.step(value, around), constant_trips(around)
            if step is None or (step - inner) % modulus == 0:
                return False
            outer = around.parent_op()
            if not trips and isinstance(outer, scf.ForOp | scf.IfOp):
                return False
            # From its last iteration, a loop goes back by so much.
            inner += step * (len(trips or range(1)) - 1)
            around = outer
        return not isinstance(around, scf.IfOp)

    # ---- forms

    def _find(self, value: SSAValue) -> Form:
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            if not isinstance(loop, scf.ForOp):
                return Form(((value, 1),))
            return self._index(loop) if value is owner.args[0] else Form(((value, 1),))
        if isinstance(owner, scf.ForOp):
            assert isinstance(value, OpResult)
            step, trips = self.growth(owner, value.index), self.trips(owner)
            if step is None or trips is None:
                return Form(((value, 1),))
            return self._of(owner.iter_args[value.index]).plus(Form(constant=step * trips))
        return self._computed(owner, value)

    def _index(self, loop: scf.ForOp) -> Form:
        index, step = loop.body.block.args[0], self._of(loop.step)
        if step.terms:
            return Form(((index, 1),))
        return self._of(loop.lb).plus(Form(((loop, step.constant),)))

    def _carried(self, loop: scf.ForOp, number: int, arg: SSAValue) -> int | None:
        """Find what a carried value grows by, in terms of itself."""
        own = self._forms.setdefault(arg, Form(((arg, 1),)))
        last = loop.body.block.last_op
        assert last is not None
        difference = self._of(last.operands[number]).plus(own, -1)
        if difference.terms:
            return None
        start = self._of(loop.iter_args[number])
        self._solved[arg] = start.plus(Form(((loop, difference.constant),)))
        return difference.constant

    def _computed(self, op: Operation, value: SSAValue) -> Form:
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                return Form(constant=op.value.value.data)
            case arith.AddiOp():
                return self._of(op.lhs).plus(self._of(op.rhs))
            case arith.SubiOp():
                return self._of(op.lhs).plus(self._of(op.rhs), -1)
            case arith.MuliOp():
                return _product(self._of(op.lhs), self._of(op.rhs), value)
            case arith.FloorDivSIOp() | arith.DivUIOp():
                return _divided("floordiv", self._of(op.lhs), self._of(op.rhs), value)
            case arith.RemUIOp():
                return _divided("mod", self._of(op.lhs), self._of(op.rhs), value)
            case arith.IndexCastOp():
                return self._of(op.input)
            case affine.ApplyOp():
                forms, map_ = [self._of(v) for v in op.mapOperands], op.map.data
                return affine_form(map_.results[0], forms[: map_.num_dims], forms[map_.num_dims :], value)
            case _ if op.has_trait(Pure) and not op.regions:
                return _function("other", [self._of(v) for v in op.operands], value)
            case _:
                return Form(((value, 1),))

    def _resolved(self, form: Form) -> Form:
        """A form with carried values that are known by now in place of their symbols."""
        replaced = {symbol: new for symbol, _ in form.terms if (new := self._replacement(symbol)) is not None}
        if not replaced:
            return form
        result = Form(constant=form.constant)
        for symbol, factor in form.terms:
            result = result.plus(replaced.get(symbol, Form(((symbol, 1),))), factor)
        return result

    def _replacement(self, symbol: Symbol) -> Form | None:
        if not isinstance(symbol, Function):
            solved = self._solved.get(symbol)
            return None if solved is None else self._resolved(solved)
        operands = tuple(self._resolved(operand) for operand in symbol.operands)
        if operands == symbol.operands:
            return None
        if symbol.kind in ("floordiv", "mod"):
            form, divisor = operands
            return _divided(symbol.kind, form, divisor, symbol.value)
        return _function(symbol.kind, operands, symbol.value)

    # ---- steps

    def _step(self, form: Form, loop: scf.ForOp) -> int | None:
        step = 0
        for symbol, factor in form.terms:
            if symbol is loop:
                step += factor
            elif not self._is_fixed(symbol, loop):
                return None
        return step

    def _is_fixed(self, symbol: Symbol, loop: scf.ForOp) -> bool:
        """Whether a symbol is the same in consecutive iterations of a loop, all else being equal."""
        if isinstance(symbol, scf.ForOp):
            return symbol is not loop
        if isinstance(symbol, Function):
            return all(self._step(operand, loop) == 0 for operand in symbol.operands)
        owner = symbol.owner
        return not _is_inside(owner if isinstance(owner, Block) else owner.parent, loop)


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """The values that a value is computed from by scalar code."""
    owner = value.owner
    return () if isinstance(owner, Block) or owner.regions else owner.operands


def _is_inside(block: Block | None, loop: scf.ForOp) -> bool:
    while block is not None and block is not loop.body.block:
        around = block.parent_op()
        block = None if around is None else around.parent
    return block is not None


def _function(kind: str, operands: Iterable[Form], value: SSAValue | None) -> Form:
    return Form(((Function(kind, tuple(operands), value), 1),))


def _product(a: Form, b: Form, value: SSAValue | None) -> Form:
    if a.terms and b.terms:
        return _function("product", (a, b), value)
    if not a.terms:
        a, b = b, a
    return Form().plus(a, b.constant)


def _divided(kind: str, form: Form, divisor: Form, value: SSAValue | None) -> Form:
    """Whole multiples of the divisor pass through a division, whatever the rest, and don't count for a remainder."""
    d = divisor.constant
    if divisor.terms or d <= 0:
        return _function(kind, (form, divisor), value)
    whole = Form(tuple((symbol, f // d) for symbol, f in form.terms if f % d == 0), form.constant // d)
    rest = Form(tuple((symbol, f) for symbol, f in form.terms if f % d), form.constant % d)
    if kind == "mod":
        return rest if not rest.terms else _function(kind, (rest, divisor), None)
    return whole.plus(_function(kind, (rest, divisor), None)) if rest.terms else whole


def affine_form(
    expr: AffineExpr, dims: Sequence[Form], symbols: Sequence[Form] = (), value: SSAValue | None = None
) -> Form:
    """The form of an affine expression of forms; `value` is what it computes, if that is an SSA value."""
    match expr:
        case AffineConstantExpr():
            return Form(constant=expr.value)
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (affine_form(e, dims, symbols, value) for e in (expr.lhs, expr.rhs))
            match expr.kind:
                case AffineBinaryOpKind.Add:
                    return lhs.plus(rhs)
                case AffineBinaryOpKind.Mul:
                    return _product(lhs, rhs, None)
                case AffineBinaryOpKind.FloorDiv:
                    return _divided("floordiv", lhs, rhs, None)
                case AffineBinaryOpKind.Mod:
                    return _divided("mod", lhs, rhs, None)
                case _:
                    return _function(str(expr.kind), (lhs, rhs), None)
        case _:
            return _function("affine", (*dims, *symbols), value)
