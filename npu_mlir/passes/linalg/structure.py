"""A `linalg.generic` taken apart, changed and put together again, for passes that rewrite maps and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.analysis.affine_maps import linear
from npu_mlir.analysis.structured.nest import extents_of, is_reduction, maps_of
from npu_mlir.passes.linalg.generics import LOCATION, Builder, make_generic, merged_location
from npu_mlir.passes.linalg.tensor_types import Shape, element_of
from npu_mlir.support.locations import fill_locations

Exprs = list[AffineExpr]


@dataclass
class Generic:
    """The parts of a `linalg.generic` on tensors with one result. The body block belongs to the op until `replace`,
    unless a pass puts another in its place."""

    op: GenericOp
    inputs: list[SSAValue]
    init: SSAValue
    maps: list[Exprs]
    reductions: list[bool]
    block: Block

    @property
    def num_dims(self) -> int:
        """The number of loops."""
        return len(self.reductions)

    @property
    def result_exprs(self) -> Exprs:
        """The results of the result's map."""
        return self.maps[-1]


def take_apart(op: Operation) -> Generic | None:
    """The parts of `op`, None when it is not a `linalg.generic` on tensors with one result."""
    if not isinstance(op, GenericOp) or len(op.results) != 1 or len(op.outputs) != 1:
        return None
    maps = [list(map_.results) for map_ in maps_of(op)]
    return Generic(op, list(op.inputs), op.outputs[0], maps, list(is_reduction(op)), op.body.block)


def replace(
    parts: Generic, new_ops: Sequence[Operation] = (), *sources: Operation, located_body: bool = False
) -> GenericOp:
    """Put the parts together in place of the op they came from, after `new_ops`; users see the new result.

    `sources` are further ops that the new one stands for, for its location. Ops in the body get that of the old one,
    unless they have one of their own; with `located_body` that is known, and nobody looks at them.
    """
    old = parts.op
    if parts.block.parent is not None:
        parts.block.parent.detach_block(parts.block)
    reductions = [d for d, is_reduction in enumerate(parts.reductions) if is_reduction]
    new = make_generic([*parts.inputs, parts.init], 1, parts.maps, parts.num_dims, reductions, parts.block)
    new.attributes.update(old.attributes)
    location = merged_location(*sources, old)
    if location is not None:
        new.attributes[LOCATION] = location
    if located_body:
        new.location = old.location
    for op in new_ops if located_body else [*new_ops, new]:
        fill_locations(op, old.location)
    parent = old.parent
    assert parent is not None
    parent.insert_ops_before([*new_ops, new], old)
    old.results[0].replace_all_uses_with(new.results[0])
    parent.erase_op(old)
    return new


def is_parallel(parts: Generic) -> bool:
    """Whether no loop is a reduction."""
    return not any(parts.reductions)


def loop_extents(parts: Generic) -> list[int]:
    """The number of iterations of each loop; 0 where no operand dim tells it."""
    shapes = [
        v.type.get_shape() if isinstance(v.type, TensorType) else () for v in (*parts.inputs, parts.init)
    ]
    return [n or 0 for n in extents_of(zip(parts.maps, shapes, strict=True), parts.num_dims)]


def substitute(exprs: Sequence[AffineExpr], dims: Sequence[AffineExpr], num_dims: int) -> Exprs:
    """The results of a map with an expression over `num_dims` loops in place of each loop."""
    return [_simplified(expr.replace_dims_and_symbols(list(dims), []), num_dims) for expr in exprs]


def _simplified(expr: AffineExpr, num_dims: int) -> AffineExpr:
    """The expression without terms that are zero."""
    parts = linear(expr, num_dims)
    if parts is None:
        return expr
    result: AffineExpr | None = None
    for d, factor in enumerate(parts.coefficients):
        if factor:
            term = AffineExpr.dimension(d) if factor == 1 else AffineExpr.dimension(d) * factor
            result = term if result is None else result + term
    if result is None:
        return AffineExpr.constant(parts.constant)
    return result + parts.constant if parts.constant else result


def remove_loops(parts: Generic, loops: Sequence[int]) -> None:
    """Drop loops of one iteration: their index becomes 0 in maps and body."""
    remaining = [d for d in range(parts.num_dims) if d not in loops]
    zero = AffineExpr.constant(0)
    dims = [
        AffineExpr.dimension(remaining.index(d)) if d in remaining else zero for d in range(parts.num_dims)
    ]
    parts.maps = [substitute(exprs, dims, len(remaining)) for exprs in parts.maps]
    parts.reductions = [parts.reductions[d] for d in remaining]
    for op in list(parts.block.ops):
        if isinstance(op, IndexOp):
            _renumber(op, remaining)


def _renumber(op: IndexOp, remaining: list[int]) -> None:
    block = op.parent
    assert block is not None
    old = op.dim.value.data
    if old in remaining:
        new: Operation = IndexOp(remaining.index(old))
    else:
        attr = IntegerAttr(0, IndexType())
        new = ConstantOp.create(result_types=[IndexType()], properties={"value": attr})
    block.insert_op_before(new, op)
    op.result.replace_all_uses_with(new.results[0])
    block.erase_op(op)


def reshaped_init(b: Builder, init: SSAValue, shape: Shape) -> SSAValue | None:
    """An init of another shape that says the same: a new `tensor.empty` or fill of one; None for any other."""
    if isinstance(init.owner, tensor.EmptyOp):
        return b.empty(shape, element_of(init))
    if isinstance(init.owner, FillOp):
        scalar = init.owner.inputs[0]
        if isinstance(scalar.owner, ConstantOp):
            return b.fill_with(b.add(scalar.owner.clone()), shape)
    return None
