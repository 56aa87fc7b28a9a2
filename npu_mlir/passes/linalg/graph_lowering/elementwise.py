"""Elementwise graph ops: one generic each, broadcasting by maps."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import graph
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.weights import weights_of
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.graph_lowering.registry import (
    apply_formula,
    elementwise,
    lowering,
    scalar_of,
)
from npu_mlir.passes.linalg.signless import is_unsigned
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.diagnostics import UserError

Build = Callable[..., SSAValue]
"""Called with the body and one scalar per operand."""


def _simple(*op_classes: type[Operation], wide: bool = False) -> Callable[[Build], Build]:
    """Register an op that is the same scalar function whatever its properties."""

    def register(build: Build) -> Build:
        @lowering(*op_classes)
        def lower(b: Builder, op: Any) -> SSAValue:
            return elementwise(b, op.operands, shape_of(op.result), element_of(op.result), build, wide=wide)

        return build

    return register


def _named(name: str) -> Build:
    return lambda body, *values: body.apply(name, *values)


for _class, _name in {
    graph.AddOp: "add",
    graph.SubOp: "sub",
    graph.MulOp: "mul",
    graph.DivOp: "div",
    graph.MaximumOp: "max",
    graph.MinimumOp: "min",
    graph.ExpOp: "exp",
    graph.LogOp: "log",
    graph.SqrtOp: "sqrt",
    graph.FloorOp: "floor",
    graph.CeilOp: "ceil",
    graph.LogicalAndOp: "and",
    graph.LogicalOrOp: "or",
    graph.LogicalXorOp: "xor",
    graph.BitwiseAndOp: "and",
    graph.BitwiseOrOp: "or",
    graph.BitwiseXorOp: "xor",
    graph.RoundOp: "roundeven",
    graph.SinOp: "sin",
    graph.CosOp: "cos",
    graph.TanOp: "tan",
    graph.AsinOp: "asin",
    graph.AcosOp: "acos",
    graph.AtanOp: "atan",
    graph.SinhOp: "sinh",
    graph.CoshOp: "cosh",
    graph.AsinhOp: "asinh",
    graph.AcoshOp: "acosh",
    graph.AtanhOp: "atanh",
}.items():
    _simple(_class)(_named(_name))

for _class, _name in {graph.TanhOp: "tanh", graph.ErfOp: "erf"}.items():
    _simple(_class)(_named(_name))

for _class, _predicate in {
    graph.EqualOp: "eq",
    graph.LessOp: "lt",
    graph.LessOrEqualOp: "le",
    graph.GreaterOp: "gt",
    graph.GreaterOrEqualOp: "ge",
}.items():
    _simple(_class)(lambda body, lhs, rhs, predicate=_predicate: body.compare(predicate, lhs, rhs))


@_simple(graph.LogicalNotOp)
def _not(body: Body, value: SSAValue) -> SSAValue:
    return body.apply("xor", value, 1)


@_simple(graph.NegOp)
def _neg(body: Body, value: SSAValue) -> SSAValue:
    return body.apply("neg", value) if isinstance(value.type, AnyFloat) else body.apply("sub", 0, value)


@_simple(graph.AbsOp)
def _abs(body: Body, value: SSAValue) -> SSAValue:
    return value if is_unsigned(value.type) else body.apply("abs", value)


@_simple(graph.ReluOp)
def _relu(body: Body, value: SSAValue) -> SSAValue:
    return body.apply("max", value, 0)


@_simple(graph.ReciprocalOp)
def _reciprocal(body: Body, value: SSAValue) -> SSAValue:
    return body.apply("div", 1, value)


def _formula(name: Callable[[Any], str], *op_classes: type[Operation], **parameters: str) -> None:
    """Register ops that formulas compute: the name of the function, and what it takes of the op's properties."""

    @lowering(*op_classes)
    def lower(b: Builder, op: Any) -> SSAValue:
        values = {key: getattr(op, attr).value.data for key, attr in parameters.items()}

        def build(body: Body, x: SSAValue) -> SSAValue:
            return apply_formula(b, op, body, name(op), x, **values)

        return elementwise(b, op.operands, shape_of(op.result), element_of(op.result), build)


_formula(lambda op: "sigmoid", graph.SigmoidOp)
_formula(lambda op: "hard_swish", graph.HardSwishOp)
_formula(lambda op: "swish", graph.SwishOp, alpha="alpha")
_formula(lambda op: "gelu_tanh" if op.tanh is not None else "gelu", graph.GeluOp)


_ATANH = (0.3333320814, 0.2001076362, 0.1400090262, 0.140059935)


@_simple(graph.SoftplusOp, wide=True)
def _softplus(body: Body, value: SSAValue) -> SSAValue:
    """`max(x, 0) + log(1 + u)` with `u = exp(-|x|)`, the logarithm as `2 atanh(s)` with `s = u / (2 + u)`, which is at
    most 1/3: `2 s (1 + z p(z))` with z = s * s, within 5e-9 (a minimax fit of ours)."""
    power = body.apply("exp", body.apply("mul", body.apply("abs", value), -1))
    s = body.apply("div", power, body.apply("add", power, 2))
    square, double = body.apply("mul", s, s), body.apply("mul", s, 2)
    total = body.apply("mul", square, _ATANH[-1])
    for coefficient in reversed(_ATANH[1:-1]):
        total = body.apply("mul", body.apply("add", total, coefficient), square)
    total = body.apply("mul", body.apply("add", total, _ATANH[0]), square)
    logarithm = body.apply("add", double, body.apply("mul", double, total))
    return body.apply("add", body.apply("max", value, 0), logarithm)


@_simple(graph.MishOp, wide=True)
def _mish(body: Body, value: SSAValue) -> SSAValue:
    """`x n / (n + 2)` with `n = e (e + 2)` and `e = exp(x)`; from 20 on it is x."""
    power = body.apply("exp", body.apply("min", value, 20))
    n = body.apply("mul", power, body.apply("add", power, 2))
    return body.apply("mul", value, body.apply("div", n, body.apply("add", n, 2)))


@lowering(graph.PReluOp)
def prelu(b: Builder, op: graph.PReluOp) -> SSAValue:
    """`max(x, 0) + slope * min(x, 0)` where slopes are known to be finite, which needs no mask."""
    module = op.get_toplevel_object()
    slopes = constant_of(op.slope, weights_of(module)) if isinstance(module, ModuleOp) else None
    finite = slopes is not None and bool(np.isfinite(slopes).all())
    build = _finite_prelu if finite else _prelu
    return elementwise(b, op.operands, shape_of(op.result), element_of(op.result), build)


def _finite_prelu(body: Body, value: SSAValue, slope: SSAValue) -> SSAValue:
    negative = body.apply("mul", slope, body.apply("min", value, 0))
    return body.apply("add", body.apply("max", value, 0), negative)


def _prelu(body: Body, value: SSAValue, slope: SSAValue) -> SSAValue:
    """`x < 0 ? slope * x : x`. Sums of both sides would be NaN where the slope is infinite."""
    return body.select(body.compare("lt", value, 0), body.apply("mul", slope, value), value)


@_simple(graph.WhereOp)
def _where(body: Body, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return body.select(condition, lhs, rhs)


@lowering(graph.LeakyReluOp)
def leaky_relu(b: Builder, op: graph.LeakyReluOp) -> SSAValue:
    """The larger of `x` and `alpha * x`, the smaller when alpha is above 1.

    An alpha of 0, or one that is no number, would make NaN of an infinity that is to stay.
    """
    alpha = op.alpha.value.data
    if alpha == 0 or not isfinite(alpha):
        return _unary(b, op, lambda body, x: _prelu(body, x, body.constant(alpha, x.type)))
    outer = "max" if alpha <= 1 else "min"
    return _unary(b, op, lambda body, x: body.apply(outer, x, body.apply("mul", x, alpha)))


@lowering(graph.HardSigmoidOp)
def hard_sigmoid(b: Builder, op: graph.HardSigmoidOp) -> SSAValue:
    alpha, beta = op.alpha.value.data, op.beta.value.data

    def build(body: Body, x: SSAValue) -> SSAValue:
        line = body.apply("add", body.apply("mul", x, alpha), beta)
        return body.apply("max", body.apply("min", line, 1), 0)

    return _unary(b, op, build)


@lowering(graph.ClipOp)
def clip(b: Builder, op: graph.ClipOp) -> SSAValue:
    low, high = op.min, op.max

    def build(body: Body, x: SSAValue) -> SSAValue:
        if low is not None:
            x = body.apply("max", x, low.value.data)
        return body.apply("min", x, high.value.data) if high is not None else x

    return _unary(b, op, build)


def _unary(b: Builder, op: Any, build: Build) -> SSAValue:
    return elementwise(b, [op.input], shape_of(op.result), element_of(op.result), build)


@lowering(graph.PowOp)
def pow_(b: Builder, op: graph.PowOp) -> SSAValue:
    """Small constant exponents become products and roots, others stay `math.powf`."""
    if not isinstance(element_of(op.result), AnyFloat):
        raise UserError("graph.pow on integers has no lowering to linalg", loc=op)
    exponent = scalar_of(op.rhs)

    def general(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.apply("pow", x, y)

    shape, element = shape_of(op.result), element_of(op.result)
    if exponent not in _POWERS or shape_of(op.lhs) != shape:
        return elementwise(b, op.operands, shape, element, general, wide=True)
    return elementwise(b, [op.lhs], shape, element, _POWERS[exponent])


_POWERS: dict[float | None, Build] = {
    1: lambda body, x: x,
    2: lambda body, x: body.apply("mul", x, x),
    3: lambda body, x: body.apply("mul", body.apply("mul", x, x), x),
    0.5: lambda body, x: body.apply("sqrt", x),
    -0.5: lambda body, x: body.apply("div", 1, body.apply("sqrt", x)),
    -1: lambda body, x: body.apply("div", 1, x),
}


@lowering(graph.CastOp)
def cast(b: Builder, op: graph.CastOp) -> SSAValue:
    if element_of(op.input) == element_of(op.result):
        return op.input
    return _unary(b, op, lambda body, x: x)
