"""`fallback="host"`: what cannot be compiled runs on the host, with the values of onnxruntime at every level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.api import read
from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.interpreters import host_call
from npu_mlir.passes.linalg.graph_lowering import LOWERINGS
from npu_mlir.report.host_work import host_work, summary
from npu_mlir.report.report import report_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.levels import LEVELS
from npu_mlir.support.onnx_session import session

FLOAT, INT64, UINT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8


def info(name: str, type_: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type_, shape)


def weight(name: str, *shape: int) -> onnx.TensorProto:
    values = np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)
    return numpy_helper.from_array(values / np.sqrt(np.float32(shape[0])), name)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "test", inputs, outputs, weights)
    opsets = [helper.make_opsetid(*entry) for entry in {"": 17, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def between() -> onnx.ModelProto:
    """An operator without a translation between two that have one."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "mm"),
        helper.make_node("Det", ["a"], ["d"], "det"),
        helper.make_node("Mul", ["a", "d"], ["y"], "mul"),
    ]
    return model(nodes, [info("x", FLOAT, 4, 8)], [info("y", FLOAT, 4, 4)], [weight("w", 8, 4)])


def open_extents() -> onnx.ModelProto:
    """Extents that depend on data, used on the host, for a static result, and as outputs."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "mm"),
        helper.make_node("NonZero", ["a"], ["found"], "nonzero"),
        helper.make_node("Shape", ["found"], ["shape"], "shape"),
        helper.make_node("Cast", ["shape"], ["real"], "cast", to=FLOAT),
        helper.make_node("ReduceSum", ["real"], ["count"], "count", keepdims=0),
        helper.make_node("Mul", ["a", "count"], ["y"], "mul"),
        helper.make_node("Transpose", ["found"], ["pairs"], "pairs"),
    ]
    outputs = [info("y", FLOAT, 4, 4), info("pairs", INT64, "n", 2), info("found", INT64, 2, "n")]
    return model(nodes, [info("x", FLOAT, 4, 8)], outputs, [weight("w", 8, 4)])


def unsigned() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"], "add"),
        helper.make_node("BitShift", ["a", "x"], ["b"], "shift", direction="LEFT"),
        helper.make_node("Max", ["b", "a"], ["y"], "max"),
    ]
    return model(nodes, [info("x", UINT8, 4, 8)], [info("y", UINT8, 4, 8)])


def branches() -> onnx.ModelProto:
    """A condition that depends on data; the branches read values of the model."""
    then = helper.make_graph([helper.make_node("Add", ["a", "b"], ["o"])], "t", [], [info("o", FLOAT, 4, 4)])
    other = [helper.make_node("Sub", ["a", "k"], ["o"])]
    otherwise = helper.make_graph(other, "e", [], [info("o", FLOAT, 4, 4)], [weight("k", 4, 4)])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "mm"),
        helper.make_node("Add", ["a", "a"], ["b"], "twice"),
        helper.make_node("ReduceSum", ["a"], ["s"], "sum", keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"], "positive"),
        helper.make_node("If", ["c"], ["i"], "if", then_branch=then, else_branch=otherwise),
        helper.make_node("Relu", ["i"], ["y"], "relu"),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    return model(nodes, [info("x", FLOAT, 4, 8)], [info("y", FLOAT, 4, 4)], [weight("w", 8, 4), zero])


def other_domain() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "mm"),
        helper.make_node("FusedGemm", ["a", "b"], ["g"], "gemm", domain="com.microsoft", activation="Relu"),
        helper.make_node("Relu", ["g"], ["y"], "relu"),
    ]
    weights = [weight("w", 8, 4), weight("b", 4, 4)]
    return model(nodes, [info("x", FLOAT, 4, 8)], [info("y", FLOAT, 4, 4)], weights, {"com.microsoft": 1})


def unknown_shape() -> onnx.ModelProto:
    """onnxruntime knows no shape for this operator, and says what it says of scalars."""
    nodes = [
        helper.make_node("CDist", ["x", "b"], ["g"], "distances", domain="com.microsoft"),
        helper.make_node("Relu", ["g"], ["y"], "relu"),
    ]
    x, y = info("x", FLOAT, 4, 4), info("y", FLOAT, 4, 4)
    return model(nodes, [x], [y], [weight("b", 4, 4)], {"com.microsoft": 1})


def texts() -> onnx.ModelProto:
    """Strings, which only the host can hold."""
    nodes = [
        helper.make_node("Cast", ["x"], ["t"], "print", to=TensorProto.STRING),
        helper.make_node("Cast", ["t"], ["n"], "parse", to=FLOAT),
        helper.make_node("Add", ["n", "x"], ["y"], "add"),
    ]
    return model(nodes, [info("x", FLOAT, 4)], [info("y", FLOAT, 4)])


MODELS = [between, open_extents, unsigned, branches, other_domain, unknown_shape, texts]

LEFT = {"det", "shift", "integers"}
"""Nodes that are left to the host whether they have a translation or not."""


def expected(proto: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    return session(proto.SerializeToString()).run(None, dict(inputs))


def compiled(proto: onnx.ModelProto, emit: str = "isa", **options: Any) -> npu_mlir.Program:
    source = read(proto, target="toy", fallback="host", **options)
    assert source.reread is not None
    source.left |= LEFT
    source.program = source.reread(source.left)
    return source.lower(emit)


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("make", MODELS)
def test_values(make: Any, precision: str):
    proto = make()
    tolerance = {"f32": 1e-4, "f16": 2e-2}[precision]
    for level in LEVELS:
        program = compiled(proto, emit=level, precision=precision)
        inputs = program.random_inputs()
        found = list(program.run(inputs).values())
        for value, reference in zip(found, expected(proto, inputs), strict=True):
            assert value.shape == reference.shape and value.dtype == reference.dtype
            np.testing.assert_allclose(value, reference, tolerance, tolerance)


@pytest.mark.parametrize("make", [open_extents, branches, other_domain, texts])
def test_refused_without_it(make: Any):
    with pytest.raises(UserError, match="cannot be imported") as error:
        npu_mlir.compile(make(), target="toy")
    assert "--fallback host" in error.value.notes[-1].message


def test_constants_that_tell_shapes_are_in_the_call():
    nodes = [helper.make_node("CenterCropPad", ["x", "size"], ["y"], "crop")]
    size = numpy_helper.from_array(np.array([2, 6]), "size")
    proto = model(nodes, [info("x", FLOAT, 4, 4)], [info("y", FLOAT, "a", "b")], [size])
    proto.opset_import[0].version = 18
    program = compiled(proto, emit="graph")
    assert program.outputs[0].shape in ((2, 6), (-1, -1))
    (value,) = program.run([np.ones((4, 4), np.float32)]).values()
    assert value.shape == (2, 6) and value.sum() == 8


def test_the_reference_evaluator_stands_in_for_onnxruntime(monkeypatch: pytest.MonkeyPatch):
    def missing(model: onnx.ModelProto) -> Any:
        raise ImportError

    monkeypatch.setattr(host_call, "_onnxruntime", missing)
    program = compiled(between(), emit="graph")
    inputs = program.random_inputs()
    found = list(program.run(inputs).values())
    np.testing.assert_allclose(found[0], expected(between(), inputs)[0], 1e-4, 1e-4)


def test_what_the_host_cannot_run_is_named():
    nodes = [helper.make_node("Mystery", ["x"], ["y"], "mystery", domain="nowhere")]
    proto = model(nodes, [info("x", FLOAT, 4)], [info("y", FLOAT, 4)], domains={"nowhere": 1})
    program = compiled(proto, emit="graph")
    with pytest.raises(UserError, match="the host cannot run nowhere::Mystery"):
        program.run(program.random_inputs())


def test_what_no_array_can_be_is_refused():
    nodes = [helper.make_node("SplitToSequence", ["x", "n"], ["y"], "split")]
    sequence = helper.make_tensor_sequence_value_info("y", FLOAT, None)
    count = helper.make_tensor_value_info("n", INT64, [])
    proto = model(nodes, [info("x", FLOAT, 4), count], [sequence])
    with pytest.raises(UserError, match="output 'y' has a sequence, which no array can be"):
        compiled(proto)


def test_report():
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "mm"),
        helper.make_node("MatMulInteger", ["i", "j"], ["p"], "integers"),
        helper.make_node("BitShift", ["i", "i"], ["s"], "shift", direction="LEFT"),
    ]
    inputs = [info("x", FLOAT, 4, 8), info("i", UINT8, 4, 16), info("j", UINT8, 16, 4)]
    outputs = [info("a", FLOAT, 4, 4), info("p", TensorProto.INT32, 4, 4), info("s", UINT8, 4, 16)]
    program = compiled(model(nodes, inputs, outputs, [weight("w", 8, 4)]))
    values = program.random_inputs()
    simulation = program.simulate(values)
    report = report_of(program, program.named(simulation.outputs), simulation, [])
    assert report.host_nodes == ["integers (MatMulInteger)", "shift (BitShift)"]
    assert report.host_macs == 4 * 16 * 4 and report.macs == 4 * 8 * 4
    assert report.host_mac_share == pytest.approx(2 / 3)
    assert report.cycles == simulation.cycles == sum(launch.cycles for launch in report.launches)
    assert summary(host_work(program.module)) == (
        "2 nodes with 66.7 % of the multiply-accumulates run on the host, whose time is not counted: "
        "integers (MatMulInteger), shift (BitShift)"
    )


def test_nothing_on_the_host():
    nodes = [helper.make_node("Relu", ["x"], ["y"], "relu")]
    program = compiled(model(nodes, [info("x", FLOAT, 4)], [info("y", FLOAT, 4)]))
    work = host_work(program.module)
    assert (work.nodes, work.macs, work.share) == ([], 0, 0.0)
    assert summary(work) == "No node runs on the host."


def test_a_node_that_a_pass_refuses_is_left_to_the_host(monkeypatch: pytest.MonkeyPatch):
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"], "add"),
        helper.make_node("Erf", ["a"], ["b"], "erf"),
        helper.make_node("Add", ["b", "x"], ["y"], "sum"),
    ]
    proto = model(nodes, [info("x", FLOAT, 4)], [info("y", FLOAT, 4)])
    monkeypatch.delitem(LOWERINGS, graph.ErfOp)
    with pytest.raises(UserError, match="no lowering to linalg for graph.erf") as error:
        npu_mlir.compile(proto, target="toy")
    assert "--fallback host" in error.value.notes[-1].message
    program = compiled(proto)
    calls = [op for op in program.module.walk() if isinstance(op, HostCallOp)]
    assert [call.operators.data[0].data for call in calls] == ["Erf"]
    inputs = program.random_inputs()
    (value,) = program.run(inputs).values()
    np.testing.assert_allclose(value, expected(proto, inputs)[0], 1e-5, 1e-6)


def test_baked_inputs():
    nodes = [
        helper.make_node("Equal", ["rate", "sixteen"], ["c"], "check"),
        helper.make_node(
            "If",
            ["c"],
            ["y"],
            "if",
            then_branch=helper.make_graph(
                [helper.make_node("Relu", ["x"], ["o"])], "t", [], [info("o", FLOAT, 4)]
            ),
            else_branch=helper.make_graph(
                [helper.make_node("Neg", ["x"], ["o"])], "e", [], [info("o", FLOAT, 4)]
            ),
        ),
    ]
    sixteen = numpy_helper.from_array(np.array(16000), "sixteen")
    proto = model(nodes, [info("x", FLOAT, 4), info("rate", INT64)], [info("y", FLOAT, 4)], [sixteen])
    x = np.array([-1, 2, -3, 4], np.float32)
    for rate, reference in ((16000, np.maximum(x, 0)), (np.array(8000), -x)):
        program = npu_mlir.compile(proto, target="toy", bake={"rate": rate})
        assert [entry.name for entry in program.inputs] == ["x"]
        np.testing.assert_array_equal(program.run([x])["y"], reference)
    for bake, message in (
        ({"sr": 1}, "no input 'sr' to bake"),
        ({"rate": 0.5}, "the input 'rate' is int64, which 0.5 is not"),
        ({"rate": np.array(1, np.float32)}, "the input 'rate' is float32, the model expects int64"),
        ({"rate": np.zeros(2, np.int64)}, "rank 0"),
    ):
        with pytest.raises(UserError, match=message):
            npu_mlir.compile(proto, bake=bake)
