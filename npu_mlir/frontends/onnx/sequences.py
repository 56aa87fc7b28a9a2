"""Sequences of tensors, which are lists of values while a model is imported: only tensors get into a module.

How long a sequence is and which element is meant has to be known then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx
from xdsl.ir import SSAValue

from npu_mlir.dialects.graph import element_of
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, Value
from npu_mlir.frontends.onnx.pieces import cut, extents, join, pick, stack
from npu_mlir.support.dtypes import numpy_dtype


@dataclass(frozen=True)
class TensorSequence:
    """The elements of a sequence, and their type, which is known when there are none."""

    items: tuple[Value, ...]
    dtype: np.dtype[Any]


Operand = Value | TensorSequence | None

Body = Callable[[onnx.GraphProto, Mapping[str, Any]], list[Any]]
"""Imports a graph inside a node, with the given values of its inputs; the values of its outputs, None for refused."""


def _construct(node: Node, inputs: Sequence[Operand]) -> TensorSequence:
    items = tuple(_tensor(value) for value in inputs)
    return TensorSequence(items, dtype_of(items[0]))


def _empty(node: Node, inputs: Sequence[Operand]) -> TensorSequence:
    number = node.integer("dtype", onnx.TensorProto.FLOAT)
    return TensorSequence((), onnx.helper.tensor_dtype_to_np_dtype(number))


def _at(node: Node, inputs: Sequence[Operand]) -> Value:
    items = _sequence(inputs[0]).items
    return items[_position(inputs[1], len(items), len(items) - 1)]


def _insert(node: Node, inputs: Sequence[Operand]) -> TensorSequence:
    sequence = _sequence(inputs[0])
    items = list(sequence.items)
    at = (
        _position(inputs[2], len(items), len(items))
        if len(inputs) > 2 and inputs[2] is not None
        else len(items)
    )
    items.insert(at, _tensor(inputs[1]))
    return TensorSequence(tuple(items), sequence.dtype)


def _erase(node: Node, inputs: Sequence[Operand]) -> TensorSequence:
    sequence = _sequence(inputs[0])
    items = list(sequence.items)
    given = len(inputs) > 1 and inputs[1] is not None
    at = _position(inputs[1], len(items), len(items) - 1) if given else len(items) - 1
    if not items:
        raise Unsupported("there is nothing to erase")
    del items[at]
    return TensorSequence(tuple(items), sequence.dtype)


def _length(node: Node, inputs: Sequence[Operand]) -> Constant:
    return np.asarray(len(_sequence(inputs[0]).items), np.int64)


def _split(node: Node, inputs: Sequence[Operand]) -> TensorSequence:
    value = _tensor(inputs[0])
    axis = node.axis(0, len(extents(value)))
    keep, extent = bool(node.integer("keepdims", 1)), extents(value)[axis]
    if not node.has(1):
        items = [cut(node, value, axis, i, 1) if keep else pick(node, value, axis, i) for i in range(extent)]
        return TensorSequence(tuple(items), dtype_of(value))
    split = node.constant(1, "split")
    sizes = [int(size) for size in split.flat]
    if split.ndim == 0:
        if sizes[0] < 1:
            raise Unsupported(f"pieces of {sizes[0]}")
        sizes = [min(sizes[0], extent - at) for at in range(0, extent, sizes[0])]
    if sum(sizes) != extent or min(sizes, default=0) < 0:
        raise Unsupported(f"split sizes {sizes} of extent {extent}")
    starts = np.cumsum([0, *sizes[:-1]])
    items = [cut(node, value, axis, int(at), size) for at, size in zip(starts, sizes, strict=True)]
    return TensorSequence(tuple(items), dtype_of(value))


def _concat(node: Node, inputs: Sequence[Operand]) -> Value:
    items = _sequence(inputs[0]).items
    if not items:
        raise Unsupported("the sequence is empty")
    new = bool(node.integer("new_axis", 0))
    axis = node.axis(None, len(extents(items[0])) + new)
    return stack(node, items, axis) if new else join(node, items, axis)


def _identity(node: Node, inputs: Sequence[Operand]) -> TensorSequence:
    return _sequence(inputs[0])


SEQUENCE_OPERATORS: dict[str, Callable[[Node, Sequence[Operand]], Value | TensorSequence]] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
}


def sequence_results(node: Node, inputs: Sequence[Operand]) -> list[Value | TensorSequence]:
    """The result of an operator that makes or reads sequences."""
    convert = _identity if node.operator == "Identity" else SEQUENCE_OPERATORS[node.operator]
    return [convert(node, inputs)]


def map_results(node: Node, inputs: Sequence[Operand], run: Body) -> list[TensorSequence | None]:
    """SequenceMap: the body for each element, of all sequences at the same place; tensors are the same each time."""
    body: onnx.GraphProto = node.attribute("body")
    lengths = {len(value.items) for value in inputs if isinstance(value, TensorSequence)}
    if len(lengths) != 1:
        raise Unsupported(f"sequences of lengths {sorted(lengths)}")
    found: list[list[Value | None]] = []
    for i in range(lengths.pop()):
        values = [value.items[i] if isinstance(value, TensorSequence) else value for value in inputs]
        names = [value.name for value in body.input]
        found.append(run(body, dict(zip(names, values, strict=True))))
    results: list[TensorSequence | None] = []
    for at, output in enumerate(body.output):
        items = [step[at] for step in found]
        if any(item is None for item in items):
            results.append(None)
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(
            output.type.tensor_type.elem_type or onnx.TensorProto.FLOAT
        )
        results.append(TensorSequence(tuple(map(_tensor, items)), dtype))
    return results


def dtype_of(value: Value) -> np.dtype[Any]:
    """The element type of a value."""
    return numpy_dtype(element_of(value)) if isinstance(value, SSAValue) else value.dtype


def _sequence(value: Operand) -> TensorSequence:
    if not isinstance(value, TensorSequence):
        raise Unsupported("its operand is not a sequence")
    return value


def _tensor(value: Operand) -> Value:
    if not isinstance(value, SSAValue | np.ndarray):
        raise Unsupported("an element is not a tensor")
    return value


def _position(value: Operand, length: int, last: int) -> int:
    """A position that may count from the end, up to `last`."""
    if not isinstance(value, np.ndarray):
        raise Unsupported("its position is not a constant")
    at = int(cast("Any", value).reshape(-1)[0])
    if not -length <= at <= last:
        raise Unsupported(f"position {at} in a sequence of {length}")
    return at + length if at < 0 else at
