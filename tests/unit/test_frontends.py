"""A second frontend with a reference of its own works in all tools; onnxruntime computes what the model says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.frontends import FRONTENDS, REFERENCES, frontend_of, reference_for
from npu_mlir.frontends.frontend import Frontend
from npu_mlir.support import plugins
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.plugins import Plugin, add_plugin

DOUBLING = """
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp

from npu_mlir.dialects.graph import AddOp
from npu_mlir.frontends.frontend import Frontend
from npu_mlir.support.plugins import Plugin


class Model:
    def __init__(self, size):
        self.size = size


class Small(Model):
    pass


def load(model, dims, shapes):
    size = model.size if isinstance(model, Model) else int(open(model).read())
    type_ = TensorType(f32, shapes.get("x", [dims.get("n", size)]))
    function = FuncOp("main", ([type_], [type_]))
    function.attributes["input_names"] = ArrayAttr([StringAttr("x")])
    function.attributes["output_names"] = ArrayAttr([StringAttr("y")])
    (x,) = function.body.block.args
    double = AddOp(x, x)
    double.attributes["npu.node"] = StringAttr("double")
    function.body.block.add_ops([double, ReturnOp(double.result)])
    return ModuleOp([function])


class Doubled:
    frontends = ("doubling",)

    def __init__(self, model):
        pass

    def outputs(self, inputs):
        return {"y": 2 * inputs["x"]}

    def intermediates(self, inputs):
        return {"double": [2 * inputs["x"]]}


class Tripled(Doubled):
    def outputs(self, inputs):
        return {"y": 3 * inputs["x"]}

    def intermediates(self, inputs):
        return {"double": [3 * inputs["x"]]}


DOUBLING = Frontend("doubling", load, "doubled")
ALONE = Frontend("alone", load)
PLUGIN = Plugin(
    frontends={
        ".double": f"{__name__}:DOUBLING",
        ".alone": f"{__name__}:ALONE",
        f"{__name__}.Model": f"{__name__}:DOUBLING",
    },
    references={"doubled": f"{__name__}:Doubled", "tripled": f"{__name__}:Tripled"},
)
"""


@pytest.fixture
def doubling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin, for one test, as a module; a model lies beside it in the current directory."""
    (tmp_path / "doubling.py").write_text(DOUBLING)
    (tmp_path / "model.double").write_text("48")
    (tmp_path / "model.alone").write_text("48")
    monkeypatch.chdir(tmp_path)
    names = dict(FRONTENDS), dict(REFERENCES)
    plugins.load_plugin_file("doubling.py")
    yield sys.modules["npu_mlir_plugin_doubling"]
    for table, before in zip((FRONTENDS, REFERENCES), names, strict=True):
        table.clear()
        table.update(before)


def run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"npu_mlir.tools.{tool}", "--load-pass-plugin=doubling.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_compile_takes_files_and_objects(doubling: Any):
    x = np.arange(5, dtype=np.float32)
    for model in ("model.double", Path("model.double"), doubling.Model(48), doubling.Small(48)):
        program = npu_mlir.compile(model, target="toy", dims={"n": 5})
        assert program.level == "isa"
        np.testing.assert_array_equal(program.run({"x": x})["y"], 2 * x)


def test_the_tools_compare_with_its_reference(doubling: Any):
    good = run("npu_run", "model.double", "--target=toy", "--compare=doubled", "--compare-all")
    assert good.returncode == 0, good.stderr
    assert "The outputs agree with the reference" in good.stdout
    assert "All 1 values in memory agree with the reference" in good.stdout
    bad = run("npu_run", "model.double", "--target=toy", "--compare=tripled", "--compare-all")
    assert bad.returncode == 1
    assert "The outputs DIFFER from the reference" in bad.stdout
    assert "1 of 1 values in memory deviate" in bad.stdout


def test_a_module_is_compared_with_the_model_that_it_was_made_of(doubling: Any):
    done = run("npu_compile", "model.double", "--target=toy", "--shape=x=3x7", "-o", "out.mlir")
    assert done.returncode == 0, done.stderr
    assert "tensor<3x7xf32>" in Path("out.mlir").read_text()
    done = run("npu_run", "out.mlir", "--compare-all", "--reference=model.double")
    assert done.returncode == 0, done.stderr
    assert "agree with the reference" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.double", "--compare=onnxruntime"],
         "error: the reference 'onnxruntime' does not run doubling models; 'doubled' does\n"),
        (["model.alone", "--compare-all"],
         "error: there is no reference for 'model.alone': nothing else runs alone models\n"),
        (["model.alone", "--compare=doubled"], "error: the reference 'doubled' does not run alone models\n"),
        (["model.double", "--compare=doubles"],
         "error: --compare: expected one of onnxruntime, doubled, tripled, none; did you mean 'doubled'?\n"),
    ],
)  # fmt: skip
def test_a_reference_for_other_models(doubling: Any, arguments: list[str], message: str):
    done = run("npu_run", "--target=toy", *arguments)
    assert (done.returncode, done.stderr) == (1, message)


def test_a_suffix_that_is_taken():
    with pytest.raises(UserError, match="a plugin brings the frontend '.onnx', which exists already"):
        add_plugin(Plugin(frontends={".onnx": "somewhere:ELSE"}))


def test_the_longest_suffix_decides(monkeypatch: pytest.MonkeyPatch, doubling: Any):
    monkeypatch.setitem(FRONTENDS, ".my.onnx", "npu_mlir_plugin_doubling:DOUBLING")
    assert frontend_of("a.my.onnx").name == "doubling"
    assert frontend_of("my.onnx").name == "ONNX"


def test_what_is_no_model():
    with pytest.raises(UserError, match="a dict is not a model, nor the path of one"):
        npu_mlir.compile({"x": 1})


def test_a_file_of_unknown_suffix_is_taken_for_onnx(tmp_path: Path):
    frontend = frontend_of(tmp_path / "model.pb")
    assert isinstance(frontend, Frontend) and frontend.name == "ONNX"


def dequantized_product() -> onnx.ModelProto:
    """DequantizeLinear and MatMul, which onnxruntime fuses into a product that quantizes its other operand."""
    scale, zero = np.float32(0.0217), np.uint8(128)
    weights = np.random.default_rng(0).integers(0, 256, (64, 32)).astype(np.uint8)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["wf"], "dequantize"),
        helper.make_node("MatMul", ["x", "wf"], ["y"], "product"),
    ]
    constants = {"w": weights, "scale": np.array(scale), "zero": np.array(zero)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 32])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_onnxruntime_is_not_to_optimise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What it computes is the product of the dequantized weights, and it is asked for the graph as it stands."""
    import onnxruntime

    levels: list[Any] = []
    session: Any = onnxruntime.InferenceSession

    def watched(model: Any, options: Any, **others: Any) -> Any:
        levels.append(options.graph_optimization_level)
        return session(model, options, **others)

    monkeypatch.setattr(onnxruntime, "InferenceSession", watched)
    model = dequantized_product()
    onnx.save(model, tmp_path / "model.onnx")
    x = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)
    reference = reference_for(str(tmp_path / "model.onnx"), None)
    weights, scale, zero = map(numpy_helper.to_array, model.graph.initializer)
    dequantized = (weights.astype(np.float64) - zero) * scale
    np.testing.assert_allclose(reference.outputs({"x": x})["y"], x @ dequantized, rtol=1e-5, atol=1e-5)
    inside = reference.intermediates({"x": x})
    np.testing.assert_allclose(inside["dequantize"][0], dequantized, rtol=1e-6)
    assert levels == [onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL] * 2
