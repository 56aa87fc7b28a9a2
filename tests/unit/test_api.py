"""`npu_mlir.compile` and programs: names, checks, levels, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir import api
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.module_io import module_text, parse_with_weights
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.levels import LEVELS, level_of

WEIGHT = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32)


def model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="dense"),
        helper.make_node("Relu", ["h"], ["y"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 6])],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def compiled(**options) -> api.Program:
    return npu_mlir.compile(model(), dims={"batch": 4}, target="toy", **options)


X = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
Y = np.maximum(X @ WEIGHT, 0)


@pytest.mark.parametrize("level", LEVELS)
def test_a_program_runs_at_each_level(level: str):
    program = compiled(emit=level)
    assert program.level == level
    assert program.target == "toy"
    assert list(program.run({"x": X})) == ["y"]
    np.testing.assert_allclose(program.run({"x": X})["y"], Y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(program.run([X])["y"], Y, rtol=1e-4, atol=1e-5)


def test_a_simulation_counts_cycles_of_each_kernel():
    result = compiled().simulate({"x": X})
    assert result.cycles == sum(kernel.cycles for kernel in result.kernels) > 0
    np.testing.assert_allclose(result.outputs[0], Y, rtol=1e-4, atol=1e-5)


def test_half_precision_is_close_but_not_equal():
    program = compiled(precision="f16")
    found = program.run({"x": X})["y"]
    assert program.precision == "f16"
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, Y, rtol=2e-2, atol=2e-2)
    assert (found != Y).any()


@pytest.mark.parametrize("level", LEVELS)
def test_a_saved_program_stands_alone(level: str, tmp_path: Path):
    compiled(emit=level).save(tmp_path / "a.mlir")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mlir", "a.safetensors"]
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in list(tmp_path.glob("a.*")):
        path.rename(moved / path.name)
    program = api.load(moved / "a.mlir")
    assert program.level == level
    np.testing.assert_allclose(program.run({"x": X})["y"], Y, rtol=1e-4, atol=1e-5)


def test_text_carries_the_weights_that_no_file_has():
    program = compiled(emit="graph")
    text = module_text(program.module)
    assert "external_resources" in text
    again = parse_with_weights(make_context(), text, "<stdin>")
    assert level_of(again) == "graph"
    assert module_text(again) == text
    found = api.Program(make_context(), again).run({"x": X})["y"]
    np.testing.assert_allclose(found, Y, rtol=1e-4, atol=1e-5)


def test_text_names_the_file_that_has_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    compiled(emit="graph").save(tmp_path / "a.mlir")
    monkeypatch.chdir(tmp_path.parent)
    text = module_text(api.load(f"{tmp_path.name}/a.mlir").module)
    assert f'npu.weights = "{tmp_path.name}/a.safetensors"' in text
    assert "external_resources" not in text


def test_a_resource_of_the_wrong_size_is_an_error():
    text = module_text(compiled(emit="graph").module).replace('"0x', '"0x00')
    with pytest.raises(UserError, match="the resource 'w' has 193 bytes, not those of its type"):
        parse_with_weights(make_context(), text, "<stdin>")


def test_a_mlir_file_is_lowered_and_keeps_its_target(tmp_path: Path):
    compiled(emit="linalg").save(tmp_path / "a.mlir")
    program = npu_mlir.compile(tmp_path / "a.mlir")
    assert (program.level, program.target) == ("isa", "toy")
    with pytest.raises(UserError, match="was compiled for the target 'toy'"):
        npu_mlir.compile(tmp_path / "a.mlir", target="ascend-910")
    with pytest.raises(UserError, match="cannot be raised to 'graph'"):
        npu_mlir.compile(tmp_path / "a.mlir", emit="graph")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "the input 'x' is missing (4x8 float32)"),
        ({"x": X, "z": X}, "the model has no input 'z'"),
        ({"x": X[:2]}, "the input 'x' has the shape 2x8, the model expects 4x8"),
        ({"x": X.astype(np.float64)}, "the input 'x' is float64, the model expects float32"),
        ([X, X], "the model takes 1 inputs, got 2"),
    ],
)
def test_wrong_inputs(inputs, message: str):
    with pytest.raises(UserError) as caught:
        compiled(emit="graph").run(inputs)
    assert caught.value.message == message


def test_only_instructions_are_simulated():
    with pytest.raises(UserError, match="this module is at level 'tile'"):
        compiled(emit="tile").simulate([X])


def test_random_inputs_depend_on_the_seed_alone():
    program = compiled(emit="graph")
    np.testing.assert_equal(program.random_inputs(1), program.random_inputs(1))
    assert (program.random_inputs(1)["x"] != program.random_inputs(2)["x"]).any()
