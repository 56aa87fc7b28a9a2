"""convert-graph-to-linalg: say every graph op in upstream linalg, tensor, arith and math.

    %1 = graph.relu %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  becomes
    %e = tensor.empty() : tensor<2x8xf32>
    %1 = linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d0, d1)],
                         iterator_types = ["parallel", "parallel"]} ins(%0) outs(%e) {
    ^bb0(%a: f32, %b: f32):
      %z = arith.constant 0.0 : f32
      %m = arith.maximumf %a, %z : f32
      linalg.yield %m : f32
    }

Every compute op becomes `linalg.generic` with linear maps; its init is a `tensor.empty`, in reductions a
`linalg.fill` of its own. Operands broadcast by projected maps, from which unit dims are dropped by
`tensor.collapse_shape`; reductions don't keep unit dims, a `tensor.expand_shape` adds them. Constants with one value
move into bodies. Contractions and sums of 16-bit floats accumulate in f32. `graph.weight` and `graph.host_call` stay.
Functions that the vector unit lacks are computed by formulas (see `formulas/`), which the accuracy of an op and the
target choose. A `graph.repeat` becomes a loop with calls (see `repeat.py`). Integers without a sign become signless
ones (see `signless.py`).

Does not handle: ops without a lowering (a `UserError` lists all of them), dynamic shapes.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import RepeatOp
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.fold_empty import is_empty
from npu_mlir.passes.linalg.generics import LOCATION, Builder
from npu_mlir.passes.linalg.graph_lowering import LOWERINGS
from npu_mlir.passes.linalg.repeat import lower_repeat
from npu_mlir.passes.linalg.signless import make_signless
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.accuracy import ACCURACY, add_formulas
from npu_mlir.support.diagnostics import Note, UserError
from npu_mlir.support.levels import ANY_LEVEL
from npu_mlir.support.locations import located


class ConvertGraphToLinalg(ModulePass):
    """Lower graph ops to linalg."""

    name = "convert-graph-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph_ops = [o for o in op.walk() if o.name.startswith("graph.") and o.name not in ANY_LEVEL]
        _check(graph_ops)
        of_graph = {graph_op.parent_op() for graph_op in graph_ops}
        formulas: set[str] = set()
        for graph_op in graph_ops:
            if isinstance(graph_op, RepeatOp):
                lower_repeat(graph_op)
            else:
                formulas |= _lower(graph_op)
        add_formulas(op, formulas)
        for function in op.ops:
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                make_signless(function, narrow=function in of_graph)
        erase_dead_ops(op)


def _check(ops: list[Operation]) -> None:
    unknown = [op for op in ops if type(op) not in LOWERINGS and not isinstance(op, RepeatOp)]
    if unknown:
        names = sorted({op.name for op in unknown})
        notes = [Note(f"'{op.name}' here", op) for op in unknown[1:]]
        raise UserError(f"no lowering to linalg for {', '.join(names)}", loc=unknown[0], notes=notes)
    for op in ops:
        for value in [*op.operands, *op.results]:
            if isinstance(value.type, TensorType) and min(value.type.get_shape(), default=0) < 0:
                raise UserError(f"'{op.name}' has a dynamic shape: {value.type}", loc=op)


def _lower(op: Operation) -> set[str]:
    """Put what says an op in linalg in its place; returns the fast formulas that this uses."""
    builder = Builder(op.attributes.get(LOCATION))
    builder.accuracy = op.attributes.get(ACCURACY)
    with located(op):
        if is_empty(op.results[0]):
            result = builder.empty(shape_of(op.results[0]), element_of(op.results[0]))
        else:
            result = LOWERINGS[type(op)](builder, op)
    _replace(op, builder.ops, result)
    return builder.formulas


def _replace(op: Operation, new_ops: list[Operation], result: SSAValue) -> None:
    block = op.parent
    assert isinstance(block, Block)
    block.insert_ops_before(new_ops, op)
    op.results[0].replace_all_uses_with(result)
    block.erase_op(op)
