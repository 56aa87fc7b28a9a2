"""Operators about shapes: they change one, or tell it."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of, shapes
from npu_mlir.frontends.onnx.node import Constant, Node, Unsupported, converts, normalise


def _reshaped(node: Node, shape: tuple[int, ...] | list[int]) -> SSAValue:
    value = node.value(0)
    return value if shape_of(value) == tuple(shape) else node.add(graph.ReshapeOp(value, shape))


@converts("Reshape")
def reshape(node: Node) -> SSAValue:
    """The elements in row-major order under another, constant shape: 0 copies an extent, -1 is what is left."""
    old, target = node.shape(), node.ints_input(1, "shape")
    if not node.integer("allowzero", 0):
        if any(extent == 0 and axis >= len(old) for axis, extent in enumerate(target)):
            raise Unsupported(f"shape {target} copies a dimension that rank {len(old)} does not have")
        target = [old[axis] if extent == 0 else extent for axis, extent in enumerate(target)]
    return _reshaped(node, shapes.reshape(old, target))


@converts("Flatten")
def flatten(node: Node) -> SSAValue:
    """A matrix of the dims before `axis` and of those from it on."""
    shape = node.shape()
    axis = node.integer("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return _reshaped(node, (prod(shape[:axis]), prod(shape[axis:])))


def _axes(node: Node) -> list[int] | None:
    axes = node.integers("axes")
    return node.ints_input(1, "axes") if node.has(1) else axes


@converts("Squeeze")
def squeeze(node: Node) -> SSAValue:
    """The operand without the dims of size 1 in `axes`, or without all of them."""
    shape, axes = node.shape(), _axes(node)
    if axes is None:
        return _reshaped(node, [extent for extent in shape if extent != 1])
    gone = {normalise(axis, len(shape)) for axis in axes}
    if any(shape[axis] != 1 for axis in gone):
        raise Unsupported(f"axes {sorted(gone)} of {shapes.text(shape)} are not all 1")
    return _reshaped(node, [extent for axis, extent in enumerate(shape) if axis not in gone])


@converts("Unsqueeze")
def unsqueeze(node: Node) -> SSAValue:
    """The operand with dims of size 1 at `axes` of the result."""
    shape, axes = node.shape(), _axes(node) or []
    rank = len(shape) + len(axes)
    new = {normalise(axis, rank) for axis in axes}
    rest = iter(shape)
    return _reshaped(node, [1 if axis in new else next(rest) for axis in range(rank)])


@converts("Shape")
def shape(node: Node) -> Constant:
    """The extents from `start` to `end` as a constant."""
    extents = node.shape()
    start, end = node.integer("start", 0), node.attribute("end")
    return np.asarray(extents[start:end], np.int64)


@converts("Size")
def size(node: Node) -> Constant:
    """The number of elements as a constant."""
    return np.asarray(prod(node.shape()), np.int64)
