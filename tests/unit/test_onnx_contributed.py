"""Operators of onnxruntime's own domain against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.onnx_session import session

STEPS, ROWS, FEATURES, HIDDEN = 3, 1, 5, 4


def lstm(steps: int = STEPS, states: bool = True, bias: bool = True, **attributes: Any) -> onnx.ModelProto:
    """A quantized LSTM with weights of both signs."""
    generator = np.random.default_rng(steps)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1

    def weights(rows: int) -> np.ndarray:
        return generator.integers(-100, 100, (directions, rows, 4 * HIDDEN)).astype(np.int8)

    constants = {
        "w": weights(FEATURES),
        "r": weights(HIDDEN),
        "b": generator.standard_normal((directions, 8 * HIDDEN)).astype(np.float32),
        "ws": np.full(directions, 0.01, np.float32),
        "wz": np.zeros(directions, np.int8),
        "rs": np.full(directions, 0.02, np.float32),
        "rz": np.zeros(directions, np.int8),
    }
    state = ["h", "c"] if states else ["", ""]
    names = ["x", "w", "r", "b" if bias else "", "", *state, "", "ws", "wz", "rs", "rz"]
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        names,
        ["y", "yh", "yc"],
        "lstm",
        domain="com.microsoft",
        hidden_size=HIDDEN,
        **attributes,
    )
    inputs = {"x": (steps, ROWS, FEATURES)}
    inputs |= {name: (directions, ROWS, HIDDEN) for name in state if name}
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "yh", "yc")],
        [numpy_helper.from_array(array, name) for name, array in constants.items() if name in names],
    )
    opsets = [helper.make_opsetid("", 12), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(
    ("emit", "options"),
    [
        ("isa", {"direction": "bidirectional"}),
        ("graph", {"direction": "reverse"}),
        ("graph", {"states": False}),
        ("graph", {"bias": False, "steps": 1}),
        ("graph", {"direction": "bidirectional", "steps": 10}),
    ],
)
def test_quantized_lstm(emit: str, options: dict[str, Any]):
    model = lstm(**options)
    program = npu_mlir.compile(model, target="toy", emit=emit)
    inputs = program.random_inputs()
    found = program.run(inputs).values()
    for value, expected in zip(found, session(model.SerializeToString()).run(None, inputs), strict=True):
        assert value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip": 0.5}, "attribute clip = 0.5"),
        ({"activations": ["Relu"] * 3}, "attribute activations"),
        ({"steps": 600}, "600 steps, and at most 512 are unrolled"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str):
    with pytest.raises(UserError) as error:
        npu_mlir.compile(lstm(**options), emit="graph")
    assert message in error.value.notes[0].message
