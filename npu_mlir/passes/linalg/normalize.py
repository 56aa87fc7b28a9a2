"""linalg-normalize: bring linalg and tensor ops, whoever made them, into the form that kernels are made from.

    %0 = tensor.concat dim(0) %x, %y : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  becomes
    %a = tensor.pad %x low[0, 0] high[3, 0] { -0.0 } : tensor<2x8xf32> to tensor<5x8xf32>
    %b = tensor.pad %y low[2, 0] high[0, 0] { -0.0 } : tensor<3x8xf32> to tensor<5x8xf32>
    %0 = linalg.generic ... ins(%a, %b) ... { addf }          // exact: x + -0.0 is x for every x

since a pad costs nothing: the load of a tile does it. Afterwards

- joined tensors (`tensor.concat`, `tensor.insert_slice`) are sums of padded pieces, unless the pieces are in place
  (`linalg-place-pieces`);
- pads, slices and fills feed generics only; elsewhere a generic copies them;
- a slice keeps the rank of its source, and a `tensor.collapse_shape` drops dims;
- `tensor.splat` is a fill, `tensor.cast` to the same shape is gone, arith and math ops on tensors are generics;
- constants that are resources are weights;
- a generic has one result, tensors as inputs (scalar constants move into its body, other scalars become tensors of
  rank 0), and reads its init only if its body does; one that writes a number everywhere is a fill.

Leaves alone: slices in loops of the host, which say what an iteration reads and where its results go.
Does not handle: dynamic shapes; slices that are inserted with strides; generics whose
results depend on each other's inits. Dynamic shapes stay as they are, the others are errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseResourceAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.placed_parts import is_in_place, numbers
from npu_mlir.analysis.structured.nest import is_reduction
from npu_mlir.dialects.graph.weight import WeightOp
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import LOCATION, Builder
from npu_mlir.passes.linalg.insertions import before, chain_to, following, is_plain, joined
from npu_mlir.passes.linalg.scalars import filled, without_scalars
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, shape_of, tensor_type
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located

_SOURCES = (tensor.PadOp, tensor.ExtractSliceOp, FillOp)
"""Ops that only generics may read: a kernel takes them in."""


class Normalize(ModulePass):
    """Bring linalg and tensor ops into the form that kernels are made from."""

    name = "linalg-normalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chains = _Chains()
        for rewrite in (partial(_rewrite_tensor_op, chains), _rewrite_generic, _copy_for_others):
            # Scalar operations in bodies are most of all, and nothing is done about them.
            for inner in [o for o in op.walk() if _is_on_tensors(o)]:
                if inner.parent is not None and _is_static(inner):
                    with located(inner):
                        rewrite(inner)
        erase_dead_ops(op)


def _is_on_tensors(op: Operation) -> bool:
    """Whether an operation of the dialects that are normalised reads or makes a tensor, which a loop of the host does
    not do itself."""
    if not op.name.startswith(("linalg.", "tensor.", "arith.", "math.")):
        return False
    if isinstance(op, tensor.ExtractSliceOp | tensor.InsertSliceOp) and isinstance(op.parent_op(), scf.ForOp):
        return False
    return any(isinstance(value.type, TensorType) for value in (*op.results, *op.operands))


def _is_static(op: Operation) -> bool:
    """Whether all operands and results are tensors of static shape or scalars."""
    types = [value.type for value in (*op.operands, *op.results)]
    return all(min(type_.get_shape(), default=0) >= 0 for type_ in types if isinstance(type_, TensorType))


def _replace(op: Operation, build: Callable[[Builder], SSAValue]) -> None:
    """Replace the only result of `op` by what `build` makes."""
    builder = Builder(op.attributes.get(LOCATION))
    result = build(builder)
    block = cast("Block", op.parent)
    block.insert_ops_before(builder.ops, op)
    op.results[0].replace_all_uses_with(result)
    block.erase_op(op)


# ---- tensor ops ------------------------------------------------------------------------------------------------------


def _rewrite_tensor_op(chains: _Chains, op: Operation) -> None:
    if isinstance(op, tensor.ConcatOp):
        _replace(op, lambda b: _concat(b, op))
    elif isinstance(op, tensor.InsertSliceOp):
        if not is_in_place(op) and not chains.goes_on(op):
            _replace(op, lambda b: _inserted(b, op))
    elif isinstance(op, tensor.SplatOp):
        _replace(op, lambda b: b.fill_with(op.input, shape_of(op.result)))
    elif isinstance(op, tensor.CastOp):
        if op.source.type == op.dest.type:
            _replace(op, lambda b: op.source)
    elif isinstance(op, tensor.ExtractSliceOp):
        rank = len(shape_of(op.source))
        if len(shape_of(op.result)) != rank:
            _replace(op, lambda b: _slice_then_collapse(b, op))
    elif isinstance(op, arith.ConstantOp):
        if isinstance(op.value, DenseResourceAttr):
            weight = WeightOp(op.value.resource_handle.data, cast("TensorType[Attribute]", op.result.type))
            _replace(op, lambda b: b.add(weight))
    elif op.name.startswith(("arith.", "math.")) and isinstance(op.results[0].type, TensorType):
        _replace(op, lambda b: _mapped(b, op))


def _mapped(b: Builder, op: Operation) -> SSAValue:
    """An operation on tensors as a generic with the same operation on scalars."""
    shape, element = shape_of(op.results[0]), element_of(op.results[0])

    def apply(body: Body, *values: SSAValue) -> SSAValue:
        scalar = type(op).create(operands=values, result_types=[element], properties=op.properties)
        return body.append(scalar)

    inputs = list(op.operands)
    # A selection between tensors by one condition reads the condition at every position.
    maps = [range(len(shape)) if isinstance(value.type, TensorType) else () for value in inputs]
    return b.map(inputs, maps, shape, element, apply)


def _slice_then_collapse(b: Builder, op: tensor.ExtractSliceOp) -> SSAValue:
    sizes = tuple(op.static_sizes.iter_values())
    full = op.clone()
    new = tensor.ExtractSliceOp.create(
        operands=list(op.operands),
        result_types=[tensor_type(element_of(op.result), sizes)],
        properties=full.properties,
    )
    return b.reshape(b.add(new), shape_of(op.result))


@dataclass(frozen=True)
class _Piece:
    """A tensor and where it goes."""

    value: SSAValue
    offsets: Shape

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First index and end along each dim."""
        return [(o, o + size) for o, size in zip(self.offsets, shape_of(self.value), strict=True)]


def _concat(b: Builder, op: tensor.ConcatOp) -> SSAValue:
    axis, rank, offset = op.dim.value.data, len(shape_of(op.result)), 0
    pieces: list[_Piece] = []
    for value in op.inputs:
        pieces.append(_Piece(value, tuple(offset if d == axis else 0 for d in range(rank))))
        offset += shape_of(value)[axis]
    return _join(b, pieces, shape_of(op.result))


class _Chains:
    """Chains of insertions, each looked at once however long it is."""

    def __init__(self) -> None:
        self._goes_on: dict[Operation, bool] = {}

    def goes_on(self, op: tensor.InsertSliceOp) -> bool:
        """Whether another insertion goes on from this one, which then takes it in."""
        if op not in self._goes_on:
            ops = before(op)
            while (after := following(ops[-1])) is not None:
                ops.append(after)
            count = joined(ops)
            self._goes_on.update((o, number < count) for number, o in enumerate(ops, 1))
        return self._goes_on[op]


def _inserted(b: Builder, op: tensor.InsertSliceOp) -> SSAValue:
    shape = shape_of(op.result)
    chain = chain_to(op)
    if chain is not None:
        return _join(b, [_inserted_piece(b, o) for o in chain], shape)
    if not is_plain(op):
        raise UserError("a slice inserted with strides or at dynamic offsets has no lowering", loc=op)
    piece = _inserted_piece(b, op)
    return _join(b, [piece, *_surroundings(b, op.dest, piece)], shape)


def _inserted_piece(b: Builder, op: tensor.InsertSliceOp) -> _Piece:
    return _Piece(b.reshape(op.source, numbers(op.static_sizes)), numbers(op.static_offsets))


def _surroundings(b: Builder, dest: SSAValue, hole: _Piece) -> list[_Piece]:
    """What of `dest` lies around a hole: for each dim the parts before and behind it, as wide as the hole in the
    dims before and whole in those after."""
    shape, pieces = shape_of(dest), list[_Piece]()
    for axis in range(len(shape)):
        start, end = hole.ranges[axis]
        for first, last in ((0, start), (end, shape[axis])):
            if first < last:
                ranges = [*hole.ranges[:axis], (first, last), *((0, n) for n in shape[axis + 1 :])]
                pieces.append(_Piece(b.slice(dest, ranges), tuple(low for low, _ in ranges)))
    return pieces


def _join(b: Builder, pieces: Sequence[_Piece], shape: Shape) -> SSAValue:
    """The tensor that consists of these pieces."""
    element = element_of(pieces[0].value)
    nothing = -0.0 if isinstance(element, AnyFloat) else 0
    padded = [
        b.pad(
            piece.value,
            piece.offsets,
            [n - end for n, (_, end) in zip(shape, piece.ranges, strict=True)],
            nothing,
        )
        for piece in pieces
        if math.prod(shape_of(piece.value))
    ]
    if len(padded) == 1:
        return padded[0]

    def total(body: Body, *values: SSAValue) -> SSAValue:
        result = values[0]
        for value in values[1:]:
            result = body.apply("or" if element == i1 else "add", result, value)
        return result

    return b.map(padded, [range(len(shape))] * len(padded), shape, element, total)


# ---- generics --------------------------------------------------------------------------------------------------------


def _rewrite_generic(op: Operation) -> None:
    if isinstance(op, FillOp) and op.res and not isinstance(op.inputs[0].owner, arith.ConstantOp):
        scalar, like = op.inputs[0], op.res[0]
        _replace(op, lambda b: filled(b, scalar, like))
        return
    if not isinstance(op, GenericOp) or not op.res:
        return
    if len(op.outputs) > 1:
        for part in _split(op):
            _rewrite_generic(part)
        return
    op = without_scalars(op)
    constant = _yielded_constant(op)
    if constant is not None:
        _replace(op, lambda b: b.fill_with(b.add(constant.clone()), shape_of(op.res[0])))
        return
    _drop_unread_init(op)


def _yielded_constant(op: GenericOp) -> arith.ConstantOp | None:
    """The number that a generic writes everywhere: it is a fill."""
    value = cast("Operation", op.body.block.last_op).operands[0]
    return value.owner if isinstance(value.owner, arith.ConstantOp) else None


def _split(op: GenericOp) -> list[GenericOp]:
    """A generic for each result, with the whole body; what it does not need is dead there."""
    count, inputs = len(op.outputs), list(op.inputs)
    parts: list[GenericOp] = []
    for k in range(count):
        block = op.body.clone().detach_block(0)
        yielded = cast("Operation", block.last_op)
        yielded.operands = [yielded.operands[k]]
        _erase_dead(block)
        for other in reversed(range(count)):
            argument = block.args[len(inputs) + other]
            if other != k:
                if any(argument.uses):
                    raise UserError("the results of a linalg.generic depend on each other's inits", loc=op)
                block.erase_arg(argument)
        maps, kinds = list(op.indexing_maps.data), op.iterator_types
        part = GenericOp(
            inputs, [op.outputs[k]], Region(block), [*maps[: len(inputs)], maps[len(inputs) + k]], kinds.data,
            [op.results[k].type],
        )  # fmt: skip
        part.attributes.update(op.attributes)
        cast("Block", op.parent).insert_op_before(part, op)
        op.results[k].replace_all_uses_with(part.results[0])
        parts.append(part)
    cast("Block", op.parent).erase_op(op)
    return parts


def _erase_dead(block: Block) -> None:
    for inner in reversed(list(block.ops)):
        if inner.results and not any(any(result.uses) for result in inner.results):
            block.erase_op(inner)


def _drop_unread_init(op: GenericOp) -> None:
    """Start from an empty tensor of its own where the body does not read the init."""
    init = op.outputs[0]
    if isinstance(init.owner, tensor.EmptyOp) or any(is_reduction(op)) or any(op.body.block.args[-1].uses):
        return
    empty = tensor.EmptyOp.create(result_types=[init.type])
    cast("Block", op.parent).insert_op_before(empty, op)
    op.operands[len(op.operands) - 1] = empty.results[0]


# ---- pads, slices and fills that others read -------------------------------------------------------------------------


def _copy_for_others(op: Operation) -> None:
    if not isinstance(op, _SOURCES) or not op.results or is_in_place(op):
        return
    result = op.results[0]
    others = [use for use in result.uses if not _takes_in(use.operation, use.index, op)]
    if not others:
        return
    builder = Builder(cast("StringAttr | None", op.attributes.get(LOCATION)))
    copy = _copy(builder, op, result)
    cast("Block", op.parent).insert_ops_after(builder.ops, op)
    for use in others:
        use.operation.operands[use.index] = copy


def _takes_in(user: Operation, index: int, op: Operation) -> bool:
    """Whether a kernel takes `op` in where `user` reads it."""
    if isinstance(user, GenericOp):
        is_init = index >= len(user.inputs)
        return is_init == isinstance(op, FillOp)
    # A slice can be taken of a slice or of a pad, since elements outside stay outside.
    return isinstance(user, tensor.ExtractSliceOp) and not isinstance(op, FillOp)


def _copy(b: Builder, op: Operation, value: SSAValue) -> SSAValue:
    shape, element = shape_of(value), element_of(value)
    if isinstance(op, FillOp):
        constant = cast("arith.ConstantOp", op.inputs[0].owner)
        return b.map([], [], shape, element, lambda body: body.append(constant.clone()))
    return b.map([value], [range(len(shape))], shape, element, lambda body, x: x)
