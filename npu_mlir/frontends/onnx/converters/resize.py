"""Resizing: along each axis, known positions to take, or a product with a known matrix of weights.

The formulas are those of ONNX's definition of Resize; coordinates and weights are computed in f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f32
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of, shape_of
from npu_mlir.frontends.onnx.converters.selection import cast, reshaped, take
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts, normalise
from npu_mlir.support.dtypes import numpy_dtype

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Axis:
    """What happens along one axis: its extents before and after, the scale, and the part of the input that is meant."""

    axis: int
    before: int
    after: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


@converts("Resize", "Upsample")
def resize(node: Node) -> SSAValue:
    """Nearest, linear or cubic interpolation, by scales or sizes that are constants.

    Linear and cubic are products with matrices in which most weights are 0: an infinite element makes its whole
    line NaN, where other implementations only meet its neighbours.
    """
    value = node.value(0)
    mode = node.text("mode", "nearest")
    transformation = _transformation(node)
    axes = _axes(node, shape_of(value))
    rounding = node.text("nearest_mode", "round_prefer_floor") if node.opset >= 11 else "simple"
    extrapolation = node.real("extrapolation_value", 0.0)
    coefficient = node.real("cubic_coeff_a", -0.75)
    antialias, exclude = bool(node.integer("antialias", 0)), bool(node.integer("exclude_outside", 0))
    element = element_of(value)
    if mode != "nearest" and not isinstance(element, AnyFloat):
        if mode == "cubic":
            raise Unsupported(f"cubic interpolation of {element}")
        value = cast(node, value, f32)
    outside: list[tuple[int, Array]] = []
    for axis in axes:
        at = coordinates(axis, transformation)
        if transformation == "tf_crop_and_resize":
            outside.append((axis.axis, (at < 0) | (at > axis.before - 1)))
        if mode == "nearest":
            value = _along(node, value, axis.axis, nearest(at, axis, rounding))
        else:
            matrix = _weights(at, axis, mode, coefficient, antialias=antialias, exclude=exclude)
            value = contracted(node, value, axis.axis, matrix)
    for axis, missing in outside:
        if missing.any():
            mask = missing.reshape([-1 if d == axis else 1 for d in range(len(shape_of(value)))])
            filler = node.scalar(extrapolation, value)
            value = node.add(graph.WhereOp(node.array(mask, f"outside{axis}"), filler, value))
    return cast(node, value, element)


def _transformation(node: Node) -> str:
    if node.opset < 11:
        return "asymmetric"
    return node.text("coordinate_transformation_mode", "half_pixel")


def _axes(node: Node, shape: Sequence[int]) -> list[_Axis]:
    """The axes in question, by scales (an attribute, or input 1, later 2) or sizes (input 3)."""
    if node.opset < 11:
        given = node.attribute("scales")
        scales = list(given) if given is not None else node.constant(1, "scales").reshape(-1).tolist()
        return [
            _Axis(d, n, int(np.floor(n * s)), s) for d, (n, s) in enumerate(zip(shape, scales, strict=True))
        ]
    chosen = node.integers("axes")
    axes = [normalise(axis, len(shape)) for axis in (range(len(shape)) if chosen is None else chosen)]
    crop = node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
    roi = node.constant(1, "region").reshape(2, -1).T.tolist() if crop else [(0.0, 1.0)] * len(axes)
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    befores = [shape[axis] for axis in axes]
    if node.has(2) and node.shape(2) != (0,):
        scales = node.constant(2, "scales").reshape(-1).tolist()
        afters = [int(np.floor(n * s)) for n, s in zip(befores, scales, strict=True)]
    else:
        afters = node.ints_input(3, "sizes")
        scales = [after / before if before else 1.0 for after, before in zip(afters, befores, strict=True)]
        if policy != "stretch":
            scales = [min(scales) if policy == "not_larger" else max(scales)] * len(scales)
            afters = [int(np.floor(n * s + 0.5)) for n, s in zip(befores, scales, strict=True)]
    return [
        _Axis(axis, before, after, scale, (part[0], part[1]))
        for axis, before, after, scale, part in zip(axes, befores, afters, scales, roi, strict=True)
    ]


def coordinates(axis: _Axis, transformation: str) -> Array:
    """Where in the input each position of the result lies."""
    at, width = np.arange(axis.after, dtype=np.float64), axis.scale * axis.before
    last = axis.before - 1
    match transformation:
        case "half_pixel":
            return (at + 0.5) / axis.scale - 0.5
        case "pytorch_half_pixel":
            return (at + 0.5) / axis.scale - 0.5 if width != 1 else np.full(axis.after, -0.5)
        case "half_pixel_symmetric":
            return axis.before / 2 * (1 - axis.after / width) + (at + 0.5) / axis.scale - 0.5
        case "align_corners":
            return at * last / (width - 1) if width != 1 else np.zeros(axis.after)
        case "asymmetric":
            return at / axis.scale
        case "tf_crop_and_resize":
            start, end = axis.roi
            if width == 1:
                return np.full(axis.after, (start + end) * last / 2)
            return start * last + at * (end - start) * last / (width - 1)
        case _:
            raise Unsupported(f"attribute coordinate_transformation_mode = {transformation}")


def nearest(at: Array, axis: _Axis, rounding: str) -> Array:
    """The positions of the input that are taken."""
    match rounding:
        case "round_prefer_floor":
            picked = np.ceil(at - 0.5)
        case "round_prefer_ceil":
            picked = np.floor(at + 0.5)
        case "floor":
            picked = np.floor(at)
        case "ceil":
            picked = np.ceil(at)
        case "simple":
            picked = np.floor(at) if axis.scale >= 1 else np.ceil(at)
        case _:
            raise Unsupported(f"attribute nearest_mode = {rounding}")
    return np.clip(picked, 0, axis.before - 1).astype(np.int64)


def _along(node: Node, value: SSAValue, axis: int, indices: Array) -> SSAValue:
    if np.array_equal(indices, np.arange(shape_of(value)[axis])):
        return value
    return take(node, value, indices, axis)


def _weights(
    at: Array, axis: _Axis, mode: str, coefficient: float, *, antialias: bool, exclude: bool
) -> Array:
    """The matrix (after x before) whose rows say how much of each element of the input a position has."""
    if mode not in ("linear", "cubic", "bilinear", "bicubic"):
        raise Unsupported(f"attribute mode = {mode}")
    reach = 2 if mode.endswith("cubic") else 1
    scale = min(axis.scale, 1.0) if antialias else 1.0
    first = int(np.floor(-reach / scale)) + 1
    offsets = np.arange(first, 2 - first)
    # A position exactly on an element belongs to the interval in front of it.
    base = np.ceil(at) - 1
    distance = np.abs(offsets - (at - base)[:, None]) * scale
    weights = _cubic(distance, coefficient) if reach == 2 else np.clip(1 - distance, 0, 1)
    neighbours = base[:, None] + offsets
    if exclude:
        weights = np.where((neighbours < 0) | (neighbours >= axis.before), 0, weights)
    total = weights.sum(1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    matrix = np.zeros((axis.after, axis.before))
    clamped = np.clip(neighbours, 0, axis.before - 1).astype(np.int64)
    np.add.at(matrix, (np.arange(axis.after)[:, None], clamped), weights)
    return matrix


def _cubic(distance: Array, a: float) -> Array:
    """Keys' cubic convolution kernel, with the free parameter a."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def contracted(node: Node, value: SSAValue, axis: int, matrix: Array, role: str | None = None) -> SSAValue:
    """The matrix times each line of the value along an axis. The role names the matrix among the node's constants."""
    shape = shape_of(value)
    after, before = matrix.shape
    if after == before and np.array_equal(matrix, np.eye(before)):
        return value
    role = role or f"weights{axis}"
    matrix = matrix.astype(numpy_dtype(element_of(value)))
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    result = (*shape[:axis], after, *shape[axis + 1 :])
    if inner == 1:
        lines = reshaped(node, value, (outer, before))
        right = node.array(np.ascontiguousarray(matrix.T), role)
        return reshaped(node, node.add(graph.MatmulOp(lines, right)), result)
    planes = reshaped(node, value, (outer, before, inner))
    return reshaped(node, node.add(graph.MatmulOp(node.array(matrix, role), planes)), result)
