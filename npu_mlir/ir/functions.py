"""Bodies of functions, which have a single block."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from npu_mlir.support.diagnostics import UserError


def body_of(function: FuncOp) -> Block:
    """The block of a function with a body; a located `UserError` if it has several.

    Jumps between blocks have no meaning on the host of a machine like this: its functions are lists of launches.
    """
    if len(function.body.blocks) > 1:
        message = f"'@{function.sym_name.data}' has jumps between blocks, which are not followed"
        raise UserError(message, loc=function)
    return function.body.block
