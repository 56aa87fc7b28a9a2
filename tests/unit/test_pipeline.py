"""The default pipeline is consistent: levels in order, passes that exist, text that parses."""

from __future__ import annotations

import doctest

import pytest

from npu_mlir import pipeline
from npu_mlir.analysis import affine_maps, memory, strides, tiling, vector_tiling
from npu_mlir.ir import dominance
from npu_mlir.passes import PASSES, load_pass
from npu_mlir.pipeline import PIPELINE, make_pipeline, pipeline_text
from npu_mlir.support import levels
from npu_mlir.support.levels import LEVELS


def test_phases_are_the_levels():
    assert tuple(phase.level for phase in PIPELINE) == LEVELS


@pytest.mark.parametrize("name", PASSES)
def test_every_registered_pass_has_its_name_file_and_documentation(name: str):
    pass_class = load_pass(name)
    assert pass_class.name == name
    stem = name if name.startswith("convert-") else name.removeprefix(f"{_level(name)}-")
    assert pass_class.__module__.rpartition(".")[2] == stem.replace("-", "_")
    assert pass_class.__doc__


def _level(name: str) -> str:
    return next((level for level in ("graph", "linalg", "tile", "npu-isa") if name.startswith(level)), "")


def test_pipelines_parse_from_every_level_to_every_later_one():
    for i, start in enumerate([None, *LEVELS]):
        for end in LEVELS[i:]:
            assert make_pipeline(start, end).elements


def test_options_are_passed():
    options = {"graph-set-precision": "precision=f16"}
    assert "graph-set-precision{precision=f16}" in pipeline_text(None, "graph", options)
    assert make_pipeline(None, "isa", options)


@pytest.mark.parametrize(
    "module",
    [pipeline, levels, affine_maps, dominance, memory, strides, tiling, vector_tiling],
    ids=lambda module: module.__name__,
)
def test_doctests(module):
    assert doctest.testmod(module).failed == 0
