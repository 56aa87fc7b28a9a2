"""Real models at the linalg level: every pass gives the numbers of onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

import zoo
from npu_mlir.dialects.context import make_context
from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.ir.verification import verify
from npu_mlir.passes import load_pass
from npu_mlir.pipeline import phases_between

GRAPH, LINALG = ([*phase.passes] for phase in phases_between(None, "linalg"))
UNKNOWN_TO_THE_VECTOR_UNIT = ("math.tanh", "math.erf", "math.rsqrt", "math.powf")


def worst(model: zoo.Model, module: ModuleOp, expected: list[np.ndarray]) -> float:
    """The largest deviation in tolerances, intermediates divided by their spread."""
    got = run_function(module, "main", list(model.inputs(seed=0).values()))
    return max(
        zoo.excess(a, b, **zoo.F32, normalised=zoo.is_normalised(model, name))
        for name, a, b in zip(zoo.output_names(module), got, expected, strict=True)
    )


@pytest.mark.parametrize("model", zoo.MODELS.values(), ids=lambda model: model.name)
def test_every_linalg_pass(model: zoo.Model) -> None:
    source = zoo.with_intermediates(model)
    expected = zoo.reference(source, model.inputs(seed=0))
    module, context = import_model(source, **model.options), make_context()
    for name in GRAPH:
        load_pass(name)().apply(context, module)
    for name in LINALG:
        load_pass(name)().apply(context, module)
        verify(module)
        assert worst(model, module, expected) <= 1, name
    assert any(isinstance(op, GenericOp) for op in module.walk())
    assert not [op for op in module.walk() if op.name in UNKNOWN_TO_THE_VECTOR_UNIT]
