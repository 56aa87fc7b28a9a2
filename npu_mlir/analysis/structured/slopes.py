"""What an operation of a body costs on the vector unit per step, before it is known which instruction it becomes."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation

from npu_mlir.analysis.structured.vector_form import BINARY, REDUCTIONS, UNARY
from npu_mlir.targets.target import Target


def least_slope(op: Operation, reducing: bool, target: Target) -> int:
    """Cycles for each group of `vector_bytes`: the cheapest row of the target's table that may apply. `reducing` says
    that the operation stands in a reduction."""
    kinds = [UNARY.get(type(op)) or BINARY.get(type(op)) or "default"]
    if reducing and type(op) in REDUCTIONS:
        kinds.append("reduce")
    if any(isinstance(v.owner, arith.ConstantOp) for v in op.operands):
        kinds += ["scalar", "relu"]
    return min(target.vector.get(kind, target.vector["default"])[1] for kind in kinds)
