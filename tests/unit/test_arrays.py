"""Arrays in files keep their type, also those of types that NumPy does not have itself."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import npu_mlir
from npu_mlir.support.arrays import declared_as, read_npy, read_npz, write_npy
from npu_mlir.support.dtypes import FLOATS, NARROW_INTEGERS
from npu_mlir.tools.npu_run import main as npu_run

FOREIGN = [dtype for dtype in (*FLOATS.values(), *NARROW_INTEGERS.values()) if dtype.isbuiltin == 2]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 4)])
@pytest.mark.parametrize("dtype", [*FOREIGN, np.dtype(np.float16), np.dtype(np.bool_)], ids=str)
def test_there_and_back(dtype: np.dtype, shape: tuple[int, ...], tmp_path: Path):
    array = np.ones(shape).astype(dtype)
    write_npy(tmp_path / "a.npy", array)
    found = read_npy(str(tmp_path / "a.npy"))
    assert found.dtype == dtype and found.shape == shape
    assert found.tobytes() == array.tobytes()
    np.savez(tmp_path / "a.npz", a=np.load(tmp_path / "a.npy"))
    assert read_npz(str(tmp_path / "a.npz"))["a"].dtype == dtype


def test_numpy_alone_reads_the_name_of_the_type(tmp_path: Path):
    array = np.array([[1, -2.5]], ml_dtypes.bfloat16)
    write_npy(tmp_path / "a.npy", array.T)
    loaded = np.load(tmp_path / "a.npy")
    assert loaded.dtype.names == ("bfloat16",)
    assert loaded.view(ml_dtypes.bfloat16).tolist() == array.T.tolist()


def test_bytes_are_what_is_declared():
    bf16, f32 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
    assert declared_as(np.ones(3, bf16).view("V2"), bf16).tolist() == [1, 1, 1]
    assert declared_as(np.ones(3, np.int8).view("V1"), bf16).dtype == "V1"
    assert declared_as(np.ones(3, f32).view("V4"), f32).dtype == "V4"
    assert declared_as(np.ones(3, np.float16), bf16).dtype == np.float16


@pytest.fixture
def scaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The current directory has a model `y = x * s` in bf16; a value for its input `x` that no random one is."""
    monkeypatch.chdir(tmp_path)
    x, s, y = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, [2, 3]) for name in "xsy")
    graph = helper.make_graph([helper.make_node("Mul", ["x", "s"], ["y"], "scale")], "g", [x, s], [y])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "scaled.onnx"
    )
    return np.array([[1, 2, 3], [-0.5, 1e15, 0]], ml_dtypes.bfloat16)


@pytest.mark.parametrize("by_numpy", [True, False])
def test_inputs_and_outputs_of_a_run(scaled: np.ndarray, by_numpy: bool):
    """Files of NumPy, which hold bytes alone, and our own; an output can be the next input."""
    if by_numpy:
        np.save("x.npy", scaled)
    else:
        write_npy(Path("x.npy"), scaled)
    np.savez("all.npz", x=scaled, s=np.full((2, 3), 2, ml_dtypes.bfloat16))
    arguments = ["scaled.onnx", "--target=toy", "--output-dir=out", "--report=r.json"]
    assert npu_run([*arguments, "--input=all.npz"]) == 0
    assert read_npy("out/y.npy").tolist() == (scaled * ml_dtypes.bfloat16(2)).tolist()
    assert npu_run([*arguments, "--input=x=x.npy", "--input=s=2"]) == 0
    assert read_npy("out/y.npy").tolist() == (scaled * ml_dtypes.bfloat16(2)).tolist()
    Path("out").rename("before")
    assert npu_run([*arguments, "--input=x=before/y.npy", "--input=s=x.npy", "--bake=s"]) == 0
    assert read_npy("out/y.npy").tolist() == (scaled * ml_dtypes.bfloat16(2) * scaled).tolist()
    assert json.loads(Path("r.json").read_text())["outputs"][0]["dtype"] == "bfloat16"


def test_other_types_stay_wrong(scaled: np.ndarray, capsys: pytest.CaptureFixture[str]):
    np.save("x.npy", scaled.astype(np.float16))
    assert npu_run(["scaled.onnx", "--target=toy", "--input=x=x.npy"]) == 1
    assert "the input 'x' is float16, the model expects bfloat16" in capsys.readouterr().err
    write_npy(Path("x.npy"), np.ones((2, 3), ml_dtypes.int4))
    assert npu_run(["scaled.onnx", "--target=toy", "--input=x=x.npy"]) == 1
    assert "the input 'x' is int4, the model expects bfloat16" in capsys.readouterr().err


def test_extents_of_zero(tmp_path: Path):
    """An open dimension can be of no extent, like one that the model fixes."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "relu")], "g", [x], [y])
    path = tmp_path / "open.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    for option in ("--dim=n=0", "--shape=x=0x4"):
        assert (
            npu_run([str(path), "--target=toy", option, "--compare=onnxruntime", f"--output-dir={tmp_path}"])
            == 0
        )
        assert read_npy(str(tmp_path / "y.npy")).shape == (0, 4)
    program = npu_mlir.compile(path, target="toy", dims={"n": 0})
    assert program.run([np.zeros((0, 4), np.float32)])["y"].shape == (0, 4)
