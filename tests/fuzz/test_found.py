"""What fuzzing has found, cut down: no wrong value again. What isn't supported may be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from fuzz.graphs import GraphCase
from fuzz.judge import Outcome, judge_graph
from fuzz.reference import Session, make_model, value_info


def outcome(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Any],
    weights: dict[str, Any] | None = None,
    *,
    opset: int = 17,
    target: str = "toy",
    precision: str = "f32",
    tolerance: float = 1e-5,
) -> Outcome:
    """How a graph ends, whose outputs are those of its last node, against onnxruntime."""
    outputs = [name for name in nodes[-1].output if name]
    graph = helper.make_graph(
        nodes,
        "found",
        [value_info(name, array) for name, array in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    model = make_model(graph, opset)
    right = Session(model).run(inputs)
    errors = {name: tolerance * (1 + np.abs(array.astype(np.float64))) for name, array in right.items()}
    return judge_graph(GraphCase(0, model, {**inputs, **right}, errors, target, precision))


def test_lrn_of_a_constant_is_not_folded_wrong():
    """ONNX's reference implementation takes no more than five channels."""
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 8, 1, 1)
    node = helper.make_node("LRN", ["w"], ["y"], size=3, alpha=0.5, bias=1.0)
    assert not outcome([node], {}, {"w": x}).is_finding
