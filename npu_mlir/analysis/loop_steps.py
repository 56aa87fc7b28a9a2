"""How an index value changes from one iteration of a loop to the next.

    scf.for %i = %c0 to %n step %c16 {
      scf.for %j = %c0 to %c12 step %c4 {
        %x = affine.apply affine_map<(i, j) -> (i floordiv 16 * 3 + j floordiv 4)>(%i, %j)       3 and 1

Does not handle: values that loops carry, products of two values that change, remainders.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, arith, scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from npu_mlir.ir.loop_bounds import constant_index, constant_trips


def loop_step(value: SSAValue, loop: scf.ForOp) -> int | None:
    """The difference between consecutive iterations of `loop`, all else being equal; None if it is not known."""
    owner = value.owner
    if not _is_inside(owner if isinstance(owner, Block) else owner.parent, loop):
        return 0
    if isinstance(owner, Block):
        return _index_step(value, owner, loop)
    steps = [loop_step(v, loop) for v in owner.operands]
    match owner:
        case arith.ConstantOp():
            return 0
        case arith.AddiOp():
            return _sum(steps[0], steps[1])
        case arith.SubiOp():
            return _sum(steps[0], _scaled(steps[1], -1))
        case arith.MuliOp():
            return _product(steps, [constant_index(v) for v in owner.operands])
        case affine.ApplyOp():
            map_ = owner.map.data
            return _affine(map_.results[0], steps[: map_.num_dims], steps[map_.num_dims :])
        case _:
            return None


def _index_step(value: SSAValue, body: Block, loop: scf.ForOp) -> int | None:
    """The step of a loop's own index; the index of a loop within starts anew; nothing is known of carried values."""
    inner = body.parent_op()
    if not isinstance(inner, scf.ForOp) or value is not body.args[0]:
        return None
    if inner is loop:
        return constant_index(loop.step)
    return 0 if loop_step(inner.lb, loop) == 0 else None


def changes(value: SSAValue, loop: scf.ForOp, modulus: int) -> bool:
    """Whether consecutive executions of the body of `loop`, also those in different iterations of loops around it, are
    known to have values that differ modulo `modulus`."""
    inner = 0
    around: Operation | None = loop
    while isinstance(around, scf.ForOp):
        step, trips = loop_step(value, around), constant_trips(around)
        if step is None or (step - inner) % modulus == 0:
            return False
        outer = around.parent_op()
        if not trips and isinstance(outer, scf.ForOp | scf.IfOp):
            return False
        # From its last iteration, a loop goes back by so much.
        inner += step * (len(trips or range(1)) - 1)
        around = outer
    return not isinstance(around, scf.IfOp)


def _is_inside(block: Block | None, loop: scf.ForOp) -> bool:
    while block is not None and block is not loop.body.block:
        around = block.parent_op()
        block = None if around is None else around.parent
    return block is not None


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _scaled(a: int | None, factor: int | None) -> int | None:
    if a == 0:
        return 0 if factor is not None else None
    return None if a is None or factor is None else a * factor


def _product(steps: Sequence[int | None], constants: Sequence[int | None]) -> int | None:
    if constants[0] is not None:
        return _scaled(steps[1], constants[0])
    if constants[1] is not None:
        return _scaled(steps[0], constants[1])
    return 0 if steps[0] == 0 and steps[1] == 0 else None


def _affine(expr: AffineExpr, dims: Sequence[int | None], symbols: Sequence[int | None]) -> int | None:
    match expr:
        case AffineConstantExpr():
            return 0
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (_affine(e, dims, symbols) for e in (expr.lhs, expr.rhs))
            if expr.kind is AffineBinaryOpKind.Add:
                return _sum(lhs, rhs)
            factors = [e.value if isinstance(e, AffineConstantExpr) else None for e in (expr.lhs, expr.rhs)]
            if expr.kind is AffineBinaryOpKind.Mul:
                return _product((lhs, rhs), factors)
            if lhs == 0 and rhs == 0:
                return 0
            divisor = factors[1]
            # Whole multiples of the divisor pass through the division, whatever the rest.
            if (
                expr.kind is AffineBinaryOpKind.FloorDiv
                and divisor
                and lhs is not None
                and lhs % divisor == 0
            ):
                return lhs // divisor
            return None
        case _:
            return None
