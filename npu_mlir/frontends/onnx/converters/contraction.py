"""Convolution and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.converters.window import explicit_pads
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts


@dataclass(frozen=True)
class Window:
    """How the window of a convolution moves: strides and dilations by axis, pads all begins, then all ends."""

    strides: list[int]
    pads: list[int]
    dilations: list[int]
    group: int


def window_of(node: Node, image: int, kernel: int) -> Window:
    """What the attributes of a convolution say, whose image and weights are these inputs."""
    extents = node.shape(kernel)[2:]
    if not extents or node.integers("kernel_shape") not in (None, list(extents)):
        raise Unsupported(f"kernel_shape {node.integers('kernel_shape')} for weights {node.shape(kernel)}")
    strides = node.integers("strides") or [1] * len(extents)
    dilations = node.integers("dilations") or [1] * len(extents)
    pads = explicit_pads(node, node.shape(image)[2:], extents, strides, dilations)
    return Window(strides, pads, dilations, node.integer("group", 1))


@converts("Conv")
def conv(node: Node) -> SSAValue:
    """A convolution of images in NCHW: strides, dilations and zero padding in elements, groups, a bias."""
    window = asdict(window_of(node, 0, 1))
    return node.add(graph.ConvOp(node.value(0), node.value(1), node.optional(2), **window))


@converts("MatMul")
def matmul(node: Node) -> SSAValue:
    """Vectors become matrices with one row or column for the time of the product."""
    return of_matrices(node, node.value(0), node.value(1), lambda a, b: node.add(graph.MatmulOp(a, b)))


def of_matrices(
    node: Node, lhs: SSAValue, rhs: SSAValue, multiply: Callable[[SSAValue, SSAValue], SSAValue]
) -> SSAValue:
    """What `multiply` makes of two matrices; a vector is one with a row or column that the result has not."""
    row, column = len(shape_of(lhs)) == 1, len(shape_of(rhs)) == 1
    if row:
        lhs = node.add(graph.ReshapeOp(lhs, (1, *shape_of(lhs))))
    if column:
        rhs = node.add(graph.ReshapeOp(rhs, (*shape_of(rhs), 1)))
    product = multiply(lhs, rhs)
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
