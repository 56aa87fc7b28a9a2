"""Graph ops between real numbers and integers that stand for them: `real = (integer - zero_point) * scale`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, IntegerType, f16, f32, f64, i1, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.base import (
    ANY_TENSOR,
    FLOAT,
    INT,
    Value,
    element_of,
    float_attr,
    int_attr,
    shape_of,
)
from npu_mlir.dialects.graph.elementwise import ElementwiseOp
from npu_mlir.dialects.graph.shapes import Shape, ShapeError


class ScaledOp(ElementwiseOp, ABC):
    """An op between numbers and integers, with a scale and a zero point that broadcast to the input."""

    input = operand_def(ANY_TENSOR)
    scale = operand_def(ANY_TENSOR)
    zero_point = operand_def(ANY_TENSOR)

    assembly_format = "$input `,` $scale `,` $zero_point attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, scale: Value, zero_point: Value):
        super().__init__([input, scale, zero_point])

    def infer_shape(self) -> Shape:
        shape = shape_of(self.input)
        for value in (self.scale, self.zero_point):
            if shapes.broadcast(shape, shape_of(value)) != shape:
                raise ShapeError(f"{shapes.text(shape_of(value))} does not broadcast to {shapes.text(shape)}")
        return shape


@irdl_op_definition
class QuantizeOp(ScaledOp):
    """
    The integers that stand for numbers: `input / scale`, rounded to the nearest (the even one of two), plus
    `zero_point`, limited to the range of the type, which is that of `zero_point`.

    Scale and zero point broadcast to the input. The quotient is one of the scale's type, all else is computed in f32;
    an input of integers (i32 sums) is taken as f32. What becomes of NaN is not defined.

    ```mlir
    %0 = graph.quantize %x, %scale, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
    ```
    """

    name = "graph.quantize"

    def infer_element_type(self) -> Attribute:
        require_scale(self.scale)
        element = element_of(self.input)
        if isinstance(element, AnyFloat) and element != element_of(self.scale):
            raise ShapeError(f"input and scale are {element} and {element_of(self.scale)}")
        return require_integer(self.zero_point)


@irdl_op_definition
class DequantizeOp(ScaledOp):
    """
    The numbers that integers stand for: `(input - zero_point) * scale`, computed in f32 and rounded to the result's
    type.

    Scale and zero point broadcast to the input.

    ```mlir
    %0 = graph.dequantize %x, %scale, %zero : (tensor<2x3xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.dequantize"

    def infer_element_type(self) -> Attribute:
        if require_integer(self.zero_point) != element_of(self.input):
            raise ShapeError(
                f"input and zero point are {element_of(self.input)} and {element_of(self.zero_point)}"
            )
        return require_scale(self.scale)


@irdl_op_definition
class RequantizeOp(ScaledOp):
    """
    The integers that stand for sums of products of such integers: `input * scale`, rounded to the nearest (the even
    one of two), plus `zero_point`, limited to the range of the type, which is that of `zero_point`.

    The input is i32, the scale f32: what both factors' scales are by that of the result. The sum is rounded to f32 and
    multiplied in f32. With `from` the result is at least that number: with the zero point, that is a relu.

    ```mlir
    %0 = graph.requantize %sum, %scale, %zero from -3
        : (tensor<2x3xi32>, tensor<3xf32>, tensor<i8>) -> tensor<2x3xi8>
    ```
    """

    name = "graph.requantize"

    least = opt_prop_def(INT)

    assembly_format = (
        "$input `,` $scale `,` $zero_point (`from` $least^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, scale: Value, zero_point: Value, least: int | None = None):
        super().__init__(input, scale, zero_point)
        if least is not None:
            self.properties["least"] = int_attr(least)

    def infer_element_type(self) -> Attribute:
        if element_of(self.input) != i32 or element_of(self.scale) != f32:
            raise ShapeError(
                f"input and scale are i32 and f32, got {element_of(self.input)} and {element_of(self.scale)}"
            )
        return require_integer(self.zero_point)


@irdl_op_definition
class QuantizedAddOp(ElementwiseOp):
    """
    The sum of two tensors of i8 that stand for numbers, as such integers, computed in f16:
    `lhs * scales[0] + rhs * scales[1] + offset`, rounded to f16 after each operation and in the end to the nearest
    integer (the even one of two), limited to the range of i8. With `from` it is at least that number: a relu. `lhs` may
    be numbers in f16 already.

    ```mlir
    %0 = graph.quantized_add %x, %y scales [0.5, 1.25] offset 3.0 from -128
        : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
    ```
    """

    name = "graph.quantized_add"

    lhs = operand_def(ANY_TENSOR)
    rhs = operand_def(ANY_TENSOR)
    scales = prop_def(DenseArrayBase.constr(f64))
    offset = prop_def(FLOAT)
    least = opt_prop_def(INT)

    assembly_format = (
        "$lhs `,` $rhs `scales` $scales `offset` $offset (`from` $least^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self, lhs: Value, rhs: Value, scales: Sequence[float], offset: float, least: int | None = None
    ):
        properties: dict[str, Attribute | None] = {
            "scales": DenseArrayBase.from_list(f64, [float(scale) for scale in scales]),
            "offset": float_attr(offset),
            "least": None if least is None else int_attr(least),
        }
        super().__init__([lhs, rhs], properties)

    def infer_shape(self) -> Shape:
        if shape_of(self.lhs) != shape_of(self.rhs):
            raise ShapeError(
                f"operands are {shapes.text(shape_of(self.lhs))} and {shapes.text(shape_of(self.rhs))}"
            )
        return shape_of(self.lhs)

    def infer_element_type(self) -> Attribute:
        if element_of(self.lhs) not in (i8, f16) or element_of(self.rhs) != i8:
            raise ShapeError(f"operands are i8, got {element_of(self.lhs)} and {element_of(self.rhs)}")
        if len(self.scales.get_values()) != 2:
            raise ShapeError("there is a scale for each of two operands")
        return i8


def require_integer(value: SSAValue) -> Attribute:
    """The element type of a tensor of integers."""
    element = element_of(value)
    if not isinstance(element, IntegerType) or element == i1:
        raise ShapeError(f"element type must be an integer, got {element}")
    return element


def require_scale(value: SSAValue) -> Attribute:
    """The element type of a scale."""
    element = element_of(value)
    if not isinstance(element, AnyFloat):
        raise ShapeError(f"the scale must be a float, got {element}")
    return element
