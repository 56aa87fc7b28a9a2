"""A part of ONNX's conformance suite: no case may be worse than in `results.txt`. And what verdicts are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance import operators, results, run
from conformance.suite import Case, dense_cases, shard
from conformance.verdicts import CLASSES, GOOD, Verdict, judge
from npu_mlir.frontends.onnx.converters import CONVERTERS
from npu_mlir.frontends.onnx.operators import operators as supported

SHARD, SHARDS = 7, 20
"""The part of the suite that runs with each `make test`."""

PARTS = 4
"""In as many tests, for several processes."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_case_of_a_shard_gets_worse(part: int):
    cases = shard(dense_cases(), SHARD, SHARDS)[part::PARTS]
    assert len(cases) > 10
    assert results.worse({case.name: judge(case) for case in cases}, results.read()) == []


@pytest.mark.slow
def test_the_results_are_those_of_the_suite():
    known = results.read()
    assert all(verdict.kind in CLASSES for verdict in known.values())
    if of_this_onnx():
        assert sorted(known) == [case.name for case in dense_cases()]


def of_this_onnx() -> bool:
    """Whether the committed results are of the version of onnx that is installed."""
    return f"onnx {onnx.__version__}:" in results.FILE.read_text().partition("\n")[0]


@pytest.mark.slow
def test_the_list_of_operators_is_that_of_the_results():
    """If not: python tests/conformance/operators.py"""
    if of_this_onnx():
        assert operators.data(results.read()) == operators.DATA.read_text()


def test_the_page_of_operators_is_current():
    """If not: python tests/conformance/operators.py"""
    if of_this_onnx():
        assert operators.page() == operators.PAGE.read_text()


@pytest.mark.slow
def test_cases_that_pass_have_no_other_attributes_than_those_that_are_listed():
    listed = {entry.name: {name.partition("=")[0] for name in entry.attributes} for entry in supported()}
    known = results.read()
    checked = 0
    for case in dense_cases():
        nodes = case.load()[0].graph.node if case.kind == "node" else []
        if len(nodes) == 1 and nodes[0].op_type in CONVERTERS and known[case.name].kind == "device":
            assert {attribute.name for attribute in nodes[0].attribute} <= listed[nodes[0].op_type], case.name
            checked += 1
    assert checked > 300


def case(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, np.ndarray],
    outputs: dict[str, np.ndarray],
    **options: object,
) -> Case:
    """A case of the kind that the suite has."""
    values = [
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in arrays.items()
        ]
        for arrays in (inputs, outputs)
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "g", *values), opset_imports=[helper.make_opsetid("", 18)]
    )
    data = [([*inputs.values()], [*outputs.values()])]
    return Case("test_case", "node", lambda: (model, data), 1e-3, 1e-7)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
SIX = np.array([6], np.int64)


def test_kernels_are_of_the_class_device():
    assert judge(case([helper.make_node("Add", ["x", "x"], ["y"])], {"x": X}, {"y": 2 * X})) == Verdict(
        "device"
    )


def test_another_value_is_wrong():
    verdict = judge(case([helper.make_node("Add", ["x", "x"], ["y"])], {"x": X}, {"y": 2.01 * X}))
    assert verdict == Verdict("wrong", "output 0 differs as imported")


def test_a_value_within_the_tolerance_of_the_suite_is_right():
    right = (2 * X).astype(np.float32) * np.float32(1.0005)
    assert judge(case([helper.make_node("Add", ["x", "x"], ["y"])], {"x": X}, {"y": right})).kind == "device"


def test_another_type_or_shape_is_wrong():
    node = helper.make_node("Shape", ["x"], ["y"])
    assert judge(case([node], {"x": X}, {"y": np.array([[2, 3]])})).reason.startswith(
        "output 0 has the shape (2,)"
    )


def test_an_exception_is_wrong():
    def load():
        raise ZeroDivisionError("at /some/where 0x7f")

    assert judge(Case("test_case", "node", load, 0, 0)) == Verdict("wrong", "ZeroDivisionError: at … …")


def test_a_reshape_of_an_input_is_a_view_once_its_shape_is_constant():
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    assert judge(case([node], {"x": X, "s": SIX}, {"y": X.reshape(6)})) == Verdict("views", "s")


def test_a_result_that_the_compiler_knows_is_folded():
    node = helper.make_node("Shape", ["x"], ["y"])
    assert judge(case([node], {"x": X}, {"y": np.array([2, 3])})) == Verdict("folded")
    zeros = helper.make_node("ConstantOfShape", ["s"], ["y"])
    assert judge(case([zeros], {"s": SIX}, {"y": np.zeros(6, np.float32)})) == Verdict("folded", "s")


def test_data_is_not_made_constant():
    node = helper.make_node("Compress", ["x", "c"], ["y"])
    verdict = judge(case([node], {"x": X, "c": np.ones(6, np.bool_)}, {"y": X.reshape(6)}))
    assert verdict.kind not in GOOD


def test_a_condition_is_made_constant_but_then_something_has_to_be_left():
    def branch(name: str, op: str) -> onnx.GraphProto:
        out = helper.make_tensor_value_info("z", TensorProto.FLOAT, X.shape)
        inner = helper.make_node(op, ["v", "v"], ["z"])
        one = helper.make_node("Constant", [], ["v"], value=onnx.numpy_helper.from_array(X))
        return helper.make_graph([one, inner], name, [], [out])

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "Add"), else_branch=branch("e", "Sub")
    )
    verdict = judge(case([node], {"c": np.array(True)}, {"y": 2 * X}))
    assert verdict == Verdict("folded-data", "constant: c")
    assert verdict.kind not in GOOD


def test_an_operator_without_a_translation_is_refused_with_the_reason():
    node = helper.make_node("RandomUniformLike", ["x"], ["y"])
    verdict = judge(case([node], {"x": X}, {"y": X}))
    assert verdict.kind == "refused"
    assert verdict.reason.startswith("RandomUniformLike: ")


def test_a_case_may_get_better_but_not_worse():
    known = {"a": Verdict("device"), "b": Verdict("refused", "no")}
    assert results.worse({"a": Verdict("views"), "b": Verdict("device"), "c": Verdict("wrong")}, known) == []
    assert results.worse({"a": Verdict("refused", "x")}, known) == ["a: device has become refused (x)"]
    assert results.worse({"b": Verdict("wrong")}, known) == ["b: refused has become wrong ()"]


def test_cases_that_are_not_compared_with_the_suite_are_named():
    text = results.summary({"a": Verdict("device"), "b": Verdict("device", "compared with exact values")})
    assert "2 of 2 dense cases count" in text
    assert "1 of them against exact values, not the suite's: b" in text


def test_results_survive_the_file(tmp_path: Path):
    verdicts = {"b": Verdict("refused", "no: of  no"), "a": Verdict("device")}
    results.write(verdicts, tmp_path / "r.txt")
    assert results.read(tmp_path / "r.txt") == verdicts


def test_of_two_lines_of_a_merge_the_better_one_counts(tmp_path: Path):
    file = tmp_path / "r.txt"
    file.write_text("# onnx\na refused no\na device\nb views\nb refused no\n")
    assert {name: verdict.kind for name, verdict in results.read(file).items()} == {
        "a": "device",
        "b": "views",
    }


def test_the_run_fails_for_a_case_that_got_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "r.txt"
    results.write({"test_bernoulli": Verdict("device"), "test_gone": Verdict("device")}, file)
    assert run.main(["-k", "test_bernoulli", "--results", str(file), "--update"]) == 1
    assert "test_bernoulli: device has become refused" in capsys.readouterr().err
    assert results.read(file)["test_bernoulli"].kind == "device"


def test_an_update_writes_what_was_run_and_keeps_the_rest(tmp_path: Path):
    file = tmp_path / "r.txt"
    results.write({"test_abs": Verdict("refused"), "test_gone": Verdict("device")}, file)
    assert run.main(["-k", "test_abs", "--results", str(file), "--update"]) == 0
    assert results.read(file) == {"test_abs": Verdict("device"), "test_gone": Verdict("device")}
