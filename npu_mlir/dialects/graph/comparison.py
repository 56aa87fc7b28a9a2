"""Elementwise graph ops that make or take truth values."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def

from npu_mlir.dialects.graph.base import ANY_TENSOR, GraphOp, Value, element_of
from npu_mlir.dialects.graph.elementwise import BinaryOp, ElementwiseOp, UnaryOp
from npu_mlir.dialects.graph.shapes import ShapeError


class LogicalOp(BinaryOp, ABC):
    """An elementwise function of two truth values."""

    def infer_element_type(self) -> Attribute:
        return require_bool(self)


class CompareOp(BinaryOp, ABC):
    """An elementwise comparison of two tensors of one element type; the result is i1."""

    def infer_element_type(self) -> Attribute:
        GraphOp.infer_element_type(self)
        return i1


def require_bool(op: GraphOp) -> Attribute:
    """The element type of an op on truth values, which is i1."""
    if GraphOp.infer_element_type(op) != i1:
        raise ShapeError(f"element type must be i1, got {element_of(op.operands[0])}")
    return i1


@irdl_op_definition
class LogicalAndOp(LogicalOp):
    """
    Both.

    ```mlir
    %0 = graph.logical_and %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "graph.logical_and"


@irdl_op_definition
class LogicalOrOp(LogicalOp):
    """
    Either.

    ```mlir
    %0 = graph.logical_or %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "graph.logical_or"


@irdl_op_definition
class LogicalXorOp(LogicalOp):
    """
    Exactly one.

    ```mlir
    %0 = graph.logical_xor %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "graph.logical_xor"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """
    Negation.

    ```mlir
    %0 = graph.logical_not %x : (tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "graph.logical_not"

    def infer_element_type(self) -> Attribute:
        return require_bool(self)


@irdl_op_definition
class EqualOp(CompareOp):
    """
    `lhs == rhs`.

    ```mlir
    %0 = graph.equal %x, %y : (tensor<2x1xi32>, tensor<257xi32>) -> tensor<2x257xi1>
    ```
    """

    name = "graph.equal"


@irdl_op_definition
class LessOp(CompareOp):
    """
    `lhs < rhs`; false if either is NaN.

    ```mlir
    %0 = graph.less %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    ```
    """

    name = "graph.less"


@irdl_op_definition
class LessOrEqualOp(CompareOp):
    """
    `lhs <= rhs`; false if either is NaN.

    ```mlir
    %0 = graph.less_or_equal %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    ```
    """

    name = "graph.less_or_equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """
    `lhs > rhs`; false if either is NaN.

    ```mlir
    %0 = graph.greater %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    ```
    """

    name = "graph.greater"


@irdl_op_definition
class GreaterOrEqualOp(CompareOp):
    """
    `lhs >= rhs`; false if either is NaN.

    ```mlir
    %0 = graph.greater_or_equal %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    ```
    """

    name = "graph.greater_or_equal"


@irdl_op_definition
class WhereOp(ElementwiseOp):
    """
    `lhs` where the condition holds, else `rhs`.

    ```mlir
    %0 = graph.where %c, %x, %y : (tensor<4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    ```
    """

    name = "graph.where"

    condition = operand_def(ANY_TENSOR)
    lhs = operand_def(ANY_TENSOR)
    rhs = operand_def(ANY_TENSOR)

    assembly_format = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, condition: Value, lhs: Value, rhs: Value):
        super().__init__([condition, lhs, rhs])

    def infer_element_type(self) -> Attribute:
        if element_of(self.condition) != i1:
            raise ShapeError(f"condition must be i1, got {element_of(self.condition)}")
        if element_of(self.lhs) != element_of(self.rhs):
            raise ShapeError(f"branches are {element_of(self.lhs)} and {element_of(self.rhs)}")
        return element_of(self.lhs)
