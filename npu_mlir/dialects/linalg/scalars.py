"""Scalar operations in the bodies of structured ops, chosen by their type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

Make = Callable[..., Operation]
"""Makes an operation from its operands."""

_FLOATS: dict[str, Make] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaximumfOp,
    "max_signed": arith.MaximumfOp,
    "min": arith.MinimumfOp,
    "min_signed": arith.MinimumfOp,
    "powf": math.PowFOp,
    "negf": arith.NegfOp,
    "exp": math.ExpOp,
    "log": math.LogOp,
    "abs": math.AbsFOp,
    "ceil": math.CeilOp,
    "floor": math.FloorOp,
    "round": math.RoundOp,
    "sqrt": math.SqrtOp,
    "rsqrt": math.RsqrtOp,
    "tanh": math.TanhOp,
    "erf": math.ErfOp,
}
_INTEGERS: dict[str, Make] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "div": arith.DivSIOp,
    "div_unsigned": arith.DivUIOp,
    "max": arith.MaxSIOp,
    "max_signed": arith.MaxSIOp,
    "max_unsigned": arith.MaxUIOp,
    "min": arith.MinSIOp,
    "min_signed": arith.MinSIOp,
    "min_unsigned": arith.MinUIOp,
    "abs": math.AbsIOp,
}


class Scalars:
    """A body under construction: a block with one argument for each operand."""

    def __init__(self, types: Sequence[Attribute], *, unsigned: bool = False) -> None:
        self.block = Block(arg_types=types)
        self.unsigned = unsigned
        """Whether integers are widened without a sign."""

    def add(self, op: Operation) -> SSAValue:
        """Append an operation; returns its result."""
        self.block.add_op(op)
        return op.results[0]

    def apply(self, name: str, *values: SSAValue) -> SSAValue:
        """`add`, `exp`, `select`, ... by the type of the last operand."""
        type_ = values[-1].type
        if name == "select":
            return self.add(arith.SelectOp(*values))
        if name == "square":
            return self.apply("mul", values[0], values[0])
        if name == "reciprocal":
            one = self.constant(1, type_)
            return self.apply("div", one, values[0])
        table = _FLOATS if isinstance(type_, AnyFloat) else _INTEGERS
        if name not in table:
            raise VerifyException(f"'{name}' is not defined on {type_}")
        return self.add(table[name](*values))

    def constant(self, value: int, type_: Attribute) -> SSAValue:
        """A scalar constant of a type."""
        attribute = (
            FloatAttr(float(value), type_) if isinstance(type_, AnyFloat) else IntegerAttr(value, type_)  # pyright: ignore
        )
        return self.add(arith.ConstantOp(attribute))

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value as another type, widened or narrowed as upstream does it."""
        source = value.type
        if source == type_:
            return value
        if isinstance(source, AnyFloat) and isinstance(type_, AnyFloat):
            wider = type_.bitwidth > source.bitwidth
            return self.add((arith.ExtFOp if wider else arith.TruncFOp)(value, type_))
        if isinstance(source, IntegerType) and isinstance(type_, IntegerType):
            if type_.bitwidth < source.bitwidth:
                return self.add(arith.TruncIOp(value, type_))
            return self.add((arith.ExtUIOp if self.unsigned else arith.ExtSIOp)(value, type_))
        if isinstance(source, IntegerType) and isinstance(type_, AnyFloat):
            return self.add((arith.UIToFPOp if self.unsigned else arith.SIToFPOp)(value, type_))
        if isinstance(source, AnyFloat) and isinstance(type_, IntegerType):
            return self.add((arith.FPToUIOp if self.unsigned else arith.FPToSIOp)(value, type_))
        raise VerifyException(f"no conversion from {source} to {type_}")

    def end(self, value: SSAValue) -> Block:
        """Yield the value; returns the finished block."""
        self.block.add_op(YieldOp(value))
        return self.block
