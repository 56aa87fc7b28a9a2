"""What scalar operations cost the vector unit when each becomes one instruction over many elements."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Operation

from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.targets.target import Target

ELEMENTS = 128
"""How many elements a price is for: as many as a vector of 256 bytes has in f16."""

_KINDS: dict[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.SubfOp: "sub",
    arith.MulfOp: "mul",
    arith.DivfOp: "div",
    arith.MaximumfOp: "max",
    arith.MinimumfOp: "min",
    math.ExpOp: "exp",
    math.LogOp: "log",
    math.SqrtOp: "sqrt",
    arith.ExtFOp: "cast",
    arith.TruncFOp: "cast",
}
"""Rows of the target's table of vector costs; other operations have the default."""

_FUNCTIONS: dict[type[Operation], int] = {math.TanhOp: 20, math.ErfOp: 28}
"""Instructions of functions that are expanded later, roughly."""


def price(ops: Iterable[Operation], target: Target) -> float:
    """Cycles for 128 elements of operations, constants being immediates."""
    return sum(_cycles(op, target) for op in ops if not isinstance(op, arith.ConstantOp))


def _cycles(op: Operation, target: Target) -> float:
    table = target.vector
    kind = _KINDS.get(type(op), "default")
    immediate = any(isinstance(value.owner, arith.ConstantOp) for value in op.operands)
    if immediate and len(op.operands) == 2 and kind != "div":
        kind = "scalar"
    _, slope, _ = table.get(kind, table["default"])
    width = max(_bytes(value.type) for value in (*op.operands, *op.results))
    return _FUNCTIONS.get(type(op), 1) * slope * ELEMENTS * width / target.vector_bytes


def _bytes(type_: Attribute) -> int:
    return max(bit_width(type_) // 8, 1) if isinstance(type_, AnyFloat | IntegerType) else 1
