"""Graph ops that reduce a sliding window or all spatial positions of an image."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.attributes import Layout, LayoutAttr
from npu_mlir.dialects.graph.base import (
    ANY_TENSOR,
    INTS,
    GraphOp,
    Value,
    ints,
    require_float,
    shape_of,
)
from npu_mlir.dialects.graph.contraction import join_layout, split_layout
from npu_mlir.dialects.graph.shapes import Shape, ShapeError


class PoolOp(GraphOp, ABC):
    """Reduction of a sliding window, one channel at a time."""

    input = operand_def(ANY_TENSOR)
    kernel = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    layout = prop_def(LayoutAttr, default_value=LayoutAttr(Layout.NCHW))

    def infer_shape(self) -> Shape:
        shape = shape_of(self.input)
        if len(shape) < 3:
            raise ShapeError(f"input {shapes.text(shape)} must have rank 3 or more")
        batch, channels, spatial = split_layout(shape, self.layout.data)
        extents = shapes.window(
            spatial,
            self.kernel.get_values(),
            self.strides.get_values(),
            self.pads.get_values(),
            self.dilations.get_values(),
        )
        return join_layout(batch, channels, extents, self.layout.data)


def _window_properties(
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    layout: Layout,
) -> dict[str, Attribute | None]:
    return {
        "kernel": ints(kernel),
        "strides": ints(strides),
        "pads": ints(pads),
        "dilations": ints(dilations),
        "layout": LayoutAttr(layout),
    }


@irdl_op_definition
class MaxPoolOp(PoolOp):
    """
    Maximum of each window; padding never wins.

    ```mlir
    %0 = graph.max_pool %x kernel [3, 3] strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1]
        : (tensor<1x8x24x24xf32>) -> tensor<1x8x12x12xf32>
    ```
    """

    name = "graph.max_pool"

    assembly_format = (
        "$input `kernel` $kernel `strides` $strides `pads` $pads `dilations` $dilations"
        " (`layout` $layout^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        input: Value,
        *,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        layout: Layout = Layout.NCHW,
    ):
        super().__init__([input], _window_properties(kernel, strides, pads, dilations, layout))


@irdl_op_definition
class AvgPoolOp(PoolOp):
    """
    Mean of each window. Divides by the number of positions inside the image, with `count_include_pad` by the
    number of positions in the window.

    ```mlir
    %0 = graph.avg_pool %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC
        : (tensor<1x24x24x8xf32>) -> tensor<1x12x12x8xf32>
    ```
    """

    name = "graph.avg_pool"

    count_include_pad = opt_prop_def(UnitAttr)

    assembly_format = (
        "$input `kernel` $kernel `strides` $strides `pads` $pads `dilations` $dilations"
        " (`count_include_pad` $count_include_pad^)? (`layout` $layout^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        input: Value,
        *,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        count_include_pad: bool = False,
        layout: Layout = Layout.NCHW,
    ):
        properties = _window_properties(kernel, strides, pads, dilations, layout)
        properties["count_include_pad"] = UnitAttr() if count_include_pad else None
        super().__init__([input], properties)

    def infer_element_type(self) -> Attribute:
        return require_float(self)


class GlobalPoolOp(GraphOp, ABC):
    """Reduction over all spatial positions, which stay as extents of 1."""

    input = operand_def(ANY_TENSOR)
    layout = prop_def(LayoutAttr, default_value=LayoutAttr(Layout.NCHW))

    assembly_format = "$input (`layout` $layout^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, layout: Layout = Layout.NCHW):
        super().__init__([input], {"layout": LayoutAttr(layout)})

    def infer_shape(self) -> Shape:
        shape = shape_of(self.input)
        if len(shape) < 3:
            raise ShapeError(f"input {shapes.text(shape)} must have rank 3 or more")
        batch, channels, spatial = split_layout(shape, self.layout.data)
        return join_layout(batch, channels, (1,) * len(spatial), self.layout.data)


@irdl_op_definition
class GlobalAvgPoolOp(GlobalPoolOp):
    """
    Mean over all spatial positions.

    ```mlir
    %0 = graph.global_avg_pool %x : (tensor<1x8x24x24xf32>) -> tensor<1x8x1x1xf32>
    ```
    """

    name = "graph.global_avg_pool"

    def infer_element_type(self) -> Attribute:
        return require_float(self)


@irdl_op_definition
class GlobalMaxPoolOp(GlobalPoolOp):
    """
    Maximum over all spatial positions.

    ```mlir
    %0 = graph.global_max_pool %x layout NHWC : (tensor<1x24x24x8xf32>) -> tensor<1x1x1x8xf32>
    ```
    """

    name = "graph.global_max_pool"
