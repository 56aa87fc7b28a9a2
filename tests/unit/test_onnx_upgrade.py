"""Models of operator sets before 7: what they mean after the upgrade, and which are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.support.diagnostics import UserError

X = np.random.default_rng(0).standard_normal((2, 3, 3), np.float32)
SLOPES = np.array([0.5, 2, -1], np.float32)


def old_model(
    node: onnx.NodeProto, weights: dict[str, np.ndarray[Any, Any]], opset: int = 6
) -> onnx.ModelProto:
    """A model with the input x. Files of that time list weights among the inputs."""
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)]
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, w.shape) for name, w in weights.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, X.shape)]
    graph = helper.make_graph([node], "old", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


def result(source: str | Path | onnx.ModelProto) -> np.ndarray[Any, Any]:
    return run_function(import_model(source), "main", [X])[0]


def add(**attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Add", ["x", "w"], ["y"], **attributes)


def test_operands_broadcast_from_an_axis():
    got = result(old_model(add(broadcast=1, axis=1), {"w": SLOPES}))
    np.testing.assert_array_equal(got, X + SLOPES[:, None])


def test_slopes_lie_along_channels():
    """Here they would fit the last dim as well."""
    got = result(old_model(helper.make_node("PRelu", ["x", "w"], ["y"]), {"w": SLOPES}))
    np.testing.assert_array_equal(got, np.where(X < 0, X * SLOPES[:, None], X))


def test_large_weights_follow_their_names(tmp_path: Path):
    weights = {"unused": np.zeros((2, 3, 3), np.float32), "w": np.ones((1 << 18,), np.float32)}
    node = helper.make_node("Slice", ["w"], ["part"], starts=[0], ends=[18])
    source = old_model(helper.make_node("Reshape", ["part", "shape"], ["tall"]), weights)
    source.graph.node.insert(0, node)
    source.graph.node.append(helper.make_node("Add", ["x", "tall"], ["y"]))
    source.graph.initializer.append(numpy_helper.from_array(np.array([2, 3, 3]), "shape"))
    source.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [3]))
    onnx.save(source, tmp_path / "old.onnx")
    np.testing.assert_array_equal(result(tmp_path / "old.onnx"), X + 1)


def test_what_cannot_be_upgraded_is_refused():
    body = helper.make_graph([], "body", [], [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)])
    node = helper.make_node("If", ["w"], ["y"], "choice", then_branch=body, else_branch=body)
    with pytest.raises(UserError, match=r"uses opset 6, .*node 'choice' \(If\) has graphs inside"):
        import_model(old_model(node, {"w": SLOPES}))
    node = helper.make_node("BatchNormalization", ["x", *"wwww"], ["y"], is_test=0)
    with pytest.raises(UserError, match="'old' uses opset 6, which cannot be upgraded to 7: "):
        import_model(old_model(node, {"w": SLOPES}))
