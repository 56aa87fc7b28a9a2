"""Graph ops that multiply and sum: convolution and matrix products. f16 operands accumulate in f32.

Convolutions and products of integers of 8 and 16 bits have results of i32.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, IntegerType, UnitAttr, i1, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.attributes import Layout, LayoutAttr
from npu_mlir.dialects.graph.base import (
    ANY_TENSOR,
    FLOAT,
    INT,
    INTS,
    GraphOp,
    Value,
    float_attr,
    int_attr,
    ints,
    require_float,
    shape_of,
)
from npu_mlir.dialects.graph.shapes import Shape, ShapeError


@irdl_op_definition
class ConvOp(GraphOp):
    """
    Convolution over any number of spatial dimensions, with zero padding; pads are all begins, then all ends.

    Layout NCHW takes OIHW weights (output channels, input channels of a group, window), NHWC takes HWIO
    weights.

    ```mlir
    %0 = graph.conv %x, %w, %b strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1]
        : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x5x5xf32>
    %1 = graph.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 8 layout NHWC
        : (tensor<1x9x9x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x7x7x8xf32>
    ```
    """

    name = "graph.conv"

    input = operand_def(ANY_TENSOR)
    weight = operand_def(ANY_TENSOR)
    bias = opt_operand_def(ANY_TENSOR)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    group = prop_def(INT, default_value=int_attr(1))
    layout = prop_def(LayoutAttr, default_value=LayoutAttr(Layout.NCHW))

    assembly_format = (
        "$input `,` $weight (`,` $bias^)? `strides` $strides `pads` $pads `dilations` $dilations"
        " (`group` $group^)? (`layout` $layout^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        input: Value,
        weight: Value,
        bias: Value | None = None,
        *,
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        group: int = 1,
        layout: Layout = Layout.NCHW,
    ):
        super().__init__(
            [input, weight, bias],
            {
                "strides": ints(strides),
                "pads": ints(pads),
                "dilations": ints(dilations),
                "group": int_attr(group),
                "layout": LayoutAttr(layout),
            },
        )

    def infer_element_type(self) -> Attribute:
        return sum_type(self)

    def infer_shape(self) -> Shape:
        shape, weight = shape_of(self.input), shape_of(self.weight)
        if len(shape) < 3 or len(weight) != len(shape):
            raise ShapeError(
                f"input {shapes.text(shape)} and weight {shapes.text(weight)} must have equal rank >= 3"
            )
        batch, channels, spatial = split_layout(shape, self.layout.data)
        if self.layout.data is Layout.NCHW:
            out, per_group, kernel = weight[0], weight[1], weight[2:]
        else:
            out, per_group, kernel = weight[-1], weight[-2], weight[:-2]
        group = self.group.value.data
        if group < 1 or channels != per_group * group or out % group:
            raise ShapeError(
                f"{group} groups of {per_group} input channels to {out} output channels "
                f"do not fit {channels} channels"
            )
        if self.bias is not None and shape_of(self.bias) != (out,):
            raise ShapeError(f"bias is {shapes.text(shape_of(self.bias))}, expected {out}")
        extents = shapes.window(
            spatial, kernel, self.strides.get_values(), self.pads.get_values(), self.dilations.get_values()
        )
        return join_layout(batch, out, extents, self.layout.data)


def sum_type(op: GraphOp) -> Attribute:
    """The element type of sums of products: that of the operands, i32 for integers of 8 and 16 bits."""
    element = GraphOp.infer_element_type(op)
    if isinstance(element, AnyFloat):
        return element
    if not isinstance(element, IntegerType) or element == i1:
        raise ShapeError(f"element type must be a number, got {element}")
    return element if element.width.data >= i32.width.data else i32


def split_layout(shape: Shape, layout: Layout) -> tuple[int, int, Shape]:
    """An image shape as (batch, channels, spatial extents)."""
    if layout is Layout.NCHW:
        return shape[0], shape[1], shape[2:]
    return shape[0], shape[-1], shape[1:-1]


def join_layout(batch: int, channels: int, spatial: Shape, layout: Layout) -> Shape:
    """The image shape of these parts."""
    return (batch, channels, *spatial) if layout is Layout.NCHW else (batch, *spatial, channels)


@irdl_op_definition
class MatmulOp(GraphOp):
    """
    Matrix product over the last two dimensions; leading dimensions broadcast. Operands have rank 2 or more.

    ```mlir
    %0 = graph.matmul %x, %w : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    ```
    """

    name = "graph.matmul"

    lhs = operand_def(ANY_TENSOR)
    rhs = operand_def(ANY_TENSOR)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: Value, rhs: Value):
        super().__init__([lhs, rhs])

    def infer_element_type(self) -> Attribute:
        return sum_type(self)

    def infer_shape(self) -> Shape:
        return shapes.matmul(shape_of(self.lhs), shape_of(self.rhs))


@irdl_op_definition
class GemmOp(GraphOp):
    """
    `alpha * lhs * rhs + beta * bias` on matrices, either transposed first; the bias broadcasts to the
    product.

    ```mlir
    %0 = graph.gemm %x, %w, %b alpha 1.0 beta 1.0 trans_b
        : (tensor<4x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<4x32xf32>
    ```
    """

    name = "graph.gemm"

    lhs = operand_def(ANY_TENSOR)
    rhs = operand_def(ANY_TENSOR)
    bias = opt_operand_def(ANY_TENSOR)
    alpha = prop_def(FLOAT)
    beta = prop_def(FLOAT)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)

    assembly_format = (
        "$lhs `,` $rhs (`,` $bias^)? `alpha` $alpha `beta` $beta (`trans_a` $trans_a^)?"
        " (`trans_b` $trans_b^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: Value,
        rhs: Value,
        bias: Value | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
    ):
        super().__init__(
            [lhs, rhs, bias],
            {
                "alpha": float_attr(alpha),
                "beta": float_attr(beta),
                "trans_a": UnitAttr() if trans_a else None,
                "trans_b": UnitAttr() if trans_b else None,
            },
        )

    def infer_element_type(self) -> Attribute:
        return require_float(self)

    def infer_shape(self) -> Shape:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        if len(lhs) != 2 or len(rhs) != 2:
            raise ShapeError(f"operands {shapes.text(lhs)} and {shapes.text(rhs)} must have rank 2")
        product = shapes.matmul(lhs[::-1] if self.trans_a else lhs, rhs[::-1] if self.trans_b else rhs)
        if self.bias is not None and shapes.broadcast(product, shape_of(self.bias)) != product:
            raise ShapeError(
                f"bias {shapes.text(shape_of(self.bias))} does not broadcast to {shapes.text(product)}"
            )
        return product
