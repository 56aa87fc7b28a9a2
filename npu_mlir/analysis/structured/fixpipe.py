"""What the fixpipe does of the operations behind a contraction.

    %0 = arith.sitofp %acc : i32 to f32        converted, not possible alone
    %1 = arith.mulf %0, 0.001 : f32            scale 0.001, i32 -> f32: not on machines without that scale
    %2 = arith.maximumf %1, 0.0 : f32          scale 0.001, relu, i32 -> f32
    %3 = arith.truncf %2 : f32 to f16          scale 0.001, relu, i32 -> f16

and on the way to integers, with a factor for each column (an argument of the body):

    %0 = arith.sitofp %acc : i32 to f32
    %1 = arith.mulf %0, %row : f32             scales
    %2 = arith.maximumf %1, 0.0 : f32          relu; or the least number that stays in range with the zero point
    %3 = arith.minimumf %2, 130.0 : f32        the largest
    %4 = math.roundeven %3 : f32
    %5 = arith.addf %4, -3.0 : f32             offset -3
    %6 = arith.fptosi %5 : f32 to i8           scales, relu, offset -3, i32 -> i8

Each operation takes accumulators on their way from one state to the next, if the steps of the fixpipe, in its order,
then have the same values to the bit. Some states are only passed through: no machine stops there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType, f32, i8, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_mlir.analysis.affine_maps import projection
from npu_mlir.analysis.structured.bodies import (
    FIXPIPE_CASTS,
    body_ops,
    constant_operands,
    is_relu,
    yielded,
)
from npu_mlir.analysis.structured.nest import describe, maps_of
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects.tile import Offset, Relu, Scale, Scales, Step, scale_factor
from npu_mlir.dialects.tile.epilogue import OFFSETS
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class Drained:
    """Accumulators after some operations: their type, the steps that stand for these, the type of the elements now."""

    accumulator: Attribute
    element: Attribute
    steps: tuple[Step, ...] = ()
    is_cast: bool = False
    """Whether the last cast, to `element`, has been done."""
    row: SSAValue | None = None
    """The argument of a body that has the factors of `Scales`."""
    limits: tuple[float, float] = (-inf, inf)
    """What scaled values have been limited to."""
    is_rounded: bool = False
    """Whether they are whole numbers: only a cast to integers ends that."""

    @staticmethod
    def start(accumulator: Attribute) -> Drained:
        """Accumulators as they lie in L0C."""
        return Drained(accumulator, accumulator)

    @property
    def scale(self) -> Scale | Scales | None:
        """The step that multiplies, None if there is none."""
        return next((step for step in self.steps if isinstance(step, Scale | Scales)), None)

    def is_possible(self, target: Target) -> bool:
        """Whether the target's fixpipe can hand over the elements as they are now."""
        if self.is_rounded or self.limits != (-inf, inf):
            return False
        if self.scale is not None:
            return target.scales(self.accumulator, self.element)
        return isinstance(self.accumulator, AnyFloat) == isinstance(self.element, AnyFloat)

    def then(self, op: Operation, rows: Collection[SSAValue] = ()) -> Drained | None:
        """The state after an operation on these elements, None if no fixpipe does it here. `rows` are the arguments of
        its body that have a number for each column."""
        if isinstance(op, arith.SIToFPOp):
            converts = self == Drained.start(i32) and op.results[0].type == f32
            return replace(self, element=f32) if converts else None
        if isinstance(op, arith.MulfOp):
            factor = scale_of(op)
            row = next((v for v in op.operands if v in rows and v.type == f32), None)
            scalable = self.element == f32 and not self.steps and not self.is_cast
            if not scalable or (factor is None and row is None):
                return None
            return replace(self, steps=(Scales() if factor is None else Scale(factor),), row=row)
        if any(v in rows for v in op.operands):
            return None
        if self.scale is not None and not self.is_cast and self.element == f32:
            after = self._towards_integers(op)
            if after is not None:
                return after
        if self.is_rounded or self.limits != (-inf, inf):
            return None
        if not (self.scale is not None or self.element == self.accumulator or self.is_cast):
            return None
        if is_relu(op):
            has_relu = any(isinstance(step, Relu) for step in self.steps)
            # In front of the cast it is the same as behind it.
            return None if has_relu else replace(self, steps=(*self.steps, Relu()))
        if isinstance(op, FIXPIPE_CASTS) and not self.is_cast:
            return replace(self, element=op.results[0].type, is_cast=True)
        return None

    def _towards_integers(self, op: Operation) -> Drained | None:
        """The state after limits, rounding, an offset or the cast that ends them."""
        low, high = self.limits
        number = _constant(op)
        match op:
            case math.RoundEvenOp() if not self.is_rounded:
                return replace(self, is_rounded=True)
            case arith.MaximumfOp() if number is not None and not self.is_rounded and low == -inf:
                if number == 0 and high == inf:
                    return None
                return replace(self, limits=(number, high)) if number <= high else None
            case arith.MinimumfOp() if number is not None and not self.is_rounded and high == inf:
                return replace(self, limits=(low, number)) if number >= low else None
            case arith.AddfOp() if self.is_rounded and number in OFFSETS and not self._offset:
                return replace(self, steps=(*self.steps, Offset(int(number)))) if number else self
            case arith.FPToSIOp() if self.is_rounded and op.results[0].type == i8:
                return self._as_integers()
            case _:
                return None

    @property
    def _offset(self) -> int:
        return next((step.number for step in self.steps if isinstance(step, Offset)), 0)

    def _as_integers(self) -> Drained | None:
        """The end of the way to i8, if the limits are those of the type, or a relu's."""
        least, most = self.limits[0] + self._offset, self.limits[1] + self._offset
        relu = any(isinstance(step, Relu) for step in self.steps)
        if least > -128 or most < 127 or not isfinite(most):
            return None
        if not relu and not isfinite(least):
            return None
        # The range of the type is a relu for this zero point.
        steps = [step for step in self.steps if not (isinstance(step, Relu) and self._offset == -128)]
        return replace(
            self, element=i8, steps=tuple(steps), is_cast=True, limits=(-inf, inf), is_rounded=False
        )


def scale_of(op: Operation) -> float | None:
    """The constant by which an operation multiplies f32, None if it doesn't or the fixpipe has no such factor."""
    if not isinstance(op, arith.MulfOp) or op.results[0].type != f32:
        return None
    found = constant_operands(op)
    return scale_factor(found[0].value.data) if len(found) == 1 and isinstance(found[0], FloatAttr) else None


def _constant(op: Operation) -> float | None:
    """The one constant that a float operation takes."""
    found = constant_operands(op)
    return found[0].value.data if len(found) == 1 and isinstance(found[0], FloatAttr) else None


def passed(op: Operation, rows: Collection[SSAValue] = ()) -> SSAValue | None:
    """The one operand of an operation that is neither a constant nor a row."""
    others = [v for v in op.operands if not isinstance(v.owner, arith.ConstantOp) and v not in rows]
    return others[0] if len(others) == 1 else None


def rows_of(op: GenericOp, value: SSAValue, columns: Collection[int]) -> frozenset[SSAValue]:
    """The arguments of an elementwise body that have a number for each column of `value`, an operand which is read in
    the result's own shape. `columns` are the dims of the value along which these lie; one of them has an extent.

    Such a row lies in one piece: the last of its dims is the only one with an extent.
    """
    maps, number = maps_of(op), next((i for i, v in enumerate(op.inputs) if v is value), None)
    if number is None or maps[number] != maps[-1] or list(op.inputs).count(value) != 1:
        return frozenset()
    whole = projection(maps[number])
    if whole is None:
        return frozenset()
    shape = cast("TensorType[Attribute]", value.type).get_shape()
    wide = {whole[c] for c in columns if shape[c] > 1}
    found: set[SSAValue] = set()
    for i, (other, map_) in enumerate(zip(op.inputs, maps, strict=False)):
        dims = projection(map_)
        extents = cast("TensorType[Attribute]", other.type).get_shape()
        if i == number or dims is None or len(set(dims)) != len(dims) or not extents:
            continue
        moving = [d for d, n in zip(dims, extents, strict=True) if n > 1]
        fits = set(dims) <= {whole[c] for c in columns} and set(moving) == wide
        if fits and moving == [dims[-1]] and op.body.block.args[i].type == f32:
            found.add(op.body.block.args[i])
    return frozenset(found)


def chain_of(op: GenericOp, rows: Collection[SSAValue] = ()) -> Sequence[Operation] | None:
    """The operations of a body that works on its one input in a straight line, and takes a row; None for others."""
    value, ops = yielded(op.body.block), list[Operation]()
    while value is not None and not isinstance(value, BlockArgument):
        if not isinstance(value.owner, Operation) or value.owner.parent is not op.body.block:
            return None
        ops.insert(0, value.owner)
        value = passed(value.owner, rows)
    if value is None or value in rows or len(op.inputs) != 1 + len(rows) or ops != body_ops(op):
        return None
    return ops if value.index < len(op.inputs) else None


def drained(state: Drained, ops: Sequence[Operation], rows: Collection[SSAValue] = ()) -> Drained | None:
    """The state after some operations, one behind the other; None if no fixpipe does them all."""
    for op in ops:
        after = state.then(op, rows)
        if after is None:
            return None
        state = after
    return state


def drained_by(contraction: GenericOp, behind: Sequence[GenericOp]) -> Drained | None:
    """The state of the accumulators of a contraction after elementwise operations, one behind the other; None if no
    fixpipe does them all."""
    state, value, columns = (
        Drained.start(contraction.body.block.args[-1].type),
        contraction.results[0],
        columns_of(contraction),
    )
    for op in behind:
        rows = rows_of(op, value, columns)
        ops = chain_of(op, rows)
        after = drained(state, ops, rows) if ops is not None else None
        if after is None:
            return None
        state, value = after, op.results[0]
    return state


def columns_of(contraction: GenericOp) -> frozenset[int]:
    """The dims of a contraction's result that are the columns of its accumulators."""
    compute = describe(contraction)
    roles = contraction_roles(compute)
    return frozenset() if roles is None else frozenset(compute.result.index(d) for d in roles.n)
