"""Operators between numbers and integers that stand for them, and products of such integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from math import prod

import numpy as np
import onnx
from xdsl.dialects.builtin import AnyFloat, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of, shape_of, shapes
from npu_mlir.frontends.onnx.converters.casts import converted, element_named
from npu_mlir.frontends.onnx.converters.contraction import of_matrices, window_of
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts, normalise
from npu_mlir.support.dtypes import numpy_dtype


@converts("QuantizeLinear")
def quantize_linear(node: Node) -> SSAValue:
    """Numbers as integers, or as floats of few bits: the quotient by the scale has its type, or that of `precision`."""
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    saturate, precision = bool(node.integer("saturate", 1)), node.integer("precision", 0)
    given = node.integer("output_dtype", 0)
    scale = node.value(1)
    target = element_of(node.value(2)) if node.has(2) else element_named(given or onnx.TensorProto.UINT8)
    if given and element_named(given) != target:
        raise Unsupported(f"output_dtype {element_named(given)} with a zero point of {target}")
    computed = element_named(precision) if precision else _wider(element_of(node.value(0)), element_of(scale))
    x, scale = converted(node, node.value(0), computed), converted(node, scale, computed)
    shape = shape_of(x)
    scale = _along(node, scale, shape, axis, block)
    if isinstance(target, AnyFloat):
        _require_zero(node, 2)
        return converted(node, node.add(graph.DivOp(x, scale)), target, saturate)
    zero = node.value(2) if node.has(2) else _zero(node, target)
    return node.add(graph.QuantizeOp(x, scale, _along(node, zero, shape, axis, block)))


@converts("DequantizeLinear")
def dequantize_linear(node: Node) -> SSAValue:
    """The numbers that integers or floats of few bits stand for, in the type of the scale or `output_dtype`."""
    axis, block, given = (
        node.integer("axis", 1),
        node.integer("block_size", 0),
        node.integer("output_dtype", 0),
    )
    x, shape = node.value(0), node.shape()
    scale = _along(node, node.value(1), shape, axis, block)
    target = element_named(given) if given else element_of(scale)
    if isinstance(element_of(x), AnyFloat):
        _require_zero(node, 2)
        result = node.add(graph.MulOp(converted(node, x, f32), converted(node, scale, f32)))
    else:
        zero = node.value(2) if node.has(2) else _zero(node, element_of(x))
        wide = converted(node, scale, f32) if target != element_of(scale) else scale
        result = node.add(graph.DequantizeOp(x, wide, _along(node, zero, shape, axis, block)))
    return converted(node, result, target)


@converts("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> list[SSAValue]:
    """Quantization to unsigned bytes with the scale that the least and the largest element ask for, 0 among them."""
    x = node.value(0)
    zero, axes = node.scalar(0, x), list(range(len(shape_of(x))))
    low = node.add(graph.MinimumOp(node.add(graph.ReduceOp(graph.ReduceKind.MIN, x, axes)), zero))
    high = node.add(graph.MaximumOp(node.add(graph.ReduceOp(graph.ReduceKind.MAX, x, axes)), zero))
    scale = node.add(graph.DivOp(node.add(graph.SubOp(high, low)), node.scalar(255, x)))
    # Of zeros alone there is no scale; onnxruntime takes 1.
    nothing = node.add(graph.EqualOp(low, high))
    scale = node.add(graph.WhereOp(nothing, node.scalar(1, x), scale))
    none = node.array(np.zeros((), np.uint8), "zero")
    zero_point = node.add(graph.QuantizeOp(node.add(graph.NegOp(low)), scale, none))
    return [node.add(graph.QuantizeOp(x, scale, zero_point)), scale, zero_point]


@converts("MatMulInteger")
def matmul_integer(node: Node) -> SSAValue:
    """A product of integers less their zero points: one of A for each row, one of B for each column, or one for all."""
    return _matrix_product(node, 0, 2, 1, 3)


@converts("QLinearMatMul")
def qlinear_matmul(node: Node) -> SSAValue:
    """A product of quantized matrices, quantized again."""
    product = _matrix_product(node, 0, 2, 3, 5)
    scale = _scale(
        node, _by_row(node, node.value(1)), _single(node, node.value(4)), _by_row(node, node.value(6))
    )
    return node.add(graph.RequantizeOp(product, scale, _by_row(node, node.value(7))))


def _matrix_product(node: Node, lhs: int, lhs_zero: int, rhs: int, rhs_zero: int) -> SSAValue:
    """`(a - p) (b - q)` as `a b - p (sum b - k q) - (sum a) q`, with sums over the k elements of a row or a column.

    So the cube multiplies the bytes as they are. Its numbers have a sign: unsigned ones are less by 128 first.
    """
    a, p = _signed(node, lhs, lhs_zero)
    b, q = _signed(node, rhs, rhs_zero)
    p = p if p is None else _by_row(node, p)
    q = q if q is None else _single(node, q)

    def multiply(x: SSAValue, y: SSAValue) -> SSAValue:
        total = node.add(graph.MatmulOp(x, y))
        if p is not None:
            columns = _sum(node, y, [len(shape_of(y)) - 2])
            if q is not None:
                count = node.array(np.array(shape_of(y)[-2], np.int32), "count")
                columns = node.add(graph.SubOp(columns, node.add(graph.MulOp(count, q))))
            total = node.add(graph.SubOp(total, node.add(graph.MulOp(p, columns))))
        if q is not None:
            rows = _sum(node, x, [len(shape_of(x)) - 1])
            total = node.add(graph.SubOp(total, node.add(graph.MulOp(rows, q))))
        return total

    return of_matrices(node, a, b, multiply)


@converts("ConvInteger")
def conv_integer(node: Node) -> SSAValue:
    """A convolution of integers less their zero points: one of the image, one of all weights or for each channel."""
    return _convolution(node, 0, 2, 1, 3)


@converts("QLinearConv")
def qlinear_conv(node: Node) -> SSAValue:
    """A convolution of a quantized image, quantized again. The bias counts in units of both scales."""
    total = _convolution(node, 0, 2, 3, 5)
    rank = len(shape_of(total))
    if node.has(8):
        total = node.add(graph.AddOp(total, _by_channel(node, node.value(8), rank)))
    scales = (
        _single(node, node.value(1)),
        _by_channel(node, node.value(4), rank),
        _single(node, node.value(6)),
    )
    return node.add(graph.RequantizeOp(total, _scale(node, *scales), _single(node, node.value(7))))


def _convolution(node: Node, image: int, image_zero: int, kernel: int, kernel_zero: int) -> SSAValue:
    """`sum (x - p) w` as `sum x w - p sum w`, padded with p, where p is known and weights have no zero point; else the
    zero points are taken away first."""
    window = window_of(node, image, kernel)
    rank = len(node.shape(image))
    x, p = _signed(node, image, image_zero)
    w, q = _signed(node, kernel, kernel_zero)
    known = _known_zero(node, image, image_zero)
    if q is not None or known is None:
        if p is not None:
            x = node.add(graph.SubOp(converted(node, x, i32), _single(node, p)))
        if q is not None:
            w = node.add(graph.SubOp(converted(node, w, i32), _by_channel(node, q, rank + 1)))
        if p is None or q is None:
            x, w = converted(node, x, i32), converted(node, w, i32)
        return node.add(graph.ConvOp(x, w, None, **asdict(window)))
    if any(window.pads):
        begins, ends = window.pads[: rank - 2], window.pads[rank - 2 :]
        x = node.add(graph.PadOp(x, [0, 0, *begins], [0, 0, *ends], known))
        window = replace(window, pads=[0] * len(window.pads))
    total = node.add(graph.ConvOp(x, w, None, **asdict(window)))
    if p is None:
        return total
    sums = _sum(node, w, list(range(1, rank)), keep=False)
    share = node.add(graph.MulOp(_single(node, p), _by_channel(node, sums, rank)))
    return node.add(graph.SubOp(total, share))


def _signed(node: Node, index: int, zero_index: int) -> tuple[SSAValue, SSAValue | None]:
    """An operand of bytes as numbers with a sign, and its zero point as i32; None if that is known to be 0."""
    value = node.value(index)
    shift = 0
    if numpy_dtype(element_of(value)).kind == "u":
        value = converted(node, value, i8)
        shift = 1 << 7
        value = node.add(graph.AddOp(value, node.scalar(-shift, value)))
    if _known_zero(node, index, zero_index) == 0:
        return value, None
    if not node.has(zero_index):
        return value, node.array(np.array(-shift, np.int32), "zero")
    zero = converted(node, node.value(zero_index), i32)
    return value, node.add(graph.SubOp(zero, node.scalar(shift, zero))) if shift else zero


def _known_zero(node: Node, index: int, zero_index: int) -> int | None:
    """The zero point of an operand that `_signed` gives, if it is one number that is known."""
    shift = 1 << 7 if numpy_dtype(element_of(node.value(index))).kind == "u" else 0
    zero = node.raw(zero_index) if node.has(zero_index) else np.zeros((), np.int8)
    if not isinstance(zero, np.ndarray) or not zero.size or bool((zero != zero.flat[0]).any()):
        return None
    return int(zero.flat[0]) - shift


def _sum(node: Node, value: SSAValue, axes: list[int], *, keep: bool = True) -> SSAValue:
    return node.add(graph.ReduceOp(graph.ReduceKind.SUM, converted(node, value, i32), axes, keep))


def _scale(node: Node, lhs: SSAValue, rhs: SSAValue, result: SSAValue) -> SSAValue:
    """By what sums of products are multiplied."""
    a, b, y = (converted(node, value, f32) for value in (lhs, rhs, result))
    return node.add(graph.DivOp(node.add(graph.MulOp(a, b)), y))


def _single(node: Node, value: SSAValue) -> SSAValue:
    """A tensor of one element as one of rank 0; others as they are."""
    shape = shape_of(value)
    return node.add(graph.ReshapeOp(value, ())) if shape and prod(shape) == 1 else value


def _by_row(node: Node, value: SSAValue) -> SSAValue:
    """One number, or one for each row of a matrix."""
    value = _single(node, value)
    shape = shape_of(value)
    return node.add(graph.ReshapeOp(value, (*shape, 1))) if len(shape) == 1 else value


def _by_channel(node: Node, value: SSAValue, rank: int) -> SSAValue:
    """One number, or one for each element of dim 1 of a tensor of this rank."""
    value = _single(node, value)
    shape = shape_of(value)
    return node.add(graph.ReshapeOp(value, (*shape, *[1] * (rank - 2)))) if len(shape) == 1 else value


def _along(node: Node, value: SSAValue, shape: Sequence[int], axis: int, block: int) -> SSAValue:
    """A scale or zero point that broadcasts to the input's shape: one for all, for each element of an axis, or for each
    block of elements along it."""
    value = _single(node, value)
    own = shape_of(value)
    if not own:
        return value
    axis = normalise(axis, len(shape))
    if not block:
        if len(own) != 1 or own[0] != shape[axis]:
            raise Unsupported(
                f"a scale or zero point of {shapes.text(own)} along axis {axis} of {shapes.text(shape)}"
            )
        return node.add(graph.ReshapeOp(value, (*own, *[1] * (len(shape) - axis - 1))))
    count = -(-shape[axis] // block)
    if own != (*shape[:axis], count, *shape[axis + 1 :]):
        raise Unsupported(
            f"blocks of {block} along axis {axis} of {shapes.text(shape)} for {shapes.text(own)} scales"
        )
    before, after = own[:axis], own[axis + 1 :]
    value = node.add(graph.ReshapeOp(value, (*before, count, 1, *after)))
    value = node.add(graph.ExpandOp(value, (*before, count, block, *after)))
    value = node.add(graph.ReshapeOp(value, (*before, count * block, *after)))
    return node.add(graph.SliceOp(value, [0] * len(shape), shape, [1] * len(shape)))


def _wider(lhs: Attribute, rhs: Attribute) -> Attribute:
    """The type that a quotient is computed in: that of the scale, unless the numbers are wider floats."""
    return (
        lhs
        if isinstance(lhs, AnyFloat) and isinstance(rhs, AnyFloat) and lhs.bitwidth > rhs.bitwidth
        else rhs
    )


def _zero(node: Node, element: Attribute) -> SSAValue:
    return node.array(np.zeros((), numpy_dtype(element)), "zero")


def _require_zero(node: Node, index: int) -> None:
    """The zero point of floats has to be 0; one that the model computes is not looked at."""
    value = node.raw(index) if node.has(index) else None
    if isinstance(value, np.ndarray) and bool((value != 0).any()):
        raise Unsupported("its zero point is not 0")
