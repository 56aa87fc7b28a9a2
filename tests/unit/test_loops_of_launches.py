"""Recurrences, Scan and Loop as loops of launches: values, size and time of what is compiled, places in GM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects import scf

import npu_mlir
from npu_mlir.api import Program
from npu_mlir.dialects.tile import LaunchOp, ReserveOp
from npu_mlir.ir.parsing import parse_module
from npu_mlir.simulator import SimulationResult
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import set_target
from npu_mlir.targets.target import Target

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ROWS, FEATURES, HIDDEN = 2, 8, 16
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def info(name: str, shape: Sequence[int] | None, type_: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type_, shape)


def seeded(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, np.ndarray],
    outputs: Sequence[str],
    weights: dict[str, np.ndarray],
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "test",
        [info(name, array.shape) for name, array in inputs.items()],
        [info(name, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    for value in model.graph.output:
        value.ClearField("type")
    return onnx.shape_inference.infer_shapes(model)


Case = tuple[onnx.ModelProto, dict[str, np.ndarray]]


def recurrent(operator: str, direction: str, steps: int) -> Case:
    """Weights small enough that what a rounding changes dies away, however many steps there are."""
    directions, count = 1 + (direction == "bidirectional"), GATES[operator] * HIDDEN
    weights = {
        "w": seeded(directions, count, FEATURES) / 2,
        "r": seeded(directions, count, HIDDEN) / 8,
        "b": seeded(directions, 2 * count) / 2,
    }
    outputs = ["y", "yh", "yc"][: 3 if operator == "LSTM" else 2]
    node = helper.make_node(
        operator, ["x", *weights], outputs, "cell", hidden_size=HIDDEN, direction=direction
    )
    inputs = {"x": seeded(steps, ROWS, FEATURES)}
    return model_of([node], inputs, outputs, weights), inputs


def scan(steps: int) -> Case:
    """A state, what it was before, and a sequence that is read and one that is written from the end."""
    nodes = [
        helper.make_node("MatMul", ["s", "w"], ["m"]),
        helper.make_node("Add", ["m", "a"], ["p"]),
        helper.make_node("Tanh", ["p"], ["t"]),
        helper.make_node("Mul", ["t", "s"], ["q"]),
        helper.make_node("Identity", ["s"], ["before"]),
    ]
    shape = [ROWS, HIDDEN]
    body = helper.make_graph(
        nodes,
        "body",
        [info("s", shape), info("a", shape)],
        [info("t", shape), info("q", shape), info("before", shape)],
    )
    node = helper.make_node(
        "Scan",
        ["start", "x"],
        ["end", "ys", "states"],
        "scan",
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_directions=[1, 0],
        scan_output_axes=[-1, 0],
    )
    inputs = {"start": seeded(ROWS, HIDDEN), "x": seeded(ROWS, steps, HIDDEN)}
    return model_of([node], inputs, ["end", "ys", "states"], {"w": seeded(HIDDEN, HIDDEN) / 8}), inputs


def loop(steps: int) -> Case:
    """A state, a counter, the number of the iteration as a value and as an index, and values of each iteration."""
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["a"], axis=1),
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["f", "small"], ["g"]),
        helper.make_node("Mul", ["s", "half"], ["h"]),
        helper.make_node("Add", ["h", "a"], ["k"]),
        helper.make_node("Sub", ["k", "g"], ["t"]),
        helper.make_node("Add", ["n", "one"], ["n2"]),
        helper.make_node("Relu", ["t"], ["y"]),
        helper.make_node("Identity", ["go"], ["again"]),
    ]
    shape = [ROWS, HIDDEN]
    body = helper.make_graph(
        nodes,
        "body",
        [info("i", [], INT64), info("go", [], BOOL), info("s", shape), info("n", [], INT64)],
        [info("again", [], BOOL), info("t", shape), info("n2", [], INT64), info("y", shape)],
    )
    node = helper.make_node("Loop", ["count", "yes", "start", "zero"], ["end", "n3", "ys"], "loop", body=body)
    weights = {
        "small": np.array(1e-3, np.float32),
        "half": np.array(0.5, np.float32),
        "one": np.array(1),
        "zero": np.array(0),
        "count": np.array(steps),
        "yes": np.array(True),
    }
    inputs = {"start": seeded(ROWS, HIDDEN), "x": seeded(ROWS, steps, HIDDEN)}
    return model_of([node], inputs, ["end", "n3", "ys"], weights), inputs


def check(case: Case, tolerance: float = 1e-5, **options: Any) -> tuple[Program, SimulationResult]:
    """Compile to instructions, run with all checks, compare with onnxruntime."""
    model, inputs = case
    session: Any = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    options.setdefault("target", "toy")
    program = npu_mlir.compile(model, **options)
    run = program.simulate(inputs)
    for value, expected in zip(run.outputs, session.run(None, inputs), strict=True):
        assert value.shape == expected.shape and value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)
    return program, run


CASES: dict[str, Callable[[int], Case]] = {
    "lstm": lambda steps: recurrent("LSTM", "bidirectional", steps),
    "gru": lambda steps: recurrent("GRU", "reverse", steps),
    "rnn": lambda steps: recurrent("RNN", "forward", steps),
    "scan": scan,
    "loop": loop,
}


@pytest.mark.parametrize("name", CASES)
def test_the_size_of_a_program_does_not_grow_with_its_steps(name: str):
    case, many = CASES[name], 2000
    program, run = check(case(many), tolerance=2e-5)
    few = npu_mlir.compile(case(100)[0], target="toy")
    ops = [sum(1 for _ in p.module.walk()) for p in (program, few)]
    # Tiles of what is computed for all steps at once may have other sizes.
    assert abs(ops[0] - ops[1]) < 200
    assert len(run.launches) >= many
    assert sum(kernel.launches for kernel in run.kernels) == len(run.launches)
    # Time alone is the same time.
    assert program.simulate().cycles == run.cycles


@pytest.mark.parametrize(("precision", "tolerance"), [("f32", 1e-5), ("f16", 1e-2)])
@pytest.mark.parametrize("target", ["toy", "ascend-910", "ascend-910b"])
@pytest.mark.parametrize("name", CASES)
def test_targets_and_precisions(name: str, target: str, precision: str, tolerance: float):
    check(CASES[name](20), tolerance, target=target, precision=precision)


@pytest.mark.parametrize("name", CASES)
def test_written_out_or_not(name: str):
    case = CASES[name](5)
    check(case, unroll=5)
    program, _ = check(case, unroll=0)
    assert any(isinstance(op, scf.ForOp) and has_launches(op) for op in program.module.walk())


def test_copies_say_what_they_are_for():
    _, run = check(scan(20))
    assert [kernel.loc for kernel in run.kernels if "scan" in kernel.loc.split("+")]
    assert all(kernel.loc for kernel in run.kernels)


def has_launches(op: scf.ForOp) -> bool:
    return any(isinstance(inner, LaunchOp) for inner in op.walk())


def test_a_condition_on_data_is_refused_however_long_the_loop():
    model, _ = loop(2000)
    body = model.graph.node[0].attribute[0].g
    body.node[-1].CopyFrom(helper.make_node("Less", ["n2", "zero"], ["again"]))
    body.node[6].CopyFrom(helper.make_node("Cast", ["first"], ["n2"], to=INT64))
    body.node.insert(6, helper.make_node("ReduceMax", ["t"], ["first"], keepdims=0))
    with pytest.raises(UserError) as error:
        npu_mlir.compile(model, target="toy", emit="graph")
    assert "node 'loop' (Loop): its condition is not a constant" in error.value.notes[0].message


def test_a_loop_that_ends_before_its_count():
    model, inputs = loop(30)
    for weight in model.graph.initializer:
        if weight.name == "count":
            weight.CopyFrom(numpy_helper.from_array(np.array(1 << 40), "count"))
    model.graph.node[0].attribute[0].g.node[-1].CopyFrom(helper.make_node("Less", ["n2", "last"], ["again"]))
    model.graph.initializer.append(numpy_helper.from_array(np.array(30), "last"))
    assert check((model, inputs))[1].outputs[1] == 30


def test_iterations_that_change_a_shape_are_refused_beyond_what_is_written_out():
    node = helper.make_node("Concat", ["s", "s"], ["t"], axis=0)
    body = helper.make_graph(
        [node, helper.make_node("Identity", ["go"], ["again"])],
        "body",
        [info("i", [], INT64), info("go", [], BOOL), info("s", None)],
        [info("again", [], BOOL), info("t", None)],
    )
    loop_node = helper.make_node("Loop", ["count", "", "x"], ["y"], "grow", body=body)
    model = model_of([loop_node], {"x": seeded(1, 4)}, ["y"], {"count": np.array(2000)})
    with pytest.raises(UserError) as error:
        npu_mlir.compile(model, target="toy", emit="graph")
    assert "node 'grow' (Loop): a step makes tensor<2x4xf32> of the tensor<1x4xf32>" in (
        error.value.notes[0].message
    )


def test_a_scan_in_a_scan():
    inner = helper.make_graph(
        [helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "r"], ["o"])],
        "inner",
        [info("s", [8]), info("a", [8])],
        [info("t", [8]), info("o", [8])],
    )
    outer = helper.make_graph(
        [
            helper.make_node("Scan", ["r", "row"], ["q", "os"], body=inner, num_scan_inputs=1),
            helper.make_node("Mul", ["q", "half"], ["p"]),
            helper.make_node("Identity", ["os"], ["all"]),
        ],
        "outer",
        [info("r", [8]), info("row", [6, 8])],
        [info("p", [8]), info("all", [6, 8])],
    )
    node = helper.make_node("Scan", ["start", "x"], ["end", "every"], body=outer, num_scan_inputs=1)
    inputs = {"start": seeded(8), "x": seeded(5, 6, 8)}
    case = model_of([node], inputs, ["end", "every"], {"half": np.array(0.25, np.float32)}), inputs
    program, run = check(case, unroll=0)
    assert len(run.launches) >= 5 * 6
    assert sum(isinstance(op, scf.ForOp) and has_launches(op) for op in program.module.walk()) == 2


# ---- places ----------------------------------------------------------------------------------------------------------

ROW = "tensor<2x8xf32>"


def text_of(states: Sequence[str], stacks: Sequence[str], backwards: Sequence[int], count: int) -> str:
    """A function with a state for each of `states`, which says what it becomes: a letter for the state of that letter,
    a digit for a new value of that state and the sequence; `stacks` says the same of what is put together."""
    names = [f"%s{i}" for i in range(len(states))]
    values = {chr(ord("a") + i): name for i, name in enumerate(names)} | {"x": "%x"}
    lines: list[str] = []
    for i, name in enumerate(names):
        lines.append(f"%m{i} = graph.mul {name}, %k : ({ROW}, {ROW}) -> {ROW}")
        lines.append(f"%n{i} = graph.add %m{i}, %x : ({ROW}, {ROW}) -> {ROW}")
        values[str(i)] = f"%n{i}"
    returned = [values[c] for c in (*states, *stacks)]
    rows = ", ".join([ROW] * len(returned))
    stack = f"tensor<{count}x2x8xf32>"
    arguments = ", ".join(f"{name}: {ROW}" for name in names)
    types = ", ".join([ROW] * len(states) + [stack] * len(stacks))
    results = ", ".join(f"%r{i}" for i in range(len(returned)))
    directions = f"backwards_stacks [{', '.join(map(str, backwards))}]" if stacks else ""
    return f"""
func.func private @step({arguments}, %x: {ROW}, %k: {ROW}) -> ({rows}) {{
  {chr(10).join(lines)}
  func.return {", ".join(returned)} : {rows}
}}
func.func @main({arguments}, %xs: {stack}, %k: {ROW}) -> ({types}) {{
  {results} = graph.repeat @step {count} times carry({", ".join(names)} : {", ".join([ROW] * len(names))})
    each(%xs : {stack}) with(%k : {ROW}) {directions} -> {types}
  func.return {results} : {types}
}}
"""


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_states_that_change_places(data: st.DataObject):
    """Whatever is carried on, handed through or put together: the same values at all levels, and nothing is overwritten
    before it is read."""
    count = data.draw(st.integers(1, 4), "states")
    letters = "abc"[:count] + "012"[:count] + "x"
    states = data.draw(st.lists(st.sampled_from(letters), min_size=count, max_size=count), "next")
    stacks = data.draw(st.lists(st.sampled_from(letters), max_size=3), "stacks")
    backwards = data.draw(st.lists(st.integers(0, 1), min_size=len(stacks), max_size=len(stacks)))
    steps = data.draw(st.integers(1, 5), "steps")
    program = program_of(text_of(states, stacks, backwards, steps))
    inputs = [seeded(2, 8, seed=i) for i in range(count)] + [seeded(steps, 2, 8), seeded(2, 8, seed=9)]
    expected = list(program.run(inputs).values())
    found = program.lower("isa").simulate(inputs)
    for value, reference in zip(found.outputs, expected, strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-5, atol=1e-5)


def program_of(text: str) -> Program:
    from npu_mlir.dialects.context import make_context

    ctx = make_context()
    module = parse_module(ctx, text, "test.mlir")
    set_target(module, Target.load("toy"))
    return Program(ctx, module)


def test_a_state_takes_turns_and_a_stack_is_written_in_place():
    program = program_of(text_of(["0", "a", "b"], ["1", "1"], [1, 0], 50)).lower("isa")
    launches = [op for op in program.module.walk() if isinstance(op, LaunchOp)]
    slots = sorted(slots for op in launches for _, slots in op.places() or ())
    # A state that two others hand on is read three iterations later; the second stack gets a copy.
    assert slots == [4, 50, 50]
    assert sum(isinstance(op, ReserveOp) for op in program.module.walk()) == 2
