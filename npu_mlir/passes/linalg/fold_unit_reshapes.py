"""linalg-fold-unit-reshapes: take dims of size 1 out of what lies between two generics.

    %s = linalg.generic ... -> tensor<4xf32>                       // sum over rows
    %e = tensor.expand_shape %s [[0, 1]] output_shape [4, 1] : tensor<4xf32> into tensor<4x1xf32>
    %m = linalg.generic ... ins(%e) ... -> tensor<4x1xf32>         // times 1 / n
    %c = tensor.collapse_shape %m [[0, 1]] : tensor<4x1xf32> into tensor<4xf32>
    %y = linalg.generic ... ins(%x, %c) ...                        // maps (d0, d1), (d0)
  becomes
    %s = linalg.generic ... -> tensor<4xf32>
    %m = linalg.generic ... ins(%s) ... -> tensor<4xf32>
    %y = linalg.generic ... ins(%x, %m) ...

so that a reduction and its consumers can become one kernel. An `expand_shape` disappears into the maps of its
consumers, which drop the results for the new dims. A `collapse_shape` moves above the generic that it reads, whose
unit loops disappear; it goes on upwards through the operands of that generic until nothing is left of it, or it
meets a value that no generic makes (a function argument, a weight), where it is a view.

Does not handle: reshapes that split or join dims larger than 1, a collapse of a value that is used in other ways, a
contraction that would lose all loops of an operand (it would no longer be seen as one), a generic that reads a tensor
at places that are data (its loops are those of rows and of what is in them).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import plain_dims
from npu_mlir.analysis.reshapes import Reshape, kept_dims, reassociation_groups
from npu_mlir.analysis.structured.nest import is_indirect, sums_products
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.structure import (
    Generic,
    loop_extents,
    remove_loops,
    replace,
    reshaped_init,
    take_apart,
)
from npu_mlir.passes.linalg.tensor_types import shape_of


class FoldUnitReshapes(ModulePass):
    """Fold reshapes that add or drop unit dims into the generics around them."""

    name = "linalg-fold-unit-reshapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _fold_expansions(op)
        _hoist_collapses(op)
        erase_dead_ops(op)


def _source(op: Reshape) -> SSAValue:
    return op.operands[0]


def _taken_apart(op: Operation) -> Generic | None:
    """The parts of a generic that may have other loops."""
    return None if isinstance(op, GenericOp) and is_indirect(op) else take_apart(op)


def _fold_expansions(module: Operation) -> None:
    for op in list(module.walk()):
        if isinstance(op, tensor.ExpandShapeOp):
            kept = kept_dims(shape_of(op.result), reassociation_groups(op))
            if kept is not None:
                for user in {use.operation for use in op.result.uses}:
                    _fold_expansion(op, kept, user)


def _fold_expansion(expand: tensor.ExpandShapeOp, kept: list[int], user: Operation) -> None:
    """Make the consumer read the source: its map loses the results for the unit dims."""
    if isinstance(user, tensor.CollapseShapeOp) and user.result.type == _source(expand).type:
        user.result.replace_all_uses_with(_source(expand))
        return
    parts = _taken_apart(user)
    if parts is None or parts.init is expand.result:
        return
    for k, value in enumerate(parts.inputs):
        if value is expand.result:
            parts.inputs[k] = _source(expand)
            parts.maps[k] = [parts.maps[k][d] for d in kept]
    builder = Builder()
    if sums_products(user):
        remove_loops(parts, _one_sided_loops(parts))
        _collapse_operands(builder, parts)
    if _loops_agree(parts):
        replace(parts, builder.ops)


def _one_sided_loops(parts: Generic) -> list[int]:
    """Summed loops of one iteration that only one operand still has: a product sums over loops of both."""
    extents = loop_extents(parts)
    used = [{d for expr in exprs for d in expr.used_dims()} for exprs in parts.maps[:-1]]
    return [
        d
        for d, is_reduction in enumerate(parts.reductions)
        if is_reduction and extents[d] == 1 and not all(d in dims for dims in used)
    ]


def _loops_agree(parts: Generic) -> bool:
    """Whether every loop is the plain index of some operand dim, and of dims of one size only.

    (A window with one place reads a part of its operand; without the loop over places it would seem to read all.)
    """
    sizes: dict[int, int] = {}
    for value, exprs in zip((*parts.inputs, parts.init), parts.maps, strict=True):
        for size, expr in zip(shape_of(value), exprs, strict=True):
            if isinstance(expr, AffineDimExpr) and sizes.setdefault(expr.position, size) != size:
                return False
    return len(sizes) == parts.num_dims


def _hoist_collapses(module: Operation) -> None:
    work = [op for op in module.walk() if isinstance(op, tensor.CollapseShapeOp)]
    while work:
        op = work.pop()
        if op.parent is not None and any(op.result.uses):
            work += _hoist(op)


def _hoist(collapse: tensor.CollapseShapeOp) -> list[tensor.CollapseShapeOp]:
    """Move a collapse above the op it reads; returns the collapses that this makes."""
    source = _source(collapse)
    if isinstance(source.owner, tensor.ExpandShapeOp) and _source(source.owner).type == collapse.result.type:
        collapse.result.replace_all_uses_with(_source(source.owner))
        return []
    kept = kept_dims(shape_of(source), reassociation_groups(collapse))
    same = _same_collapses(source, collapse)
    if kept is None or same is None or not isinstance(source, OpResult):
        return []
    parts = _taken_apart(source.op)
    if parts is None:
        return []
    return _drop_result_dims(parts, kept, same)


def _same_collapses(
    source: SSAValue, collapse: tensor.CollapseShapeOp
) -> list[tensor.CollapseShapeOp] | None:
    """All uses of the source, when they are collapses to one shape."""
    same: list[tensor.CollapseShapeOp] = []
    for use in source.uses:
        user = use.operation
        if not isinstance(user, tensor.CollapseShapeOp) or user.result.type != collapse.result.type:
            return None
        same.append(user)
    return same


def _drop_result_dims(
    parts: Generic, kept: list[int], collapses: list[tensor.CollapseShapeOp]
) -> list[tensor.CollapseShapeOp]:
    """Let a generic make the collapsed tensor itself, without the loops of the dropped dims."""
    dims = plain_dims(parts.result_exprs)
    if dims is None:
        return []
    loops = [d for position, d in enumerate(dims) if position not in kept]
    if not _may_lose(parts, loops):
        return []
    builder = Builder()
    init = reshaped_init(builder, parts.init, shape_of(collapses[0].result))
    if init is None:
        return []
    parts.init = init
    parts.maps[-1] = [parts.result_exprs[position] for position in kept]
    remove_loops(parts, loops)
    if not _loops_agree(parts):
        return []
    made = _collapse_operands(builder, parts)
    new = replace(parts, builder.ops)
    for collapse in collapses:
        collapse.result.replace_all_uses_with(new.results[0])
    return made


def _may_lose(parts: Generic, loops: list[int]) -> bool:
    """Whether the loops have one iteration, and a contraction keeps a parallel loop for either operand."""
    extents = loop_extents(parts)
    if any(extents[d] != 1 for d in loops):
        return False
    if not sums_products(parts.op):
        return True
    used = [{d for expr in exprs for d in expr.used_dims()} for exprs in parts.maps]
    parallel = {d for d, is_reduction in enumerate(parts.reductions) if not is_reduction}
    own = [(used[0] - used[1]) & parallel, (used[1] - used[0]) & parallel]
    return all(not dims or dims - set(loops) for dims in own)


def _collapse_operands(b: Builder, parts: Generic) -> list[tensor.CollapseShapeOp]:
    """Drop from each operand the unit dims whose index became constant, by collapses that may move further up."""
    made: list[tensor.CollapseShapeOp] = []
    for k, value in enumerate(parts.inputs):
        shape = shape_of(value)
        exprs = parts.maps[k]
        kept = [
            d
            for d, expr in enumerate(exprs)
            if not (shape[d] == 1 and isinstance(expr, AffineConstantExpr) and expr.value == 0)
        ]
        if len(kept) == len(shape):
            continue
        parts.inputs[k] = b.reshape(value, tuple(shape[d] for d in kept))
        parts.maps[k] = [exprs[d] for d in kept]
        owner = parts.inputs[k].owner
        if isinstance(owner, tensor.CollapseShapeOp) and owner in b.ops:
            made.append(owner)
    return made
