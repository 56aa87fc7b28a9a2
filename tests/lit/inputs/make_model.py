"""Writes small ONNX models for the tests of the tools: `make_model.py NAME FILE.onnx`."""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def weight(name: str, *shape: int) -> onnx.TensorProto:
    generator = np.random.default_rng(len(name))
    scale = 1 / np.sqrt(np.prod(shape[:-1]) or 1)
    return numpy_helper.from_array((generator.standard_normal(shape) * scale).astype(np.float32), name)


def value(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: list[onnx.TensorProto],
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "test", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def layers() -> onnx.ModelProto:
    """The layers of `mlp` with the result of the first as another output, so that they are two kernels."""
    two = mlp()
    two.graph.output.append(value("h2", 4, 12))
    return two


def mlp(batch: int | str = 4) -> onnx.ModelProto:
    """relu(x @ w1 + b1) @ w2 + b2"""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h0"], name="dense1"),
        helper.make_node("Add", ["h0", "b1"], ["h1"], name="bias1"),
        helper.make_node("Relu", ["h1"], ["h2"], name="relu1"),
        helper.make_node("MatMul", ["h2", "w2"], ["h3"], name="dense2"),
        helper.make_node("Add", ["h3", "b2"], ["y"], name="bias2"),
    ]
    weights = [weight("w1", 8, 12), weight("b1", 12), weight("w2", 12, 6), weight("b2", 6)]
    return model(nodes, [value("x", batch, 8)], [value("y", batch, 6)], weights)


def dense() -> onnx.ModelProto:
    """relu(x @ w + b)"""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="dense"),
        helper.make_node("Add", ["product", "b"], ["sum"], name="bias"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    return model(nodes, [value("x", 4, 8)], [value("y", 4, 12)], [weight("w", 8, 12), weight("b", 12)])


def two_inputs() -> onnx.ModelProto:
    """a + b"""
    nodes = [helper.make_node("Add", ["left", "right"], ["sum"], name="add")]
    return model(nodes, [value("left", 2, 3), value("right", 2, 3)], [value("sum", 2, 3)], [])


def embedding() -> onnx.ModelProto:
    """Rows of a table, and rows of what is computed from them, by two inputs of indices."""
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["rows"], name="embed"),
        helper.make_node("MatMul", ["rows", "w"], ["hidden"], name="dense"),
        helper.make_node("Gather", ["hidden", "which"], ["chosen"], name="pick"),
        helper.make_node("MatMul", ["chosen", "w"], ["mixed"], name="mix"),
        helper.make_node("Relu", ["mixed"], ["y"], name="relu"),
    ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, [6])
    which = helper.make_tensor_value_info("which", TensorProto.INT64, [3])
    return model(nodes, [tokens, which], [value("y", 3, 16)], [weight("table", 20, 16), weight("w", 16, 16)])


def unsupported() -> onnx.ModelProto:
    """Operators that the compiler doesn't know."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"], name="find"),
        helper.make_node("Unique", ["x"], ["u"], name="distinct"),
        helper.make_node("Relu", ["u"], ["y"], name="relu"),
    ]
    indices = helper.make_tensor_value_info("i", TensorProto.INT64, [2, "K"])
    return model(nodes, [value("x", 2, 3)], [value("y", "K"), indices], [])


MODELS = {
    "dense": dense,
    "layers": layers,
    "mlp": mlp,
    "dynamic": lambda: mlp("batch"),
    "embedding": embedding,
    "two-inputs": two_inputs,
    "unsupported": unsupported,
}


if __name__ == "__main__":
    name, path = sys.argv[1:]
    with open(path, "wb") as stream:
        stream.write(MODELS[name]().SerializeToString())
