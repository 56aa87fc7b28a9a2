"""tensor: values that are never written in place; a result may share the memory of an operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
from xdsl.ir import BlockArgument

from npu_mlir.interpreters.errors import index_out_of_range
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, Step, impl, prepare
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape

DYNAMIC = -(2**63)
"""What stands in a static list where an operand gives the number."""


def mixed(*lists: DenseArrayBase[Any]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """A function from the dynamic operands to the static lists, concatenated, with their holes filled."""
    numbers = [int(n) for attr in lists for n in attr.get_values()]
    if DYNAMIC not in numbers:
        fixed = tuple(numbers)
        return lambda dynamic: fixed

    def fill(dynamic: Sequence[int]) -> tuple[int, ...]:
        rest = iter(dynamic)
        return tuple(next(rest) if n == DYNAMIC else n for n in numbers)

    return fill


def slices(op: Any) -> Callable[[Sequence[int]], tuple[slice, ...]]:
    """A function from the dynamic operands of a slice operation to what indexes its source."""
    numbers = mixed(op.static_offsets, op.static_sizes, op.static_strides)
    rank = len(op.static_offsets.get_values())

    def window(dynamic: Sequence[int]) -> tuple[slice, ...]:
        n = numbers(dynamic)
        if min(n[:rank], default=0) < 0:
            raise UserError(f"a slice begins at {tuple(n[:rank])}: no position is negative", loc=op)
        return tuple(
            slice(offset, offset + (size - 1) * stride + 1 if size else offset, stride)
            for offset, size, stride in zip(n[:rank], n[rank : 2 * rank], n[2 * rank :], strict=True)
        )

    return window


def reassociation_shape(reassociation: ArrayAttr[Any], shape: Sequence[int]) -> tuple[int, ...]:
    """The shape after the dims of each group are multiplied."""
    return tuple(int(np.prod([shape[dim.value.data] for dim in group.data])) for group in reassociation.data)


@prepare("tensor.empty")
def empty(interp: Interpreter, op: tensor.EmptyOp) -> Step:
    """Undefined contents: zeros here, so that runs can be repeated; a read-only array that costs no memory."""
    dtype, shape = numpy_dtype(op.tensor.type), static_shape(op.tensor.type)
    if min(shape, default=0) >= 0:
        value = np.broadcast_to(np.zeros((), dtype), shape)
        return lambda args: (value,)

    def step(args: Results) -> Results:
        sizes = iter(args)
        return (np.zeros([next(sizes) if size < 0 else size for size in shape], dtype),)

    return step


@impl("tensor.dim")
def dim(interp: Interpreter, op: tensor.DimOp, args: Results) -> Results:
    return (args[0].shape[args[1]],)


@impl("tensor.cast")
def cast(interp: Interpreter, op: tensor.CastOp, args: Results) -> Results:
    return args


@impl("tensor.splat")
def splat(interp: Interpreter, op: tensor.SplatOp, args: Results) -> Results:
    type_ = op.result.type
    sizes = iter(args[1:])
    shape = [next(sizes) if size < 0 else size for size in type_.get_shape()]
    return (np.full(shape, args[0], numpy_dtype(type_)),)


@impl("tensor.from_elements")
def from_elements(interp: Interpreter, op: tensor.FromElementsOp, args: Results) -> Results:
    type_ = op.result.type
    return (np.array(args, numpy_dtype(type_)).reshape(type_.get_shape()),)


@impl("tensor.extract")
def extract(interp: Interpreter, op: tensor.ExtractOp, args: Results) -> Results:
    try:
        value = args[0][args[1:]]
    except IndexError as error:
        raise index_out_of_range(args[0].shape, args[1:], op, from_end=False) from error
    if any(np.min(index, initial=0) < 0 for index in args[1:]):
        raise index_out_of_range(args[0].shape, args[1:], op, from_end=False)
    return (int(value),) if isinstance(value, np.integer | np.bool_) else (value,)


@impl("tensor.insert")
def insert(interp: Interpreter, op: tensor.InsertOp, args: Results) -> Results:
    result = args[1].copy()
    result[args[2:]] = args[0]
    return (result,)


@prepare("tensor.extract_slice")
def extract_slice(interp: Interpreter, op: tensor.ExtractSliceOp) -> Step:
    window = slices(op)
    shape = static_shape(op.result.type)
    size = prod(shape)

    def step(args: Results) -> Results:
        part = args[0][window(args[1:])]
        if part.size != size:
            raise UserError(f"the slice reaches beyond the tensor of shape {_text(args[0].shape)}", loc=op)
        return (part if part.ndim == len(shape) else part.reshape(shape),)

    return step


@prepare("tensor.insert_slice")
def insert_slice(interp: Interpreter, op: tensor.InsertSliceOp) -> Step:
    """A copy with a part replaced; the operand itself where the part lies there already, and in a loop that carries on
    nothing but what this operation made."""
    window = slices(op)
    in_loop = _is_alone_in_loop(op)
    mine: list[np.ndarray] = []

    def step(args: Results) -> Results:
        source, dest, *dynamic = args
        place = window(dynamic)
        if _is_same_memory(dest[place], source):
            return (dest,)
        result = dest if in_loop and mine and mine[0] is dest else dest.copy()
        mine[:] = [result]
        part = result[place]
        if part.size != source.size:
            raise UserError(f"the slice reaches beyond the tensor of shape {_text(dest.shape)}", loc=op)
        part[...] = source.reshape(part.shape)
        return (result,)

    return step


def _is_same_memory(part: np.ndarray, source: np.ndarray) -> bool:
    """Whether two arrays of the same number of elements are the same bytes in the same order."""
    start = part.__array_interface__["data"][0]
    alike = (part.flags.c_contiguous and source.flags.c_contiguous) or (
        (part.shape, part.strides) == (source.shape, source.strides)
    )
    return start == source.__array_interface__["data"][0] and alike and part.size > 0


def _is_alone_in_loop(op: tensor.InsertSliceOp) -> bool:
    """Whether a loop carries a tensor on through this operation alone, from one without contents."""
    loop, arg = op.parent_op(), op.dest
    if not isinstance(loop, scf.ForOp) or not isinstance(arg, BlockArgument) or arg.block is not op.parent:
        return False
    uses = list(op.result.uses)
    alone = arg.has_one_use() and len(uses) == 1
    if not alone or not isinstance(loop.iter_args[arg.index - 1].owner, tensor.EmptyOp):
        return False
    return isinstance(uses[0].operation, scf.YieldOp) and uses[0].index == arg.index - 1


@prepare("tensor.expand_shape")
def expand_shape(interp: Interpreter, op: tensor.ExpandShapeOp) -> Step:
    sizes = mixed(op.static_output_shape)
    return lambda args: (args[0].reshape(sizes(args[1:])),)


@impl("tensor.collapse_shape")
def collapse_shape(interp: Interpreter, op: tensor.CollapseShapeOp, args: Results) -> Results:
    return (args[0].reshape(reassociation_shape(op.reassociation, args[0].shape)),)


@impl("tensor.reshape")
def reshape(interp: Interpreter, op: tensor.ReshapeOp, args: Results) -> Results:
    asked, shape = tuple(int(n) for n in args[1]), static_shape(op.result.type)
    if min(shape, default=0) >= 0 and asked != shape:
        raise UserError(f"the shape is {_text(asked)}, and {_text(shape)} in the type of the result", loc=op)
    return (args[0].reshape(asked),)


def _text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


@impl("tensor.concat")
def concat(interp: Interpreter, op: tensor.ConcatOp, args: Results) -> Results:
    return (np.concatenate(args, axis=op.dim.value.data),)


@prepare("tensor.pad")
def pad(interp: Interpreter, op: tensor.PadOp) -> Step:
    """The region is run once for all elements: what it yields may not depend on the position."""
    sizes = mixed(op.static_low, op.static_high)
    rank = len(op.static_low.get_values())
    body = op.region.block

    def step(args: Results) -> Results:
        source, *dynamic = args
        n = sizes(dynamic)
        (value,) = interp.run_block(body, (0,) * rank)
        shape = [low + size + high for low, size, high in zip(n[:rank], source.shape, n[rank:], strict=True)]
        result = np.full(shape, value, source.dtype)
        result[tuple(slice(low, low + size) for low, size in zip(n[:rank], source.shape, strict=True))] = (
            source
        )
        return (result,)

    return step
