"""Between numbers and the integers that stand for them: one generic each, in f32."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.graph_lowering.registry import elementwise, lowering, scalar_of
from npu_mlir.passes.linalg.graph_lowering.window import highest, lowest
from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.diagnostics import UserError

WIDEST = 16
"""Bits of the integers that f32 rounds to exactly."""


@lowering(graph.QuantizeOp)
def quantize(b: Builder, op: graph.QuantizeOp) -> SSAValue:
    """Limited before it is rounded: then what the zero point takes out of range is what the limits are."""
    element, known = element_of(op.result), scalar_of(op.zero_point)
    if bit_width(element) > WIDEST:
        raise UserError(f"graph.quantize to {element} has no lowering to linalg", loc=op)
    low, high = lowest(element), highest(element)
    span = high - low

    def build(body: Body, x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
        quotient = body.cast(body.apply("div", body.cast(x, scale.type), scale), f32)
        if known is not None:
            quotient = _limited(body, quotient, low - known, high - known)
            rounded = body.apply("roundeven", quotient)
            return body.apply("add", rounded, known) if known else rounded
        quotient = _limited(body, quotient, -span, span)
        rounded = body.apply("roundeven", quotient)
        return _limited(body, body.apply("add", rounded, body.cast(zero, f32)), low, high)

    return elementwise(b, op.operands, shape_of(op.result), element, build)


@lowering(graph.RequantizeOp)
def requantize(b: Builder, op: graph.RequantizeOp) -> SSAValue:
    """As the fixpipe does it: the product limited to what the zero point takes into range, rounded, and the zero point
    added."""
    element, known = element_of(op.result), scalar_of(op.zero_point)
    if bit_width(element) > WIDEST:
        raise UserError(f"graph.requantize to {element} has no lowering to linalg", loc=op)
    low, high = lowest(element), highest(element)
    if op.least is not None:
        low = max(low, op.least.value.data)
    span = highest(element) - lowest(element)

    def build(body: Body, x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
        product = body.apply("mul", body.cast(x, f32), scale)
        if known is not None:
            rounded = body.apply("roundeven", _limited(body, product, low - known, high - known))
            return body.apply("add", rounded, known) if known else rounded
        rounded = body.apply("roundeven", _limited(body, product, -span, span))
        return _limited(body, body.apply("add", rounded, body.cast(zero, f32)), low, high)

    return elementwise(b, op.operands, shape_of(op.result), element, build)


@lowering(graph.QuantizedAddOp)
def quantized_add(b: Builder, op: graph.QuantizedAddOp) -> SSAValue:
    """In f16; limits are those of the type, so that the end is one cast."""

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        left, right = op.scales.get_values()
        terms = [body.cast(v, f16) for v in (x, y)]
        terms = [v if s == 1 else body.apply("mul", v, s) for v, s in zip(terms, (left, right), strict=True)]
        total = body.apply("add", *terms)
        if op.offset.value.data:
            total = body.apply("add", total, op.offset.value.data)
        if op.least is not None and op.least.value.data > -128:
            total = body.apply("max", total, op.least.value.data)
        return body.apply("roundeven", _limited(body, total, -128, 127))

    return elementwise(b, op.operands, shape_of(op.result), element_of(op.result), build)


def _limited(body: Body, value: SSAValue, low: float, high: float) -> SSAValue:
    return body.apply("min", body.apply("max", value, low), high)


@lowering(graph.DequantizeOp)
def dequantize(b: Builder, op: graph.DequantizeOp) -> SSAValue:
    known = scalar_of(op.zero_point)

    def build(body: Body, x: SSAValue, scale: SSAValue, zero: SSAValue) -> SSAValue:
        number = body.cast(x, f32)
        if known != 0:
            number = body.apply("sub", number, body.cast(zero, f32))
        return body.apply("mul", number, body.cast(scale, f32))

    return elementwise(b, op.operands, shape_of(op.result), element_of(op.result), build)
