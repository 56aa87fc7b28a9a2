"""Real models, compiled: every level gives the numbers of onnxruntime, in f32 and f16."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import npu_mlir
import zoo
from npu_mlir import api
from npu_mlir.support.levels import LEVELS

TOLERANCES = {"f32": zoo.F32, "f16": zoo.F16}


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("name", zoo.MODELS)
def test_instructions(name: str, precision: str):
    """Outputs, the values before a final softmax, and values within the network."""
    model = zoo.MODELS[name]
    probed = zoo.with_intermediates(model)
    program = npu_mlir.compile(probed, precision=precision, **model.options)
    inputs = model.inputs(seed=1)
    outputs, expected = program.run(inputs), zoo.reference(probed, inputs)
    assert len(outputs) == len(expected) >= len(model.outputs) + 5
    for (value, found), reference in zip(outputs.items(), expected, strict=True):
        normalised = zoo.is_normalised(model, value)
        assert zoo.excess(found, reference, **TOLERANCES[precision], normalised=normalised) <= 1, value


@pytest.mark.parametrize("name", zoo.MODELS)
def test_inputs_matter(name: str):
    """Two inputs give values so far apart, five of them at least, that agreement within the tolerances says something.

    (A probability says little: within 2e-2 of each other, all small ones are alike.)
    """
    model = zoo.MODELS[name]
    probed = zoo.with_intermediates(model)
    first, second = (zoo.reference(probed, model.inputs(seed)) for seed in (1, 2))
    for tolerance in TOLERANCES.values():
        far = [zoo.excess(a, b, **tolerance, normalised=True) for a, b in zip(first, second, strict=True)]
        assert sorted(far)[-5] > 5, far


@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("name", ["pnet-61x37", "rnet"])
def test_split_cores(name: str, precision: str):
    """On a machine whose matrix and vector units meet in global memory only."""
    model = zoo.MODELS[name]
    program = npu_mlir.compile(model.path, precision=precision, target="ascend-910b", **model.options)
    inputs = model.inputs(seed=3)
    expected = zoo.reference(onnx.load(model.path), inputs)
    for found, reference in zip(program.run(inputs).values(), expected, strict=True):
        assert zoo.excess(found, reference, **TOLERANCES[precision]) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("precision", TOLERANCES)
def test_attention(precision: str):
    """A network with attention becomes kernels to the last operation."""
    model = zoo.RECOGNIZER
    program = npu_mlir.compile(model.path, precision=precision, **model.options)
    assert program.level == "isa"
    assert not any(op.name == "tile.host" for op in program.module.walk())
    inputs = model.inputs(seed=1)
    expected = zoo.reference(onnx.load(model.path), inputs)
    for found, reference in zip(program.run(inputs).values(), expected, strict=True):
        assert zoo.excess(found, reference, **TOLERANCES[precision]) <= 1


@pytest.mark.parametrize("name", ["rnet", "magika", "ppocr-cls"])
def test_every_level_in_half_precision(name: str):
    model = zoo.MODELS[name]
    program = npu_mlir.compile(model.path, emit=LEVELS[0], precision="f16", **model.options)
    inputs = model.inputs(seed=2)
    expected = zoo.reference(onnx.load(model.path), inputs)
    for level in LEVELS:
        program = program.lower(level)
        for found, reference in zip(program.run(inputs).values(), expected, strict=True):
            assert zoo.excess(found, reference, **zoo.F16) <= 1, level


@pytest.mark.parametrize("name", zoo.MODELS)
def test_every_level_as_text(name: str, tmp_path: Path):
    """Each level is written, read again, run, and lowered to the next."""
    model = zoo.MODELS[name]
    program = npu_mlir.compile(model.path, emit=LEVELS[0], **model.options)
    inputs = model.inputs(seed=2)
    expected = zoo.reference(onnx.load(model.path), inputs)
    for level in LEVELS:
        path = tmp_path / f"{level}.mlir"
        program.lower(level).save(path)
        program = api.load(path)
        assert program.level == level
        for found, reference in zip(program.run(inputs).values(), expected, strict=True):
            assert zoo.excess(found, reference, **zoo.F32) <= 1, level
