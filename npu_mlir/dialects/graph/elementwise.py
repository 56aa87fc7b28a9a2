"""Elementwise graph ops. Operands broadcast under NumPy's rules; nothing is materialised by that."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerType, TensorType, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def

from npu_mlir.dialects.graph import shapes
from npu_mlir.dialects.graph.base import (
    ANY_TENSOR,
    FLOAT,
    GraphOp,
    Value,
    element_of,
    float_attr,
    require_float,
    shape_of,
)
from npu_mlir.dialects.graph.shapes import Shape, ShapeError


class ElementwiseOp(GraphOp, ABC):
    """One scalar function of all operands, applied at every position of their common shape."""

    def infer_shape(self) -> Shape:
        return shapes.broadcast(*(shape_of(operand) for operand in self.operands))


class UnaryOp(ElementwiseOp, ABC):
    """An elementwise function of one tensor."""

    input = operand_def(ANY_TENSOR)

    assembly_format = "$input attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value):
        super().__init__([input])


class RetypingOp(ElementwiseOp, ABC):
    """An elementwise function of one tensor, whose element type is the result's choice."""

    input = operand_def(ANY_TENSOR)

    assembly_format = "$input attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, element_type: Attribute):
        super().__init__([input], result_type=TensorType(element_type, shape_of(SSAValue.get(input))))


class FloatUnaryOp(UnaryOp, ABC):
    """An elementwise function of one float tensor."""

    def infer_element_type(self) -> Attribute:
        return require_float(self)


class BinaryOp(ElementwiseOp, ABC):
    """An elementwise function of two tensors of one element type."""

    lhs = operand_def(ANY_TENSOR)
    rhs = operand_def(ANY_TENSOR)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: Value, rhs: Value):
        super().__init__([lhs, rhs])


@irdl_op_definition
class AddOp(BinaryOp):
    """
    Sum.

    ```mlir
    %0 = graph.add %x, %bias : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
    ```
    """

    name = "graph.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """
    Difference.

    ```mlir
    %0 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """
    Product.

    ```mlir
    %0 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """
    Quotient; integers truncate towards zero.

    ```mlir
    %0 = graph.div %x, %y : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.div"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """
    The larger of two; NaN if either is.

    ```mlir
    %0 = graph.maximum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """
    The smaller of two; NaN if either is.

    ```mlir
    %0 = graph.minimum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.minimum"


@irdl_op_definition
class PowOp(BinaryOp):
    """
    `lhs` raised to `rhs`.

    ```mlir
    %0 = graph.pow %x, %exponent : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.pow"


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    `max(x, 0)`.

    ```mlir
    %0 = graph.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.relu"


@irdl_op_definition
class NegOp(UnaryOp):
    """
    `-x`.

    ```mlir
    %0 = graph.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.neg"


@irdl_op_definition
class AbsOp(UnaryOp):
    """
    `|x|`.

    ```mlir
    %0 = graph.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.abs"


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """
    `1 / (1 + exp(-x))`, within 4 ulp of f32.

    ```mlir
    %0 = graph.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.sigmoid"


@irdl_op_definition
class SoftplusOp(FloatUnaryOp):
    """
    `log(1 + exp(x))`, within 4 ulp of f32.

    ```mlir
    %0 = graph.softplus %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.softplus"


@irdl_op_definition
class MishOp(FloatUnaryOp):
    """
    `x * tanh(log(1 + exp(x)))`, within 4 ulp of f32, and within 1e-43 where exp(x) is subnormal (x < -87).

    ```mlir
    %0 = graph.mish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.mish"


@irdl_op_definition
class SwishOp(FloatUnaryOp):
    """
    `x / (1 + exp(-alpha * x))`: x times the sigmoid of a multiple of it. SiLU with an alpha of 1.

    ```mlir
    %0 = graph.swish %x alpha 1.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.swish"

    alpha = prop_def(FLOAT)

    assembly_format = "$input `alpha` $alpha attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, alpha: float = 1.0):
        GraphOp.__init__(self, [input], {"alpha": float_attr(alpha)})


@irdl_op_definition
class HardSwishOp(FloatUnaryOp):
    """
    `x * max(0, min(6, x + 3)) / 6`.

    ```mlir
    %0 = graph.hard_swish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.hard_swish"


@irdl_op_definition
class GeluOp(FloatUnaryOp):
    """
    `x * (1 + erf(x / sqrt(2))) / 2`, or with `tanh` the function that is close to it,
    `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2`.

    ```mlir
    %0 = graph.gelu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = graph.gelu tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.gelu"

    tanh = opt_prop_def(UnitAttr)

    assembly_format = "(`tanh` $tanh^)? $input attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, tanh: bool = False):
        GraphOp.__init__(self, [input], {"tanh": UnitAttr() if tanh else None})


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """
    Hyperbolic tangent, within 4 ulp of f32.

    ```mlir
    %0 = graph.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.tanh"


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """
    Gauss error function.

    ```mlir
    %0 = graph.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.erf"


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """
    e raised to `x`.

    ```mlir
    %0 = graph.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.exp"


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """
    Natural logarithm.

    ```mlir
    %0 = graph.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.log"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """
    Square root.

    ```mlir
    %0 = graph.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.sqrt"


@irdl_op_definition
class ReciprocalOp(FloatUnaryOp):
    """
    `1 / x`.

    ```mlir
    %0 = graph.reciprocal %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.reciprocal"


@irdl_op_definition
class FloorOp(FloatUnaryOp):
    """
    The largest whole number not above `x`.

    ```mlir
    %0 = graph.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.floor"


@irdl_op_definition
class RoundOp(FloatUnaryOp):
    """
    The nearest whole number, the even one of two.

    ```mlir
    %0 = graph.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.round"


@irdl_op_definition
class CeilOp(FloatUnaryOp):
    """
    The smallest whole number not below `x`.

    ```mlir
    %0 = graph.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.ceil"


@irdl_op_definition
class LeakyReluOp(FloatUnaryOp):
    """
    `x` where positive, else `alpha * x`.

    ```mlir
    %0 = graph.leaky_relu %x alpha 0.1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.leaky_relu"

    alpha = prop_def(FLOAT)

    assembly_format = "$input `alpha` $alpha attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, alpha: float):
        GraphOp.__init__(self, [input], {"alpha": float_attr(alpha)})


@irdl_op_definition
class HardSigmoidOp(FloatUnaryOp):
    """
    `max(0, min(1, alpha * x + beta))`.

    ```mlir
    %0 = graph.hard_sigmoid %x alpha 0.2 beta 0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.hard_sigmoid"

    alpha = prop_def(FLOAT)
    beta = prop_def(FLOAT)

    assembly_format = "$input `alpha` $alpha `beta` $beta attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, alpha: float, beta: float):
        GraphOp.__init__(self, [input], {"alpha": float_attr(alpha), "beta": float_attr(beta)})


@irdl_op_definition
class ClipOp(FloatUnaryOp):
    """
    `x` limited to at least `min` and at most `max`; either bound may be absent.

    ```mlir
    %0 = graph.clip %x min 0.0 max 6.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "graph.clip"

    min = opt_prop_def(FLOAT)
    max = opt_prop_def(FLOAT)

    assembly_format = "$input (`min` $min^)? (`max` $max^)? attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, min: float | None = None, max: float | None = None):
        bounds: dict[str, FloatAttr | None] = {
            "min": None if min is None else float_attr(min),
            "max": None if max is None else float_attr(max),
        }
        GraphOp.__init__(self, [input], bounds)


@irdl_op_definition
class PReluOp(ElementwiseOp):
    """
    `x` where positive, else `slope * x`. The slope broadcasts to the input, not the other way round.

    ```mlir
    %0 = graph.prelu %x, %slope : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
    ```
    """

    name = "graph.prelu"

    input = operand_def(ANY_TENSOR)
    slope = operand_def(ANY_TENSOR)

    assembly_format = "$input `,` $slope attr-dict `:` functional-type(operands, results)"

    def __init__(self, input: Value, slope: Value):
        super().__init__([input, slope])

    def infer_shape(self) -> Shape:
        shape = super().infer_shape()
        if shape != shape_of(self.input):
            raise ShapeError(
                f"slope {shapes.text(shape_of(self.slope))} does not broadcast to "
                f"{shapes.text(shape_of(self.input))}"
            )
        return shape


@irdl_op_definition
class CastOp(RetypingOp):
    """
    Conversion to the result's element type. Floats round to nearest even and truncate towards zero on the way
    to integers; anything but zero becomes true.

    ```mlir
    %0 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
    ```
    """

    name = "graph.cast"

    def infer_element_type(self) -> Attribute:
        element = element_of(self.result)
        if not isinstance(element, AnyFloat | IntegerType):
            raise ShapeError(f"cannot cast to {element}")
        return element
