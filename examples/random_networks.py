"""Networks with random weights: the topologies in the onnx wheel, with weights that make a test mean something.

The wheel's files set every weight to 0.02, so that almost any mistake passes. Here convolutions get seeded normal
weights, and each normalisation about the mean and variance that its input really has, so activations keep unit
variance through all 53 layers. The statistics come from one run of a model whose normalisations compute them. They are
those of the whole tensor, not of each channel: channels of random features hardly vary from place to place, and
to magnify that little at each layer would make the network chaotic, so that rounding alone changes its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

SEED = 20
RESNET50 = Path(onnx.__file__).parent / "backend/test/data/light/light_resnet50.onnx"


def build(topology: Path = RESNET50) -> onnx.ModelProto:
    """The model of a file in the wheel, with all weights as initializers."""
    model = onnx.load(topology)
    model.ir_version = 8  # older files have to list weights among the inputs
    weights = _random_weights(model.graph)
    _remove_weight_nodes(model.graph)
    _set_weights(model.graph, weights)
    if any(node.op_type == "BatchNormalization" for node in model.graph.node):
        _calibrate(model, weights)
        _set_weights(model.graph, weights)
    return model


def reference(model: onnx.ModelProto, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs that onnxruntime computes, from the model as it is (no rewriting)."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session: Any = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


def _random_weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(SEED)
    given = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    shapes = {name: array.shape for name, array in given.items() if array.dtype == np.float32}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = tuple(given[node.input[0]].tolist())
    weights = {name: generator.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    reshaped = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Reshape"}
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm"):
            name = reshaped.get(node.input[1], node.input[1])
            kernel = weights[name]
            weights[name] = kernel / np.sqrt(np.float32(kernel[0].size))
        elif node.op_type == "BatchNormalization":
            scale, bias = node.input[1:3]
            weights[scale] = 1 + 0.1 * weights[scale]
            weights[bias] = 0.1 * weights[bias]
    return weights


def _remove_weight_nodes(graph: onnx.GraphProto) -> None:
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    del graph.node[:]
    graph.node.extend(kept)


def _set_weights(graph: onnx.GraphProto, weights: dict[str, np.ndarray]) -> None:
    """Make the `weights` that a node reads initializers, and keep the other ones."""
    used = {name for node in graph.node for name in node.input}
    kept = [entry for entry in graph.initializer if entry.name in used and entry.name not in weights]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in weights.items() if name in used
    )
    constants = {entry.name for entry in graph.initializer}
    inputs = [entry for entry in graph.input if entry.name in used and entry.name not in constants]
    del graph.input[:]
    graph.input.extend(inputs)


def _calibrate(model: onnx.ModelProto, weights: dict[str, np.ndarray]) -> None:
    """Set the statistics of each normalisation to about those of its input, with some variation by channel."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    del probe.graph.node[:]
    for node in model.graph.node:
        is_norm = node.op_type == "BatchNormalization"
        probe.graph.node.extend(_normalise_as_a_whole(node, weights) if is_norm else [node])
    del probe.graph.output[:]
    probe.graph.output.extend(
        helper.make_tensor_value_info(node.input[0], TensorProto.FLOAT, None) for node in norms
    )
    _set_weights(probe.graph, weights)
    session: Any = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(SEED + 1)
    image = generator.standard_normal((1, 3, 224, 224), np.float32)
    for node, value in zip(norms, session.run(None, {session.get_inputs()[0].name: image})):
        mean, variance = node.input[3:5]
        noise = 0.1 * generator.standard_normal((2, value.shape[1]), np.float32)
        weights[mean] = value.mean() + noise[0] * value.std()
        weights[variance] = value.var() * np.exp(noise[1])


def _normalise_as_a_whole(node: onnx.NodeProto, weights: dict[str, np.ndarray]) -> list[onnx.NodeProto]:
    """Nodes that do what a batch normalisation does, with the mean and variance of the whole tensor."""
    data, scale, bias, output = *node.input[:3], node.output[0]
    weights["one"], weights["zero"] = np.ones(1, np.float32), np.zeros(1, np.float32)
    constants: list[onnx.NodeProto] = []
    for name, array in {
        f"{output}.flat": np.array([1, 1, -1]),
        f"{output}.scale": weights[scale].reshape(-1, 1, 1),
        f"{output}.bias": weights[bias].reshape(-1, 1, 1),
    }.items():
        constants.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
    return [
        *constants,
        helper.make_node("Reshape", [data, f"{output}.flat"], [f"{output}.0"]),
        helper.make_node("InstanceNormalization", [f"{output}.0", "one", "zero"], [f"{output}.1"]),
        helper.make_node("Shape", [data], [f"{output}.shape"]),
        helper.make_node("Reshape", [f"{output}.1", f"{output}.shape"], [f"{output}.2"]),
        helper.make_node("Mul", [f"{output}.2", f"{output}.scale"], [f"{output}.3"]),
        helper.make_node("Add", [f"{output}.3", f"{output}.bias"], [output]),
    ]
