"""graph-layout{layout=nhwc}: put channels last.

    %0 = graph.conv %x, %w ... : (tensor<1x3x9x9xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x9x9xf32>
    %1 = graph.relu %0 : ...
    func.return %1
  becomes
    %t = graph.transpose %x perm [0, 2, 3, 1] : (tensor<1x3x9x9xf32>) -> tensor<1x9x9x3xf32>
    %0 = graph.conv %t, %w_hwio ... layout NHWC : ... -> tensor<1x9x9x16xf32>
    %1 = graph.relu %0 : ...
    %2 = graph.transpose %1 perm [0, 3, 1, 2] : (tensor<1x9x9x16xf32>) -> tensor<1x16x9x9xf32>
    func.return %2

One pass in program order. Convolutions and pools are put between transposes. A transpose that meets another is merged
with it; one that meets an op which works on any dimension order (elementwise, reduce, concat, slice, pad, softmax)
moves behind it, while constant operands are permuted at compile time. So transposes stay only at the model's
boundary and in front of ops that care, and those that only move extents of 1 end as reshapes.

Does not handle: layer_norm, gather, expand and matmul on transposed values (the transpose stays in front of them).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import GraphOp, ReshapeOp, TransposeOp, shape_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import WeightReleaser, functions, graph_ops, insert_before, replace
from npu_mlir.passes.graph.transposes import Transposer, is_reshape
from npu_mlir.support.diagnostics import UserError


@dataclass(frozen=True)
class SetLayout(ModulePass):
    """Put channels last."""

    name = "graph-layout"

    layout: str = "nhwc"
    """`nhwc`, or `nchw` to leave everything as it is."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.layout not in ("nhwc", "nchw"):
            raise UserError(f"unknown layout '{self.layout}'; there are nhwc and nchw")
        if self.layout == "nchw":
            return
        transposer, releaser = Transposer(weights_of(op)), WeightReleaser(op)
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                read = list(candidate.operands)
                transposer.rewrite(candidate)
                releaser.release(read)
        erase_dead_ops(op)
        releaser.finish()
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                if isinstance(candidate, TransposeOp) and is_reshape(candidate):
                    _as_reshape(candidate)


def _as_reshape(op: TransposeOp) -> None:
    reshape: GraphOp = ReshapeOp(op.input, shape_of(op.result))
    replace(op, insert_before(op, reshape))
