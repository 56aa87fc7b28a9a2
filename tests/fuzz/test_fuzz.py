"""Some random cases with each run of the tests; `make fuzz` has more. And that the fuzzer finds what is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from fuzz.graphs import Builder, GraphCase, Spec, generators, random_graph
from fuzz.judge import check, judge_graph, outcome_of
from fuzz.limits import Hang
from fuzz.mutants import Mutant, Mutants
from fuzz.reduce import printed, reduce_data, reduce_graph
from fuzz.reference import make_model, value_info
from npu_mlir.frontends.onnx.fold import CannotEvaluate, evaluate
from npu_mlir.frontends.onnx.node import Unsupported

PARTS, GRAPHS = 4, 20
"""Parts for several processes, and graphs in each."""

FOLDED = 400
"""Nodes that are folded."""

MUTANTS = 120
"""Damaged inputs in each of two parts."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs_compute_what_onnxruntime_computes(part: int):
    right = 0
    for seed in range(part * GRAPHS, (part + 1) * GRAPHS):
        case = random_graph(seed)
        if case is not None:
            outcome = judge_graph(case)
            assert not outcome.is_finding, f"graph:{seed} {outcome.text}"
            right += outcome.kind == "right"
    assert right > GRAPHS / 3


def test_single_constant_nodes_are_folded_to_what_onnxruntime_computes():
    """ONNX's reference, which folds them, ignores attributes of some operators: these are left alone."""
    folded = 0
    for seed in range(FOLDED):
        builder = Builder(seed)
        builder.input(builder.data(builder.shape(), np.float32))
        operator = sorted(generators())[seed % len(generators())]
        spec = generators()[operator](builder, operator)
        if not isinstance(spec, Spec) or spec.captured or not builder.add(spec):
            continue
        operands = [value.array if value else None for value in spec.inputs]
        try:
            found = evaluate(builder.nodes[-1], operands, {"": builder.opset})
        except (CannotEvaluate, Unsupported):
            continue
        folded += 1
        values = builder.values[-len(found) :]
        right = {value.name: value.array for value in values}
        errors = {value.name: value.error for value in values}
        check(dict(zip(right, found, strict=True)), right, errors)
    assert folded > FOLDED / 4


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_damaged_inputs_are_refused_or_mean_something(part: int, tmp_path: Path):
    mutants = Mutants(tmp_path)
    ends = Counter[str]()
    for seed in range(part * MUTANTS, (part + 1) * MUTANTS):
        outcome = mutants.judge(seed)
        assert not outcome.is_finding, f"mutant:{seed} {outcome.text}\n{mutants.reduced(outcome)}"
        ends[outcome.kind] += 1
    assert min(ends["right"], ends["refused"]) > MUTANTS / 20


def chain() -> GraphCase:
    """relu(-(a + b)) with a wrong value for the sum."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    values = {"a": a, "b": a, "s": 2 * a + 1, "n": -2 * a, "y": 0 * a}
    nodes = [
        helper.make_node("Add", ["a", "b"], ["s"]),
        helper.make_node("Neg", ["s"], ["n"]),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [value_info(name, a) for name in "ab"],
        [value_info(name, a) for name in ("s", "y")],
    )
    return GraphCase(0, make_model(graph, 17), values, dict.fromkeys(values), "toy", "f32")


def test_a_wrong_value_is_found_and_cut_down_to_its_node():
    case = chain()
    outcome = judge_graph(case)
    assert (outcome.kind, outcome.signature) == ("wrong", "values differ")
    small = reduce_graph(case, lambda smaller: judge_graph(smaller).kind == "wrong")
    assert [node.op_type for node in small.model.graph.node] == ["Add"]
    assert list(small.outputs) == ["s"]
    assert "s = Add (a, b)" in printed(small)


def test_a_value_may_be_off_by_its_error():
    case = chain()
    errors = {**case.errors, "s": np.full((2, 3), 0.5)}
    assert judge_graph(replace(case, errors=errors)).kind == "right"


def test_endless_work_is_a_hang():
    def run() -> None:
        while True:
            pass

    assert outcome_of(run, seconds=0.1).kind == "hang"
    assert issubclass(Hang, BaseException)


def test_an_exception_of_ours_is_a_crash_and_a_huge_array_as_well():
    assert outcome_of(lambda: print([].pop())).signature.startswith("IndexError")
    assert outcome_of(lambda: print(np.ones(1 << 34, np.int8).size)).kind == "crash"


def test_graphs_depend_on_their_seed_alone():
    first, second = random_graph(3), random_graph(3)
    assert first is not None and second is not None
    assert first.model == second.model
    assert all(np.array_equal(first.values[name], second.values[name]) for name in first.values)


def test_damaged_data_is_cut_down_to_what_fails():
    assert reduce_data(b"abcdefgh", lambda part: b"c" in part) == b"c"
    assert reduce_data("a b\nc %d\ne", lambda part: "%d" in part) == "%d"
    assert reduce_data(["-o", "x", "--emit=y"], lambda part: "x" in part) == ["x"]


def test_fields_of_a_damaged_message_are_taken_out():
    model = chain().model
    small = reduce_data(model, lambda m: any(node.op_type == "Neg" for node in m.graph.node))
    assert str(small).split() == ["graph", "{", "node", "{", "op_type:", '"Neg"', "}", "}"]


def test_a_finding_in_a_damaged_input_is_shown_without_what_it_does_not_need(tmp_path: Path):
    mutants = Mutants(tmp_path)

    def use(text: str) -> None:
        if "b" in text:
            raise KeyError("b")

    mutants.last = Mutant("text", "a\nb\nc\n", use)
    outcome = outcome_of(lambda: use("b"))
    assert mutants.reduced(outcome) == "text\nb"
