"""Graph ops that move elements without computing on them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import base, irdl_op_definition, operand_def, prop_def, var_operand_def

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.base import (
    ANY_TENSOR,
    INT,
    INTS,
    GraphOp,
    Value,
    element_of,
    int_attr,
    ints,
    shape_of,
)
from npu_mlir.dialects.graph.shapes import Shape, ShapeError


class TargetShapeOp(GraphOp, ABC):
    """An op whose result shape is given by its result type. One that is not possible is a `ShapeError`."""

    input = operand_def(ANY_TENSOR)

    assembly_format = "$input attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, shape: Sequence[int]):
        element = element_of(SSAValue.get(input))
        super().__init__([input], result_type=TensorType(element, shape))
        self.infer_shape()


@irdl_op_definition
class ReshapeOp(TargetShapeOp):
    """
    The same elements in row-major order under another shape.

    ```mlir
    %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    ```
    """

    name = "graph.reshape"

    def infer_shape(self) -> Shape:
        return shapes.reshape(shape_of(self.input), shape_of(self.result))


@irdl_op_definition
class ExpandOp(TargetShapeOp):
    """
    Explicit broadcast to the result's shape.

    ```mlir
    %0 = graph.expand %x : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    ```
    """

    name = "graph.expand"

    def infer_shape(self) -> Shape:
        target = shape_of(self.result)
        if shapes.broadcast(shape_of(self.input), target) != target:
            raise ShapeError(f"{shapes.text(shape_of(self.input))} does not expand to {shapes.text(target)}")
        return target


@irdl_op_definition
class TransposeOp(GraphOp):
    """
    Dimensions reordered: result dimension `i` is input dimension `perm[i]`.

    ```mlir
    %0 = graph.transpose %x perm [0, 3, 1, 2] : (tensor<1x24x24x3xf32>) -> tensor<1x3x24x24xf32>
    ```
    """

    name = "graph.transpose"

    input = operand_def(ANY_TENSOR)
    perm = prop_def(INTS)

    assembly_format = "$input `perm` $perm attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, perm: Sequence[int]):
        super().__init__([input], {"perm": ints(perm)})

    def infer_shape(self) -> Shape:
        return shapes.transpose(shape_of(self.input), self.perm.get_values())


@irdl_op_definition
class ConcatOp(GraphOp):
    """
    Operands joined along one axis.

    ```mlir
    %0 = graph.concat %x, %y axis 1 : (tensor<1x8x4xf32>, tensor<1x2x4xf32>) -> tensor<1x10x4xf32>
    ```
    """

    name = "graph.concat"

    inputs = var_operand_def(ANY_TENSOR)
    axis = prop_def(INT)

    assembly_format = "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, inputs: Sequence[Value], axis: int):
        super().__init__([inputs], {"axis": int_attr(axis)})

    def infer_element_type(self) -> Attribute:
        if not self.inputs:
            raise ShapeError("concat needs at least one operand")
        return super().infer_element_type()

    def infer_shape(self) -> Shape:
        return shapes.concat([shape_of(operand) for operand in self.inputs], self.axis.value.data)


@irdl_op_definition
class SliceOp(GraphOp):
    """
    A strided box of the input; one offset, size and stride (1 or more) for every dimension.

    ```mlir
    %0 = graph.slice %x offsets [0, 2] sizes [2, 3] strides [1, 2] : (tensor<2x8xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.slice"

    input = operand_def(ANY_TENSOR)
    offsets = prop_def(INTS)
    sizes = prop_def(INTS)
    strides = prop_def(INTS)

    assembly_format = (
        "$input `offsets` $offsets `sizes` $sizes `strides` $strides"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]):
        super().__init__([input], {"offsets": ints(offsets), "sizes": ints(sizes), "strides": ints(strides)})

    def infer_shape(self) -> Shape:
        shape, sizes = shape_of(self.input), self.sizes.get_values()
        offsets, strides = self.offsets.get_values(), self.strides.get_values()
        if not len(shape) == len(offsets) == len(sizes) == len(strides):
            raise ShapeError(f"offsets, sizes and strides need {len(shape)} entries each")
        for extent, offset, size, stride in zip(shape, offsets, sizes, strides, strict=True):
            if offset < 0 or size < 0 or stride < 1 or (size and offset + (size - 1) * stride >= extent):
                raise ShapeError(f"{size} elements from {offset} in steps of {stride} leave extent {extent}")
        return sizes


@irdl_op_definition
class PadOp(GraphOp):
    """
    The input surrounded by a constant: `low` positions before and `high` after, for every dimension.

    ```mlir
    %0 = graph.pad %x low [0, 1] high [0, 2] value 0.0 : f32 : (tensor<2x8xf32>) -> tensor<2x11xf32>
    ```
    """

    name = "graph.pad"

    input = operand_def(ANY_TENSOR)
    low = prop_def(INTS)
    high = prop_def(INTS)
    value = prop_def(base(FloatAttr) | base(IntegerAttr))

    assembly_format = (
        "$input `low` $low `high` $high `value` $value attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, low: Sequence[int], high: Sequence[int], value: float):
        element = element_of(SSAValue.get(input))
        constant = (
            FloatAttr(float(value), element)
            if isinstance(element, AnyFloat)
            else _integer(int(value), element)
        )
        super().__init__([input], {"low": ints(low), "high": ints(high), "value": constant})

    def infer_element_type(self) -> Attribute:
        element = super().infer_element_type()
        if self.value.type != element:
            raise ShapeError(f"padding value is {self.value.type}, elements are {element}")
        return element

    def infer_shape(self) -> Shape:
        shape, low, high = shape_of(self.input), self.low.get_values(), self.high.get_values()
        if not len(shape) == len(low) == len(high):
            raise ShapeError(f"low and high need {len(shape)} entries each")
        if min((*low, *high), default=0) < 0:
            raise ShapeError("padding must not be negative")
        return tuple(sum(parts) for parts in zip(low, shape, high, strict=True))


def _integer(value: int, element: Attribute) -> IntegerAttr[IntegerType]:
    if not isinstance(element, IntegerType):
        raise ShapeError(f"cannot pad elements of type {element}")
    return IntegerAttr(value, element)


@irdl_op_definition
class GatherOp(GraphOp):
    """
    Slices of `input` along `axis`, picked by integer indices (negative ones count from the end). The index
    shape takes the place of the axis.

    ```mlir
    %0 = graph.gather %table, %indices axis 0 : (tensor<100x8xf32>, tensor<2x5xi64>) -> tensor<2x5x8xf32>
    ```
    """

    name = "graph.gather"

    input = operand_def(ANY_TENSOR)
    indices = operand_def(ANY_TENSOR)
    axis = prop_def(INT)

    assembly_format = "$input `,` $indices `axis` $axis attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, indices: Value, axis: int):
        super().__init__([input, indices], {"axis": int_attr(axis)})

    def infer_element_type(self) -> Attribute:
        if not isinstance(element_of(self.indices), IntegerType):
            raise ShapeError(f"indices must be integers, got {element_of(self.indices)}")
        return element_of(self.input)

    def infer_shape(self) -> Shape:
        shape, axis = shape_of(self.input), self.axis.value.data
        shapes.check_axes([axis], len(shape))
        return (*shape[:axis], *shape_of(self.indices), *shape[axis + 1 :])


@irdl_op_definition
class ScatterOp(GraphOp):
    """
    `input` with slices of `updates` put along `axis`, where integer indices say (negative ones count from the end).
    The index shape takes the place of the axis in the shape of the updates. The last of equal indices wins.

    ```mlir
    %0 = graph.scatter %x, %indices, %updates axis 0
      : (tensor<100x8xf32>, tensor<5xi64>, tensor<5x8xf32>) -> tensor<100x8xf32>
    ```
    """

    name = "graph.scatter"

    input = operand_def(ANY_TENSOR)
    indices = operand_def(ANY_TENSOR)
    updates = operand_def(ANY_TENSOR)
    axis = prop_def(INT)

    assembly_format = (
        "$input `,` $indices `,` $updates `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: Value, indices: Value, updates: Value, axis: int):
        super().__init__([input, indices, updates], {"axis": int_attr(axis)})

    def infer_element_type(self) -> Attribute:
        if not isinstance(element_of(self.indices), IntegerType):
            raise ShapeError(f"indices must be integers, got {element_of(self.indices)}")
        if element_of(self.updates) != element_of(self.input):
            raise ShapeError(f"updates are {element_of(self.updates)}, elements are {element_of(self.input)}")
        return element_of(self.input)

    def infer_shape(self) -> Shape:
        shape, axis = shape_of(self.input), self.axis.value.data
        shapes.check_axes([axis], len(shape))
        wanted = (*shape[:axis], *shape_of(self.indices), *shape[axis + 1 :])
        if shape_of(self.updates) != wanted:
            raise ShapeError(
                f"updates are {shapes.text(shape_of(self.updates))}, expected {shapes.text(wanted)}"
            )
        return shape
