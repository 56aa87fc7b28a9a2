"""Powers: of floats by their op, of integers by products, which are exact."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import element_of, shape_of, shapes
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts
from npu_mlir.support.dtypes import numpy_dtype

LARGEST = 63
"""No larger power of an integer fits its type, but those of 0, 1 and -1."""


@converts("Pow")
def power(node: Node) -> SSAValue:
    """A power; an exponent of another type is cast to that of the base."""
    base, exponent = node.value(0), node.value(1)
    if isinstance(element_of(base), AnyFloat):
        if element_of(exponent) != element_of(base):
            exponent = node.add(graph.CastOp(exponent, element_of(base)))
        return node.add(graph.PowOp(base, exponent))
    known = node.raw(1)
    if isinstance(element_of(exponent), AnyFloat) and not (
        isinstance(known, np.ndarray) and np.array_equal(known, np.trunc(known))
    ):
        raise Unsupported(f"{element_of(base)} raised to {element_of(exponent)} is not supported")
    if isinstance(known, np.ndarray) and known.size == 1 and 0 <= known.reshape(-1)[0] <= LARGEST:
        return _known_power(node, base, int(known.reshape(-1)[0]))
    if element_of(exponent) != element_of(base):
        exponent = node.add(graph.CastOp(exponent, element_of(base)))
    return _integer_power(node, base, exponent)


def _known_power(node: Node, base: SSAValue, exponent: int) -> SSAValue:
    """Repeated squaring."""
    shape = shapes.broadcast(node.shape(0), node.shape(1))
    result = node.scalar(1, base)
    while exponent:
        if exponent & 1:
            result = node.add(graph.MulOp(result, base))
        exponent >>= 1
        if exponent:
            base = node.add(graph.MulOp(base, base))
    return result if shape_of(result) == shape else node.add(graph.ExpandOp(result, shape))


def _integer_power(node: Node, base: SSAValue, exponent: SSAValue) -> SSAValue:
    """The product of the powers 1, 2, 4, ... of the base for which the exponent has a bit. A negative power is 0, but
    for those of 1 and -1."""
    zero, one = node.scalar(0, base), node.scalar(1, base)
    odd = node.add(graph.BitwiseAndOp(exponent, one))
    large = node.add(graph.GreaterOp(exponent, node.scalar(LARGEST, base)))
    count = node.add(
        graph.WhereOp(large, node.add(graph.AddOp(odd, node.scalar(LARGEST - 1, base))), exponent)
    )
    signed = numpy_dtype(element_of(base)).kind == "i"
    negative: SSAValue | None = node.add(graph.LessOp(exponent, zero)) if signed else None
    result, square = one, base
    for bit in range(LARGEST.bit_length()):
        has = node.add(graph.BitwiseAndOp(count, node.scalar(1 << bit, base)))
        factor = node.add(graph.WhereOp(node.add(graph.EqualOp(has, zero)), one, square))
        result = node.add(graph.MulOp(result, factor)) if bit else factor
        square = node.add(graph.MulOp(square, square))
    if negative is None:
        return result
    turned = node.add(graph.WhereOp(node.add(graph.EqualOp(odd, zero)), one, base))
    unit = node.add(graph.EqualOp(node.add(graph.MulOp(base, base)), one))
    small = node.add(graph.LessOp(node.add(graph.AbsOp(base)), node.scalar(2, base)))
    inverse = node.add(graph.WhereOp(node.add(graph.LogicalAndOp(unit, small)), turned, zero))
    return node.add(graph.WhereOp(negative, inverse, result))
