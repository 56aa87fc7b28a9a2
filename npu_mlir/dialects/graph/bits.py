"""Elementwise graph ops on the bits of numbers."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from npu_mlir.dialects.graph.base import GraphOp, element_of
from npu_mlir.dialects.graph.elementwise import BinaryOp, RetypingOp
from npu_mlir.dialects.graph.shapes import ShapeError


class BitwiseOp(BinaryOp, ABC):
    """An elementwise function of the bits of two integers."""

    def infer_element_type(self) -> Attribute:
        element = GraphOp.infer_element_type(self)
        if not isinstance(element, IntegerType):
            raise ShapeError(f"element type must be an integer, got {element}")
        return element


@irdl_op_definition
class BitwiseAndOp(BitwiseOp):
    """
    Bits that are set in both.

    ```mlir
    %0 = graph.bitwise_and %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    ```
    """

    name = "graph.bitwise_and"


@irdl_op_definition
class BitwiseOrOp(BitwiseOp):
    """
    Bits that are set in either.

    ```mlir
    %0 = graph.bitwise_or %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    ```
    """

    name = "graph.bitwise_or"


@irdl_op_definition
class BitwiseXorOp(BitwiseOp):
    """
    Bits that are set in exactly one.

    ```mlir
    %0 = graph.bitwise_xor %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    ```
    """

    name = "graph.bitwise_xor"


@irdl_op_definition
class BitcastOp(RetypingOp):
    """
    The same bits as another element type of the same width. Nothing is computed.

    ```mlir
    %0 = graph.bitcast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
    ```
    """

    name = "graph.bitcast"

    def infer_element_type(self) -> Attribute:
        old, new = element_of(self.input), element_of(self.result)
        if _memory(old) != _memory(new):
            raise ShapeError(f"{old} and {new} are not of the same width")
        return new


def _memory(type_: Attribute) -> int | None:
    """The width of an element; truth values take a byte."""
    if not isinstance(type_, AnyFloat | IntegerType):
        return None
    return max(type_.bitwidth, 8) if type_ == IntegerType(1) else type_.bitwidth
