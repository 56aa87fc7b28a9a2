"""Real models: imported, run by the reference functions after every graph pass, and compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

import zoo
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.graph import BatchNormOp, CastOp, Layout, TransposeOp
from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.passes import load_pass
from npu_mlir.pipeline import PIPELINE

PASSES: Sequence[str] = next(phase.passes for phase in PIPELINE if phase.level == "graph")


@pytest.fixture(scope="module", params=zoo.MODELS)
def model(request: pytest.FixtureRequest) -> zoo.Model:
    return zoo.MODELS[request.param]


@pytest.fixture(scope="module")
def probed(model: zoo.Model) -> onnx.ModelProto:
    """The model with intermediate results among its outputs."""
    return zoo.with_intermediates(model)


@pytest.fixture(scope="module")
def expected(model: zoo.Model, probed: onnx.ModelProto) -> list[np.ndarray]:
    return zoo.reference(probed, model.inputs(seed=0))


def import_(model: zoo.Model, source: onnx.ModelProto) -> ModuleOp:
    return import_model(source, **model.options)


def check(
    module: ModuleOp, model: zoo.Model, expected: list[np.ndarray], tolerance: dict[str, float]
) -> None:
    module.verify()
    outputs = run_function(module, "main", list(model.inputs(seed=0).values()))
    assert len(outputs) == len(expected)
    for name, output, reference in zip(zoo.output_names(module), outputs, expected, strict=True):
        assert output.dtype == reference.dtype
        assert zoo.excess(output, reference, **tolerance, normalised=zoo.is_normalised(model, name)) <= 1, (
            name
        )


def apply(module: ModuleOp, name: str, **options: str) -> None:
    load_pass(name)(**options).apply(make_context(), module)


def test_import(model: zoo.Model, probed: onnx.ModelProto, expected: list[np.ndarray]):
    check(import_(model, probed), model, expected, zoo.F32)


def test_every_graph_pass(model: zoo.Model, probed: onnx.ModelProto, expected: list[np.ndarray]):
    module = import_(model, probed)
    before = str(module)
    for name in PASSES:
        apply(module, name)
        if (after := str(module)) != before:
            check(module, model, expected, zoo.F32)
        before = after


def test_half_precision(model: zoo.Model, probed: onnx.ModelProto, expected: list[np.ndarray]):
    module = import_(model, probed)
    for name in PASSES:
        apply(module, name, **({"precision": "f16"} if name == "graph-set-precision" else {}))
    assert any(isinstance(op, CastOp) for op in module.walk())
    check(module, model, expected, zoo.F16)


def test_inputs_matter(model: zoo.Model, probed: onnx.ModelProto, expected: list[np.ndarray]):
    """A model that answers the same whatever it is asked would pass any comparison."""
    other = zoo.reference(probed, model.inputs(seed=1))
    assert (
        max(zoo.excess(a, b, **zoo.F16, normalised=True) for a, b in zip(other, expected, strict=True)) > 10
    )


def test_layout_leaves_transposes_at_the_boundary_only(model: zoo.Model):
    module = import_(model, onnx.load(model.path))
    for name in PASSES:
        apply(module, name)
    assert not any(isinstance(op, BatchNormOp) for op in module.walk())
    transposes = [op for op in module.walk() if isinstance(op, TransposeOp)]
    assert len(transposes) == model.transposes
    layouts = [op.properties["layout"].data for op in module.walk() if "layout" in op.properties]
    assert layouts and all(layout is Layout.NHWC for layout in layouts)
