"""Operators that look at single numbers: their sign, their bits, what is left of a division."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import AnyFloat, f16, f64
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of
from npu_mlir.frontends.onnx.check import element_type_of
from npu_mlir.frontends.onnx.node import Node, Unsupported, Value, converts
from npu_mlir.support.dtypes import numpy_dtype


@converts("Sign")
def sign(node: Node) -> SSAValue:
    """1, 0 or -1; zeros and NaN are their own signs."""
    value = node.value(0)
    one, zero = node.scalar(1, value), node.scalar(0, value)
    rest = value
    if numpy_dtype(element_of(value)).kind != "u":
        rest = node.add(graph.WhereOp(node.add(graph.LessOp(value, zero)), node.scalar(-1, value), value))
    return node.add(graph.WhereOp(node.add(graph.GreaterOp(value, zero)), one, rest))


@converts("IsNaN")
def is_nan(node: Node) -> SSAValue:
    """What isn't equal to itself."""
    value = node.value(0)
    return node.add(graph.LogicalNotOp(node.add(graph.EqualOp(value, value))))


@converts("IsInf")
def is_inf(node: Node) -> SSAValue:
    """Infinities, or those of one sign."""
    negative, positive = bool(node.integer("detect_negative", 1)), bool(node.integer("detect_positive", 1))
    value = node.value(0)
    if not (negative or positive):
        return node.array(np.zeros(node.shape(), np.bool_), "none")
    if negative and positive:
        value = node.add(graph.AbsOp(value))
    return node.add(graph.EqualOp(value, node.scalar(np.inf if positive else -np.inf, value)))


@converts("Mod")
def modulo(node: Node) -> SSAValue:
    """What a division leaves: with the sign of the divisor, or with `fmod` that of the dividend."""
    lhs, rhs = node.value(0), node.value(1)
    of_dividend = bool(node.integer("fmod", 0))
    if isinstance(element_of(lhs), AnyFloat):
        return _float_modulo(node, lhs, rhs, of_dividend)
    quotient = node.add(graph.DivOp(lhs, rhs))
    rest = node.add(graph.SubOp(lhs, node.add(graph.MulOp(quotient, rhs))))
    if of_dividend or numpy_dtype(element_of(lhs)).kind == "u":
        return rest
    zero = node.scalar(0, rest)
    differ = node.add(
        graph.LogicalXorOp(node.add(graph.LessOp(rest, zero)), node.add(graph.LessOp(rhs, zero)))
    )
    exact = node.add(graph.EqualOp(rest, zero))
    moves = node.add(graph.LogicalAndOp(differ, node.add(graph.LogicalNotOp(exact))))
    return node.add(graph.WhereOp(moves, node.add(graph.AddOp(rest, rhs)), rest))


_STEP, _STEPS = 28, 10
"""Quotients of floats of 8 bits of exponent are below 2^280: as many bits are taken off at once as f64 has to spare."""


def _float_modulo(node: Node, lhs: SSAValue, rhs: SSAValue, of_dividend: bool) -> SSAValue:
    """The remainder of each divisor `2^252 y`, `2^224 y`, ..., y is exact in f64, as products with quotients of 28 bits
    are. Their signs and those of zeros, and infinite divisors, are as in C, or as in Python."""
    element = element_of(lhs)
    if numpy_dtype(element).itemsize > 4:
        raise Unsupported("remainders of f64 are not supported")
    x, y = (node.add(graph.CastOp(value, f64)) for value in (lhs, rhs))
    zero = node.scalar(0.0, x)
    rest = x
    for step in reversed(range(2 if element == f16 else _STEPS)):
        divisor = node.add(graph.MulOp(y, node.scalar(2.0 ** (_STEP * step), y))) if step else y
        quotient = node.add(graph.DivOp(rest, divisor))
        down, up = node.add(graph.FloorOp(quotient)), node.add(graph.CeilOp(quotient))
        whole = node.add(graph.WhereOp(node.add(graph.LessOp(quotient, zero)), up, down))
        rest = node.add(graph.SubOp(rest, node.add(graph.MulOp(whole, divisor))))
    infinite = node.add(graph.EqualOp(node.add(graph.AbsOp(y)), node.scalar(np.inf, y)))
    finite = node.add(graph.LessOp(node.add(graph.AbsOp(x)), node.scalar(np.inf, x)))
    rest = node.add(graph.WhereOp(node.add(graph.LogicalAndOp(infinite, finite)), x, rest))
    signed = x if of_dividend else y
    is_below = node.add(graph.LessOp(signed, zero))
    is_zero = node.add(graph.EqualOp(rest, zero))
    if not of_dividend:
        differ = node.add(graph.LogicalXorOp(node.add(graph.LessOp(rest, zero)), is_below))
        moves = node.add(graph.LogicalAndOp(differ, node.add(graph.LogicalNotOp(is_zero))))
        rest = node.add(graph.WhereOp(moves, node.add(graph.AddOp(rest, y)), rest))
    rest = node.add(graph.CastOp(rest, element))
    nothing = node.add(graph.WhereOp(is_below, node.scalar(-0.0, rest), node.scalar(0.0, rest)))
    return node.add(graph.WhereOp(is_zero, nothing, rest))


@converts("BitCast")
def bit_cast(node: Node) -> SSAValue:
    """The same bits as another type."""
    value = node.value(0)
    target = element_type_of(node.integer("to", 0))
    if target is None:
        raise Unsupported(f"target type {node.integer('to', 0)} is not supported")
    return value if target == element_of(value) else node.add(graph.BitcastOp(value, target))


@converts("BitwiseNot")
def bitwise_not(node: Node) -> SSAValue:
    """Every bit the other way."""
    value = node.value(0)
    dtype = numpy_dtype(element_of(value))
    return node.add(
        graph.BitwiseXorOp(value, node.scalar(np.iinfo(dtype).max if dtype.kind == "u" else -1, value))
    )


@converts("BitShift")
def bit_shift(node: Node) -> SSAValue:
    """A product with a power of 2, or a quotient by one, of the bits the other way round where a number is negative.
    Nothing but the sign is left where the distance is negative, or all bits or more."""
    left = node.text("direction", "") == "LEFT"
    value, distance = node.value(0), node.value(1)
    dtype = numpy_dtype(element_of(value))
    bits, zero = 8 * dtype.itemsize, node.scalar(0, value)
    beyond = node.add(graph.GreaterOrEqualOp(distance, node.scalar(bits, distance)))
    flip: SSAValue | None = None
    if dtype.kind == "i":
        beyond = node.add(graph.LogicalOrOp(beyond, node.add(graph.LessOp(distance, zero))))
        if not left:
            flip = node.add(graph.WhereOp(node.add(graph.LessOp(value, zero)), node.scalar(-1, value), zero))
            value = node.add(graph.BitwiseXorOp(value, flip))
    power = _power_of_two(node, node.raw(1), value, bits)
    shifted = node.add((graph.MulOp if left else graph.DivOp)(value, power))
    shifted = node.add(graph.WhereOp(beyond, zero, shifted))
    return shifted if flip is None else node.add(graph.BitwiseXorOp(shifted, flip))


def _power_of_two(node: Node, exponent: Value, like: SSAValue, bits: int) -> SSAValue:
    """2 to an exponent from 0 on and below `bits`: the product of 2, 4, 16, ... for the bits that it has."""
    if isinstance(exponent, np.ndarray):
        distance = np.clip(exponent, 0, bits - 1).astype(exponent.dtype)
        return node.array(np.left_shift(np.ones((), exponent.dtype), distance), "powers")
    one, zero = node.scalar(1, like), node.scalar(0, like)
    power = one
    for bit in range(bits.bit_length() - 1):
        has = node.add(graph.BitwiseAndOp(exponent, node.scalar(1 << bit, like)))
        factor = node.scalar(1 << (1 << bit), like)
        factor = node.add(graph.WhereOp(node.add(graph.EqualOp(has, zero)), one, factor))
        power = factor if bit == 0 else node.add(graph.MulOp(power, factor))
    return power
