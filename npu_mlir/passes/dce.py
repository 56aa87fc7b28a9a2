"""dce: erase ops that nobody needs.

    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic ... outs(%0)           // no uses
    func.return %x
  becomes
    func.return %x

Unlike xDSL's pass of this name it knows the effects of linalg ops (`npu_mlir.analysis.effects`), and it visits
every op once: a user always stands after what it uses, so one walk from the end finds whole dead chains.

Does not handle: values that only feed themselves through a loop, unreachable blocks, symbols without uses.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.analysis.effects import is_dead


def erase_dead_ops(op: Operation) -> bool:
    """Erase the dead ops within `op`; whether there were any."""
    changed = False
    for region in op.regions:
        for block in reversed(region.blocks):
            nested = block.last_op
            while nested is not None:
                previous = nested.prev_op
                if is_dead(nested):
                    block.erase_op(nested)
                    changed = True
                elif nested.regions:
                    changed |= erase_dead_ops(nested)
                nested = previous
    return changed


class DeadCodeElimination(ModulePass):
    """Erase ops whose results nobody uses and that have no effect."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead_ops(op)
