"""ResNet-50 with random weights: the topology in the onnx wheel, with weights that make a test mean something.

The wheel's file sets every weight to 0.02, so that almost any mistake passes. Here convolutions get seeded normal
weights, and each normalisation the mean and variance that its input really has, so activations keep unit variance
through all 53 layers. The statistics come from one run of a model in which instance normalisation, which computes
them from its input, stands in for batch normalisation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

SEED = 20
TOPOLOGY = Path(onnx.__file__).parent / "backend/test/data/light/light_resnet50.onnx"


def build() -> onnx.ModelProto:
    """The model, with all weights as initializers."""
    model = onnx.load(TOPOLOGY)
    model.ir_version = 8  # older files have to list weights among the inputs
    weights = _random_weights(model.graph)
    _remove_weight_nodes(model.graph)
    _set_weights(model.graph, weights)
    _calibrate(model, weights)
    _set_weights(model.graph, weights)
    return model


def _random_weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(SEED)
    given = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    shapes = {name: array.shape for name, array in given.items() if array.dtype == np.float32}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = tuple(given[node.input[0]].tolist())
    weights = {name: generator.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm"):
            kernel = weights[node.input[1]]
            weights[node.input[1]] = kernel / np.sqrt(np.float32(kernel[0].size))
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
    """Set the statistics of each normalisation to those of its input."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    for node in probe.graph.node:
        if node.op_type == "BatchNormalization":
            data, scale, bias, output = *node.input[:3], node.output[0]
            node.CopyFrom(
                helper.make_node("InstanceNormalization", [data, scale, bias], [output], epsilon=1e-5)
            )
    del probe.graph.output[:]
    probe.graph.output.extend(
        helper.make_tensor_value_info(node.input[0], TensorProto.FLOAT, None) for node in norms
    )
    _set_weights(probe.graph, weights)
    session: Any = ort.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    image = np.random.default_rng(SEED + 1).standard_normal((1, 3, 224, 224), np.float32)
    for node, value in zip(norms, session.run(None, {session.get_inputs()[0].name: image})):
        mean, variance = node.input[3:5]
        weights[mean] = value.mean(axis=(0, 2, 3))
        weights[variance] = value.var(axis=(0, 2, 3))
