"""fuse-leaky-relu: a leaky relu that a model spells out becomes one operation.

    %a = arith.constant dense<0.1> : tensor<f32>
    %0 = graph.mul %x, %a : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %1 = graph.maximum %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  becomes
    %1 = graph.leaky_relu %x alpha 0.1 : (tensor<2x3xf32>) -> tensor<2x3xf32>

Does not handle: a slope beyond 0 to 1, for which the maximum is another function.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import LeakyReluOp, MaximumOp, MulOp
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import functions, graph_ops, insert_before, join_locations, replace


class FuseLeakyRelu(ModulePass):
    """Fuse a product with a constant and a maximum into a leaky relu."""

    name = "fuse-leaky-relu"
    runs_after: ClassVar[str] = "graph-fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(op)
        for function in functions(op):
            for maximum in graph_ops(function.body.block):
                if isinstance(maximum, MaximumOp):
                    fuse(maximum, store)
        erase_dead_ops(op)


def fuse(maximum: MaximumOp, store: WeightStore) -> None:
    """Replace `max(x, x * slope)`, in either order."""
    for x, other in ((maximum.lhs, maximum.rhs), (maximum.rhs, maximum.lhs)):
        slope = slope_of(x, other, store)
        if slope is not None and 0 <= slope <= 1:
            fused = LeakyReluOp(x, slope)
            join_locations(fused, other.owner, maximum)
            replace(maximum, insert_before(maximum, fused))
            return


def slope_of(x: SSAValue, value: SSAValue, store: WeightStore) -> float | None:
    """The constant if `value` is `x` times one."""
    product = value.owner
    if not isinstance(product, MulOp) or x not in product.operands or value.type != x.type:
        return None
    factor = product.rhs if product.lhs is x else product.lhs
    array = constant_of(factor, store)
    return float(array.flat[0]) if array is not None and array.size == 1 else None
