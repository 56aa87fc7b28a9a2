"""graph-fold-constants: evaluate operators whose operands are all constant.

    %a = arith.constant dense<2.0> : tensor<4xf32>
    %b = graph.weight @b : tensor<64x4xf32>
    %0 = graph.mul %b, %a : (tensor<64x4xf32>, tensor<4xf32>) -> tensor<64x4xf32>
  becomes
    %0 = graph.weight @mul : tensor<64x4xf32>        // a new entry, named after the node

Operators are evaluated by their reference functions. Large results become entries of the weight store.

Does not handle: `graph.expand`, and results much larger than their operands, which are cheaper to compute.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import ExpandOp, GraphOp, location_of, shape_of
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import functions, graph_ops, insert_constant, replace

LARGEST_GROWTH = 4
FREE_ELEMENTS = 1 << 16
"""A result with more elements than this is folded unless it has `LARGEST_GROWTH` times those of its operands."""


class FoldConstants(ModulePass):
    """Evaluate what does not depend on the inputs."""

    name = "graph-fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        interpreter = Interpreter(op)
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                fold(candidate, interpreter)
        erase_dead_ops(op)


def fold(op: GraphOp, interpreter: Interpreter) -> SSAValue | None:
    """Replace `op` by a constant if its operands are constants, and return that."""
    if isinstance(op, ExpandOp) or not op.operands or _grows(op):
        return None
    store = weights_of(interpreter.module)
    arrays: list[np.ndarray] = []
    for operand in op.operands:
        array = constant_of(operand, store)
        if array is None:
            return None
        arrays.append(array)
    with np.errstate(all="ignore"):
        (result,) = interpreter.step(op)(tuple(arrays))
    name = location_of(op) or op.name
    constant = insert_constant(op, store, np.asarray(result), name)
    replace(op, constant)
    return constant


def _grows(op: GraphOp) -> bool:
    elements = prod(shape_of(op.result))
    return elements > max(
        FREE_ELEMENTS, LARGEST_GROWTH * sum(prod(shape_of(operand)) for operand in op.operands)
    )
