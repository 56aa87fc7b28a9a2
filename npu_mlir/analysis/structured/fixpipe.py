"""What the fixpipe does of the operations behind a contraction.

    %0 = arith.sitofp %acc : i32 to f32        converted, not possible alone
    %1 = arith.mulf %0, 0.001 : f32            scale 0.001, i32 -> f32: not on machines without that scale
    %2 = arith.maximumf %1, 0.0 : f32          scale 0.001, relu, i32 -> f32
    %3 = arith.truncf %2 : f32 to f16          scale 0.001, relu, i32 -> f16

Each operation takes accumulators on their way from one state to the next, if the steps of the fixpipe, in its order,
then have the same values to the bit. Some states are only passed through: no machine stops there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, f32, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_mlir.analysis.structured.bodies import (
    FIXPIPE_CASTS,
    body_ops,
    constant_operands,
    is_relu,
    yielded,
)
from npu_mlir.dialects.tile import Relu, Scale, Step, scale_factor
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class Drained:
    """Accumulators after some operations: their type, the steps that stand for these, the type of the elements now."""

    accumulator: Attribute
    element: Attribute
    steps: tuple[Step, ...] = ()
    is_cast: bool = False
    """Whether the last cast, to `element`, has been done."""

    @staticmethod
    def start(accumulator: Attribute) -> Drained:
        """Accumulators as they lie in L0C."""
        return Drained(accumulator, accumulator)

    @property
    def scale(self) -> Scale | None:
        """The step that multiplies, None if there is none."""
        return next((step for step in self.steps if isinstance(step, Scale)), None)

    def is_possible(self, target: Target) -> bool:
        """Whether the target's fixpipe can hand over the elements as they are now."""
        if self.scale is not None:
            return target.scales(self.accumulator, self.element)
        return isinstance(self.accumulator, AnyFloat) == isinstance(self.element, AnyFloat)

    def then(self, op: Operation) -> Drained | None:
        """The state after an operation on these elements, None if no fixpipe does it here."""
        if isinstance(op, arith.SIToFPOp):
            converts = self == Drained.start(i32) and op.results[0].type == f32
            return replace(self, element=f32) if converts else None
        if isinstance(op, arith.MulfOp):
            factor = scale_of(op)
            scalable = self.element == f32 and not self.steps and not self.is_cast
            return replace(self, steps=(Scale(factor),)) if scalable and factor is not None else None
        if not (self.scale is not None or self.element == self.accumulator or self.is_cast):
            return None
        if is_relu(op):
            has_relu = any(isinstance(step, Relu) for step in self.steps)
            # In front of the cast it is the same as behind it.
            return None if has_relu else replace(self, steps=(*self.steps, Relu()))
        if isinstance(op, FIXPIPE_CASTS) and not self.is_cast:
            return replace(self, element=op.results[0].type, is_cast=True)
        return None


def scale_of(op: Operation) -> float | None:
    """The constant by which an operation multiplies f32, None if it doesn't or the fixpipe has no such factor."""
    if not isinstance(op, arith.MulfOp) or op.results[0].type != f32:
        return None
    found = constant_operands(op)
    return scale_factor(found[0].value.data) if len(found) == 1 and isinstance(found[0], FloatAttr) else None


def passed(op: Operation) -> SSAValue | None:
    """The one operand of an operation that is not a constant."""
    others = [v for v in op.operands if not isinstance(v.owner, arith.ConstantOp)]
    return others[0] if len(others) == 1 else None


def chain_of(op: GenericOp) -> Sequence[Operation] | None:
    """The operations of a body that works on its one input in a straight line; None for other bodies."""
    value, ops = yielded(op.body.block), list[Operation]()
    while value is not None and not isinstance(value, BlockArgument):
        if not isinstance(value.owner, Operation) or value.owner.parent is not op.body.block:
            return None
        ops.insert(0, value.owner)
        value = passed(value.owner)
    return ops if value is op.body.block.args[0] and len(op.inputs) == 1 and ops == body_ops(op) else None


def drained(state: Drained, ops: Sequence[Operation]) -> Drained | None:
    """The state after some operations, one behind the other; None if no fixpipe does them all."""
    for op in ops:
        after = state.then(op)
        if after is None:
            return None
        state = after
    return state


def drained_by(contraction: GenericOp, behind: Sequence[GenericOp]) -> Drained | None:
    """The state of the accumulators of a contraction after elementwise operations, one behind the other; None if no
    fixpipe does them all."""
    state = Drained.start(contraction.body.block.args[-1].type)
    for op in behind:
        ops = chain_of(op)
        after = drained(state, ops) if ops is not None else None
        if after is None:
            return None
        state = after
    return state
