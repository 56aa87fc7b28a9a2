"""Elementwise graph ops on the bits of integers."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from npu_mlir.dialects.graph.base import GraphOp
from npu_mlir.dialects.graph.elementwise import BinaryOp
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
