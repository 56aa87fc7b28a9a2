"""Convolution and matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.converters.window import explicit_pads
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts


@converts("Conv")
def conv(node: Node) -> SSAValue:
    """A convolution of images in NCHW: strides, dilations and zero padding in elements, groups, a bias."""
    kernel = node.shape(1)[2:]
    if not kernel or node.integers("kernel_shape") not in (None, list(kernel)):
        raise Unsupported(f"kernel_shape {node.integers('kernel_shape')} for weights {node.shape(1)}")
    strides = node.integers("strides") or [1] * len(kernel)
    dilations = node.integers("dilations") or [1] * len(kernel)
    pads = explicit_pads(node, node.shape()[2:], kernel, strides, dilations)
    return node.add(
        graph.ConvOp(
            node.value(0),
            node.value(1),
            node.optional(2),
            strides=strides,
            pads=pads,
            dilations=dilations,
            group=node.integer("group", 1),
        )
    )


@converts("MatMul")
def matmul(node: Node) -> SSAValue:
    """Vectors become matrices with one row or column for the time of the product."""
    lhs, rhs = node.value(0), node.value(1)
    row, column = len(shape_of(lhs)) == 1, len(shape_of(rhs)) == 1
    if row:
        lhs = node.add(graph.ReshapeOp(lhs, (1, *shape_of(lhs))))
    if column:
        rhs = node.add(graph.ReshapeOp(rhs, (*shape_of(rhs), 1)))
    product = node.add(graph.MatmulOp(lhs, rhs))
    shape = list(shape_of(product))
    if column:
        del shape[-1]
    if row:
        del shape[-1 if column else -2]
    return node.add(graph.ReshapeOp(product, shape)) if row or column else product


@converts("Gemm")
def gemm(node: Node) -> SSAValue:
    """`alpha * a @ b + beta * c`, either operand transposed if its attribute says so."""
    return node.add(
        graph.GemmOp(
            node.value(0),
            node.value(1),
            node.optional(2),
            alpha=node.real("alpha", 1.0),
            beta=node.real("beta", 1.0),
            trans_a=bool(node.integer("transA", 0)),
            trans_b=bool(node.integer("transB", 0)),
        )
    )
