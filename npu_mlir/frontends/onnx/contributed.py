"""Operators of onnxruntime's own domain, as functions of standard operators.

`com.microsoft.DynamicQuantizeLSTM` is an LSTM whose operands are quantized when it runs: all steps of X at once, the
state of each step for itself. Its weights are bytes, input by gate, with a scale and a zero point for each direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.frontends.onnx.node import Unsupported, Value
from npu_mlir.frontends.onnx.pieces import extents

OPSET = 17
"""The version of the standard operators in the functions."""

MOST_STEPS = 512
"""Steps that are written one behind the other."""


class _FunctionBody:
    """Nodes under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Append a node; the name of its result, or those of several."""
        names = [f"v{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any) -> str:
        """A constant of the type of an array."""
        return self.add("Constant", value=numpy_helper.from_array(np.asarray(value), "value"))

    def product(self, value: str, weights: str, scale: str, zero: str) -> str:
        """A matrix, quantized now, times quantized weights: in f32."""
        bytes_, own_scale, own_zero = self.add("DynamicQuantizeLinear", value, outputs=3)
        total = self.add("MatMulInteger", bytes_, weights, own_zero, zero)
        return self.add(
            "Mul", self.add("Cast", total, to=TensorProto.FLOAT), self.add("Mul", own_scale, scale)
        )


def dynamic_quantize_lstm(proto: onnx.NodeProto, inputs: Sequence[Value | None]) -> onnx.FunctionProto:
    """The function for operands of these shapes."""
    given: Mapping[str, Any] = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    direction = given.get("direction", b"forward")
    for name, value in given.items():
        plain = {"direction": direction, "input_forget": 0, "clip": 0.0}.get(name)
        if name != "hidden_size" and value != plain:
            raise Unsupported(f"attribute {name} = {value}")
    names = [f"i{at}" if value is not None else "" for at, value in enumerate(inputs)]
    names += [""] * (12 - len(names))
    if names[4] or names[7]:
        raise Unsupported("sequence lengths or peepholes of quantized weights")
    x = inputs[0]
    assert x is not None
    steps, rows, _ = extents(x)
    if steps > MOST_STEPS:
        raise Unsupported(f"{steps} steps, and at most {MOST_STEPS} are unrolled")
    backwards = {b"forward": (False,), b"reverse": (True,)}.get(direction, (False, True))
    body, hidden = _FunctionBody(), int(given["hidden_size"])
    ends = [_direction(body, names, i, back, (steps, rows, hidden)) for i, back in enumerate(backwards)]
    axis = body.constant([0])
    every = [body.add("Unsqueeze", y, body.constant([1])) for y, _, _ in ends]
    last = [[body.add("Unsqueeze", end[at], axis) for end in ends] for at in (1, 2)]
    outputs = [
        body.add("Concat", *every, axis=1),
        body.add("Concat", *last[0], axis=0),
        body.add("Concat", *last[1], axis=0),
    ]
    imports = [helper.make_opsetid("", OPSET)]
    names = [name or f"none{i}" for i, name in enumerate(names)][: len(inputs)]
    return helper.make_function(
        proto.domain, proto.op_type, names, outputs[: len(proto.output)], body.nodes, imports
    )


def _direction(
    body: _FunctionBody, names: Sequence[str], number: int, backwards: bool, shape: tuple[int, int, int]
) -> tuple[str, str, str]:
    """Y (steps x rows x hidden), h and c of one direction."""
    steps, rows, hidden = shape
    at = body.constant(number)

    def own(index: int) -> str:
        return body.add("Gather", names[index], at, axis=0)

    features = body.add("Reshape", names[0], body.constant([steps * rows, -1]))
    gates = body.product(features, own(1), own(8), own(9))
    if names[3]:
        halves = body.add("Split", own(3), outputs=2, axis=0)
        gates = body.add("Add", gates, body.add("Add", *halves))
    parts = body.add("Split", body.add("Reshape", gates, body.constant([steps, rows, 4 * hidden])),
                     outputs=steps, axis=0) if steps > 1 else [gates]  # fmt: skip
    two = body.constant([rows, 4 * hidden])
    zeros = body.constant(np.zeros((rows, hidden), np.float32))
    h, c = (own(index) if names[index] else zeros for index in (5, 6))
    weights, scale, zero = own(2), own(10), own(11)
    made: list[str] = [""] * steps
    for t in reversed(range(steps)) if backwards else range(steps):
        total = body.add("Add", body.add("Reshape", parts[t], two), body.product(h, weights, scale, zero))
        i, o, f, g = body.add("Split", total, outputs=4, axis=1)
        i, o, f = (body.add("Sigmoid", gate) for gate in (i, o, f))
        candidate = body.add("Mul", i, body.add("Tanh", g))
        c = body.add("Add", body.add("Mul", f, c), candidate)
        h = body.add("Mul", o, body.add("Tanh", c))
        made[t] = body.add("Unsqueeze", h, body.constant([0]))
    while len(made) > 1:
        # A position of the result looks at all that are joined.
        groups = [made[i : i + 8] for i in range(0, len(made), 8)]
        made = [body.add("Concat", *group, axis=0) for group in groups]
    return made[0], h, c


DEFINITIONS: Mapping[
    tuple[str, str], Callable[[onnx.NodeProto, Sequence[Value | None]], onnx.FunctionProto]
] = {("com.microsoft", "DynamicQuantizeLSTM"): dynamic_quantize_lstm}
"""By domain and name."""
