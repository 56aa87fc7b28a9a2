"""Scalar operations of arith and math on constants, and those that leave an operand as it is; `canonicalize` applies
them.

    %one = arith.constant 1.0 : f16              %y = arith.addf %x, %c : f32      // %c = arith.constant 1.0 : f32
    %wide = arith.extf %one : f16 to f32   ->
    %p = arith.mulf %x, %wide : f32
    %y = arith.addf %p, %wide : f32

Exact for every operand: `x * 1`, `x / 1`, `x - 0.0`, `x + -0.0`. A sum with 0.0 makes 0.0 of -0.0: it
goes where the operand is known not to be that. Those of integers are in xDSL.

Does not handle: operations that are undefined on these constants (divisions by zero), which stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import arith, math
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
    """The operand that a float operation yields whatever its value is.

    `x + 0.0` makes 0.0 of -0.0, so it goes only where x is known to be no -0.0.
    """
    match op:
        case arith.MulfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, 1.0) else rhs if _is(lhs, 1.0) else None
        case arith.DivfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, 1.0) else None
        case arith.AddfOp(lhs=lhs, rhs=rhs):
            return _but_zero(lhs, rhs) or _but_zero(rhs, lhs)
        case arith.SubfOp(lhs=lhs, rhs=rhs):
            return lhs if _is(rhs, 0.0) else None
        case _:
            return None


def _but_zero(value: SSAValue, added: SSAValue) -> SSAValue | None:
    """A value if it is what its sum with another is, too."""
    return value if _is(added, -0.0) or (_is(added, 0.0) and _is_no_negative_zero(value)) else None


def _is_no_negative_zero(value: SSAValue) -> bool:
    """Whether a value is known not to be -0.0."""
    match value.owner:
        case arith.AddfOp(lhs=lhs, rhs=rhs):
            return any(_is_number(v) and not _is(v, -0.0) for v in (lhs, rhs))
        case math.AbsFOp() | math.ExpOp() | arith.SIToFPOp() | arith.UIToFPOp():
            return True
        case arith.ExtFOp(input=source):
            return _is_no_negative_zero(source)
        case _:
            return False


def _is_number(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, FloatAttr)


def _is(value: SSAValue, number: float) -> bool:
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr):
        return False
    data = owner.value.value.data
    return data == number and np.signbit(data) == np.signbit(number)
