"""Scalar operations of arith and math on constants, and those that leave an operand as it is; `canonicalize` applies
them.

    %one = arith.constant 1.0 : f16              %y = arith.addf %x, %c : f32      // %c = arith.constant 1.0 : f32
    %wide = arith.extf %one : f16 to f32   ->
    %p = arith.mulf %x, %wide : f32
    %y = arith.addf %p, %wide : f32

Exact for every operand: `x * 1`, `x / 1`, `x - 0.0`, `x + -0.0`. A sum with 0.0 is not, it makes 0.0 of -0.0.

Does not handle: operations that are undefined on these constants (divisions by zero), which stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.registry import elementwise_function

_SCALARS = (AnyFloat, IntegerType, IndexType)


def is_scalar_operation(op: Operation) -> bool:
    """Whether an op computes one number from numbers."""
    return (
        op.name.startswith(("arith.", "math."))
        and len(op.operands) > 0
        and len(op.results) == 1
        and isinstance(op.results[0].type, _SCALARS)
    )


def fold_scalar(op: Operation, rewriter: PatternRewriter) -> bool:
    """Replace a scalar operation by a constant or by an operand, if it is one; whether it was."""
    same = _operand(op)
    if same is not None:
        rewriter.replace(op, (), (same,))
        return True
    values = [_number(value) for value in op.operands]
    if any(value is None for value in values):
        return False
    function = elementwise_function(op)
    attribute = None if function is None else _evaluated(function, values, op.results[0].type)
    if attribute is None:
        return False
    type_ = op.results[0].type
    rewriter.replace(op, arith.ConstantOp.create(result_types=[type_], properties={"value": attribute}))
    return True


def _number(value: SSAValue) -> Any:
    """The number that a constant is, None for any other value."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr | IntegerAttr):
        return constant_value(owner.value)
    return None


def _evaluated(function: Any, values: list[Any], type_: Attribute) -> Attribute | None:
    try:
        with np.errstate(all="ignore"):
            result = function(*values)
    except (ArithmeticError, ValueError):
        return None
    if isinstance(type_, AnyFloat):
        return FloatAttr(float(result), type_)
    assert isinstance(type_, IntegerType | IndexType)
    if isinstance(type_, IndexType):
        return IntegerAttr(int(result), type_)
    return IntegerAttr(int(result), type_, truncate_bits=True)


def _operand(op: Operation) -> SSAValue | None:
    """The operand that a float operation yields whatever its value is."""
    match op:
        case arith.MulfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, 1.0) else rhs if _is(lhs, 1.0) else None
        case arith.DivfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, 1.0) else None
        case arith.AddfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, -0.0) else rhs if _is(lhs, -0.0) else None
        case arith.SubfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, 0.0) else None
        case _:
            return None


def _is(value: SSAValue, number: float) -> bool:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr):
        return False
    data = owner.value.value.data
    return data == number and np.signbit(data) == np.signbit(number)
