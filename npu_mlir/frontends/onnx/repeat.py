"""Steps of a node that are all alike, as a function of the module that a `graph.repeat` runs.

The ops that a step is made of go into the function. What they read from around it becomes an argument, constants go
into the function as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of, shape_of
from npu_mlir.frontends.onnx.node import Node, Unsupported, Value
from npu_mlir.frontends.onnx.pieces import cut, moved, reshaped
from npu_mlir.ir.constants import element_type
from npu_mlir.support.dtypes import is_narrow_integer, numpy_dtype

StepBody: TypeAlias = Callable[
    [SSAValue, Sequence[SSAValue], Sequence[SSAValue]], tuple[Sequence[Value], Sequence[Value]]
]
"""Adds the ops of a step, given its number, what is carried on, and its part of each sequence; returns what is carried
on to the next, and what is left of this one."""


def repeated(
    node: Node,
    count: int,
    states: Sequence[Value],
    sequences: Sequence[tuple[Value, bool]],
    body: StepBody,
    stacks_backwards: Sequence[bool] = (),
    number: type[np.signedinteger[Any]] = np.int64,
    accept: Callable[[Block], None] | None = None,
) -> tuple[list[SSAValue], list[SSAValue]]:
    """What is carried on at last, and what the steps left, each along a new leading dim.

    `sequences` are taken apart along their leading dims, those with True from the end; in the order of
    `stacks_backwards` (all False if it is shorter) the values of the last step come first. `number` is the type in
    which steps are numbered. `Unsupported` for steps that change the type of what is carried on, and for tensors
    without elements or with elements that share bytes.
    """
    carried = [node.given(value, f"start{i}") for i, value in enumerate(states)]
    each = [node.given(value, f"sequence{i}") for i, (value, _) in enumerate(sequences)]
    types: list[Attribute] = [TensorType(element_type(np.dtype(number)), [])]
    types += [value.type for value in carried]
    types += [TensorType(element_of(value), shape_of(value)[1:]) for value in each]
    block = Block(arg_types=types)
    first, *rest = block.args
    with node.builder.inside(block):
        ends, left = body(first, rest[: len(carried)], rest[len(carried) :])
        results = [node.given(value, f"result{i}") for i, value in enumerate((*ends, *left))]
    for start, end in zip(carried, results, strict=False):
        if start.type != end.type:
            raise Unsupported(f"a step makes {end.type} of the {start.type} that is carried on")
    for value in (*carried, *each, *results):
        if not prod(shape_of(value)) or is_narrow_integer(numpy_dtype(element_of(value))):
            raise Unsupported(f"steps with {value.type}")
    last = ReturnOp(*results)
    block.add_op(last)
    read = _read_by_number(node, block, count, 1 + len(carried) + len(each))
    each += read
    if accept is not None:
        accept(block)
    kept = _close(block)
    numbered = bool(first.uses)
    if not numbered:
        block.erase_arg(first)
    stacked = last.operands[len(carried) :]
    op = graph.RepeatOp(
        node.builder.publish(block),
        count,
        carried,
        each,
        kept,
        [*types[1 : 1 + len(carried)], *(_stack(value, count) for value in stacked)],
        numbered=numbered,
        backwards_each=[*(backwards for _, backwards in sequences), *(False for _ in read)],
        backwards_stacks=[*stacks_backwards, *(False for _ in stacked[len(stacks_backwards) :])],
    )
    node.place(op)
    return list(op.results[: len(carried)]), list(op.results[len(carried) :])


def _stack(value: SSAValue, count: int) -> TensorType[Attribute]:
    return TensorType(element_of(value), [count, *shape_of(value)])


def _read_by_number(node: Node, block: Block, count: int, at: int) -> list[SSAValue]:
    """Make what steps read at their own number from a value around them (`x[i]`) arguments from number `at` on; the
    sequences that are taken apart for them."""
    made: dict[tuple[SSAValue, int], tuple[SSAValue, SSAValue]] = {}
    for op in list(block.ops):
        if not isinstance(op, graph.GatherOp) or not _is_number(op.indices, block.args[0]):
            continue
        value, axis, owner = op.input, op.axis.value.data, op.input.owner
        if (_is_in(value, block) and not _is_constant(owner)) or shape_of(value)[axis] < count:
            continue
        if (value, axis) not in made:
            outer = value
            if _is_constant(owner) and _is_in(value, block):
                outer = node.place(owner.clone())
            sequence = node.given(moved(node, cut(node, outer, axis, 0, count), axis, 0), "sequence")
            part = TensorType(element_of(sequence), shape_of(sequence)[1:])
            made[value, axis] = sequence, block.insert_arg(part, at + len(made))
        with node.builder.inside(block):
            row = node.given(reshaped(node, made[value, axis][1], shape_of(op.result)), "row")
        if isinstance(row.owner, Operation):
            row.owner.detach()
            block.insert_op_before(row.owner, op)
        op.result.replace_all_uses_with(row)
        block.erase_op(op)
    _erase_unused(block)
    return [sequence for sequence, _ in made.values()]


def _is_number(value: SSAValue, number: SSAValue) -> bool:
    """Whether a value is the number of the step, in another integer type or shape maybe."""
    while isinstance(value.owner, graph.ReshapeOp | graph.CastOp):
        if not isinstance(element_of(value), IntegerType):
            return False
        value = value.owner.operands[0]
    return value is number


def _is_in(value: SSAValue, block: Block) -> bool:
    return value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)


def _is_constant(owner: Operation | Block) -> TypeGuard[graph.WeightOp | ConstantOp]:
    return isinstance(owner, graph.WeightOp | ConstantOp)


def _erase_unused(block: Block) -> None:
    """Erase the graph ops of a block whose results nobody reads."""
    for op in reversed(list(block.ops)):
        if isinstance(op, graph.GraphOp) and not any(result.uses for result in op.results):
            block.erase_op(op)


def _close(block: Block) -> list[SSAValue]:
    """Make what the ops of a block read from around it arguments, and copy constants; what is given for the
    arguments."""
    inside: dict[SSAValue, SSAValue] = {}
    kept: list[SSAValue] = []
    for op in list(block.ops):
        for i, value in enumerate(op.operands):
            if _is_in(value, block):
                continue
            if value not in inside:
                owner = value.owner
                if _is_constant(owner):
                    copy = owner.clone()
                    first = block.first_op
                    assert first is not None
                    block.insert_op_before(copy, first)
                    inside[value] = copy.results[0]
                else:
                    inside[value] = block.insert_arg(value.type, len(block.args))
                    kept.append(value)
            op.operands[i] = inside[value]
    return kept
