"""Taking values apart and joining them, for what a model says step by step.

What is known now stays an array; anything else becomes graph ops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.node import Node, Value

CONCATENATED = 8
"""Values that are joined at a time: a position of the result looks at all of them."""


def extents(value: Value) -> tuple[int, ...]:
    """The shape of a value."""
    return shape_of(value) if isinstance(value, SSAValue) else value.shape


def reshaped(node: Node, value: Value, shape: Sequence[int]) -> Value:
    """A value under another shape."""
    if not isinstance(value, SSAValue):
        return value.reshape(tuple(shape))
    return value if shape_of(value) == tuple(shape) else node.add(graph.ReshapeOp(value, shape))


def cut(node: Node, value: Value, axis: int, at: int, size: int) -> Value:
    """`size` positions of a dim from `at` on."""
    sizes = list(extents(value))
    if (at, size) == (0, sizes[axis]):
        return value
    if not isinstance(value, SSAValue):
        return value[(slice(None),) * axis + (slice(at, at + size),)]
    offsets = [0] * len(sizes)
    offsets[axis], sizes[axis] = at, size
    return node.add(graph.SliceOp(value, offsets, sizes, [1] * len(sizes)))


def pick(node: Node, value: Value, axis: int, at: int) -> Value:
    """One position of a dim, which goes."""
    shape = extents(value)
    return reshaped(node, cut(node, value, axis, at, 1), (*shape[:axis], *shape[axis + 1 :]))


def join(node: Node, values: Sequence[Value], axis: int) -> Value:
    """At least one value, one behind the other along a dim."""
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    if len(arrays) == len(values):
        return np.concatenate(arrays, axis)
    joined = [node.given(value, f"part{i}") for i, value in enumerate(values)]
    while len(joined) > 1:
        groups = [joined[i : i + CONCATENATED] for i in range(0, len(joined), CONCATENATED)]
        joined = [node.add(graph.ConcatOp(group, axis)) if len(group) > 1 else group[0] for group in groups]
    return joined[0]


def stack(node: Node, values: Sequence[Value], axis: int) -> Value:
    """At least one value, all of one shape, along a new dim."""
    shape = extents(values[0])
    row = (*shape[:axis], 1, *shape[axis:])
    return join(node, [reshaped(node, value, row) for value in values], axis)


def moved(node: Node, value: Value, axis: int, to: int) -> Value:
    """The value with a dim in another place; the others keep their order."""
    order = [d for d in range(len(extents(value))) if d != axis]
    order.insert(to, axis)
    if axis == to:
        return value
    return (
        node.add(graph.TransposeOp(value, order))
        if isinstance(value, SSAValue)
        else np.transpose(value, order)
    )
