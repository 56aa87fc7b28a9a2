"""The loops of a `linalg.generic`: maps and extents, what the result starts from, and all of it as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ShapedType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.analysis.affine_maps import Linear, linear_map, projection
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.bodies import accumulated_product, copied_input, is_cube_product, is_number
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.support.diagnostics import UserError


def maps_of(op: GenericOp) -> list[AffineMap]:
    """The indexing maps, inputs first."""
    return [attr.data for attr in op.indexing_maps.data]


def is_reduction(op: GenericOp) -> tuple[bool, ...]:
    """Whether each iterator is a reduction."""
    return tuple(it.data is not IteratorType.PARALLEL for it in op.iterator_types.data)


def extents_of(
    operands: Iterable[tuple[Sequence[AffineExpr], Sequence[int]]], num_loops: int
) -> list[int | None]:
    """The number of iterations of each loop: the size of an operand dim that the loop alone indexes; None for a loop
    that has no such dim.

    `operands` are the results of the indexing map and the shape of each operand. Where several dims tell an extent,
    they are taken to agree, as the verifier sees to.
    """
    extents: list[int | None] = [None] * num_loops
    for exprs, shape in operands:
        for expr, size in zip(exprs, shape, strict=True):
            if isinstance(expr, AffineDimExpr):
                extents[expr.position] = size
    return extents


def loop_extents(op: GenericOp) -> tuple[int, ...]:
    """The number of iterations of each loop. A loop that no operand dim tells is a `UserError`."""
    shapes = [v.type.get_shape() if isinstance(v.type, ShapedType) else () for v in op.operands]
    maps = maps_of(op)
    found = extents_of(zip((m.results for m in maps), shapes, strict=True), maps[0].num_dims)
    known = tuple(n for n in found if n is not None)
    if len(known) != len(found):
        raise UserError("a loop dim is not a plain dim of any operand, so its extent is unknown", loc=op)
    return known


def is_indirect(op: GenericOp) -> bool:
    """Whether the body reads a tensor at places that depend on data, which nothing on the core does."""
    return any(isinstance(inner, tensor.ExtractOp) for inner in op.body.block.ops)


def is_shape_only(op: GenericOp, index: int) -> bool:
    """Whether an input only gives extents: it is a `tensor.empty` that the body does not read."""
    return isinstance(op.inputs[index].owner, tensor.EmptyOp) and not any(op.body.block.args[index].uses)


def sums_products(op: Operation) -> bool:
    """Whether an operation sums products over loops and reads two inputs, as matrix products, convolutions and what
    is fused with them do."""
    if not isinstance(op, GenericOp) or len(op.outputs) != 1 or not any(is_reduction(op)):
        return False
    read = [arg for arg in op.body.block.args[:-1] if arg.uses]
    return len(read) > 1 and accumulated_product(op.body.block) is not None


# ---- what the result starts from -------------------------------------------------------------------------------------


def init_of(op: GenericOp) -> Operation | SSAValue:
    """What the result starts from: a `linalg.fill`, a `tensor.empty`, or else the value itself."""
    value = op.outputs[0]
    return value.owner if isinstance(value.owner, FillOp | tensor.EmptyOp) else value


def is_zero_fill(op: FillOp) -> bool:
    """Whether a fill is one with the constant zero."""
    constant = op.inputs[0].owner
    return isinstance(constant, arith.ConstantOp) and is_number(constant.value, 0)


def is_zero_start(value: SSAValue) -> bool:
    """Whether a value is a fill with the constant zero."""
    return isinstance(value.owner, FillOp) and is_zero_fill(value.owner)


def is_row_start(value: SSAValue) -> bool:
    """Whether a value is a broadcast, possibly widened as a signed number: what an accumulator can start from."""
    op = value.owner
    if not isinstance(op, GenericOp) or len(op.inputs) != 1 or any(is_reduction(op)):
        return False
    return copied_input(op.body.block) == 0


# ---- plain data ------------------------------------------------------------------------------------------------------


def root_of(computes: Sequence[LoopNestOp]) -> GenericOp:
    """The operation that a kernel of these is about: its contraction, or else the first."""
    root = next((compute for compute in computes if compute.contraction), computes[0])
    return cast("GenericOp", root.key)


def factor_type(compute: LoopNestOp) -> Attribute:
    """The element type of the factors of a contraction."""
    return cast("GenericOp", compute.key).body.block.args[0].type


def describe(op: GenericOp, *, row_starts: bool = False) -> LoopNestOp:
    """The plain data of an operation; its key is the operation, that of a value its defining operation if that is a
    `linalg.generic`, else the value.

    A contraction is an `is_cube_product` that starts from zero, or with `row_starts` from the broadcast of a row made
    in the same kernel.
    """
    if len(op.outputs) != 1:
        raise UserError("a linalg.generic with several results is not supported; split it", loc=op)
    result = projection(maps_of(op)[-1])
    maps = [linear_map(m) for m in maps_of(op)]
    if result is None or any(m is None for m in maps):
        raise UserError("the maps have to be linear, and that of the result plain dims", loc=op)
    values = list(op.inputs)
    if isinstance(init_of(op), SSAValue):
        values.append(op.outputs[0])
    plain = cast("list[list[Linear]]", maps)
    compute = LoopNestOp(
        op,
        loop_extents(op),
        is_reduction(op),
        tuple(v.owner if isinstance(v.owner, GenericOp) else v for v in values),
        tuple(tuple(m) for m in plain[: len(values)]),
        tuple(result),
    )
    if (
        is_cube_product(op)
        and contraction_roles(compute) is not None
        and (is_zero_start(op.outputs[0]) or (row_starts and is_row_start(op.outputs[0])))
    ):
        return replace(compute, contraction=True)
    return compute
