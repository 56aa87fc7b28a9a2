"""Elementwise graph ops on angles, and their hyperbolic relatives. Their accuracy is that of the expansions in
`npu_mlir/passes/linalg/trigonometry.py`: within 4 to 7 units of the last place of f32."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from npu_mlir.dialects.graph.elementwise import FloatUnaryOp


@irdl_op_definition
class SinOp(FloatUnaryOp):
    """
    Sine of an angle in radians.

    ```mlir
    %0 = graph.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.sin"


@irdl_op_definition
class CosOp(FloatUnaryOp):
    """
    Cosine of an angle in radians.

    ```mlir
    %0 = graph.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.cos"


@irdl_op_definition
class TanOp(FloatUnaryOp):
    """
    Tangent of an angle in radians.

    ```mlir
    %0 = graph.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.tan"


@irdl_op_definition
class AsinOp(FloatUnaryOp):
    """
    The angle from -pi/2 to pi/2 whose sine is `x`; NaN where |x| is above 1.

    ```mlir
    %0 = graph.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.asin"


@irdl_op_definition
class AcosOp(FloatUnaryOp):
    """
    The angle from 0 to pi whose cosine is `x`; NaN where |x| is above 1.

    ```mlir
    %0 = graph.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.acos"


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    """
    The angle from -pi/2 to pi/2 whose tangent is `x`.

    ```mlir
    %0 = graph.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.atan"


@irdl_op_definition
class SinhOp(FloatUnaryOp):
    """
    Hyperbolic sine, `(exp(x) - exp(-x)) / 2`.

    ```mlir
    %0 = graph.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.sinh"


@irdl_op_definition
class CoshOp(FloatUnaryOp):
    """
    Hyperbolic cosine, `(exp(x) + exp(-x)) / 2`.

    ```mlir
    %0 = graph.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.cosh"


@irdl_op_definition
class AsinhOp(FloatUnaryOp):
    """
    The number whose hyperbolic sine is `x`.

    ```mlir
    %0 = graph.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.asinh"


@irdl_op_definition
class AcoshOp(FloatUnaryOp):
    """
    The number from 0 on whose hyperbolic cosine is `x`; NaN below 1.

    ```mlir
    %0 = graph.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.acosh"


@irdl_op_definition
class AtanhOp(FloatUnaryOp):
    """
    The number whose hyperbolic tangent is `x`; NaN where |x| is above 1.

    ```mlir
    %0 = graph.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.atanh"
