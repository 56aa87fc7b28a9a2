"""What the tile passes read out of a `linalg.generic`: the plain data of `analysis.dims`, the shape of its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import Linear, linear_map, projection
from npu_mlir.analysis.dims import LoopNestOp, contraction_roles
from npu_mlir.support.diagnostics import UserError

CASTS = (arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp)


def maps_of(op: linalg.GenericOp) -> list[AffineMap]:
    """The indexing maps, inputs first."""
    return [attr.data for attr in op.indexing_maps.data]


def is_reduction(op: linalg.GenericOp) -> tuple[bool, ...]:
    """Whether each iterator is a reduction."""
    return tuple(it.data is IteratorType.REDUCTION for it in op.iterator_types.data)


def body_ops(op: linalg.GenericOp) -> list[Operation]:
    """The operations of the body without constants and the terminator."""
    return [o for o in op.body.block.ops if not isinstance(o, arith.ConstantOp | linalg.YieldOp)]


def is_multiply_add(op: linalg.GenericOp) -> bool:
    """Whether the body is `acc + a * b`, with `a` and `b` possibly widened first."""
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return False
    ops = [o for o in body_ops(op) if not isinstance(o, CASTS)]
    if [type(o) for o in ops] not in ([arith.MulfOp, arith.AddfOp], [arith.MuliOp, arith.AddiOp]):
        return False
    mul, add = ops
    args = op.body.block.args
    factors = {_through_casts(v) for v in mul.operands}
    return (
        factors == {args[0], args[1]}
        and mul.results[0] in add.operands
        and args[2] in add.operands
        and op.body.block.last_op is not None
        and op.body.block.last_op.operands[0] is add.results[0]
    )


def _through_casts(value: SSAValue) -> SSAValue:
    return value.owner.operands[0] if isinstance(value.owner, CASTS) else value


def loop_extents(op: linalg.GenericOp) -> tuple[int, ...]:
    """The extent of every loop dim, from the operand dims that are plain dims of the nest."""
    found: dict[int, int] = {}
    for value, map_ in zip(op.operands, maps_of(op), strict=True):
        shape = cast("TensorType[Attribute]", value.type).get_shape()
        for extent, expr in zip(shape, linear_map(map_) or (), strict=False):
            dim = expr.dim()
            if dim is not None:
                found[dim] = extent
    if len(found) != maps_of(op)[0].num_dims:
        raise UserError("a loop dim is not a plain dim of any operand, so its extent is unknown", loc=op)
    return tuple(found[d] for d in range(len(found)))


def is_indirect(op: linalg.GenericOp) -> bool:
    """Whether the body reads a tensor at places that depend on data, which nothing on the core does."""
    return any(isinstance(inner, tensor.ExtractOp) for inner in op.body.block.ops)


def init_of(op: linalg.GenericOp) -> Operation | SSAValue:
    """What the result starts from: a `linalg.fill`, a `tensor.empty`, or else the value itself."""
    value = op.outputs[0]
    return value.owner if isinstance(value.owner, linalg.FillOp | tensor.EmptyOp) else value


def is_shape_only(op: linalg.GenericOp, index: int) -> bool:
    """Whether an input only gives extents: it is a `tensor.empty` that the body does not read."""
    return isinstance(op.inputs[index].owner, tensor.EmptyOp) and not any(op.body.block.args[index].uses)


def is_zero_start(value: SSAValue) -> bool:
    """Whether a value is a fill with the constant zero."""
    fill = value.owner
    if not isinstance(fill, linalg.FillOp) or not isinstance(
        constant := fill.inputs[0].owner, arith.ConstantOp
    ):
        return False
    return isinstance(constant.value, FloatAttr | IntegerAttr) and constant.value.value.data == 0


def is_row_start(value: SSAValue) -> bool:
    """Whether a value is a broadcast, possibly of a cast: what an accumulator can start from."""
    op = value.owner
    if not isinstance(op, linalg.GenericOp) or len(op.inputs) != 1 or any(is_reduction(op)):
        return False
    return all(isinstance(o, CASTS) for o in body_ops(op))


def root_of(computes: Sequence[LoopNestOp]) -> linalg.GenericOp:
    """The operation that a kernel of these is about: its contraction, or else the first."""
    root = next((compute for compute in computes if compute.contraction), computes[0])
    return cast("linalg.GenericOp", root.key)


def describe(op: linalg.GenericOp, *, row_starts: bool = False) -> LoopNestOp:
    """The plain data of an operation; its key is the operation, that of a value its defining operation if that is a
    `linalg.generic`, else the value.

    A contraction starts from zero, or with `row_starts` from the broadcast of a row made in the same kernel.
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
        tuple(v.owner if isinstance(v.owner, linalg.GenericOp) else v for v in values),
        tuple(tuple(m) for m in plain[: len(values)]),
        tuple(result),
    )
    if (
        is_multiply_add(op)
        and contraction_roles(compute) is not None
        and (is_zero_start(op.outputs[0]) or (row_starts and is_row_start(op.outputs[0])))
    ):
        return replace(compute, contraction=True)
    return compute
