"""Functions that are run a number of times, as loops of the host that call them, for `convert-graph-to-linalg`.

  %end, %all = graph.repeat @step 100 times carry(%start : tensor<8xf32>) each(%xs : tensor<100x8xf32>)
    -> tensor<8xf32>, tensor<100x8xf32>
becomes
  %e = tensor.empty() : tensor<100x8xf32>
  %end, %all = scf.for %i = %c0 to %c100 step %c1 iter_args(%s = %start, %a = %e) -> (...) {
    %x = tensor.extract_slice %xs[%i, 0] [1, 8] [1, 1] : tensor<100x8xf32> to tensor<8xf32>
    %s1, %y = func.call @step(%s, %x) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %a1 = tensor.insert_slice %y into %a[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<100x8xf32>
    scf.yield %s1, %a1
  }
"""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from npu_mlir.dialects.graph import LOCATION, RepeatOp, element_of, shape_of
from npu_mlir.dialects.symbols import lookup_symbol
from npu_mlir.ir.constants import dense
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.support.locations import located

_INDEX = IndexType()


def lower_repeat(op: RepeatOp) -> None:
    """Put a loop in the place of the op."""
    block = cast("Block", op.parent)
    with located(op):
        ops, results = _call_once(op) if op.times == 1 else _loop(op)
    block.insert_ops_before(ops, op)
    for old, new in zip(op.results, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(op)


def _call_once(op: RepeatOp) -> tuple[list[Operation], list[SSAValue]]:
    """The call of a function that is run once, and its results."""
    builder, carried = Builder(op.attributes.get(LOCATION)), len(op.carried)
    parts = [builder.reshape(value, shape_of(value)[1:]) for value in op.sequences]
    number: list[SSAValue] = []
    if op.numbered is not None:
        number.append(builder.add(arith.ConstantOp(dense(np.zeros((), numpy_dtype(_number_type(op)))))))
    call = _call(op, [*number, *op.carried, *parts, *op.kept])
    builder.ops.append(call)
    stacks = [
        builder.reshape(piece, shape_of(value))
        for piece, value in zip(call.results[carried:], op.results[carried:], strict=True)
    ]
    return builder.ops, [*call.results[:carried], *stacks]


def _call(op: RepeatOp, arguments: list[SSAValue]) -> CallOp:
    call = CallOp(op.callee, arguments, _returned(op))
    if (loc := op.attributes.get(LOCATION)) is not None:
        call.attributes[LOCATION] = loc
    return call


def _loop(op: RepeatOp) -> tuple[list[Operation], list[SSAValue]]:
    """The loop behind what has to stand before it, and its results."""
    zero, one, last, count = (_index(n) for n in (0, 1, op.times - 1, op.times))
    carried = len(op.carried)
    empties = [tensor.EmptyOp([], value.type) for value in op.results[carried:]]
    inits = [*op.carried, *(empty.tensor for empty in empties)]
    body = Block(arg_types=[_INDEX, *(value.type for value in inits)])
    number, *values = body.args
    states, stacks = values[:carried], values[carried:]
    backwards = arith.SubiOp(last.result, number)
    if any((*op.reads_backwards(), *op.stacks_backwards())):
        body.add_op(backwards)
    places = (number, backwards.result)
    arguments: list[SSAValue] = [_number(op, number, body)] if op.numbered is not None else []
    arguments += states
    for value, reverse in zip(op.sequences, op.reads_backwards(), strict=True):
        shape = shape_of(value)[1:]
        offsets: list[SSAValue | int] = [places[reverse], *(0 for _ in shape)]
        part = TensorType(element_of(value), shape)
        piece = tensor.ExtractSliceOp(value, offsets, [1, *shape], [1] * len(offsets), part)
        body.add_op(piece)
        arguments.append(piece.result)
    call = _call(op, [*arguments, *op.kept])
    body.add_op(call)
    ends: list[SSAValue] = list(call.results[:carried])
    for stack, piece, reverse in zip(stacks, call.results[carried:], op.stacks_backwards(), strict=True):
        ends.append(_insert(piece, stack, places[reverse], body))
    body.add_op(scf.YieldOp(*ends))
    loop = scf.ForOp(zero.result, count.result, one.result, inits, Region(body))
    return [zero, one, last, count, *empties, loop], list(loop.results)


def _insert(piece: OpResult, stack: SSAValue, place: SSAValue, body: Block) -> SSAValue:
    """A value in its place among those of all runs."""
    shape = shape_of(piece)
    offsets = [DYNAMIC_INDEX, *(0 for _ in shape)]
    insert = tensor.InsertSliceOp.get(
        piece, stack, [1, *shape], static_offsets=offsets, offsets=[place], static_strides=[1] * len(offsets)
    )
    body.add_op(insert)
    return insert.result


def _number(op: RepeatOp, number: SSAValue, body: Block) -> SSAValue:
    """The number of the run as the callee takes it."""
    type_ = _number_type(op)
    cast_ = arith.IndexCastOp(number, type_.element_type)
    made = tensor.FromElementsOp(cast_.result, result_type=type_)
    body.add_ops([cast_, made])
    return made.result


def _number_type(op: RepeatOp) -> TensorType[Attribute]:
    """The type of the callee's first argument."""
    table: Operation = op
    while (around := table.parent_op()) is not None:
        table = around
    function = cast("FuncOp", lookup_symbol(table, op.callee))
    return cast("TensorType[Attribute]", function.function_type.inputs.data[0])


def _returned(op: RepeatOp) -> list[Attribute]:
    """What the callee returns."""
    carried = len(op.carried)
    pieces = [TensorType(element_of(value), shape_of(value)[1:]) for value in op.results[carried:]]
    return [*(value.type for value in op.results[:carried]), *pieces]


def _index(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, _INDEX))
