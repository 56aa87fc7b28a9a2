"""The real models of the tests: where they are, how their shapes are fixed, inputs, and what onnxruntime says.

model = MODELS["rnet"]
module = import_model(model.path, **model.options)
expected = reference(onnx.load(model.path), model.inputs(seed=0))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from fetch_model import fetch
from npu_mlir.support.onnx_session import session

F32 = {"rtol": 1e-3, "atol": 1e-5}
F16 = {"rtol": 2e-2, "atol": 2e-2}
"""What the outputs of a compiled model have to agree to."""

BYTES = "bytes"
IMAGE = "image"


@dataclass(frozen=True)
class Model:
    """A model of the zoo with fixed shapes."""

    name: str
    file: str
    input: str
    shape: tuple[int, ...]
    kind: str = IMAGE
    transposes: int = 0
    """Transposes that remain after `graph-layout`: one where the model's input has channels first."""
    dims: dict[str, int] = field(default_factory=dict[str, int])

    @cached_property
    def path(self) -> Path:
        """The model file; fetched on first use."""
        return fetch(self.file)

    @cached_property
    def outputs(self) -> list[str]:
        """The names of the model's outputs."""
        return [value.name for value in onnx.load(self.path).graph.output]

    @property
    def options(self) -> dict[str, Any]:
        """What `import_model` and `npu_mlir.compile` need besides the path."""
        return {"dims": self.dims} if self.dims else {"shapes": {self.input: self.shape}}

    def inputs(self, seed: int) -> dict[str, np.ndarray]:
        """Seeded random inputs of the kind that the model expects."""
        generator = np.random.default_rng(seed)
        if self.kind == BYTES:
            # Bytes of a file, and 256 for positions beyond its end.
            return {self.input: generator.integers(0, 257, self.shape, np.int32)}
        return {self.input: generator.standard_normal(self.shape, np.float32)}


MODELS = {
    model.name: model
    for model in (
        Model("pnet-48x48", "pnet", "input_1", (1, 48, 48, 3)),
        Model("pnet-61x37", "pnet", "input_1", (1, 61, 37, 3), dims={"N": 1, "M1": 61, "M2": 37}),
        Model("rnet", "rnet", "input_2", (1, 24, 24, 3), dims={"N": 1}),
        Model("onet", "onet", "input_3", (1, 48, 48, 3), dims={"N": 1}),
        Model("magika", "magika", "bytes", (1, 2048), BYTES),
        Model("ppocr-cls", "ppocr-cls", "x", (1, 3, 48, 192), transposes=1),
        Model("resnet50", "resnet50", "gpu_0/data_0", (1, 3, 224, 224), transposes=1),
    )
}


RECOGNIZER = Model("ppocr-rec", "ppocr-rec", "x", (1, 3, 48, 160))
"""Convolutions, then attention. Its logits and scores come out of so many layers that only its outputs are compared."""


def reference(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs that onnxruntime computes, from the model as it is (no rewriting)."""
    return session(model.SerializeToString()).run(None, dict(inputs))


def with_intermediates(model: Model, count: int = 5) -> onnx.ModelProto:
    """The model with further outputs: the operands of final softmaxes, and evenly spaced results of float operators,
    of those that onnxruntime itself is certain about (see `_certainty`). Not to be written."""
    return _probed(model.name, count)


@cache
def _probed(name: str, count: int) -> onnx.ModelProto:
    model = MODELS[name]
    source = onnx.load(model.path)
    certain = [name for name, sure in _certainty(model, source).items() if sure]
    assert len(certain) >= count, f"{model.name}: only {certain}"
    return _with_outputs(source, spread(certain, count) + _logits(source))


def _with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    present = {value.name for value in model.graph.output}
    for name in dict.fromkeys(names):
        if name not in present:
            copy.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return copy


FLOAT_OPERATORS = {"Conv", "Gemm", "MatMul", "BatchNormalization", "Relu", "PRelu", "MaxPool", "Mul", "Tanh"}


def _float_results(model: onnx.ModelProto) -> list[str]:
    present = {value.name for value in model.graph.output}
    return [
        node.output[0]
        for node in model.graph.node
        if node.op_type in FLOAT_OPERATORS and node.output[0] not in present
    ]


def _certainty(model: Model, source: onnx.ModelProto) -> dict[str, bool]:
    """For each float result whether a comparison within the tolerances means anything.

    magika's first layer norm, say, subtracts nearly equal sums: there onnxruntime is 2.4e-4 away from the result in
    f64, and what follows it is no reference to 1e-5. So the weights are moved by their last bit, and rounded to f16,
    and a result has to stay well within the tolerance of that precision.
    """
    names = _float_results(source)
    probed = _with_outputs(source, names)
    generator = np.random.default_rng(0)

    def last_bit(weights: np.ndarray) -> np.ndarray:
        return (weights * (1 + 2.0**-23 * generator.uniform(-1, 1, weights.shape))).astype(np.float32)

    def half(weights: np.ndarray) -> np.ndarray:
        return np.clip(weights, -65504, 65504).astype(np.float16).astype(np.float32)

    inputs = model.inputs(seed=0)
    first = len(source.graph.output)
    plain, moved, rounded = (
        reference(m, inputs)[first:]
        for m in (probed, _with_weights(probed, last_bit), _with_weights(probed, half))
    )
    return {
        name: excess(b, a, **F32, normalised=True) <= 0.1 and excess(c, a, **F16, normalised=True) <= 0.5
        for name, a, b, c in zip(names, plain, moved, rounded, strict=True)
    }


def _with_weights(model: onnx.ModelProto, change: Callable[[np.ndarray], np.ndarray]) -> onnx.ModelProto:
    """The model with each f32 constant changed."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    attributes = [a.t for node in copy.graph.node for a in node.attribute if a.name == "value"]
    for tensor in (*copy.graph.initializer, *attributes):
        if tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(tensor)), tensor.name))
    return copy


def output_names(module: ModuleOp) -> list[str]:
    """The names of the outputs of an imported module."""
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    return [name.data for name in main.attributes["output_names"].data]


def is_normalised(model: Model, name: str) -> bool:
    """Whether a value is compared after division by its deviation: not an output, nor what a softmax is made of."""
    return name not in model.outputs and name not in _logits(onnx.load(model.path))


def _logits(model: onnx.ModelProto) -> list[str]:
    return [node.input[0] for node in model.graph.node if node.op_type == "Softmax"]


def spread(names: Sequence[str], count: int) -> list[str]:
    """`count` of the names, evenly spaced, first and last left out where possible."""
    return [names[(index + 1) * len(names) // (count + 1)] for index in range(count)]


def excess(
    actual: np.ndarray, expected: np.ndarray, rtol: float, atol: float, normalised: bool = False
) -> float:
    """The largest |a - b| / (atol + rtol |b|): 1 is the limit. Intermediates are divided by their deviation first."""
    assert actual.shape == expected.shape, f"{actual.shape} instead of {expected.shape}"
    scale = (float(expected.std()) or 1.0) if normalised else 1.0
    actual, expected = actual.astype(np.float64) / scale, expected.astype(np.float64) / scale
    return float(np.max(np.abs(actual - expected) / (atol + rtol * np.abs(expected)), initial=0.0))
