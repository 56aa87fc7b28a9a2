"""Real models against onnxruntime: the models, their inputs, and what is compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper

from fetch_model import fetch
from npu_mlir.comparison import TOLERANCES, compare, run_onnxruntime

INTERMEDIATES = 6
"""How many values within a network are compared; the issue of a wrong one would often vanish before the end."""

KINDS = ("Conv", "MatMul", "Gemm", "Add", "Sum", "MaxPool", "PRelu", "LeakyRelu", "GlobalAveragePool")
"""Nodes whose results are worth a look: each is computed on chip and is no function of a shape."""


@dataclass(frozen=True)
class Case:
    """A model, and the sizes of its open dimensions."""

    name: str
    dims: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    label: str = ""

    def __str__(self) -> str:
        return self.label or self.name


CASES = (
    Case("pnet", shapes={"input_1": (1, 48, 48, 3)}, label="pnet-48x48"),
    Case("pnet", dims={"N": 1, "M1": 61, "M2": 37}, label="pnet-61x37"),
    Case("rnet", dims={"N": 1}),
    Case("onet", dims={"N": 1}),
    Case("magika", dims={"unk__214": 1}),
    Case("ppocr-cls", shapes={"x": (1, 3, 48, 192)}),
    Case("resnet50"),
)


def path_of(case: Case) -> str:
    return str(fetch(case.name))


@cache
def with_intermediates(name: str) -> tuple[bytes, tuple[str, ...]]:
    """The model with further outputs: values spread over the network, and what goes into a softmax at its end."""
    model = onnx.load(fetch(name))
    outputs = {output.name for output in model.graph.output}
    candidates = [node.output[0] for node in model.graph.node if node.op_type in KINDS]
    step = max(1, len(candidates) // INTERMEDIATES)
    chosen = dict.fromkeys(candidates[::step][:INTERMEDIATES])
    for node in model.graph.node:
        if node.op_type == "Softmax" and node.output[0] in outputs:
            chosen[node.input[0]] = None
    names = [value for value in chosen if value not in outputs]
    model.graph.output.extend(helper.make_tensor_value_info(v, TensorProto.FLOAT, None) for v in names)
    return model.SerializeToString(), tuple(names)


def errors(
    found: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    precision: str,
    scaled: tuple[str, ...] = (),
) -> dict[str, float]:
    """By output, the largest |a - b| / (atol + rtol |b|); those in `scaled` are divided by their deviation."""
    worst: dict[str, float] = {}
    for name, reference in expected.items():
        scale = max(float(reference.std()), 1e-6) if name in scaled else 1.0
        found_value = found[name].astype(np.float64) / scale
        comparison = compare(name, found_value, reference.astype(np.float64) / scale, TOLERANCES[precision])
        worst[name] = comparison.worst_ratio
    return worst


def reference(model: str | bytes, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return run_onnxruntime(model, inputs)
