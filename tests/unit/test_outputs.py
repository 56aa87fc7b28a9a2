"""What tools write: never over what they read, text and weights together, one file for one thing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.support import files
from npu_mlir.support.arrays import file_names
from npu_mlir.tools.npu_compile import main as npu_compile
from npu_mlir.tools.npu_opt import main as npu_opt
from npu_mlir.tools.npu_reduce import main as npu_reduce
from npu_mlir.tools.npu_run import main as npu_run


def dense(seed: int = 0) -> onnx.ModelProto:
    """A product with a weight that is too large to stay in the text."""
    weight = np.random.default_rng(seed).standard_normal((8, 16)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "dense")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
        [numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a model, and a module of it with its weights."""
    monkeypatch.chdir(tmp_path)
    onnx.save(dense(), "dense.onnx")
    assert npu_compile(["dense.onnx", "--emit=graph", "--target=toy", "-o", "a.mlir"]) == 0
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


Main = Callable[[list[str]], int]

OVERWRITING = [
    (npu_compile, ["dense.onnx", "-o", "dense.onnx"], "-o: 'dense.onnx' is read"),
    (npu_compile, ["dense.onnx", "-o", "./sub/../dense.onnx"], "-o: './sub/../dense.onnx' is read"),
    (npu_opt, ["a.mlir", "-o", "a.mlir"], "-o: 'a.mlir' is read"),
    (npu_opt, ["a.mlir", "-o", "link.mlir"], "-o: 'link.mlir' is read"),
    # It would get the weights a.safetensors, which belong to a.mlir.
    (npu_opt, ["a.mlir", "-o", "a.txt"], "cannot write 'a.safetensors': it is an input"),
    (npu_compile, ["a.mlir", "-o", "a.isa"], "cannot write 'a.safetensors': it is an input"),
    (npu_opt, ["a.mlir", "-o", "b.safetensors"], "the weights of 'b.safetensors' would be the same file"),
    (npu_opt, ["a.mlir", "--load-pass-plugin=plugin.py", "-o", "plugin.py"], "'plugin.py': it is an input"),
    (npu_compile, ["dense.onnx", "--target=my.toml", "-o", "my.toml"], "'my.toml': it is an input"),
    (npu_opt, ["a.mlir", "--cse", "--mlir-generate-reproducer=b.mlir", "-o", "b.mlir"],
     "-o and --mlir-generate-reproducer would write the same file 'b.mlir'"),
    (npu_reduce, ["a.mlir", "--lower-to=isa", "-o", "a.mlir"], "-o: 'a.mlir' is read"),
    (npu_run, ["dense.onnx", "--report=dense.onnx"], "--report: 'dense.onnx' is read"),
    (npu_run, ["dense.onnx", "--input=x=x.npy", "--html=x.npy"], "--html: 'x.npy' is read"),
    (npu_run, ["a.mlir", "--compare=onnxruntime", "--reference=dense.onnx", "--trace=dense.onnx"],
     "--trace: 'dense.onnx' is read"),
    (npu_run, ["dense.onnx", "--report=r.json", "--trace=r.json"],
     "--report and --trace would write the same file 'r.json'"),
    (npu_run, ["dense.onnx", "--input=x=out/y.npy", "--output-dir=out"], "'out/y.npy': it is an input"),
]  # fmt: skip


@pytest.mark.parametrize(("main", "arguments", "message"), OVERWRITING)
def test_what_is_read_is_not_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str], main: Main, arguments: list[str], message: str
):
    toml = Path(files.__file__).parents[1] / "targets" / "toy.toml"
    Path("my.toml").write_text(toml.read_text())
    Path("plugin.py").write_text("from npu_mlir.support.plugins import Plugin\nPLUGIN = Plugin()\n")
    Path("link.mlir").symlink_to("a.mlir")
    for name in ("sub", "out"):
        Path(name).mkdir()
    np.save("x.npy", np.ones((4, 8), np.float32))
    np.save("out/y.npy", np.ones((4, 8), np.float32))
    before = contents(folder), contents(folder / "out")
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert (contents(folder), contents(folder / "out")) == before


def test_weights_belong_to_their_text(folder: Path, capsys: pytest.CaptureFixture[str]):
    """The weights of another model, or of an older run, are found out."""
    assert npu_run(["a.mlir"]) == 0
    onnx.save(dense(seed=1), "other.onnx")
    assert npu_compile(["other.onnx", "--emit=graph", "--target=toy", "-o", "b.mlir"]) == 0
    foreign, own = Path("b.safetensors").read_bytes(), Path("a.safetensors").read_bytes()
    Path("a.safetensors").write_bytes(foreign)
    capsys.readouterr()
    assert npu_run(["a.mlir"]) == 1
    assert "error: the weights in 'a.safetensors' are not those of the module: their hash is" in (
        capsys.readouterr().err
    )
    # As long as none is needed, it does not matter.
    Path("a.safetensors").write_bytes(own)
    assert npu_opt(["a.mlir", "--lower-to=isa", "-o", "c.mlir"]) == 0
    Path("c.safetensors").write_bytes(foreign)
    assert npu_run(["c.mlir", "--timing-only"]) == 0
    assert npu_run(["c.mlir"]) == 1


def test_equal_models_have_equal_files(folder: Path):
    assert npu_compile(["dense.onnx", "--emit=graph", "--target=toy", "-o", "b.mlir"]) == 0
    assert Path("b.safetensors").read_bytes() == Path("a.safetensors").read_bytes()


@pytest.mark.parametrize("failing", ["a.mlir", "a.safetensors"])
def test_text_and_weights_appear_together(folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str):
    """If one of the two cannot be put in its place, the other stays what it was, too."""
    onnx.save(dense(seed=1), "other.onnx")
    before = contents(folder)
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == failing and ".old" not in str(source):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", fail)
    assert npu_compile(["other.onnx", "--target=toy", "-o", "a.mlir"]) == 1
    assert contents(folder) == before
    # Nor does any of two new files appear.
    monkeypatch.setattr(files.os, "replace", lambda source, target: fail(source, Path(str(target)[:-1])))
    for name in ("a.mlir", "a.safetensors"):
        Path(name).rename(f"old.{name}")
    before = contents(folder)
    monkeypatch.setattr(files.os, "replace", fail)
    assert npu_compile(["other.onnx", "--target=toy", "-o", "a.mlir"]) == 1
    assert contents(folder) == before


def test_streams_get_text_and_weights_in_one(folder: Path):
    command = [
        sys.executable,
        "-m",
        "npu_mlir.tools.npu_compile",
        "dense.onnx",
        "--emit=graph",
        "--target=toy",
    ]
    texts = [
        subprocess.run([*command, "-o", path], capture_output=True, check=True).stdout
        for path in ("-", "/dev/stdout", "/dev/fd/1")
    ]
    assert texts[0] == texts[1] == texts[2] and b"npu_weights" in texts[0]
    with open("text.mlir", "wb") as stream:
        subprocess.run([*command, "-o", "/dev/stdout"], stdout=stream, check=True)
    assert Path("text.mlir").read_bytes() == texts[0]
    with open("text.mlir", "ab") as stream:
        subprocess.run([*command, "-o", "/dev/stdout"], stdout=stream, check=True)
    assert Path("text.mlir").read_bytes() == 2 * texts[0]
    before = contents(folder), beside_null()
    assert npu_compile(["dense.onnx", "-o", "/dev/null"]) == 0
    assert npu_run(["dense.onnx", "--target=toy", "--report=/dev/null", "--html=/dev/null"]) == 0
    assert (contents(folder), beside_null()) == before


def beside_null() -> list[tuple[str, int]]:
    """Files next to /dev/null, where weights would be if it was taken for a file."""
    return [(entry.name, entry.stat().st_mtime_ns) for entry in os.scandir("/dev") if "null." in entry.name]


FULL = "error: cannot write to standard output: no space left on device\n"
CLOSED = "error: cannot write to standard output: it is closed\n"


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("npu_compile dense.onnx > /dev/full", 1, FULL),
        ("npu_compile dense.onnx -o /dev/full", 1, "error: cannot write to '/dev/full': no space left on device\n"),
        ("npu_opt a.mlir > /dev/full", 1, FULL),
        ("npu_opt --help > /dev/full", 1, FULL),
        ("npu_opt --list-passes > /dev/full", 1, FULL),
        ("npu_run dense.onnx > /dev/full", 1, FULL),
        ("npu_run a.mlir >&-", 1, CLOSED),
        ("npu_opt a.mlir >&-", 1, CLOSED),
        ("npu_opt <&-", 1, "error: cannot read standard input: it is closed\n"),
        ("npu_opt --lower-to=isa a.mlir | head -c 20 > /dev/null; exit ${PIPESTATUS[0]}", None, ""),
        ("npu_run missing.mlir 2> /dev/full", 1, ""),
        ("npu_run missing.mlir 2>&-", 1, ""),
        ("npu_opt a.mlir -o b.mlir 2>&-", 0, ""),
    ],
)  # fmt: skip
def test_streams_that_take_nothing(folder: Path, command: str, status: int | None, message: str):
    """One line of a message, exit status 1, no traceback."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m npu_mlir.tools.{command}"], capture_output=True, text=True
    )
    assert done.stderr == message
    # A short text may be through before `head` ends.
    assert done.returncode in ((0, 1) if status is None else (status,))


def test_output_files_are_never_shared(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Outputs `a/b` and `a_b`, and a node called like an output."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["a/b"], "a_b"), helper.make_node("Neg", ["a/b"], ["a_b"], "n")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("a/b", "a_b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, "names.onnx")
    assert npu_run(["names.onnx", "--target=toy", "--output-dir=out", "--dump-tensor=a_b"]) == 0
    found = {path.name: np.load(path) for path in Path("out").iterdir()}
    assert len(found) >= 3 and {"a_b.npy", "a_b_1.npy"} < set(found)
    np.testing.assert_array_equal(found["a_b.npy"], -found["a_b_1.npy"])
    assert "a_b is in a_b_1.npy" in capsys.readouterr().out


def test_file_names():
    assert file_names(["y", "y", "../y", "", "\x1b[1m", "é", "x" * 300]) == [
        "y", "y_1", ".._y", "_", "_[1m", "é", "x" * 200,
    ]  # fmt: skip


REPORT = {
    "schema": "npu-mlir-report/1",
    "cycles": 10,
    "target": "toy",
    "precision": "f32",
    "kernels": [{"name": "k", "attribution": {"critical": {"busy V": 3}}}],
    "launches": [{"kernel": "k", "graph_ops": "relu", "cycles": 10}],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"cycles": "many"}, 'cycles: expected an integer, got "many"'),
        ({"kernels": 3}, "kernels: expected a list, got 3"),
        ({"kernels": [{"name": "k"}]}, "kernels[0].attribution: it is missing"),
        ({"kernels": [{"name": "k", "attribution": {"critical": {"busy V": []}}}]},
         "kernels[0].attribution.critical.busy V: expected an integer, got []"),
        ({"launches": [{"kernel": "l", "graph_ops": "relu", "cycles": 1}]},
         "launches[0].kernel: 'l' is not among the kernels"),
        ({"launches": [7]}, "launches[0]: expected an object, got 7"),
        ({"target": None}, "target: expected a string, got null"),
    ],
)  # fmt: skip
def test_damaged_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], message: str | None
):
    good, other = tmp_path / "good.json", tmp_path / "other.json"
    good.write_text(json.dumps(REPORT))
    other.write_text(json.dumps(REPORT | change))
    assert npu_run(["--diff", str(good), str(other)]) == (0 if message is None else 1)
    error = f"error: '{other}' is a damaged report: {message}\n"
    assert capsys.readouterr().err == ("" if message is None else error)


@pytest.mark.parametrize("text", ["", "{", "[" * 100000, "[]", "1" * 5000, '{"schema": "npu-mlir-report/1"}'])
def test_what_is_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str):
    path = tmp_path / "report.json"
    path.write_text(text)
    assert npu_run(["--diff", str(path), str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"error: '{path}' is ")
