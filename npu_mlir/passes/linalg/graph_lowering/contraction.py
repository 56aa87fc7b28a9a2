"""Matrix products: one generic that multiplies and sums (in f32 for narrow floats) and an elementwise one for bias,
scale and rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import AnyFloat, i32
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.graph_lowering.registry import elementwise, lowering, widened
from npu_mlir.passes.linalg.scalar_ops import bit_width
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, shape_of


def contract(
    b: Builder,
    lhs: SSAValue,
    rhs: SSAValue,
    maps: Sequence[Map],
    shape: Shape,
    num_dims: int,
    reductions: Sequence[int],
) -> SSAValue:
    """`sum(lhs * rhs)` over the reduction dims, a new tensor of `shape`, in 32 bits; maps of lhs, rhs and result."""
    element = element_of(lhs)
    narrow = not isinstance(element, AnyFloat) and bit_width(element) < bit_width(i32)
    init = b.fill(0, shape, i32 if narrow else widened(element))

    def build(body: Body) -> SSAValue:
        x, y, acc = body.args
        product = body.apply("mul", body.cast(x, acc.type), body.cast(y, acc.type))
        return body.apply("add", acc, product)

    return b.generic([lhs, rhs], init, maps, num_dims, reductions, build)


@lowering(graph.MatmulOp)
def matmul(b: Builder, op: graph.MatmulOp) -> SSAValue:
    """Loops: batch dims, m, n, k."""
    shape = shape_of(op.result)
    rank = len(shape)
    lhs, lhs_map = _batched(b, op.lhs, shape, [rank - 2, rank])
    rhs, rhs_map = _batched(b, op.rhs, shape, [rank, rank - 1])
    product = contract(b, lhs, rhs, [lhs_map, rhs_map, range(rank)], shape, rank + 1, [rank])
    return narrowed(b, product, op)


def _batched(b: Builder, value: SSAValue, shape: Shape, matrix: list[int]) -> tuple[SSAValue, list[int]]:
    """An operand without the batch dims that broadcast, and its map."""
    own = shape_of(value)
    offset = len(shape) - len(own)
    keep = [d for d, size in enumerate(own[:-2]) if size == shape[d + offset]]
    compact = tuple(own[d] for d in keep) + own[-2:]
    return b.reshape(value, compact), [d + offset for d in keep] + matrix


def narrowed(b: Builder, value: SSAValue, op: Any) -> SSAValue:
    """The accumulated value rounded to the element type of the op's result."""
    element = element_of(op.result)
    if element_of(value) == element:
        return value
    return elementwise(b, [value], shape_of(value), element, lambda body, x: x)


@lowering(graph.GemmOp)
def gemm(b: Builder, op: graph.GemmOp) -> SSAValue:
    """Loops: m, n, k; transposition is in the maps."""
    lhs_map = [2, 0] if op.trans_a else [0, 2]
    rhs_map = [1, 2] if op.trans_b else [2, 1]
    shape, element = shape_of(op.result), element_of(op.result)
    product = contract(b, op.lhs, op.rhs, [lhs_map, rhs_map, [0, 1]], shape, 3, [2])
    alpha, beta = op.alpha.value.data, op.beta.value.data

    def build(body: Body, x: SSAValue, bias: SSAValue | None = None) -> SSAValue:
        x = body.apply("mul", x, alpha) if alpha != 1 else x
        if bias is None:
            return x
        bias = body.cast(bias, x.type)
        return body.apply("add", x, body.apply("mul", bias, beta) if beta != 1 else bias)

    if op.bias is None and alpha == 1:
        return narrowed(b, product, op)
    inputs = [product] if op.bias is None else [product, op.bias]
    return elementwise(b, inputs, shape, element, build)
