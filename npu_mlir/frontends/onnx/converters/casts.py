"""Conversions between element types, for all operators that convert."""

from __future__ import annotations

import ml_dtypes
import onnx
from xdsl.dialects.builtin import (
    AnyFloat,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of
from npu_mlir.frontends.onnx.node import Node, Unsupported
from npu_mlir.ir.constants import element_type
from npu_mlir.support.dtypes import numpy_dtype

SATURATING = (Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type, Float8E5M2FNUZType)
"""Types of which ONNX says whether what is too large becomes the largest number. A float of 4 bits has nothing else."""


def element_named(number: int) -> Attribute:
    """The element type that ONNX gives this number; one that we do not have is refused."""
    try:
        return element_type(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (TypeError, KeyError) as error:
        known = number in onnx.TensorProto.DataType.values()
        name = onnx.TensorProto.DataType.Name(number) if known else number
        raise Unsupported(f"target type {name} is not supported") from error


def converted(
    node: Node, value: SSAValue, target: Attribute, saturate: bool = True, rounding: str = "up"
) -> SSAValue:
    """The value in another type. Infinities and what is too large become the largest number of a float of 8 bits, or
    without `saturate` what the type has for them, infinity or NaN. `rounding` is how numbers become powers of 2."""
    if element_of(value) == target:
        return value
    if isinstance(target, Float8E8M0FNUType):
        return _power_of_two(node, value, saturate, rounding)
    if saturate and isinstance(target, SATURATING):
        source = element_of(value)
        if not isinstance(source, AnyFloat) or source.bitwidth <= 8:
            value = node.add(graph.CastOp(value, f32))
        largest = float(ml_dtypes.finfo(numpy_dtype(target)).max)
        value = node.add(graph.ClipOp(value, -largest, largest))
    return node.add(graph.CastOp(value, target))


_EXPONENT = 1 << 23
"""The lowest bit of the exponent of an f32."""

_ROUNDING = {"up": _EXPONENT - 1, "nearest": _EXPONENT // 2, "down": 0}
"""What is added to the bits of an f32, so that they carry into the exponent."""


def _power_of_two(node: Node, value: SSAValue, saturate: bool, rounding: str) -> SSAValue:
    """The exponents of numbers as a type that has nothing else. Signs don't count; infinities and NaN are NaN."""
    if rounding not in _ROUNDING:
        raise Unsupported(f"attribute round_mode = {rounding} is not supported")
    bits = node.add(graph.BitcastOp(converted(node, value, f32), i32))
    bits = node.add(graph.BitwiseAndOp(bits, node.scalar(0x7FFFFFFF, bits)))
    finite = node.add(graph.LessOp(bits, node.scalar(0xFF * _EXPONENT, bits)))
    added = node.scalar(_ROUNDING[rounding], bits)
    if rounding == "nearest":
        # Half of the least power goes down, to the even exponent 0.
        least = node.add(graph.LessOp(bits, node.scalar(_EXPONENT, bits)))
        added = node.add(graph.WhereOp(least, node.scalar(_ROUNDING[rounding] - 1, bits), added))
    exponent = node.add(graph.DivOp(node.add(graph.AddOp(bits, added)), node.scalar(_EXPONENT, bits)))
    exponent = node.add(graph.MinimumOp(exponent, node.scalar(0xFE if saturate else 0xFF, bits)))
    exponent = node.add(graph.WhereOp(finite, exponent, node.scalar(0xFF, bits)))
    byte = node.add(graph.CastOp(exponent, IntegerType(8, Signedness.UNSIGNED)))
    return node.add(graph.BitcastOp(byte, Float8E8M0FNUType()))
