"""What onnxruntime's optimizer fuses into operators of its own domain, as the standard ones it was."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import ReduceKind, element_of, shape_of
from npu_mlir.frontends.onnx.converters.normalization import inverse_root, moments
from npu_mlir.frontends.onnx.converters.selection import cast
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts

DOMAIN = "com.microsoft"


def _times(node: Node, value: SSAValue, factor: float) -> SSAValue:
    return node.add(graph.MulOp(value, node.scalar(factor, value)))


@converts("Gelu", "BiasGelu", domain=DOMAIN)
def gelu(node: Node) -> SSAValue:
    """`x (1 + erf(x / sqrt(2))) / 2` of the operand, or of its sum with a bias."""
    value = _with_bias(node)
    error = node.add(graph.ErfOp(_times(node, value, 1 / sqrt(2))))
    return _half_of_one_more(node, value, error)


@converts("FastGelu", domain=DOMAIN)
def fast_gelu(node: Node) -> SSAValue:
    """`x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2` of the operand or of its sum with a bias."""
    value = _with_bias(node)
    cube = node.add(graph.MulOp(node.add(graph.MulOp(value, value)), value))
    bent = node.add(graph.AddOp(value, _times(node, cube, 0.044715)))
    return _half_of_one_more(node, value, node.add(graph.TanhOp(_times(node, bent, sqrt(2 / pi)))))


def _with_bias(node: Node) -> SSAValue:
    value, bias = node.value(0), node.optional(1)
    return value if bias is None else node.add(graph.AddOp(value, bias))


def _half_of_one_more(node: Node, value: SSAValue, factor: SSAValue) -> SSAValue:
    more = node.add(graph.AddOp(factor, node.scalar(1, factor)))
    return _times(node, node.add(graph.MulOp(value, more)), 0.5)


@converts("QuickGelu", domain=DOMAIN)
def quick_gelu(node: Node) -> SSAValue:
    """`x sigmoid(alpha x)`."""
    value = node.value(0)
    gate = node.add(graph.SigmoidOp(_times(node, value, node.real("alpha", 1.702))))
    return node.add(graph.MulOp(value, gate))


@converts("SkipLayerNormalization", domain=DOMAIN)
def skip_layer_normalization(node: Node) -> list[SSAValue]:
    """Layer normalisation of the last dim of a sum: the operand, what skipped a layer, and perhaps a bias. The results
    are that, the mean and the reciprocal deviation in f32, and the sum."""
    total, epsilon = _sum_with_skip(node, 4), node.real("epsilon", 1e-12)
    last = len(shape_of(total)) - 1
    result = node.add(graph.LayerNormOp(total, node.value(2), node.optional(3), axis=last, epsilon=epsilon))
    mean, variance = moments(node, cast(node, total, f32), [last])
    return [result, mean, inverse_root(node, variance, epsilon), total]


@converts("SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_simplified_layer_normalization(node: Node) -> list[SSAValue]:
    """The same without a mean: the sum over the root of the mean of its squares, times a scale."""
    total, epsilon = _sum_with_skip(node, 3), node.real("epsilon", 1e-12)
    if node.is_used(1):
        raise Unsupported("output 1, the mean, which is not computed")
    wide = cast(node, total, f32)
    squares = node.add(graph.MulOp(wide, wide))
    mean = node.add(graph.ReduceOp(ReduceKind.MEAN, squares, [len(shape_of(total)) - 1], keepdims=True))
    inverse = inverse_root(node, mean, epsilon)
    normal = cast(node, node.add(graph.MulOp(wide, inverse)), element_of(total))
    return [node.add(graph.MulOp(normal, node.value(2))), mean, inverse, total]


def _sum_with_skip(node: Node, bias: int) -> SSAValue:
    total = node.add(graph.AddOp(node.value(0), node.value(1)))
    return node.add(graph.AddOp(total, node.value(bias))) if node.has(bias) else total


@converts("FusedMatMul", domain=DOMAIN)
def fused_matmul(node: Node) -> SSAValue:
    """`alpha` times the product of matrices, either of which may be transposed."""
    node.require("transBatchA", 0)
    node.require("transBatchB", 0)
    operands = [node.value(0), node.value(1)]
    for at, name in enumerate(("transA", "transB")):
        rank = len(shape_of(operands[at]))
        if rank < 2:
            raise Unsupported(f"operand {at} of rank {rank}")
        if node.integer(name, 0):
            perm = [*range(rank - 2), rank - 1, rank - 2]
            operands[at] = node.add(graph.TransposeOp(operands[at], perm))
    alpha = node.real("alpha", 1.0)
    product = node.add(graph.MatmulOp(*operands))
    return product if alpha == 1 else _times(node, product, alpha)
