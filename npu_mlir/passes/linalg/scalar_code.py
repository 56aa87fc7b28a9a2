"""Scalar operations under construction, as the expansions of functions write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from npu_mlir.passes.linalg.scalar_ops import cast_op, compare_op, scalar_attr, scalar_op

Expansion = Callable[..., SSAValue]
"""Called with the code and the operands; returns the result."""


class Code:
    """Scalar operations under construction."""

    def __init__(self, expansions: Mapping[type[Operation], Expansion]) -> None:
        self.ops: list[Operation] = []
        self._expansions = expansions
        self._constants: dict[Attribute, SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        """Put an operation behind those so far; its one result."""
        self.ops.append(op)
        return op.results[0]

    def apply(self, name: str, *operands: SSAValue | float) -> SSAValue:
        """A function on values of one type, of which numbers become constants."""
        type_ = next(v.type for v in operands if isinstance(v, SSAValue))
        values = [v if isinstance(v, SSAValue) else self.constant(v, type_) for v in operands]
        return self.add(scalar_op(name, values))

    def expand(self, op_class: type[Operation], *operands: SSAValue) -> SSAValue:
        """A function that has an expansion itself."""
        return self._expansions[op_class](self, *operands)

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A constant; equal ones are made once."""
        attr = scalar_attr(value, type_)
        if attr not in self._constants:
            op = arith.ConstantOp.create(result_types=[type_], properties={"value": attr})
            self._constants[attr] = self.add(op)
        return self._constants[attr]

    def select_less(self, a: SSAValue, b: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`a < b ? yes : no`."""
        condition = self.add(compare_op("lt", a, b))
        return self.add(arith.SelectOp.create(operands=[condition, yes, no], result_types=[yes.type]))

    def select_equal(self, a: SSAValue, b: SSAValue | float, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`a == b ? yes : no`."""
        other = b if isinstance(b, SSAValue) else self.constant(b, a.type)
        condition = self.add(compare_op("eq", a, other))
        return self.add(arith.SelectOp.create(operands=[condition, yes, no], result_types=[yes.type]))

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """The sum of coefficients times powers of x, by Horner's rule; x itself where the last coefficient is 1."""
        value = x if coefficients[-1] == 1 else self.apply("mul", x, coefficients[-1])
        value = self.apply("add", value, coefficients[-2])
        for coefficient in reversed(coefficients[:-2]):
            value = self.apply("add", self.apply("mul", value, x), coefficient)
        return value

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value as another type."""
        return value if value.type == type_ else self.add(cast_op(value, type_))
