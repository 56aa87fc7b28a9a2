"""Names in ONNX models: equal ones in two scopes never meet, and a model that says two things is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.support.diagnostics import UserError

X = np.arange(6, dtype=np.float32)
OPSET = [helper.make_opsetid("", 17)]


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def value(name: str, type_: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type_, None)


def make(
    nodes: list[onnx.NodeProto], weights: dict[str, Any] | None = None, **options: Any
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)]
    graph = helper.make_graph(nodes, "g", inputs, [value("y")], tensors)
    return helper.make_model(graph, **{"opset_imports": OPSET, "ir_version": 8, **options})


def same(source: onnx.ModelProto) -> None:
    session: Any = ort.InferenceSession(source.SerializeToString())
    (expected,) = session.run(None, {"x": X})
    module = import_model(source)
    module.verify()
    np.testing.assert_allclose(run_function(module, "main", [X])[0], expected, rtol=1e-6)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def branch(nodes: list[onnx.NodeProto], result: str, **weights: Any) -> onnx.GraphProto:
    tensors = [
        numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in weights.items()
    ]
    return helper.make_graph(nodes, result, [], [value(result)], tensors)


def if_(condition: str, result: str, then: onnx.GraphProto, other: onnx.GraphProto) -> onnx.NodeProto:
    return node("If", condition, result, then_branch=then, else_branch=other)


CONDITIONS = {"yes": np.array(True), "no": np.array(False)}


def test_branches_with_equal_names_of_weights():
    first = if_("yes", "a", branch([node("Mul", "x w", "t")], "t", w=2), branch([node("Neg", "x", "t")], "t"))
    second = if_(
        "no", "b", branch([node("Neg", "x", "t")], "t"), branch([node("Mul", "x w", "t")], "t", w=50)
    )
    same(make([first, second, node("Sub", "a b", "y")], CONDITIONS))


def test_branches_with_equal_names_of_constants():
    def scaled(factor: float) -> onnx.GraphProto:
        return branch([node("Constant", "", "c", value_float=float(factor)), node("Mul", "x c", "t")], "t")

    nodes = [if_("yes", "a", scaled(3), scaled(5)), if_("no", "b", scaled(7), scaled(11))]
    same(make([*nodes, node("Sub", "a b", "y")], CONDITIONS))


def test_a_branch_sees_the_names_around_it_and_leaves_them_alone():
    inner = branch([node("Add", "x w", "u"), node("Mul", "u v", "t")], "t", v=3)
    outer = branch([if_("no", "r", branch([node("Neg", "x", "t")], "t"), inner)], "r")
    nodes = [if_("yes", "a", outer, branch([node("Neg", "x", "t")], "t")), node("Mul", "a w", "y")]
    same(make(nodes, {**CONDITIONS, "w": np.float32(2)}))


@pytest.mark.parametrize("taken", ["Elu_0", "Elu_0.1.0.f32", "Mean_0.0.5.f32", "Constant_0", "Neg_0"])
def test_a_weight_called_like_a_name_that_the_importer_invents(taken: str):
    nodes = [
        node("Mean", f"x {taken}", "m"),
        node("Elu", "m", "e"),
        node("Mean", f"e {taken}", "f"),
        node("Mul", f"f {taken}", "y"),
    ]
    same(make(nodes, {taken: np.linspace(1, 7, 6, dtype=np.float32)}))


def test_unnamed_nodes_and_nodes_called_like_them():
    nodes = [node("Mean", "x c", "a", name="Mean_1"), node("Mean", "a x c", "b"), node("Mean", "b a", "y")]
    same(make(nodes, {"c": np.float32(0.25)}))


def test_functions_with_equal_names_inside():
    def twist(name: str, factor: float) -> onnx.FunctionProto:
        body = [
            node("Constant", "", "c", value_float=float(factor)),
            node("Mul", "a c", "t"),
            node("Add", "t a", "b"),
        ]
        return helper.make_function("local", name, ["a"], ["b"], body, OPSET)

    nodes = [
        helper.make_node("Twist", ["x"], ["t"], domain="local"),
        helper.make_node("Turn", ["t"], ["c"], domain="local"),
        helper.make_node("Twist", ["c"], ["y"], domain="local"),
    ]
    imports = [*OPSET, helper.make_opsetid("local", 1)]
    same(make(nodes, opset_imports=imports, functions=[twist("Twist", 2), twist("Turn", 3)]))


def test_attributes_and_absent_inputs_of_functions():
    clip = node("Clip", "a low high", "c")
    leaky = node("LeakyRelu", "c", "b")
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type="FLOAT"))
    function = helper.make_function(
        "local",
        "Leak",
        ["a", "low", "high"],
        ["b"],
        [clip, leaky],
        OPSET,
        attribute_protos=[helper.make_attribute("slope", 0.5)],
    )
    nodes = [
        node("Sub", "x three", "s"),
        helper.make_node("Leak", ["s", "", "two"], ["l"], domain="local", slope=0.125),
        helper.make_node("Leak", ["l", "one"], ["y"], domain="local"),
    ]
    weights = {"one": np.float32(-0.1), "two": np.float32(2), "three": np.float32(3)}
    imports = [*OPSET, helper.make_opsetid("local", 1)]
    same(make(nodes, weights, opset_imports=imports, functions=[function]))


def refusal(source: onnx.ModelProto) -> str:
    with pytest.raises(UserError) as caught:
        import_model(source)
    return "\n".join([caught.value.message, *(note.message for note in caught.value.notes)])


def test_a_function_that_calls_itself():
    body = [helper.make_node("Loop", ["a"], ["b"], domain="local")]
    function = helper.make_function("local", "Loop", ["a"], ["b"], body, OPSET)
    imports = [*OPSET, helper.make_opsetid("local", 1)]
    nodes = [helper.make_node("Loop", ["x"], ["y"], domain="local", name="n")]
    assert "node 'n' (Loop): functions call each other more than 16 deep" in refusal(
        make(nodes, opset_imports=imports, functions=[function])
    )


SURPLUS = node("Relu", "x x", "y", name="n")
TWICE = [node("Relu", "x", "y"), node("Neg", "x", "y", name="n")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (make([SURPLUS]), "node 'n' (Relu): it has 2 inputs, the operator takes 1"),
        (make(TWICE), "node 'n' (Neg): its output 'y' is defined before"),
        (make([node("Neg", "x", "x", name="n")]), "node 'n' (Neg): its output 'x' is defined before"),
        (make([node("Neg", "z", "y")]), "node 'Neg_0' (Neg): nothing before it computes its input 'z'"),
        (make([node("Neg", "z", "y"), node("Neg", "x", "z")]), "computes its input 'z'"),
        (make([]), "nothing computes the output 'y'"),
        (make([node("Relu", "x", "y z")]), "it has 2 outputs, the operator has at most 1"),
        (make([node("Concat", "x x", "y")]), "node 'Concat_0' (Concat): attribute axis is missing"),
        (make([node("Concat", "x x", "y", axis=0.5)]), "attribute axis is FLOAT, the operator takes INT"),
        (
            make([node("If", "yes", "y", then_branch=branch([], "x"))], CONDITIONS),
            "node 'If_0' (If): attribute else_branch is missing",
        ),
        (
            make([node("Neg", "x", "y")], opset_imports=[helper.make_opsetid("local", 1)]),
            "node 'Neg_0' (Neg): the model does not say which version of the standard operators it uses",
        ),
        (
            make([node("Cast", "x", "y", to=TensorProto.INT32)]),
            "output 'y' is declared as FLOAT, but the model computes i32",
        ),
    ],
)
def test_a_model_that_contradicts_itself(source: onnx.ModelProto, message: str):
    assert message in refusal(source)


def test_two_weights_of_one_name():
    source = make([node("Mul", "x w", "y")], {"w": np.float32(2)})
    source.graph.initializer.append(numpy_helper.from_array(floats(3), "w"))
    assert "it has 2 weights named 'w'" in refusal(source)


def test_a_weight_without_all_its_data():
    source = make([node("Mul", "x w", "y")], {"w": X})
    source.graph.initializer[0].raw_data = source.graph.initializer[0].raw_data[:-3]
    assert "the weight 'w' is damaged" in refusal(source)


def test_a_weight_of_an_unknown_type():
    source = make([node("Mul", "x w", "y")], {"w": X})
    source.graph.initializer[0].data_type = 99
    assert "the weight 'w' is damaged" in refusal(source)


def test_a_name_that_is_not_text(tmp_path: Any):
    data = make([node("Mul", "x weight", "y")], {"weight": X}).SerializeToString()
    path = tmp_path / "name.onnx"
    path.write_bytes(data.replace(b"weight", b"we\xffght"))
    with pytest.raises(UserError, match="has a name that is not UTF-8"):
        import_model(path)


@pytest.mark.parametrize("coordinates", [False, True])
def test_sparse_weights(coordinates: bool):
    indices = np.array([[0, 1], [1, 2]]) if coordinates else np.array([1, 5])
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(floats(3, 4), "w"), numpy_helper.from_array(indices, "at"), [2, 3]
    )
    source = make(
        [
            node("Mul", "x2 w", "y"),
        ],
        {"s": np.array([2, 3])},
    )
    source.graph.node.insert(0, node("Reshape", "x s", "x2"))
    source.graph.sparse_initializer.append(sparse)
    (result,) = run_function(import_model(source), "main", [X])
    np.testing.assert_array_equal(result, X.reshape(2, 3) * floats(0, 3, 0, 0, 0, 4).reshape(2, 3))


def test_a_sparse_weight_with_an_index_outside():
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(floats(3), "w"), numpy_helper.from_array(np.array([9]), "at"), [6]
    )
    source = make([node("Mul", "x w", "y")])
    source.graph.sparse_initializer.append(sparse)
    assert "the sparse weight 'w' is damaged: an index lies outside" in refusal(source)


def test_sequences_are_no_tensors():
    """A sequence of constants isn't stacked into one tensor."""
    source = make([node("SequenceConstruct", "a a", "y")], {"a": X})
    assert "output 'y' is a sequence, and a program returns tensors" in refusal(source)


@pytest.mark.parametrize(
    ("proto", "weights", "message"),
    [
        (node("Pad", "x p", "y"), {"p": np.array([1])}, "1 paddings for 1 dimensions"),
        (node("Pad", "x p", "y"), {"p": np.array([1, 1, 1, 1])}, "4 paddings for 1 dimensions"),
        (
            node("Slice", "x s e", "y"),
            {"s": np.array([0, 1]), "e": np.array([3])},
            "2 starts, 1 ends, 2 axes and 2 steps",
        ),
    ],
)
def test_lists_of_different_lengths(proto: onnx.NodeProto, weights: dict[str, Any], message: str):
    assert message in refusal(make([proto], weights))


@pytest.mark.parametrize(("number", "name"), [(8, "STRING"), (0, "UNDEFINED"), (99, "99"), (-1, "-1")])
def test_an_input_of_a_type_that_is_none(number: int, name: str):
    source = make([node("Relu", "x", "y")])
    source.graph.input[0].type.tensor_type.elem_type = number
    assert f"input 'x' has elements of unsupported type {name}" in refusal(source)
