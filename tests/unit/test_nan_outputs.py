"""NaN on both sides agrees, but says little: the tables say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from npu_mlir.tools import npu_run


@pytest.mark.parametrize(("values", "noted"), [([-1, 1, 2, -3], True), ([1, 2, 3, 4], False)])
def test_elements_that_are_nan_are_counted(
    values: list[float], noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    graph = helper.make_graph(
        [helper.make_node("Log", ["a"], ["y"])],
        "g",
        [helper.make_tensor_value_info("a", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(tmp_path / "log.onnx"))
    np.save(tmp_path / "a.npy", np.array(values, np.float32))
    arguments = [str(tmp_path / "log.onnx"), "--input", f"a={tmp_path}/a.npy", "--compare", "onnxruntime"]
    assert npu_run.main(arguments) == 0
    assert ("2 of the 4 elements of 'y' are NaN" in capsys.readouterr().out) is noted
