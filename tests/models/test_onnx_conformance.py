"""ONNX's own conformance cases: what we import has the right results, before and after the graph passes.

An operator that is reported as unsupported is no failure here; the number of cases that pass may only grow.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects.context import make_context
from npu_mlir.frontends.onnx import import_model
from npu_mlir.frontends.onnx.inputs import model_inputs
from npu_mlir.interpreters import run_function
from npu_mlir.passes import load_pass
from npu_mlir.pipeline import PIPELINE
from npu_mlir.support.diagnostics import UserError

PASSING = 987
"""As many cases pass at least."""

DATA = Path(onnx.__file__).parent / "backend/test/data"
PASSES = next(phase.passes for phase in PIPELINE if phase.level == "graph")


@dataclass(frozen=True)
class Case:
    """One case: a model, inputs, expected outputs."""

    name: str
    model: onnx.ModelProto
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


def cases() -> Iterator[Case]:
    """All cases on dense tensors."""
    for directory in sorted(DATA.glob("*/test_*")):
        if (directory / "model.onnx").exists():
            model = onnx.load(directory / "model.onnx")
            yield Case(directory.name, model, _stored(directory, "input"), _stored(directory, "output"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases(None)
    for case in collected:
        inputs, outputs = case.data_sets[0]
        if all(isinstance(value, np.ndarray | np.generic) for value in (*inputs, *outputs)):
            yield Case(case.name, case.model, [*map(np.asarray, inputs)], [*map(np.asarray, outputs)])


def _stored(directory: Path, role: str) -> list[np.ndarray]:
    arrays: list[np.ndarray] = []
    while (path := directory / "test_data_set_0" / f"{role}_{len(arrays)}.pb").exists():
        arrays.append(numpy_helper.to_array(onnx.load_tensor(path)))
    return arrays


def imported(case: Case) -> tuple[ModuleOp, list[np.ndarray]] | None:
    """The module and its inputs; where shapes, axes and the like are inputs, with those made constants."""
    for bake in (False, True):
        model, inputs = onnx.ModelProto(), list[np.ndarray]()
        model.CopyFrom(case.model)
        del model.graph.input[:]
        for value, array in zip(model_inputs(case.model.graph), case.inputs, strict=False):
            if bake and (array.dtype.kind in "iub" or array.size <= 1):
                model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            else:
                model.graph.input.append(value)
                inputs.append(array)
        shapes = {value.name: array.shape for value, array in zip(model.graph.input, inputs, strict=True)}
        try:
            return import_model(model, shapes=shapes), inputs
        except UserError:
            continue
    return None


def agrees(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Equal in shape and type, and in value up to rounding."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "biu":
        return np.array_equal(actual, expected)
    atol = 1e-5 if expected.dtype.itemsize >= 4 else 1e-2
    wide = actual.astype(np.float64), expected.astype(np.float64)
    return np.allclose(*wide, rtol=1e-3, atol=atol, equal_nan=True)


def passes(case: Case, module: ModuleOp, inputs: list[np.ndarray]) -> bool:
    """Whether the module has the expected results."""
    module.verify()
    outputs = run_function(module, "main", inputs)
    return all(map(agrees, outputs, case.outputs))


@pytest.mark.slow
def test_conformance():
    wrong: list[str] = []
    passed = 0
    context = make_context()
    for case in cases():
        found = imported(case)
        if found is None:
            continue
        module, inputs = found
        good = passes(case, module, inputs)
        for name in PASSES:
            load_pass(name)().apply(context, module)
        if good and passes(case, module, inputs):
            passed += 1
        else:
            wrong.append(case.name)
    assert wrong == []
    assert passed >= PASSING
