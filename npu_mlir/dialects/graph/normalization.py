"""Graph ops that reduce along axes, or normalise by such reductions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.attributes import ReduceKind, ReduceKindAttr
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
class ReduceOp(GraphOp):
    """
    Sum, mean, max, min or prod over `axes` (ascending, not negative), which disappear or stay as
    extents of 1.

    ```mlir
    %0 = graph.reduce sum %x axes [1, 2] keepdims : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
    ```
    """

    name = "graph.reduce"

    input = operand_def(ANY_TENSOR)
    kind = prop_def(ReduceKindAttr)
    axes = prop_def(INTS)
    keepdims = opt_prop_def(UnitAttr)

    assembly_format = (
        "$kind $input `axes` $axes (`keepdims` $keepdims^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, kind: ReduceKind, input: Value, axes: Sequence[int], keepdims: bool = False):
        super().__init__(
            [input],
            {
                "kind": ReduceKindAttr(kind),
                "axes": ints(axes),
                "keepdims": UnitAttr() if keepdims else None,
            },
        )

    def infer_shape(self) -> Shape:
        return shapes.reduce(shape_of(self.input), self.axes.get_values(), self.keepdims is not None)


class SoftmaxLikeOp(GraphOp, ABC):
    """A function of each vector along one axis."""

    input = operand_def(ANY_TENSOR)
    axis = prop_def(INT)

    assembly_format = "$input `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, axis: int):
        super().__init__([input], {"axis": int_attr(axis)})

    def infer_element_type(self) -> Attribute:
        return require_float(self)

    def infer_shape(self) -> Shape:
        shape = shape_of(self.input)
        shapes.check_axes([self.axis.value.data], len(shape))
        return shape


@irdl_op_definition
class SoftmaxOp(SoftmaxLikeOp):
    """
    `exp(x) / sum(exp(x))` along one axis.

    ```mlir
    %0 = graph.softmax %x axis 1 : (tensor<4x10xf32>) -> tensor<4x10xf32>
    ```
    """

    name = "graph.softmax"


@irdl_op_definition
class LogSoftmaxOp(SoftmaxLikeOp):
    """
    Logarithm of the softmax along one axis.

    ```mlir
    %0 = graph.log_softmax %x axis 1 : (tensor<4x10xf32>) -> tensor<4x10xf32>
    ```
    """

    name = "graph.log_softmax"


@irdl_op_definition
class LayerNormOp(GraphOp):
    """
    `(x - mean) / sqrt(variance + epsilon) * scale + bias`, statistics over the dimensions from `axis` on.
    Scale and bias broadcast to the input.

    ```mlir
    %0 = graph.layer_norm %x, %scale, %bias axis 2 epsilon 1.0e-05
        : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    ```
    """

    name = "graph.layer_norm"

    input = operand_def(ANY_TENSOR)
    scale = operand_def(ANY_TENSOR)
    bias = opt_operand_def(ANY_TENSOR)
    axis = prop_def(INT)
    epsilon = prop_def(FLOAT)

    assembly_format = (
        "$input `,` $scale (`,` $bias^)? `axis` $axis `epsilon` $epsilon"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, scale: Value, bias: Value | None = None, *, axis: int, epsilon: float):
        super().__init__([input, scale, bias], {"axis": int_attr(axis), "epsilon": float_attr(epsilon)})

    def infer_element_type(self) -> Attribute:
        return require_float(self)

    def infer_shape(self) -> Shape:
        shape = shape_of(self.input)
        shapes.check_axes([self.axis.value.data], len(shape))
        for operand in self.operands[1:]:
            if shapes.broadcast(shape, shape_of(operand)) != shape:
                raise ShapeError(
                    f"{shapes.text(shape_of(operand))} does not broadcast to {shapes.text(shape)}"
                )
        return shape


@irdl_op_definition
class RmsNormOp(GraphOp):
    """
    `x / sqrt(mean(x * x) + epsilon) * scale`, the mean over the dimensions from `axis` on. The scale broadcasts to the
    input.

    ```mlir
    %0 = graph.rms_norm %x, %scale axis 2 epsilon 1.0e-05
        : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    ```
    """

    name = "graph.rms_norm"

    input = operand_def(ANY_TENSOR)
    scale = operand_def(ANY_TENSOR)
    axis = prop_def(INT)
    epsilon = prop_def(FLOAT)

    assembly_format = (
        "$input `,` $scale `axis` $axis `epsilon` $epsilon attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, scale: Value, *, axis: int, epsilon: float):
        super().__init__([input, scale], {"axis": int_attr(axis), "epsilon": float_attr(epsilon)})

    def infer_element_type(self) -> Attribute:
        return require_float(self)

    def infer_shape(self) -> Shape:
        shape, scale = shape_of(self.input), shape_of(self.scale)
        shapes.check_axes([self.axis.value.data], len(shape))
        if shapes.broadcast(shape, scale) != shape:
            raise ShapeError(f"{shapes.text(scale)} does not broadcast to {shapes.text(shape)}")
        return shape


@irdl_op_definition
class BatchNormOp(GraphOp):
    """
    `(x - mean) / sqrt(variance + epsilon) * scale + bias` with given statistics, one entry for each channel
    (dimension 1). `graph-fold-batch-norm` removes every one of them.

    ```mlir
    %0 = graph.batch_norm %x, %scale, %bias, %mean, %variance epsilon 1.0e-05
        : (tensor<1x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
        -> tensor<1x8x4x4xf32>
    ```
    """

    name = "graph.batch_norm"

    input = operand_def(ANY_TENSOR)
    scale = operand_def(ANY_TENSOR)
    bias = operand_def(ANY_TENSOR)
    mean = operand_def(ANY_TENSOR)
    variance = operand_def(ANY_TENSOR)
    epsilon = prop_def(FLOAT)

    assembly_format = (
        "$input `,` $scale `,` $bias `,` $mean `,` $variance `epsilon` $epsilon"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, scale: Value, bias: Value, mean: Value, variance: Value, epsilon: float):
        super().__init__([input, scale, bias, mean, variance], {"epsilon": float_attr(epsilon)})

    def infer_element_type(self) -> Attribute:
        return require_float(self)

    def infer_shape(self) -> Shape:
        shape = shape_of(self.input)
        if len(shape) < 2:
            raise ShapeError(f"input {shapes.text(shape)} must have rank 2 or more")
        for operand in self.operands[1:]:
            if shape_of(operand) != (shape[1],):
                raise ShapeError(f"statistics are {shapes.text(shape_of(operand))}, expected {shape[1]}")
        return shape
