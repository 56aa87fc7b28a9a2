"""Further models out of packages, of the list that `benchmarks/real_models.py` measures: those that are small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import real_models

import npu_mlir
import zoo
from npu_mlir.support.tolerance import TOLERANCES

MODELS = {model.name: model for model in real_models.MODELS}


def check(name: str, precision: str) -> None:
    """The outputs of the instructions are those of onnxruntime."""
    model = MODELS[name]
    shapes = {key: tuple(map(int, shape.split("x"))) for key, shape in model.shapes.items()}
    options = {"dims": model.dims, "shapes": shapes, "bake": model.baked}
    program = npu_mlir.compile(model.path(), precision=precision, **options)
    inputs = program.random_inputs(seed=1)
    inputs |= {key: np.ones(shape, np.int64) for key, shape in model.ones.items()}
    baked = {key: np.array(value, np.int64) for key, value in model.baked.items()}
    expected = zoo.reference(onnx.load(model.path()), {**inputs, **baked})
    tolerance = TOLERANCES[precision]
    for (key, found), value in zip(program.run(inputs).items(), expected, strict=True):
        assert zoo.excess(found, value, tolerance.rtol, tolerance.atol) <= 1, key


@pytest.mark.parametrize("precision", TOLERANCES)
def test_wake_word(precision: str):
    """Convolutions of a spectrogram."""
    check("wake-word-old", precision)


@pytest.mark.slow
def test_encoder_of_letters():
    """A transformer with open extents."""
    check("arabic-encoder", "f32")


@pytest.mark.slow
def test_voice_activity():
    """A recurrence behind convolutions, with a rate that is baked."""
    check("silero-op15", "f32")


def test_a_model_that_something_else_makes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("fetch_model.CACHE", tmp_path)
    verdict = real_models.judge(MODELS["torch-resnet18"], "f32", 1)
    assert verdict.kind == "absent" and "torch_exports.py resnet18" in verdict.detail
