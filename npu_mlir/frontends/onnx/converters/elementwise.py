"""Elementwise operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

import numpy as np
import onnx
from xdsl.dialects.builtin import AnyFloat, f32
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import GraphOp, element_of
from npu_mlir.frontends.onnx.converters.casts import converted, element_named
from npu_mlir.frontends.onnx.fold import CannotEvaluate, evaluate
from npu_mlir.frontends.onnx.node import Node, Unsupported, Value, converts
from npu_mlir.support.dtypes import numpy_dtype

UNARY: dict[str, Callable[[SSAValue], GraphOp]] = {
    "Relu": graph.ReluOp,
    "Sigmoid": graph.SigmoidOp,
    "Softplus": graph.SoftplusOp,
    "Mish": graph.MishOp,
    "Tanh": graph.TanhOp,
    "Erf": graph.ErfOp,
    "Exp": graph.ExpOp,
    "Log": graph.LogOp,
    "Sqrt": graph.SqrtOp,
    "Reciprocal": graph.ReciprocalOp,
    "Neg": graph.NegOp,
    "Abs": graph.AbsOp,
    "Floor": graph.FloorOp,
    "Ceil": graph.CeilOp,
    "Not": graph.LogicalNotOp,
    "Round": graph.RoundOp,
    "Sin": graph.SinOp,
    "Cos": graph.CosOp,
    "Tan": graph.TanOp,
    "Asin": graph.AsinOp,
    "Acos": graph.AcosOp,
    "Atan": graph.AtanOp,
    "Sinh": graph.SinhOp,
    "Cosh": graph.CoshOp,
    "Asinh": graph.AsinhOp,
    "Acosh": graph.AcoshOp,
    "Atanh": graph.AtanhOp,
}

BINARY: dict[str, Callable[[SSAValue, SSAValue], GraphOp]] = {
    "Add": graph.AddOp,
    "Sub": graph.SubOp,
    "Mul": graph.MulOp,
    "Div": graph.DivOp,
    "And": graph.LogicalAndOp,
    "Or": graph.LogicalOrOp,
    "Xor": graph.LogicalXorOp,
    "BitwiseAnd": graph.BitwiseAndOp,
    "BitwiseOr": graph.BitwiseOrOp,
    "BitwiseXor": graph.BitwiseXorOp,
    "Equal": graph.EqualOp,
    "Less": graph.LessOp,
    "LessOrEqual": graph.LessOrEqualOp,
    "Greater": graph.GreaterOp,
    "GreaterOrEqual": graph.GreaterOrEqualOp,
    "PRelu": graph.PReluOp,
}

VARIADIC: dict[str, Callable[[SSAValue, SSAValue], GraphOp]] = {
    "Max": graph.MaximumOp,
    "Min": graph.MinimumOp,
    "Sum": graph.AddOp,
    "Mean": graph.AddOp,
}


@converts(*UNARY)
def unary(node: Node) -> SSAValue:
    """The operators of one operand, as the op of the same meaning."""
    return node.add(UNARY[node.operator](node.value(0)))


@converts(*BINARY)
def binary(node: Node) -> SSAValue:
    """The operators of two operands, which broadcast as in NumPy."""
    return node.add(BINARY[node.operator](node.value(0), node.value(1)))


@converts(*VARIADIC)
def variadic(node: Node) -> SSAValue:
    """Any number of operands, combined from left to right; `Mean` divides the sum by their number."""
    make = VARIADIC[node.operator]
    values = node.values()
    total = reduce(lambda lhs, rhs: node.add(make(lhs, rhs)), values)
    if node.operator == "Mean" and len(values) > 1:
        return node.add(graph.MulOp(total, node.scalar(1 / len(values), total)))
    return total


@converts("Where")
def where(node: Node) -> SSAValue:
    """Where the first operand is true the second, else the third; all three broadcast."""
    return node.add(graph.WhereOp(node.value(0), node.value(1), node.value(2)))


@converts("LeakyRelu")
def leaky_relu(node: Node) -> SSAValue:
    """`x` where it is positive, else `alpha * x`."""
    return node.add(graph.LeakyReluOp(node.value(0), node.real("alpha", 0.01)))


@converts("HardSigmoid")
def hard_sigmoid(node: Node) -> SSAValue:
    """`max(0, min(1, alpha * x + beta))`."""
    alpha, beta = node.real("alpha", 0.2), node.real("beta", 0.5)
    return node.add(graph.HardSigmoidOp(node.value(0), alpha, beta))


@converts("Clip")
def clip(node: Node) -> SSAValue:
    """Limits that are known become attributes, others a maximum and a minimum."""
    value = node.value(0)
    if node.opset < 11:
        low, high = node.attribute("min"), node.attribute("max")
        return node.add(graph.ClipOp(value, low, high))
    bounds = [_known_scalar(node, index) for index in (1, 2)]
    if isinstance(element_of(value), AnyFloat) and None not in bounds:
        low, high = (None if bound is Ellipsis else float(bound) for bound in bounds)
        return node.add(graph.ClipOp(value, low, high))
    if node.has(1):
        value = node.add(graph.MaximumOp(value, node.value(1)))
    return node.add(graph.MinimumOp(value, node.value(2))) if node.has(2) else value


def _known_scalar(node: Node, index: int) -> Any:
    """A bound that is known now; `...` if it is absent, None if it is computed by the model."""
    if not node.has(index):
        return ...
    value = node.raw(index)
    return value.reshape(-1)[0] if isinstance(value, np.ndarray) else None


@converts("Cast")
def cast(node: Node) -> SSAValue:
    """A cast to the type that `to` names; one that we do not have is refused."""
    return converted(node, node.value(0), element_named(node.integer("to", 0)), *_rounding(node))


@converts("CastLike")
def cast_like(node: Node) -> Value | Sequence[Value]:
    """A cast to the element type of the second operand; only that has to be known for a constant to stay one."""
    raw, like = node.raw(0), node.raw(1)
    saturate, rounding = _rounding(node)
    if isinstance(raw, np.ndarray) and isinstance(like, SSAValue):
        attributes: dict[str, Any] = {} if saturate else {"saturate": 0}
        attributes |= {} if rounding == "up" else {"round_mode": rounding}
        cast_node = onnx.helper.make_node(
            "Cast",
            ["x"],
            ["y"],
            to=onnx.helper.np_dtype_to_tensor_dtype(numpy_dtype(element_of(like))),
            **attributes,
        )
        with suppress(CannotEvaluate):
            return evaluate(cast_node, [raw], {"": node.opset})
    return converted(node, node.value(0), element_of(node.value(1)), saturate, rounding)


def _rounding(node: Node) -> tuple[bool, str]:
    """Whether a cast to a float of 8 bits saturates, and how one to powers of 2 rounds."""
    return bool(node.integer("saturate", 1)), node.text("round_mode", "up")


@converts("Identity", "Dropout")
def identity(node: Node) -> list[Any]:
    """The operand itself. Dropout in training mode is refused."""
    if node.operator == "Dropout":
        node.real("ratio", 0.5)
        node.attribute("seed")
        if node.has(2) and bool(node.constant(2, "training mode").reshape(-1)[0]):
            raise Unsupported("training mode is not supported")
    return [node.raw(0)]


@converts("Celu")
def celu(node: Node) -> SSAValue:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`; narrow floats are computed in f32 and rounded once."""
    value = node.value(0)
    element, alpha = element_of(value), node.real("alpha", 1.0)
    narrow = isinstance(element, AnyFloat) and element.bitwidth < 32
    x = node.add(graph.CastOp(value, f32)) if narrow else value
    power = node.add(graph.ExpOp(node.add(graph.DivOp(x, node.scalar(alpha, x)))))
    below = node.add(graph.MulOp(node.add(graph.SubOp(power, node.scalar(1, x))), node.scalar(alpha, x)))
    negative = node.add(graph.LessOp(x, node.scalar(0, x)))
    result = node.add(graph.WhereOp(negative, below, x))
    return node.add(graph.CastOp(result, element)) if narrow else result
