"""Loop, Scan and sequences, written out when a model is imported, against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.support.diagnostics import UserError

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


def node(operator: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> onnx.NodeProto:
    names = [part if part != "_" else "" for part in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), name, **attributes)


def info(name: str, type_: int = FLOAT, shape: Sequence[int] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type_, shape)


def body(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "body", inputs, outputs)


def model(
    nodes: Sequence[onnx.NodeProto],
    outputs: str = "y",
    weights: Mapping[str, np.ndarray] | None = None,
    opset: int = 17,
    shape: Sequence[int] = X.shape,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "test",
        [info("x", shape=shape)],
        [info(name, 0) for name in outputs.split()],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    for value in graph.output:
        value.ClearField("type")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def typed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its outputs, which onnxruntime wants."""
    return onnx.shape_inference.infer_shapes(proto)


def check(proto: onnx.ModelProto, x: np.ndarray = X, emit: str = "graph", **options: Any) -> npu_mlir.Program:
    session: Any = ort.InferenceSession(typed(proto).SerializeToString(), providers=["CPUExecutionProvider"])
    program = npu_mlir.compile(proto, target="toy", emit=emit, **options)
    found = program.run([x])
    for value, expected in zip(found.values(), session.run(None, {"x": x}), strict=True):
        assert value.dtype == expected.dtype and value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    return program


def refusal(proto: onnx.ModelProto) -> str:
    with pytest.raises(UserError) as error:
        npu_mlir.compile(proto, target="toy", emit="graph")
    return "\n".join([error.value.message, *(note.message for note in error.value.notes)])


LOOP_INPUTS = [info("i", INT64, []), info("go", BOOL, []), info("v", FLOAT, X.shape)]
LOOP_OUTPUTS = [info("again", BOOL, []), info("w", FLOAT, X.shape), info("made", FLOAT, X.shape)]


def loop_body(condition: Sequence[onnx.NodeProto] = (node("Identity", "go", "again"),)) -> onnx.GraphProto:
    nodes = [
        node("Cast", "i", "f", to=FLOAT),
        node("Add", "v f", "u"),
        node("Mul", "u half", "w"),
        node("Sub", "w x", "made"),
        *condition,
    ]
    return body(nodes, LOOP_INPUTS, LOOP_OUTPUTS)


HALF = {"half": np.array(0.5, np.float32), "n": np.array(3), "yes": np.array(True), "no": np.array(False)}


@pytest.mark.parametrize("inputs", ["n yes x", "n _ x", "n no x"])
@pytest.mark.parametrize("unroll", [0, 3])
def test_loop(inputs: str, unroll: int):
    if inputs != "n no x":
        check(model([node("Loop", inputs, "y s", body=loop_body())], "y s", HALF), emit="isa", unroll=unroll)
        return
    program = npu_mlir.compile(
        model([node("Loop", inputs, "y s", body=loop_body())], "y s", HALF), emit="graph"
    )
    last, made = program.run([X]).values()
    np.testing.assert_array_equal(last, X)
    assert made.shape == (0, *X.shape)


def test_a_condition_that_is_known_in_each_iteration():
    condition = [node("Less", "i last", "again")]
    weights = {**HALF, "last": np.array(2)}
    check(model([node("Loop", "_ yes x", "y s", body=loop_body(condition))], "y s", weights))


def test_a_condition_on_data():
    condition = [node("ReduceSum", "w", "sum", keepdims=0), node("Less", "sum half", "again")]
    proto = model([node("Loop", "n yes x", "y s", "until", body=loop_body(condition))], "y", HALF)
    assert "node 'until' (Loop): its condition is not a constant" in refusal(proto)
    with pytest.raises(UserError, match="the number of dimensions of output 'y' is only known in a run"):
        npu_mlir.compile(proto, fallback="host")
    proto.graph.output[0].CopyFrom(info("y", FLOAT, X.shape))
    program = check(proto, fallback="host")
    assert [op.operators.data[0].data for op in program.module.walk() if isinstance(op, HostCallOp)] == [
        "Loop"
    ]


def test_too_many_iterations():
    condition = [node("Less", "i last", "again")]
    weights = {**HALF, "n": np.array(1 << 40), "last": np.array(9999)}
    proto = model([node("Loop", "n yes x", "y s", "long", body=loop_body(condition))], "y", weights)
    assert "node 'long' (Loop): its body runs more than 1024 times" in refusal(proto)


def test_a_refused_node_in_a_body_is_named_once():
    condition = [node("Identity", "go", "again"), node("Det", "square", "d", "det")]
    inner = loop_body(condition)
    inner.node[3].CopyFrom(node("Mul", "w d", "made"))
    inner.node.insert(3, inner.node.pop(5))
    proto = model([node("Loop", "n yes x", "y s", body=inner)], "y s", {**HALF, "square": X[:, :3]})
    proto.graph.node.insert(0, node("MatMul", "x wide", "square2"))
    inner = proto.graph.node[1].attribute[0].g
    inner.node[3].input[0] = "square2"
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((4, 3), np.float32), "wide"))
    assert refusal(proto).count("node 'det' (Det)") == 1
    program = check(proto, fallback="host")
    assert sum(isinstance(op, HostCallOp) for op in program.module.walk()) in (1, 3)


SCAN_INPUTS = [info("s", FLOAT, None), info("a", FLOAT, None), info("b", FLOAT, None)]


def scan_body() -> onnx.GraphProto:
    nodes = [node("Add", "s a", "t"), node("Mul", "t b", "p"), node("Identity", "t", "q")]
    return body(nodes, SCAN_INPUTS, [info("t"), info("p"), info("q")])


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [0, 1]},
        {"scan_output_directions": [1, 0]},
        {"scan_input_axes": [0, -2], "scan_output_axes": [1, 0]},
        {"scan_output_axes": [-1, 1]},
    ],
)
@pytest.mark.parametrize("unroll", [0, 3])
def test_scan(attributes: dict[str, Any], unroll: int):
    nodes = [
        node("Scan", "zero x x", "y p q", body=scan_body(), num_scan_inputs=2, **attributes),
    ]
    check(model(nodes, "y p q", {"zero": np.ones(4, np.float32)}), emit="isa", unroll=unroll)


@pytest.mark.parametrize("unroll", [0, 4])
def test_scan_along_the_last_axis(unroll: int):
    attributes: dict[str, Any] = {
        "scan_input_axes": [1, 1],
        "scan_output_axes": [1, 1],
        "scan_input_directions": [1, 0],
    }
    nodes = [node("Scan", "zero x x", "y p q", body=scan_body(), num_scan_inputs=2, **attributes)]
    check(model(nodes, "y p q", {"zero": np.ones(3, np.float32)}), unroll=unroll)


@pytest.mark.parametrize("unroll", [0, 3])
def test_scan_of_opset_8(unroll: int):
    nodes = [
        node("Unsqueeze", "x", "rows", axes=[0]),
        node("Scan", "_ zero rows rows", "y p q", body=scan_body(), num_scan_inputs=2, directions=[0, 1]),
    ]
    x, start = X, np.ones((1, 4), np.float32)
    proto = model(nodes, "y p q", {"zero": start}, opset=8)
    program = npu_mlir.compile(proto, target="toy", emit="graph", unroll=unroll)
    y, p, q = program.run([x]).values()
    states = 1 + np.cumsum(x, 0)
    np.testing.assert_allclose(y, states[-1:])
    np.testing.assert_allclose(p, (states * x[::-1])[None])
    np.testing.assert_allclose(q, states[None])


@pytest.mark.parametrize("unroll", [0, 4])
def test_scan_in_a_scan(unroll: int):
    inner = body([node("Add", "s a", "t")], [info("s"), info("a")], [info("t")])
    nodes = [node("Scan", "r row", "sum", body=inner, num_scan_inputs=1), node("Mul", "sum half", "o")]
    outer = body(nodes, [info("r", shape=[]), info("row", shape=[4])], [info("o", shape=[])])
    proto = model([node("Scan", "half x", "y", body=outer, num_scan_inputs=1)], weights=HALF)
    check(proto, unroll=unroll)


SEQUENCES: dict[str, tuple[Sequence[onnx.NodeProto], dict[str, np.ndarray]]] = {
    "at": (
        [node("SequenceConstruct", "x half", "s"), node("SequenceAt", "s last", "y")],
        {"last": np.array(-2)},
    ),
    "insert": (
        [
            node("SequenceEmpty", "", "e"),
            node("SequenceInsert", "e x", "one"),
            node("Neg", "x", "m"),
            node("SequenceInsert", "one m first", "two"),
            node("ConcatFromSequence", "two", "y", axis=1),
        ],
        {"first": np.array(0)},
    ),
    "erase": (
        [
            node("Neg", "x", "m"),
            node("SequenceConstruct", "x m x", "s"),
            node("SequenceErase", "s first", "t"),
            node("SequenceErase", "t", "u"),
            node("ConcatFromSequence", "u", "y", axis=-1, new_axis=1),
        ],
        {"first": np.array(0)},
    ),
    "length": (
        [
            node("SplitToSequence", "x", "s", axis=1),
            node("SequenceLength", "s", "n"),
            node("Cast", "n", "f", to=FLOAT),
            node("Mul", "x f", "y"),
        ],
        {},
    ),
    "split": (
        [
            node("SplitToSequence", "x sizes", "s", axis=1),
            node("SequenceAt", "s one", "y"),
        ],
        {"sizes": np.array([1, 3]), "one": np.array(1)},
    ),
    "split-by-one-size": (
        [
            node("SplitToSequence", "x size", "s", axis=1),
            node("SequenceAt", "s one", "y"),
        ],
        {"size": np.array(3), "one": np.array(1)},
    ),
    "without-the-dim": (
        [
            node("SplitToSequence", "x", "s", axis=0, keepdims=0),
            node("Identity", "s", "t"),
            node("ConcatFromSequence", "t", "y", axis=0),
        ],
        {},
    ),
    "map": (
        [
            node("SplitToSequence", "x", "s", axis=0),
            node(
                "SequenceMap",
                "s x",
                "t",
                body=body(
                    [node("MatMul", "row all", "r")],
                    [info("row", shape=[1, 4]), info("all", shape=[3, 4])],
                    [info("r", shape=[1, 4])],
                ),
            ),
            node("ConcatFromSequence", "t", "y", axis=0),
        ],
        {},
    ),
}
SEQUENCES["map"][0][1].attribute[0].g.node[0].op_type = "Add"


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str):
    nodes, weights = SEQUENCES[name]
    check(model(nodes, weights={**weights, "half": np.array(0.5, np.float32)}))


def test_a_sequence_that_the_host_takes():
    """The place in a sequence depends on data: the host gets the sequence as well."""
    nodes = [
        node("Neg", "x", "m"),
        node("SequenceConstruct", "x m", "s"),
        node("ReduceMax", "x", "top", keepdims=0),
        node("Greater", "top half", "is"),
        node("Cast", "is", "at", to=INT64),
        node("SequenceAt", "s at", "e", "choose"),
        node("Relu", "e", "y"),
    ]
    proto = model(nodes, weights=HALF)
    assert "node 'choose' (SequenceAt): its position is not a constant" in refusal(proto)
    check(proto, fallback="host")


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [node("SequenceEmpty", "", "s"), node("ConcatFromSequence", "s", "y", axis=0)],
            "the sequence is empty",
        ),
        (
            [node("SequenceConstruct", "x", "s"), node("SequenceAt", "s n", "y")],
            "position 3 in a sequence of 1",
        ),
        ([node("SequenceConstruct", "x", "s"), node("Relu", "s", "y")], "an operand is a sequence"),
        ([node("SequenceAt", "x n", "y")], "its operand is not a sequence"),
    ],
)
def test_misused_sequences(nodes: Sequence[onnx.NodeProto], message: str):
    assert message in refusal(model(nodes, weights=HALF))
