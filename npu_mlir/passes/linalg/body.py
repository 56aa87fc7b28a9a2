"""The scalar body of a `linalg.generic` under construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    i1,
    i8,
    i32,
)
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from npu_mlir.passes.linalg.scalar_ops import (
    bit_width,
    cast_op,
    compare_op,
    scalar_attr,
    scalar_op,
    type_between,
)
from npu_mlir.passes.linalg.signless import is_narrow, is_unsigned, signless


class Body:
    """The scalar body of a generic under construction. Functions take and return values of the body."""

    def __init__(self, types: Sequence[Attribute]):
        self.block = Block(arg_types=types)
        self._constants: dict[Attribute, SSAValue] = {}

    @property
    def args(self) -> Sequence[SSAValue]:
        """The block arguments: an element of each input, then of the result's start."""
        return self.block.args

    def append(self, op: Operation) -> SSAValue:
        """Add an operation; returns its result."""
        self.block.add_op(op)
        return op.results[0]

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A scalar constant; equal ones are made once."""
        attr = scalar_attr(value, type_)
        if attr not in self._constants:
            op = arith.ConstantOp.create(result_types=[type_], properties={"value": attr})
            self._constants[attr] = self.append(op)
        return self._constants[attr]

    def apply(self, name: str, *operands: SSAValue | float) -> SSAValue:
        """`add`, `sub`, `exp`, ... on values of one type (numbers become constants of it), by that type."""
        type_ = next(v.type for v in operands if isinstance(v, SSAValue))
        values = [v if isinstance(v, SSAValue) else self.constant(v, type_) for v in operands]
        return self.append(scalar_op(name, values))

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        """`eq`, `ne`, `lt`, `le`, `gt` or `ge`; ordered for floats, signed for integers."""
        right = rhs if isinstance(rhs, SSAValue) else self.constant(rhs, lhs.type)
        return self.append(compare_op(predicate, lhs, right))

    def select(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs` where the i1 `condition` is true, else `rhs`."""
        return self.append(arith.SelectOp.create(operands=[condition, lhs, rhs], result_types=[lhs.type]))

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value converted: floats to nearest even, to integers towards zero, to i1 whether it is not zero."""
        if value.type == type_:
            return value
        if type_ == i1:
            between = type_between(value.type, type_)
            return self.compare("ne", value if between is None else self.cast(value, between), 0)
        if is_narrow(type_):
            return self._wrapped(value, type_)
        if signless(value.type) == signless(type_):
            # They differ by the sign alone, which the operations have in the end.
            return value
        between = type_between(value.type, type_)
        return self.append(cast_op(value if between is None else self.cast(value, between), type_))

    def _wrapped(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value modulo the range of an integer type of fewer than 8 bits, as an i8."""
        if isinstance(value.type, AnyFloat):
            value = self.cast(value, i32)
        value = self.cast(value, i8)
        bits = bit_width(type_)
        value = self.apply("and", value, (1 << bits) - 1)
        if is_unsigned(type_):
            return value
        sign = 1 << (bits - 1)
        return self.apply("sub", self.apply("xor", value, sign), sign)

    def index(self, dim: int) -> SSAValue:
        """The position of the current iteration in a loop, of type index."""
        return self.append(IndexOp(dim))

    def end(self, *values: SSAValue) -> Block:
        """Close the body with what it yields; returns its block."""
        self.block.add_op(YieldOp.create(operands=list(values)))
        return self.block


BodyBuilder = Callable[..., "SSAValue"]
"""Called with the body and one value per input (and the accumulator, in reductions); returns the value to yield."""
