"""Operations on scalars by name and type: `add` is `arith.addf` on f32, `arith.addi` on i32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from npu_mlir.passes.linalg.signless import is_unsigned

_NO_FLAGS = FastMathFlagsAttr("none")
_MAY_OVERFLOW = IntegerOverflowAttr("none")

_FLOAT_OPS: dict[str, type[Operation]] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
    "neg": arith.NegfOp,
    "abs": math.AbsFOp,
    "exp": math.ExpOp,
    "log": math.LogOp,
    "sqrt": math.SqrtOp,
    "tanh": math.TanhOp,
    "erf": math.ErfOp,
    "pow": math.PowFOp,
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
    "roundeven": math.RoundEvenOp,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "tan": math.TanOp,
    "asin": math.AsinOp,
    "acos": math.AcosOp,
    "atan": math.AtanOp,
    "sinh": math.SinhOp,
    "cosh": math.CoshOp,
    "asinh": math.AsinhOp,
    "acosh": math.AcoshOp,
    "atanh": math.AtanhOp,
}
_INTEGER_OPS: dict[str, type[Operation]] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "div": arith.DivSIOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "abs": math.AbsIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
}
_UNSIGNED_OPS: dict[str, type[Operation]] = {
    "div": arith.DivUIOp,
    "max": arith.MaxUIOp,
    "min": arith.MinUIOp,
}
_OVERFLOWING = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_CMPF = {"eq": 1, "ne": 13, "lt": 4, "le": 5, "gt": 2, "ge": 3}
_CMPI_UNSIGNED = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}
_CMPI = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}


def scalar_attr(value: float, type_: Attribute) -> FloatAttr[Any] | IntegerAttr[Any]:
    """The number as an attribute of a float, integer or index type."""
    if isinstance(type_, AnyFloat):
        return FloatAttr(float(value), type_)
    assert isinstance(type_, IntegerType | IndexType)
    return IntegerAttr(int(value), type_)


def scalar_op(name: str, operands: Sequence[SSAValue]) -> Operation:
    """The operation of this name for the operands' type."""
    type_ = operands[0].type
    if isinstance(type_, AnyFloat):
        op_class = _FLOAT_OPS[name]
        return op_class.create(operands=operands, result_types=[type_], properties={"fastmath": _NO_FLAGS})
    op_class = _UNSIGNED_OPS.get(name, _INTEGER_OPS[name]) if is_unsigned(type_) else _INTEGER_OPS[name]
    properties: dict[str, Attribute] = {"overflowFlags": _MAY_OVERFLOW} if op_class in _OVERFLOWING else {}
    return op_class.create(operands=operands, result_types=[type_], properties=properties)


def compare_op(predicate: str, lhs: SSAValue, rhs: SSAValue) -> Operation:
    """The comparison for the operands' type."""
    if isinstance(lhs.type, AnyFloat):
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(_CMPF[predicate], i64),
            "fastmath": _NO_FLAGS,
        }
        return arith.CmpfOp.create(operands=[lhs, rhs], result_types=[i1], properties=properties)
    predicates = _CMPI_UNSIGNED if is_unsigned(lhs.type) else _CMPI
    properties = {"predicate": IntegerAttr(predicates[predicate], i64)}
    return arith.CmpiOp.create(operands=[lhs, rhs], result_types=[i1], properties=properties)


def cast_op(value: SSAValue, type_: Attribute) -> Operation:
    """The conversion between two different scalar types, the target not i1."""
    source_float, target_float = isinstance(value.type, AnyFloat), isinstance(type_, AnyFloat)
    wider = bit_width(type_) > bit_width(value.type)
    if source_float and target_float:
        op_class = arith.ExtFOp if wider else arith.TruncFOp
    elif source_float:
        op_class = arith.FPToUIOp if is_unsigned(type_) else arith.FPToSIOp
    elif target_float:
        op_class = arith.UIToFPOp if value.type == i1 or is_unsigned(value.type) else arith.SIToFPOp
    elif wider:
        op_class = arith.ExtUIOp if value.type == i1 or is_unsigned(value.type) else arith.ExtSIOp
    else:
        op_class = arith.TruncIOp
    return op_class.create(operands=[value], result_types=[type_])


def type_between(source: Attribute, target: Attribute) -> Attribute | None:
    """The type through which a cast goes: floats of 8 bits and fewer are read from and made of floats alone."""
    small = [t for t in (source, target) if isinstance(t, AnyFloat) and bit_width(t) <= 8]
    both_float = isinstance(source, AnyFloat) and isinstance(target, AnyFloat)
    return f32 if len(small) == 2 or (small and not both_float) else None


def bit_width(type_: Attribute) -> int:
    """The width of a float or integer type."""
    assert isinstance(type_, AnyFloat | IntegerType)
    return type_.bitwidth
