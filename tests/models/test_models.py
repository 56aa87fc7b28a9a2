"""Real models: every level gives the numbers of onnxruntime, in f32 and f16."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import npu_mlir
from harness import CASES, Case, errors, path_of, reference, with_intermediates
from npu_mlir import api
from npu_mlir.levels import LEVELS

FAR = 5.0
"""Outputs of different inputs differ at least by so many tolerances: else agreement would prove nothing."""


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_within_the_network_and_at_its_end(case: Case, precision: str):
    data, names = with_intermediates(case.name)
    assert len(names) >= 5
    program = npu_mlir.compile(
        onnx.load_from_string(data), dims=case.dims, shapes=case.shapes, precision=precision
    )
    expected = []
    for seed in (1, 2):
        inputs = program.random_inputs(seed)
        expected.append(reference(data, inputs))
        found = errors(program.run(inputs), expected[-1], precision, scaled=names)
        assert {name: error for name, error in found.items() if not error <= 1} == {}
    different = errors(expected[0], expected[1], precision, scaled=names)
    assert {name: error for name, error in different.items() if name in names and error < FAR} == {}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_level_as_text(case: Case, tmp_path: Path):
    """Each level is written, read again, run, and lowered to the next."""
    program = npu_mlir.compile(path_of(case), dims=case.dims, shapes=case.shapes, emit=LEVELS[0])
    inputs = program.random_inputs(3)
    expected = reference(path_of(case), inputs)
    for level in LEVELS:
        path = tmp_path / f"{level}.mlir"
        program.lower(level).save(path)
        program = api.load(path)
        assert program.level == level
        found = errors(program.run(inputs), expected, "f32")
        assert {name: error for name, error in found.items() if not error <= 1} == {}, level
