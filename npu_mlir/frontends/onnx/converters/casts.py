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
    f32,
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


def converted(node: Node, value: SSAValue, target: Attribute, saturate: bool = True) -> SSAValue:
    """The value in another type. Infinities and what is too large become the largest number of a float of 8 bits, or
    without `saturate` what the type has for them, infinity or NaN."""
    if element_of(value) == target:
        return value
    if saturate and isinstance(target, SATURATING):
        source = element_of(value)
        if not isinstance(source, AnyFloat) or source.bitwidth <= 8:
            value = node.add(graph.CastOp(value, f32))
        largest = float(ml_dtypes.finfo(numpy_dtype(target)).max)
        value = node.add(graph.ClipOp(value, -largest, largest))
    return node.add(graph.CastOp(value, target))
