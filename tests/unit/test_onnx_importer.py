"""The ONNX importer: variants of operators by opset, shape arithmetic, functions, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from npu_mlir.dialects.graph import GraphOp, WeightOp, location_of
from npu_mlir.frontends.onnx import import_model
from npu_mlir.frontends.onnx.converters import CONVERTERS
from npu_mlir.frontends.onnx.node import OPERATORS, converts
from npu_mlir.interpreters import run_function
from npu_mlir.ir.weights import weights_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.plugins import load_plugin_file

X = np.random.default_rng(0).standard_normal((2, 3, 4, 5), np.float32)

Node = onnx.NodeProto


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> Node:
    return helper.make_node(
        operator, inputs.split(), outputs.split(), name=f"{operator}@{outputs}", **attributes
    )


def value(name: str, shape: Any, type_: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type_, shape)


def model(
    nodes: list[Node],
    opset: int = 17,
    shape: Any = (2, 3, 4, 5),
    weights: dict[str, Any] | None = None,
    outputs: str = "y",
    ir_version: int = 8,
) -> onnx.ModelProto:
    """A model with the input x, float unless the nodes say otherwise."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(
        nodes, "test", [value("x", shape)], [value(name, None) for name in outputs.split()], tensors
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def ops_of(module: Any) -> list[GraphOp]:
    return [op for op in module.walk() if isinstance(op, GraphOp)]


def names_of(module: Any) -> list[str]:
    return [op.name.removeprefix("graph.") for op in ops_of(module) if not isinstance(op, WeightOp)]


def check(source: onnx.ModelProto, x: np.ndarray = X) -> Any:
    """The imported model computes what onnxruntime computes; returns the module."""
    module = import_model(source)
    module.verify()
    session: Any = ort.InferenceSession(source.SerializeToString())
    for actual, expected in zip(run_function(module, "main", [x]), session.run(None, {"x": x}), strict=True):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)
    return module


SCALED = {
    "scale": floats(1, 2, 3),
    "bias": floats(0.5, 0, -1),
    "mean": floats(1, 0, 2),
    "var": floats(1, 2, 4),
}

VARIANTS: dict[str, tuple[Node, int, dict[str, Any], str]] = {
    "clip-attributes": (node("Clip", "x", "y", min=-0.5, max=0.25), 7, {}, "clip"),
    "clip-inputs": (node("Clip", "x lo hi", "y"), 13, {"lo": np.float32(-0.5), "hi": np.float32(1)}, "clip"),
    "clip-no-min": (helper.make_node("Clip", ["x", "", "hi"], ["y"]), 13, {"hi": np.float32(1)}, "clip"),
    "softmax-flattens": (node("Softmax", "x", "y", axis=1), 11, {}, "reshape softmax reshape"),
    "softmax-last": (node("Softmax", "x", "y", axis=-1), 11, {}, "softmax"),
    "softmax-axis": (node("Softmax", "x", "y", axis=1), 13, {}, "softmax"),
    "log-softmax": (node("LogSoftmax", "x", "y", axis=2), 13, {}, "log_softmax"),
    "slice-attributes": (node("Slice", "x", "y", starts=[1, -3], ends=[2, 9], axes=[1, 3]), 7, {}, "slice"),
    "slice-steps": (
        node("Slice", "x s e a t", "y"),
        13,
        {"s": np.array([0, 4]), "e": np.array([9, 0]), "a": np.array([2, 3]), "t": np.array([2, -2])},
        "slice slice slice concat",
    ),
    "slice-everything": (node("Slice", "x s e", "y"), 13, {"s": np.array([0]), "e": np.array([9])}, ""),
    "squeeze-unsqueeze": (node("Unsqueeze", "x", "y", axes=[0, 5]), 11, {}, "reshape"),
    "unsqueeze-input": (node("Unsqueeze", "x a", "y"), 13, {"a": np.array([-1, 1])}, "reshape"),
    "flatten": (node("Flatten", "x", "y", axis=-2), 13, {}, "reshape"),
    "reshape-copy": (node("Reshape", "x s", "y"), 13, {"s": np.array([0, -1, 5])}, "reshape"),
    "sum-attribute": (node("ReduceSum", "x", "y", axes=[1, -1], keepdims=0), 11, {}, "reduce"),
    "sum-input": (node("ReduceSum", "x a", "y"), 13, {"a": np.array([-1])}, "reduce"),
    "sum-nothing": (node("ReduceSum", "x", "y", noop_with_empty_axes=1), 13, {}, ""),
    "sum-all": (node("ReduceSum", "x", "y"), 13, {}, "reduce"),
    "mean": (node("ReduceMean", "x a", "y"), 18, {"a": np.array([2, 3])}, "reduce"),
    "l2": (node("ReduceL2", "x", "y", axes=[1]), 13, {}, "mul reduce sqrt"),
    "pad-attribute": (node("Pad", "x", "y", pads=[0, 0, 1, 2, 0, 0, 0, 1], value=1.5), 7, {}, "pad"),
    "pad-input": (node("Pad", "x p", "y"), 13, {"p": np.array([0, 0, 1, -2, 0, 0, 0, 1])}, "slice pad"),
    "pad-axes": (
        node("Pad", "x p v a", "y"),
        18,
        {"p": np.array([1, 2]), "v": np.float32(3), "a": np.array([-1])},
        "pad",
    ),
    "split-equal": (node("Split", "x", "y", axis=2), 11, {}, ""),
    "expand": (node("Expand", "x s", "y"), 13, {"s": np.array([1, 1, 1])}, ""),
    "gather": (node("Gather", "x i", "y", axis=2), 13, {"i": np.array([[0, -1]])}, "slice reshape"),
    "gather-one": (node("Gather", "x i", "y", axis=-1), 13, {"i": np.array(-2)}, "slice reshape"),
    "gather-all": (node("Gather", "x i", "y", axis=1), 13, {"i": np.arange(3)}, ""),
    "gather-runs": (
        node("Gather", "x i", "y", axis=3),
        13,
        {"i": np.array([4, 1, 2, 3, 0, 2])},
        "slice slice slice concat",
    ),
    "gather-backwards": (
        node("Gather", "x i", "y", axis=3),
        13,
        {"i": np.array([4, 3, 2, 1, 0, 4, 3, 2, 1, 0])},
        "reshape equal reshape where reduce",
    ),
    "pow-integer": (node("Pow", "x e", "y"), 13, {"e": np.array(2)}, "cast pow"),
    "max-of-three": (
        node("Max", "x a b", "y"),
        13,
        {"a": np.float32(0), "b": np.float32(0.5)},
        "maximum maximum",
    ),
    "mean-of-two": (node("Mean", "x a", "y"), 13, {"a": np.float32(1)}, "add mul"),
    "hard-sigmoid": (node("HardSigmoid", "x", "y"), 13, {}, "hard_sigmoid"),
    "leaky-relu": (node("LeakyRelu", "x", "y"), 13, {}, "leaky_relu"),
    "prelu": (node("PRelu", "x s", "y"), 13, {"s": np.float32([[[0.5]], [[1]], [[2]]])}, "prelu"),
    "dropout-7": (node("Dropout", "x", "y", ratio=0.3), 7, {}, ""),
    "dropout-13": (node("Dropout", "x r t", "y"), 13, {"r": np.float32(0.5), "t": np.array(False)}, ""),
    "batch-norm-7": (node("BatchNormalization", "x scale bias mean var", "y"), 7, SCALED, "batch_norm"),
    "batch-norm-15": (node("BatchNormalization", "x scale bias mean var", "y"), 15, SCALED, "batch_norm"),
    "layer-norm": (
        node("LayerNormalization", "x s", "y", axis=-1),
        17,
        {"s": np.ones(5, np.float32)},
        "layer_norm",
    ),
    "global-pool": (node("GlobalMaxPool", "x", "y"), 13, {}, "global_max_pool"),
    "hard-swish": (node("HardSwish", "x", "y"), 14, {}, "hard_sigmoid mul"),
    "elu": (node("Elu", "x", "y"), 18, {}, "less exp sub mul where"),
    "thresholded-relu": (node("ThresholdedRelu", "x", "y"), 18, {}, "less where"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variant(name: str):
    proto, opset, weights, expected = VARIANTS[name]
    if name == "split-equal":
        proto.output.append("y1")
        assert names_of(check(model([proto], opset, outputs="y y1"))) == ["slice", "slice"]
        return
    assert names_of(check(model([proto], opset, weights=weights))) == expected.split()


def test_compare_and_where():
    nodes = [
        node("Greater", "x zero", "g"),
        node("LessOrEqual", "x one", "l"),
        node("And", "g l", "b"),
        node("Not", "b", "n"),
        node("Where", "n x zero", "y"),
    ]
    check(model(nodes, weights={"zero": np.float32(0), "one": np.float32(1)}))


def test_matmul_of_vectors():
    for weights, shape in (((5,), (2, 3, 4)), ((4, 5), (5,)), ((5,), (5,))):
        del shape
        rhs = (
            np.random.default_rng(1)
            .standard_normal(weights if len(weights) == 1 else (5, 2))
            .astype(np.float32)
        )
        check(model([node("MatMul", "x w", "y")], weights={"w": rhs}))
    vector = np.random.default_rng(1).standard_normal(5).astype(np.float32)
    check(model([node("MatMul", "x w", "y")], shape=(5,), weights={"w": vector}), X[0, 0, 0])


def test_shape_arithmetic_disappears():
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "n"),
        node("Unsqueeze", "n axes", "n1"),
        node("Concat", "n1 rest", "target", axis=0),
        node("Reshape", "x target", "r"),
        node("Relu", "r", "y"),
    ]
    weights = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    assert names_of(check(model(nodes, weights=weights))) == ["reshape", "relu"]


def test_constants_are_folded():
    nodes = [
        node("Constant", "", "c", value_floats=[1.0, 2.0, 3.0, 4.0, 5.0]),
        node("Exp", "c", "e"),
        node("ConstantOfShape", "dims", "ones", value=numpy_helper.from_array(np.ones(1, np.float32))),
        node("Add", "e ones", "s"),
        node("Mul", "x s", "y"),
    ]
    assert names_of(check(model(nodes, weights={"dims": np.array([4, 5])}))) == ["mul"]


@pytest.mark.parametrize(("taken", "expected"), [(True, ["relu"]), (False, ["neg"])])
def test_if_with_a_known_condition(taken: bool, expected: list[str]):
    branches = {
        "then_branch": helper.make_graph([node("Relu", "x", "t")], "then", [], [value("t", None)]),
        "else_branch": helper.make_graph([node("Neg", "x", "f")], "else", [], [value("f", None)]),
    }
    source = model([node("If", "c", "y", **branches)], weights={"c": np.array(taken)})
    assert names_of(check(source)) == expected


def test_dead_nodes_are_ignored():
    nodes = [node("NonZero", "x", "unused"), node("Relu", "x", "y")]
    assert names_of(check(model(nodes))) == ["relu"]


def test_model_functions_are_expanded():
    opset = [helper.make_opsetid("", 17)]
    body = [node("Mul", "a a", "square"), node("Add", "square a", "b")]
    function = helper.make_function("local", "Twist", ["a"], ["b"], body, opset)
    graph = helper.make_graph(
        [helper.make_node("Twist", ["x"], ["y"], domain="local")],
        "g",
        [value("x", X.shape)],
        [value("y", None)],
    )
    source = helper.make_model(
        graph, opset_imports=[*opset, helper.make_opsetid("local", 1)], functions=[function], ir_version=8
    )
    assert names_of(check(source)) == ["mul", "add"]


def test_weights_listed_among_the_inputs():
    source = model([node("Add", "x w", "y")], opset=7, weights={"w": np.ones(5, np.float32)}, ir_version=3)
    source.graph.input.append(value("w", (5,)))
    module = import_model(source)
    assert len(module.body.block.first_op.body.block.args) == 1


def test_names_and_locations():
    nodes = [node("Relu", "x", "a"), helper.make_node("Neg", ["a"], ["y"])]
    module = import_model(model(nodes, outputs="y a"))
    function: Any = module.body.block.first_op
    assert [name.data for name in function.attributes["input_names"]] == ["x"]
    assert [name.data for name in function.attributes["output_names"]] == ["y", "a"]
    assert [location_of(op) for op in ops_of(module)] == ["Relu@a", "Neg_1"]


def test_large_weights_go_to_the_store():
    weight = np.arange(100, dtype=np.float32).reshape(5, 20)
    module = check(model([node("MatMul", "x kernel:0", "y")], weights={"kernel:0": weight}))
    np.testing.assert_array_equal(weights_of(module).get("kernel:0"), weight)


def test_outputs_that_are_inputs_or_constants():
    source = model([node("Shape", "x", "y")], outputs="y x")
    source.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    module = import_model(source)
    shape, same = run_function(module, "main", [X])
    np.testing.assert_array_equal(shape, X.shape)
    np.testing.assert_array_equal(same, X)


# Shapes


RELU = [node("Relu", "x", "y")]


def test_dims_by_name():
    module = import_model(model(RELU, shape=("N", 3, "H", "H")), dims={"N": 2, "H": 5})
    assert module.body.block.first_op.body.block.args[0].type.get_shape() == (2, 3, 5, 5)


def test_shape_by_input():
    module = import_model(model(RELU, shape=(None, 3, "?", "?")), shapes={"x": (2, 3, 4, 5)})
    assert module.body.block.first_op.body.block.args[0].type.get_shape() == (2, 3, 4, 5)


def test_a_given_shape_fixes_names_for_other_inputs():
    source = model([node("Add", "x z", "y")], shape=("N", 5))
    source.graph.input.append(value("z", ("N", 5)))
    module = import_model(source, shapes={"x": (7, 5)})
    assert module.body.block.first_op.body.block.args[1].type.get_shape() == (7, 5)


def error_of(source: Any, **options: Any) -> str:
    """The message and notes of the error that the import ends with."""
    with pytest.raises(UserError) as caught:
        import_model(source, **options)
    return "\n".join([caught.value.message, *(note.message for note in caught.value.notes)])


def test_open_dimensions():
    assert error_of(model(RELU, shape=("N", 3, None, 5))) == (
        "open dimensions in input 'x' (Nx3x?x5)\n"
        "dimension 'N' is open: give its extent, for instance --dim N=1\n"
        "an unnamed dimension is open: give the shape, for instance --shape x=1x3x224x5"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": {"M": 1}}, "no input has a dimension named 'M'"),
        ({"dims": {"Batsh": 1}}, "no input has a dimension named 'Batsh'; did you mean 'Batch'?"),
        ({"dims": {"Batch": -1}}, "dimension 'Batch' cannot be -1"),
        ({"shapes": {"z": (1,)}}, "the model has no input 'z'"),
        ({"shapes": {"x": (1, 3, 4)}}, "input 'x' has rank 4 (Batchx3x?x5), got 1x3x4"),
        ({"shapes": {"x": (1, 3, 4, 6)}}, "dimension 3 of input 'x' is 5 in the model, got 6"),
        ({"shapes": {"x": (-2, 3, 4, 5)}}, "dimension 0 of input 'x' is Batch in the model, got -2"),
    ],
)
def test_wrong_shapes(options: dict[str, Any], message: str):
    assert error_of(model(RELU, shape=("Batch", 3, None, 5)), **options) == message


# Refusals


def test_all_unsupported_nodes_are_listed():
    nodes = [
        node("NonZero", "x", "a"),
        node("Relu", "x", "b"),
        node("Det", "b", "v"),
        helper.make_node("Fancy", ["v"], ["y"], domain="com.example", name="fancy"),
        node("Cast", "a", "z", to=TensorProto.FLOAT),
    ]
    source = model(nodes, outputs="y z")
    assert error_of(source) == (
        "3 nodes of the model cannot be imported\n"
        "node 'NonZero@a' (NonZero): operator is not supported\n"
        "node 'Det@v' (Det): operator is not supported\n"
        "node 'fancy' (Fancy): operator of domain com.example is not supported\n"
        "npu-compile --list-ops says what is supported\n"
        "--fallback host leaves such nodes to the host"
    )


def test_what_depends_on_a_refused_node_is_not_refused_as_well():
    branches = {
        name: helper.make_graph([node(op, "x", "b")], name, [], [value("b", (2, 3), TensorProto.FLOAT)])
        for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))
    }
    nodes = [
        node("NonZero", "x", "a"),
        node("Cast", "a", "c", to=TensorProto.BOOL),
        node("If", "c", "d", **branches),
        node("LayerNormalization", "d w", "e"),
        node("Twice", "e", "y", domain="mine"),
    ]
    source = model(nodes, weights={"w": floats(3)}, shape=(2, 3))
    source.opset_import.append(helper.make_opsetid("mine", 1))
    twice = [node("Add", "v v", "r")]
    source.functions.append(
        helper.make_function("mine", "Twice", ["v"], ["r"], twice, source.opset_import[:1])
    )
    assert error_of(source).splitlines()[1:] == [
        "node 'NonZero@a' (NonZero): operator is not supported",
        "npu-compile --list-ops says what is supported",
        "--fallback host leaves such nodes to the host",
    ]


def test_a_plugin_brings_an_operator_of_its_own_domain():
    squared = helper.make_node("SquaredRelu", ["x"], ["y"], domain="com.example", name="mine", scale=3.0)
    source = model([squared], shape=(2, 3))
    source.opset_import.append(helper.make_opsetid("com.example", 1))
    assert "node 'mine' (SquaredRelu): operator of domain com.example is not supported" in error_of(source)
    before, places = dict(CONVERTERS), dict(OPERATORS)
    try:
        load_plugin_file(str(Path(__file__).parents[2] / "examples/operators/squared_relu.py"))
        x = np.array([[-1, 0, 1], [2, -3, 4]], np.float32)
        (y,) = run_function(import_model(source), "main", [x])
        np.testing.assert_array_equal(y, 3 * np.maximum(x, 0) ** 2)
        squared.attribute.append(helper.make_attribute("surprise", 1))
        del source.graph.node[:]
        source.graph.node.append(squared)
        assert "attribute surprise is not supported" in error_of(source)
    finally:
        for table, entries in ((CONVERTERS, before), (OPERATORS, places)):
            table.clear()
            table.update(entries)


def test_an_operator_has_one_converter():
    with pytest.raises(UserError) as info:
        converts("Relu")(lambda node: node.value(0))
    assert info.value.message == "a plugin brings the operator 'Relu', which exists already"


def test_an_installed_plugin_brings_operators_on_use(monkeypatch: pytest.MonkeyPatch):
    examples = Path(__file__).parents[2] / "examples/operators"
    monkeypatch.syspath_prepend(str(examples))
    monkeypatch.setitem(OPERATORS, "com.example::SquaredRelu", "squared_relu:squared_relu")
    squared = helper.make_node("SquaredRelu", ["x"], ["y"], domain="com.example")
    source = model([squared], shape=(2,))
    source.opset_import.append(helper.make_opsetid("com.example", 1))
    try:
        (y,) = run_function(import_model(source), "main", [floats(-2, 3)])
        np.testing.assert_array_equal(y, [0, 9])
    finally:
        CONVERTERS.pop("com.example::SquaredRelu", None)
        sys.modules.pop("squared_relu", None)


def test_a_refusal_in_a_function_names_the_node_of_the_model():
    source = model([node("Outer", "x", "y", domain="mine")])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    source.opset_import.append(imports[1])
    for name, inner in (
        ("Outer", node("Inner", "v", "r", domain="mine")),
        ("Inner", node("NonZero", "v", "r")),
    ):
        source.functions.append(helper.make_function("mine", name, ["v"], ["r"], [inner], imports))
    assert error_of(source).splitlines()[1] == (
        "node 'Outer@y' (Outer): operator is not supported (in its function, NonZero)"
    )


@pytest.mark.parametrize(
    ("proto", "weights", "message"),
    [
        (node("Pad", "x p", "y", mode="mirror"), {"p": np.zeros(8, int)}, "attribute mode = mirror"),
        (node("Dropout", "x", "y z"), {}, "output 1 ('z')"),
        (node("LpNormalization", "x", "y", p=3), {}, "attribute p = 3"),
        (node("Relu", "x", "y", surprise=1), {}, "attribute surprise"),
        (node("Reshape", "x s", "y"), {"s": np.array([7, -1])}, "2x3x4x5 cannot become 7x?"),
        (node("Add", "x w", "y"), {"w": floats(1, 2)}, "shapes 2x3x4x5 and 2 do not broadcast"),
        (node("Gemm", "x w", "y"), {"w": floats(1, 2)}, "operands 2x3x4x5 and 2 must have rank 2"),
        (node("Concat", "x x", "y", axis=4), {}, "axis 4 for rank 4"),
        (node("Conv", "x w", "y"), {"w": np.zeros((1, 4, 1, 1), np.float32)}, "do not fit 3 channels"),
        (node("Dropout", "x r t", "y"), {"r": np.float32(0.5), "t": np.array(True)}, "training mode"),
        (node("Cast", "x", "y", to=TensorProto.STRING), {}, "target type STRING"),
    ],
)
def test_refused(proto: Node, weights: dict[str, Any], message: str):
    assert message in error_of(model([proto], weights=weights, outputs=" ".join(proto.output)))


def test_shape_that_is_computed():
    source = model([node("Reshape", "x s", "y")], shape=(2, 2))
    source.graph.input.append(value("s", (1,), TensorProto.INT64))
    assert "its shape (input 1) is not a constant" in error_of(source)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "is not an ONNX file"),
        (b"hello", "is not an ONNX file"),
        (model(RELU).SerializeToString()[:-20], "is a truncated or damaged ONNX file"),
        (model(RELU, opset=99).SerializeToString(), "uses opset 99; supported are 1 to"),
    ],
)
def test_bad_files(tmp_path: Path, contents: bytes, message: str):
    path = tmp_path / "bad.onnx"
    path.write_bytes(contents)
    assert message in error_of(path)


def test_missing_file(tmp_path: Path):
    assert "cannot read" in error_of(tmp_path / "none.onnx")


def test_missing_external_weights(tmp_path: Path):
    source = model([node("Add", "x w", "y")], weights={"w": np.ones(5, np.float32)})
    path = tmp_path / "external.onnx"
    onnx.save_model(source, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    check(onnx.load(path))
    (tmp_path / "weights.bin").unlink()
    assert "cannot read the external weights" in error_of(path)


def test_every_truncation_is_reported(tmp_path: Path):
    """No prefix of a file is imported, and none gives a traceback."""
    contents = model([node("Add", "x w", "y")], weights={"w": np.ones(20, np.float32)}).SerializeToString()
    path = tmp_path / "cut.onnx"
    for length in range(len(contents)):
        path.write_bytes(contents[:length])
        error_of(path)
