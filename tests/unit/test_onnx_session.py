"""onnxruntime as it is asked here multiplies bytes exactly, also where its kernels would not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.support.onnx_session import make_exact, session

Array = np.ndarray[Any, Any]

LEFT = np.full((2, 64), 255, np.uint8)
RIGHT = np.where(np.arange(64)[:, None] % 3 == 0, -128, 127).astype(np.int8).repeat(16, 1)
"""Sums of two products that do not fit into 16 bits."""

EXACT = LEFT.astype(np.int64) @ RIGHT.astype(np.int64)


def model(
    nodes: list[onnx.NodeProto], inputs: dict[str, Array], weights: dict[str, Array], opset: int = 17
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "products",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in inputs.items()
        ],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=imports, ir_version=8))


def run(source: onnx.ModelProto, inputs: dict[str, Array]) -> Array:
    return session(source.SerializeToString()).run(None, inputs)[0]


def test_without_zero_points():
    source = model([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], {"a": LEFT}, {"b": RIGHT})
    np.testing.assert_array_equal(run(source, {"a": LEFT}), EXACT)


@pytest.mark.parametrize("known", [True, False], ids=["weights", "inputs"])
@pytest.mark.parametrize("zero", [3, -128, 127])
def test_zero_points(known: bool, zero: int):
    given = {"b": RIGHT, "q": np.array(zero, np.int8)}
    node = helper.make_node("MatMulInteger", ["a", "b", "p", "q"], ["y"])
    inputs = {"a": LEFT} | ({} if known else given)
    source = model([node], inputs, {"p": np.array(7, np.uint8)} | (given if known else {}))
    expected = (LEFT.astype(np.int64) - 7) @ (RIGHT.astype(np.int64) - zero)
    np.testing.assert_array_equal(run(source, inputs), expected)


def test_a_signed_left_operand():
    node = helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    source = model([node], {"a": RIGHT.T.copy()}, {"b": LEFT.T.copy()})
    np.testing.assert_array_equal(run(source, {"a": RIGHT.T.copy()}), EXACT.T)


def test_convolutions():
    """Of one place, so they are products: unsigned data, or unsigned weights."""
    x, w = RIGHT.T.reshape(16, 64, 1, 1), LEFT.reshape(2, 64, 1, 1)
    for data, kernel, expected in ((x, w, EXACT.T), (w, x, EXACT)):
        source = model([helper.make_node("ConvInteger", ["x", "w"], ["y"])], {"x": data}, {"w": kernel})
        np.testing.assert_array_equal(run(source, {"x": data})[:, :, 0, 0], expected)


def test_products_that_are_quantized_again():
    scale = np.array(2.0**-16, np.float32)
    weights = {"b": RIGHT, "s": scale, "one": np.array(1, np.float32), "z": np.array(0, np.int8)}
    weights |= {"p": np.array(0, np.uint8), "r": np.array(128, np.uint8)}
    node = helper.make_node("QLinearMatMul", ["a", "one", "p", "b", "s", "z", "one", "r"], ["y"])
    source = model([node], {"a": LEFT}, weights)
    np.testing.assert_array_equal(run(source, {"a": LEFT}), np.clip(np.rint(EXACT * 2.0**-16) + 128, 0, 255))


def test_a_branch():
    """Operands of the graph around it."""
    inner = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["inside"])],
        "then",
        [],
        [helper.make_tensor_value_info("inside", TensorProto.INT32, [2, 16])],
    )
    node = helper.make_node("If", ["condition"], ["y"], then_branch=inner, else_branch=inner)
    inputs = {"condition": np.array(True), "a": LEFT}
    np.testing.assert_array_equal(run(model([node], inputs, {"b": RIGHT}), inputs), EXACT)


def test_a_recurrence():
    """Weights of a DynamicQuantizeLSTM: its operator quantizes the other operand to unsigned bytes."""
    weights: dict[str, Array] = {
        "w": RIGHT.reshape(1, 64, 16),
        "r": np.full((1, 4, 16), 127, np.int8),
        "ws": np.array([0.001], np.float32),
        "rs": np.array([0.001], np.float32),
        "z": np.array([0], np.int8),
    }
    names = ["x", "w", "r", "", "", "", "", "", "ws", "z", "rs", "z"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft", hidden_size=4, direction="forward"
    )
    x = np.ones((1, 1, 64), np.float32)
    gates = (x[0] @ weights["w"][0].astype(np.float64)) * 0.001
    i, o, _, g = np.split(gates, 4, 1)
    expected = np.tanh(np.tanh(g) / (1 + np.exp(-i))) / (1 + np.exp(-o))
    np.testing.assert_allclose(run(model([node], {"x": x}, weights), {"x": x})[0, 0], expected, rtol=1e-4)


def test_what_is_exact_stays_as_it_is(tmp_path: Path):
    """Operands of one signedness, and other operators."""
    both = model([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], {"a": RIGHT.T.copy()}, {"b": RIGHT})
    assert not make_exact(both)
    source = model([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], {"a": LEFT}, {"b": RIGHT})
    before = source.SerializeToString()
    onnx.save(
        onnx.load_from_string(before), tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0
    )
    np.testing.assert_array_equal(session(str(tmp_path / "m.onnx")).run(None, {"a": LEFT})[0], EXACT)
    again = session(before).run(None, {"a": LEFT})[0]
    np.testing.assert_array_equal(again, EXACT)
