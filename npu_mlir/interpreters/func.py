"""func: calls. A terminator needs no meaning: the values it carries are the results of its block."""

from __future__ import annotations

from xdsl.dialects import func

from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, impl


@impl("func.call")
def call(interp: Interpreter, op: func.CallOp, args: Results) -> Results:
    return interp.call(op.callee.string_value(), args)
