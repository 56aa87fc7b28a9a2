"""LSTM, GRU and RNN against onnxruntime: directions, lengths, states, peepholes, activations, clips and couplings."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.support.diagnostics import UserError

STEPS, ROWS, FEATURES, HIDDEN = 4, 3, 5, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}
NAMES = ["x", "w", "r", "b", "lengths", "h", "c", "p"]


def network(
    operator: str, given: str = "", constant: str = "wrbp", steps: int = STEPS, **attributes: Any
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """One node with the optional inputs that `given` names, of which the `constant` ones are weights."""
    generator = np.random.default_rng(len(given) + steps)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    count = GATES[operator] * HIDDEN
    shapes = {
        "x": (steps, ROWS, FEATURES),
        "w": (directions, count, FEATURES),
        "r": (directions, count, HIDDEN),
        "b": (directions, 2 * count),
        "h": (directions, ROWS, HIDDEN),
        "c": (directions, ROWS, HIDDEN),
        "p": (directions, 3 * HIDDEN),
    }
    arrays: dict[str, Any] = {
        n: (0.7 * generator.standard_normal(s)).astype(np.float32) for n, s in shapes.items()
    }
    arrays["lengths"] = np.array([steps, 1, steps - 1], np.int32)
    present = {"x", "w", "r"} | {name for name in NAMES if name[0] in given}
    names = [name if name in present else "" for name in NAMES[: 8 if operator == "LSTM" else 6]]
    outputs = ["y", "yh", "yc"][: 1 + STATES[operator]]
    node = helper.make_node(operator, names, outputs, "cell", hidden_size=HIDDEN, **attributes)
    inputs = {name: arrays[name] for name in names if name and (name == "x" or name[0] not in constant)}
    weights = [numpy_helper.from_array(arrays[n], n) for n in names if n and n not in inputs]
    elements = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info(n, elements[a.dtype], a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), inputs


def check(model: onnx.ModelProto, inputs: dict[str, np.ndarray], tolerance: float = 1e-5, **options: Any):
    session: Any = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    found = npu_mlir.compile(model, target="toy", **options).run(inputs)
    assert len(found) == len(expected)
    for value, reference in zip(found.values(), expected, strict=True):
        assert value.shape == reference.shape
        np.testing.assert_allclose(value, reference, rtol=tolerance, atol=tolerance)


VARIANTS: dict[str, Any] = {
    "plain": {},
    "reverse": {"given": "b", "direction": "reverse"},
    "bidirectional": {"given": "bh", "direction": "bidirectional"},
    "lengths": {"given": "bl", "constant": "wrbl", "direction": "bidirectional"},
    "lengths-at-run-time": {"given": "bhl", "direction": "bidirectional"},
    "all-at-run-time": {"given": "bh", "constant": ""},
    "clip": {"given": "b", "clip": 0.3},
    "one-step": {"given": "b", "steps": 1},
}


@pytest.mark.parametrize("unroll", [0, STEPS])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("operator", GATES)
def test_variants(operator: str, variant: str, unroll: int):
    check(*network(operator, **VARIANTS[variant]), emit="graph", unroll=unroll)


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize(("precision", "tolerance"), [("f32", 1e-5), ("f16", 1e-2)])
@pytest.mark.parametrize("unroll", [0, 3])
def test_instructions(operator: str, precision: str, tolerance: float, unroll: int):
    model, inputs = network(operator, "bhl", direction="bidirectional", steps=3)
    check(model, inputs, tolerance, precision=precision, unroll=unroll)


def test_many_steps():
    check(*network("RNN", "b", steps=20))


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("given", ["", "b", "bhl"])
def test_reset_before_and_behind_the_product(late: int, given: str):
    check(*network("GRU", given, linear_before_reset=late), emit="graph")


@pytest.mark.parametrize(
    "options",
    [
        {"given": "bhcp"},
        {"given": "bhcp", "input_forget": 1},
        {"given": "cpl", "direction": "bidirectional"},
        {"given": "p", "clip": 0.2},
    ],
)
def test_cells(options: dict[str, Any]):
    check(*network("LSTM", **options), emit="graph")


@pytest.mark.parametrize(
    ("name", "alpha", "beta"),
    [
        ("Relu", None, None),
        ("Sigmoid", None, None),
        ("Softsign", None, None),
        ("Softplus", None, None),
        ("Affine", 0.5, 0.25),
        ("LeakyRelu", 0.3, None),
        ("ThresholdedRelu", 0.2, None),
        ("ScaledTanh", 0.7, 0.9),
        ("HardSigmoid", 0.3, 0.4),
        ("Elu", 0.8, None),
    ],
)
def test_activations(name: str, alpha: float | None, beta: float | None):
    attributes: dict[str, Any] = {"activations": [name]}
    attributes |= {} if alpha is None else {"activation_alpha": [alpha]}
    attributes |= {} if beta is None else {"activation_beta": [beta]}
    check(*network("RNN", "b", **attributes), emit="graph")


def test_activations_of_each_direction():
    names = ["Sigmoid", "Relu", "Tanh", "HardSigmoid", "Tanh", "LeakyRelu"]
    options: dict[str, Any] = {"activation_alpha": [0.3, 0.05], "activation_beta": [0.4]}
    model, inputs = network("LSTM", "b", direction="bidirectional", activations=names, **options)
    check(model, inputs, emit="graph")


def test_what_is_refused():
    refused: dict[str, dict[str, Any]] = {
        "activation Swish": {"activations": ["Swish"]},
        "direction sideways with weights for 1": {"direction": "sideways"},
        "2 activations for 1": {"activations": ["Tanh", "Tanh"]},
    }
    for message, options in refused.items():
        with pytest.raises(UserError) as error:
            npu_mlir.compile(network("RNN", **options)[0], emit="graph")
        assert message in error.value.notes[0].message
