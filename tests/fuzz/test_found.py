"""What fuzzing has found, cut down: no wrong value again. What isn't supported may be refused."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import npu_mlir
import npu_mlir.api
from fuzz.graphs import GraphCase
from fuzz.judge import Outcome, judge_graph
from fuzz.reference import Session, make_model, value_info
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.passes.linalg.normalize import Normalize
from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools import npu_run


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
    errors: dict[str, Any] = {
        name: tolerance * (1 + np.abs(array.astype(np.float64))) for name, array in right.items()
    }
    return judge_graph(GraphCase(0, model, {**inputs, **right}, errors, target, precision))


def test_lrn_of_a_constant_is_not_folded_wrong():
    """ONNX's reference implementation takes no more than five channels."""
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 8, 1, 1)
    node = helper.make_node("LRN", ["w"], ["y"], size=3, alpha=0.5, bias=1.0)
    assert not outcome([node], {}, {"w": x}).is_finding


@pytest.mark.parametrize(
    ("node", "shape", "opset"),
    [
        (helper.make_node("GlobalMaxPool", ["w"], ["y"]), (1, 4, 11), 17),
        (
            helper.make_node("MaxPool", ["w"], ["y"], kernel_shape=[2], strides=[3], ceil_mode=1),
            (1, 3, 5),
            17,
        ),
        (
            helper.make_node("AveragePool", ["w"], ["y"], kernel_shape=[3, 3], strides=[3, 3]),
            (2, 2, 6, 3),
            22,
        ),
        (helper.make_node("Unsqueeze", ["w"], ["y"], axes=[2, 1]), (2, 13), 10),
        (helper.make_node("Slice", ["w"], ["y"], starts=[-7], ends=[-1]), (5, 3), 9),
        (helper.make_node("NonZero", ["w"], ["y"]), (), 13),
    ],
    ids=lambda value: getattr(value, "op_type", None),
)
def test_constants_are_folded_as_onnxruntime_computes_them(
    node: onnx.NodeProto, shape: tuple[int, ...], opset: int
):
    """ONNX's reference implementation is wrong about these."""
    array = 1 + np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    assert outcome([node], {}, {"w": array}, opset=opset).kind == "right"


def test_an_operand_that_onnx_refuses_is_refused_with_its_words():
    model = make_model(
        helper.make_graph(
            [helper.make_node("EyeLike", ["x"], ["y"], name="eye")],
            "found",
            [value_info("x", np.zeros((2, 3, 4), np.float32))],
            [helper.make_empty_tensor_value_info("y")],
        ),
        17,
    )
    with pytest.raises(UserError) as error:
        npu_mlir.api.read(model)
    assert "eye" in str(error.value.notes[0].message) + error.value.message


@pytest.mark.parametrize("operator", ["HardSigmoid", "Selu"])
def test_an_attribute_of_a_function_outside_of_one_is_refused(operator: str):
    """Of an operator with a converter, and of one that ONNX defines as a function."""
    node = helper.make_node(operator, ["x"], ["y"], alpha=0.5)
    node.attribute[0].ref_attr_name = "a"
    x = value_info("x", np.zeros(3, np.float32))
    graph = helper.make_graph([node], "found", [x], [helper.make_empty_tensor_value_info("y")])
    with pytest.raises(UserError, match="alpha is that of a function|cannot be imported"):
        npu_mlir.api.read(make_model(graph, 17))


def test_a_text_that_does_not_end_is_refused_at_once():
    """xDSL's expression for strings takes exponential time."""
    text = '"' + "a" * 60
    for source in (text, f'module attributes {{a = {text}\n"}} {{}}'):
        start = process_time()
        with pytest.raises(UserError, match="closing string literal"):
            parse_module(make_context(), source, "text.mlir")
        assert process_time() - start < 5


@pytest.mark.parametrize("setting", ["gm_ub", "vector.exp"])
def test_numbers_of_a_machine_that_no_attribute_holds_are_refused(setting: str):
    value = "18446744073709551616" + ",1,1" * (setting == "vector.exp")
    with pytest.raises(UserError, match=f"{setting}' can't be"):
        npu_mlir.Target.load("toy").replace(**{setting: value})


def test_gather_nd_with_one_constant_place():
    """Its place is a NumPy scalar, which is no array."""
    node = helper.make_node("GatherND", ["x", "i"], ["y"])
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert outcome([node], {"x": x}, {"i": np.array([1, -1, 2])}).kind == "right"


def test_a_scale_of_another_extent_than_the_channels_is_refused_by_name():
    node = helper.make_node("InstanceNormalization", ["x", "s", "s"], ["y"], name="norm")
    x, scale = np.ones((2, 3, 4), np.float32), np.ones(5, np.float32)
    inputs = [value_info("x", x), value_info("s", scale)]
    graph = helper.make_graph([node], "found", inputs, [helper.make_empty_tensor_value_info("y")])
    with pytest.raises(UserError) as error:
        npu_mlir.api.read(make_model(graph, 17))
    assert "norm" in str([error.value.message, *(note.message for note in error.value.notes)])


def test_an_extent_beyond_reason_beside_a_zero_is_refused():
    """There is nothing in such a tensor, but the positions along the extent are an array."""
    x = helper.make_tensor_value_info("x", 1, [0, (1 << 63) - 1])
    graph = helper.make_graph(
        [helper.make_node("Hardmax", ["x"], ["y"])], "found", [x], [helper.make_empty_tensor_value_info("y")]
    )
    with pytest.raises(UserError, match="fits into no memory"):
        npu_mlir.api.read(make_model(graph, 17))


def test_a_single_element_at_a_place_known_in_the_run_after_a_text():
    """On the host, a body without loops computed a number of Python, not an array."""
    x, at = np.arange(37) % 3 == 0, np.asarray(-17)
    node = helper.make_node("Gather", ["x", "i"], ["y"])
    graph = helper.make_graph(
        [node], "found", [value_info("x", x), value_info("i", at)], [value_info("y", x[at])]
    )
    values = {"x": x, "i": at, "y": np.asarray(x[at])}
    case = GraphCase(0, make_model(graph, 17), values, {"y": None}, "ascend-910b", "f32", level="tile")
    assert judge_graph(case).kind == "right"


@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_a_recurrence_of_constants_keeps_its_lengths_and_its_limit(operator: str, gates: int):
    """ONNX's reference implementation, which folds constants, knows neither."""
    numbers = np.random.default_rng(0)
    shapes = {"x": (2, 2, 4), "w": (1, gates * 5, 4), "r": (1, gates * 5, 5)}
    weights: dict[str, Any] = {n: numbers.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    weights["n"] = np.asarray([1, 2], np.int32)
    node = helper.make_node(operator, ["x", "w", "r", "", "n"], ["y"], hidden_size=5, clip=0.5)
    assert outcome([node], {}, weights).kind == "right"


def test_quantized_products_of_constants_round_halves_to_even():
    """ONNX's reference implementation rounds before it adds the zero point, and after a product in another order."""
    weights: dict[str, Any] = {
        "a": np.arange(-8, 8, dtype=np.int8).reshape(4, 4),
        "b": np.arange(-6, 10, dtype=np.int8).reshape(4, 4),
        "as": np.asarray(0.5, np.float32), "az": np.asarray(1, np.int8),
        "bs": np.asarray(0.25, np.float32), "bz": np.asarray(-1, np.int8),
        "ys": np.asarray(2.0, np.float32), "yz": np.asarray(3, np.int8),
    }  # fmt: skip
    node = helper.make_node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])
    result = outcome([node], {}, weights, tolerance=0)
    assert result.kind == "right", result.text


def test_sums_of_constant_halves_are_not_rounded_at_each_step():
    """One more than 2048 is no half: the sum of ones is, and ends there if each step is rounded."""
    weights = {"w": np.ones((4, 4096), np.float16)}
    node = helper.make_node("CumSum", ["w", "a"], ["y"])
    assert not outcome([node], {}, {**weights, "a": np.asarray(1)}, tolerance=1e-3).is_finding
    node = helper.make_node("ReduceSum", ["w", "a"], ["y"])
    assert outcome([node], {}, {**weights, "a": np.asarray([1])}, tolerance=1e-3).kind == "right"


@pytest.mark.parametrize("space", ["l0a", "l0b", "l0c"])
def test_a_buffer_without_room_for_an_element_divides_nothing_by_zero(space: str):
    x, w = (np.ones(shape, np.float32) for shape in ((4, 8), (8, 4)))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph(
        [node],
        "found",
        [value_info("x", x)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(w, "w")],
    )
    target = npu_mlir.Target.load("ascend-910").replace(**{space: "3"})
    with pytest.raises(UserError) as error:
        npu_mlir.compile(make_model(graph, 17), target=target, emit="isa")
    assert "unexpected" not in error.value.message


@pytest.mark.parametrize("level", ["graph", "linalg", "tile", "tile-memref", "isa"])
def test_a_single_integer_without_a_sign_has_none_at_any_level(level: str):
    """A scalar of NumPy is no array: its bits were taken for those of a number with a sign."""
    x = np.linspace(-50, 3, 8, dtype=np.float32)
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "y"])
    graph = helper.make_graph(
        [node], "found", [value_info("x", x)], [value_info("y", np.asarray(0, np.uint8))]
    )
    program = npu_mlir.compile(make_model(graph, 17), target="toy", emit=level)
    y = program.run({"x": x})["y"]
    assert y.dtype == np.uint8
    assert y == 241


def test_a_long_chain_of_insertions_is_looked_at_once():
    """It was looked at again from each of its insertions, and each time all boxes were compared: cubic time."""
    count = 400
    lines = ["%t0 = tensor.empty() : tensor<400xf32>"]
    for i in range(count):
        types = f"tensor<1xf32> into tensor<{count}xf32>"
        lines.append(f"%t{i + 1} = tensor.insert_slice %x into %t{i}[{i}] [1] [1] : {types}")
    lines.append(f"func.return %t{count} : tensor<{count}xf32>")
    text = f"func.func @main(%x: tensor<1xf32>) -> tensor<{count}xf32> {{\n" + "\n".join(lines) + "\n}"
    ctx = make_context()
    module = parse_module(ctx, text, "chain.mlir")
    start = process_time()
    Normalize().apply(ctx, module)
    assert process_time() - start < 4
    assert not any(op.name == "tensor.insert_slice" for op in module.walk())


def test_a_function_with_jumps_is_refused_with_its_place(tmp_path: Path):
    path = tmp_path / "jumps.mlir"
    path.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  func.return %x : tensor<4xf32>\n^bb1(%z: f32):\n  func.return %x : tensor<4xf32>\n}\n"
    )
    with pytest.raises(UserError, match="jumps between blocks"):
        npu_mlir.api.load(path).run([np.ones(4, np.float32)])


def test_a_negative_seed_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    (tmp_path / "m.mlir").write_text(text)
    assert npu_run.main([str(tmp_path / "m.mlir"), "--seed", "-3"]) == 1
    assert "a seed for random inputs is at least 0, got -3" in capsys.readouterr().err
