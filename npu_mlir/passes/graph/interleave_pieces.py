"""graph-interleave-pieces: join pieces along a new innermost axis instead of joining and transposing them.

    %c = graph.concat %x, %y axis 3 : ... -> tensor<1x7x7x6xf32>         // two pieces of 3 channels
    %r = graph.reshape %c : tensor<1x7x7x6xf32> -> tensor<1x7x7x2x3xf32>
    %t = graph.transpose %r perm [0, 1, 2, 4, 3] : ... -> tensor<1x7x7x3x2xf32>
  becomes
    %a = graph.reshape %x : tensor<1x7x7x3xf32> -> tensor<1x7x7x3x1xf32>
    %b = graph.reshape %y : tensor<1x7x7x3xf32> -> tensor<1x7x7x3x1xf32>
    %t = graph.concat %a, %b axis 4 : ... -> tensor<1x7x7x3x2xf32>

as where channels are shuffled behind a concat: element i of piece k is at position (k, i) of the two axes that the
joined one is split into, and at (i, k) after they have changed places. A joined tensor can be written in place
(`linalg-place-pieces`), so nothing has to be transposed.

Leaves alone: a concat or reshape that something else reads as well; pieces of different sizes; an axis that is split
into other parts than the pieces; other transposes.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import ConcatOp, ReshapeOp, TransposeOp, shape_of
from npu_mlir.ir.functions import body_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import (
    functions,
    graph_ops,
    insert_before,
    join_locations,
    only_user,
    replace,
)


class InterleavePieces(ModulePass):
    """Join pieces along a new axis where they would be joined and transposed."""

    name = "graph-interleave-pieces"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                if isinstance(candidate, TransposeOp):
                    _rewrite(candidate)
        erase_dead_ops(op)


def _rewrite(op: TransposeOp) -> None:
    reshape = op.input.owner
    concat = reshape.input.owner if isinstance(reshape, ReshapeOp) else None
    if not isinstance(reshape, ReshapeOp) or not isinstance(concat, ConcatOp):
        return
    if only_user(reshape.result) is not op or only_user(concat.result) is not reshape:
        return
    axis, sizes = concat.axis.value.data, [shape_of(v)[concat.axis.value.data] for v in concat.inputs]
    joined, split = shape_of(concat.result), shape_of(reshape.result)
    swapped = list(range(len(split)))
    swapped[axis : axis + 2] = swapped[axis : axis + 2][::-1]
    parts = (*joined[:axis], len(sizes), sizes[0], *joined[axis + 1 :])
    if len(set(sizes)) > 1 or split != parts or list(op.perm.get_values()) != swapped:
        return
    pieces = []
    for value in concat.inputs:
        shape = shape_of(value)
        pieces.append(insert_before(op, ReshapeOp(value, (*shape[: axis + 1], 1, *shape[axis + 1 :]))))
    new = ConcatOp(pieces, axis + 1)
    join_locations(new, concat, op)
    replace(op, insert_before(op, new))
