"""An ONNX operator of a domain of our own, `com.example::SquaredRelu`, for all tools:

    npu-compile model.onnx --load-pass-plugin squared_relu.py -o model.mlir

`max(x, 0) ** 2 * scale` becomes operations that the compiler has.
"""

from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.frontends.onnx.node import Node, converts


@converts("SquaredRelu", domain="com.example")
def squared_relu(node: Node) -> SSAValue:
    """Attributes that are not read here are refused by name, and so are outputs that are not returned."""
    positive = node.add(graph.ReluOp(node.value(0)))
    squared = node.add(graph.MulOp(positive, positive))
    return node.add(graph.MulOp(squared, node.scalar(node.real("scale", 1.0), squared)))
