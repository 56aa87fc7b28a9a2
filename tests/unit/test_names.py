"""Names of a model may be anything: they survive text and come back, and reach no terminal or page as commands."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr

import npu_mlir
from npu_mlir import api
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.printing import op_text
from npu_mlir.report.views.html import level_data
from npu_mlir.support.diagnostics import UserError, printable, render
from npu_mlir.support.node_names import joined, parts
from npu_mlir.tools.npu_compile import main as npu_compile
from npu_mlir.tools.npu_opt import main as npu_opt
from npu_mlir.tools.npu_run import main as npu_run

INPUT, OUTPUT = 'größe="1"\\ü\x1b[31m=\u202e', "出力 [bold] <script>alert(1)</script>"
DENSE, RELU, WEIGHT = "knoten\x1b[0m[/bold] ä", '</script><!--<b>"日本"\x9b2J', 'gewicht "é" \\ \n[red]'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a model whose names are all of the kinds that go wrong."""
    monkeypatch.chdir(tmp_path)
    weight = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", [INPUT, WEIGHT], ["t"], DENSE), helper.make_node("Relu", ["t"], [OUTPUT], RELU)],
        "g",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [4, 16])],
        [numpy_helper.from_array(weight, WEIGHT)],
    )  # fmt: skip
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "names.onnx"
    )
    np.save("x=1.npy", np.ones((4, 8), np.float32))
    return tmp_path


def chain(names: list[str]) -> onnx.ModelProto:
    """A model of nodes with these names, one after the other."""
    nodes = [helper.make_node("Exp", [f"v{i}"], [f"v{i + 1}"], name) for i, name in enumerate(names)]
    x, y = (helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [4, 8]) for i in (0, len(names)))
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def commands(text: str) -> set[str]:
    """The characters of a text that a terminal may obey."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"}


@pytest.mark.parametrize("level", ["graph", "linalg", "tile", "tile-memref", "isa"])
def test_there_and_back(folder: Path, capsys: pytest.CaptureFixture[str], level: str):
    assert npu_compile(["names.onnx", "--target=toy", f"--emit={level}", "-o", "names.mlir"]) == 0
    program = npu_mlir.compile("names.mlir", emit=level)
    assert [s.name for s in program.inputs] == [INPUT]
    assert [s.name for s in program.outputs] == [OUTPUT]
    assert npu_opt(["names.mlir", "--verify-roundtrip", "-o", "/dev/null"]) == 0
    arguments = ["names.mlir", "--compare=onnxruntime", "--reference=names.onnx", f"--input={INPUT}=x=1.npy"]
    assert npu_run(arguments) == 0
    assert "The outputs agree" in capsys.readouterr().out


def test_terminal_page_and_reports(folder: Path, capsys: pytest.CaptureFixture[str]):
    """They show names as they are, but for what is a command."""
    arguments = [
        "--report=r.json",
        "--trace=t.json",
        "--html=p.html",
        "--attribution",
        "--timeline",
        "--compare-all",
    ]
    dumps = [f"--dump-tensor={RELU}", "--output-dir=out"]
    assert npu_run(["names.onnx", "--target=toy", "--compare=onnxruntime", *arguments, *dumps]) == 0
    shown = capsys.readouterr().out
    assert not commands(shown)
    assert "[bold]" in shown and "出力" in shown and "knoten\\x1b[0" in shown
    report: dict[str, Any] = json.loads(Path("r.json").read_text())
    assert report["outputs"][0]["name"] == OUTPUT
    assert report["launches"][0]["graph_ops"] == f"{DENSE}+{RELU}"
    assert RELU in json.dumps(json.loads(Path("t.json").read_text()), ensure_ascii=False).replace('\\"', '"').replace(
        "\\u009b", "\x9b"
    )  # fmt: skip
    page = Path("p.html").read_text()
    assert not commands(page)
    # The page has the elements that it always has, and names only within its data.
    assert len(re.findall("<script", page)) == len(re.findall("</script", page))
    assert "<!--" not in page and "alert(1)</script>" not in page and "alert(1)" in page
    assert not [path.name for path in Path("out").iterdir() if commands(path.name)]
    assert npu_run(["--diff", "r.json", "r.json"]) == 0
    other = json.dumps(report | {"target": "[bold]\x1b[1m", "cycles": 1})
    Path("o.json").write_text(other)
    capsys.readouterr()
    assert npu_run(["--diff", "r.json", "o.json"]) == 0
    assert "target: toy -> [bold]\\x1b[1m" in capsys.readouterr().out


def test_messages(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert npu_run(["names.onnx", "--target=toy", "--input=\x1b[31m=x=1.npy"]) == 1
    assert npu_run(["names.onnx", "--target=toy", "--dump-tensor=no\x1b[31mde"]) == 1
    Path("bad.mlir").write_text('"\x1b[2Junknown.op"() : () -> ()\n')
    assert npu_opt(["bad.mlir"]) == 1
    errors = capsys.readouterr().err
    assert not commands(errors)
    assert "the model has no input '\\x1b[31m'" in errors and "the nodes: knoten\\x1b[0m[/bold] ä" in errors


def test_what_is_printable():
    assert printable("größe 日本 🙂 [bold] <b>") == "größe 日本 🙂 [bold] <b>"
    assert printable("\x1b[31m\x07\x9b\u202e\ud800\n") == "\\x1b[31m\\x07\\x9b\\u202e\\ud800\\n"
    assert render(UserError("one\x1b\ntwo")) == "error: one\\x1b\ntwo"


PLUS = ["block+conv", "back\\slash+", "plain"]
"""Names of nodes, of which three become one kernel."""


@pytest.fixture
def plus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a model whose nodes have a plus in their names."""
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(PLUS), "plus.onnx")
    return tmp_path


@pytest.mark.parametrize("source", ["plus.onnx", "plus.mlir"])
def test_a_plus_belongs_to_a_name(plus: Path, source: str, capsys: pytest.CaptureFixture[str]):
    """Tables, break points, dumps and pages take it for a part of the name, in a model and in its text."""
    assert npu_compile(["plus.onnx", "--target=toy", "--emit=isa", "-o", "plus.mlir"]) == 0
    arguments = ["--compare=onnxruntime", "--reference=plus.onnx", "--compare-all", "--report=r.json"]
    target = ["--target=toy"] if source.endswith("onnx") else []
    dump = [f"--dump-tensor={PLUS[2]}", "--output-dir=out"]
    assert npu_run([source, *target, *arguments, *dump, "--html=p.html", "--trace=t.json"]) == 0
    assert " ".join(" + ".join(PLUS).split()) in " ".join(capsys.readouterr().out.split())
    report: dict[str, Any] = json.loads(Path("r.json").read_text())
    assert [parts(launch["graph_ops"]) for launch in report["launches"]] == [PLUS]
    assert "+".join(PLUS) in [
        event["args"].get("graph ops")
        for event in json.loads(Path("t.json").read_text())["traceEvents"]
        if "args" in event
    ]
    assert (Path("out") / "plain.npy").exists()
    assert npu_run(["--diff", "r.json", "r.json"]) == 0
    assert npu_run([source, *target, "--dump-tensor=block"]) == 1
    assert "no kernel computes the node 'block'" in capsys.readouterr().err


def test_a_page_knows_names_as_they_are():
    """The nodes of its lines are those of the launches, whatever their text has to escape."""
    program = npu_mlir.compile(chain([*PLUS, 'é"\n']), emit="graph", target="toy")
    data = level_data(op_text(program.module))
    known = [part for name in data["names"] for part in parts(name)]
    assert known == [*PLUS, 'é"\n']


def test_the_host_takes_the_node_that_a_pass_refused(monkeypatch: pytest.MonkeyPatch):
    """The node of the error is found in the model though its name has a plus."""
    refused = "wide+exp"

    def refuse(generics: Any) -> None:
        raise UserError("not today", loc=generics[0])

    source = api.read(chain([refused]), target="toy", fallback="host")
    monkeypatch.setattr("npu_mlir.passes.tile.form_kernels._location", refuse)
    assert source.lower("isa").run([np.zeros((4, 8), np.float32)])["v1"].tolist() == np.ones((4, 8)).tolist()
    assert source.left == {refused}


@given(st.lists(st.text(st.sampled_from("a+\\é"), min_size=1), unique=True))
def test_names_are_joined_and_parted(names: list[str]):
    assert parts(joined(names)) == names


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), min_size=1, max_size=3))
def test_strings_and_symbols_in_text(names: list[str]):
    """Every string comes back as the same string, in both forms of the text."""
    module = ModuleOp([], {"names": ArrayAttr([StringAttr(name) for name in names]), "unit": UnitAttr()})
    again = parse_module(make_context(), op_text(module), "names.mlir")
    assert again.attributes["names"] == module.attributes["names"]
