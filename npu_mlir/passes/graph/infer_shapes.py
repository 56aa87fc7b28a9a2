"""graph-infer-shapes: compute every result type from the operands.

    func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<?x?x?x?xf32> {
      %0 = graph.relu %x : (tensor<1x3x8x8xf32>) -> tensor<?x?x?x?xf32>
      func.return %0 : tensor<?x?x?x?xf32>
    }
  becomes
    func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32> {
      %0 = graph.relu %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
      func.return %0 : tensor<1x3x8x8xf32>
    }

Open extents in a `graph.reshape` are computed like the -1 of ONNX. After this pass all shapes are static; what
remains open is an error.

Does not handle: open arguments (the importer's `--dim` and `--shape` close those of a model).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npu_mlir.dialects.graph import GraphOp
from npu_mlir.dialects.graph.base import is_static
from npu_mlir.dialects.graph.shapes import ShapeError
from npu_mlir.ir.functions import body_of
from npu_mlir.passes.graph.rewriting import functions
from npu_mlir.support.diagnostics import UserError


class InferShapes(ModulePass):
    """Make all shapes static."""

    name = "graph-infer-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _infer(function)


def _infer(function: FuncOp) -> None:
    block = body_of(function)
    for index, argument in enumerate(block.args):
        if isinstance(argument.type, TensorType) and not is_static(argument):
            name = function.sym_name.data
            raise UserError(f"argument {index} of '@{name}' has open extents: {argument.type}", loc=function)
    for op in block.ops:
        if isinstance(op, GraphOp):
            _refine(op)
        elif isinstance(op, ReturnOp):
            results = [operand.type for operand in op.operands]
            function.function_type = FunctionType.from_lists([arg.type for arg in block.args], results)


def _refine(op: GraphOp) -> None:
    if is_static(op.result):
        return
    try:
        inferred = op.infer_type()
    except ShapeError as error:
        raise UserError(f"cannot infer the shape of '{op.name}': {error}", loc=op) from error
    if any(extent < 0 for extent in inferred.get_shape()):
        raise UserError(f"the shape of '{op.name}' does not follow from its operands: {inferred}", loc=op)
    Rewriter.replace_value_with_new_type(op.result, inferred)
