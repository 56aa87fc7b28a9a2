"""inline-calls: put the bodies of functions in the place of their calls, and erase private functions without calls.

    func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.mulf %x, %x : tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
  becomes
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.mulf %x, %x : tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }

The places of results in GM are planned for one function: each call needs results of its own.

Leaves alone: functions that a `graph.repeat` runs.
Does not handle: functions of several blocks and declarations, whose calls stay.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import RepeatOp
from npu_mlir.support.diagnostics import UserError


class InlineCalls(ModulePass):
    """Inline all calls."""

    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {
            function.sym_name.data: function
            for function in op.ops
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1
        }
        done: set[str] = set()
        called: set[str] = set()
        for name in functions:
            _inline_into(name, functions, (), done, called)
        left = {user.callee.string_value() for user in op.walk() if isinstance(user, CallOp | RepeatOp)}
        for name in called - left:
            function = functions[name]
            if function.sym_visibility is not None and function.sym_visibility.data == "private":
                op.body.block.erase_op(function)


def _inline_into(
    name: str, functions: dict[str, FuncOp], callers: tuple[str, ...], done: set[str], called: set[str]
) -> None:
    """Inline the calls in a function, whose callees come first."""
    if name in done:
        return
    for call in [op for op in functions[name].walk() if isinstance(op, CallOp)]:
        callee = call.callee.string_value()
        if callee not in functions:
            continue
        if callee in (*callers, name):
            raise UserError(f"'@{callee}' calls itself: there are no calls on the machine", loc=call)
        _inline_into(callee, functions, (*callers, name), done, called)
        _inline(call, functions[callee])
        called.add(callee)
    done.add(name)


def _inline(call: CallOp, function: FuncOp) -> None:
    block, parent = function.body.block, call.parent
    assert parent is not None
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if op is not last:
            parent.insert_op_before(op.clone(mapping), call)
    for result, value in zip(call.results, last.operands, strict=True):
        result.replace_all_uses_with(mapping.get(value, value))
    parent.erase_op(call)
