"""Quantization and products of integers: against onnxruntime, at the level of graph and as instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.onnx_session import session

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]

RANDOM = np.random.default_rng(0)


def integers(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


def model(
    operator: str, names: str, inputs: Arrays, weights: Arrays, opset: int = 21, **attributes: Any
) -> onnx.ModelProto:
    """One node."""
    node = helper.make_node(operator, names.split(), ["y"], **attributes)
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    values = [helper.make_tensor_value_info(name, types[name], x.shape) for name, x in inputs.items()]
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph([node], "q", values, [onnx.ValueInfoProto(name="y")], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def reference(source: onnx.ModelProto, inputs: Arrays) -> Array:
    typed = onnx.shape_inference.infer_shapes(source)
    return np.asarray(session(typed.SerializeToString()).run(None, inputs)[0])


def check(operator: str, names: str, inputs: Arrays, weights: Arrays | None = None, **attributes: Any) -> str:
    """The same bits as onnxruntime's; returns the text of the instructions."""
    source = model(operator, names, inputs, weights or {}, **attributes)
    expected = reference(source, inputs)
    for level in ("graph", "isa"):
        program = npu_mlir.compile(source, emit=level)
        actual = program.run(inputs)["y"]
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
    return str(program.module)


def test_numbers_round_to_even_and_saturate():
    x = np.array(
        [-1e9, -3, -2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 126.5, 127.5, 300, 1e9, np.inf, -np.inf], np.float32
    )
    scale = np.array(1, np.float32)
    for zero in (np.array(0, np.int8), np.array(-7, np.int8), np.array(0, np.uint8), np.array(131, np.uint8)):
        check("QuantizeLinear", "x s z", {"x": x}, {"s": scale, "z": zero})
        check("QuantizeLinear", "x s z", {"x": x, "s": scale, "z": zero})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_a_scale_for_each_channel(dtype: Any):
    x = RANDOM.standard_normal((2, 5, 7), np.float32) * 40000
    scale, zero = RANDOM.random(5).astype(np.float32) + 0.1, integers(dtype, 5)
    check("QuantizeLinear", "x s z", {"x": x}, {"s": scale, "z": zero}, axis=1)
    check("DequantizeLinear", "x s z", {"x": integers(dtype, 2, 5, 7)}, {"s": scale, "z": zero}, axis=-2)


def test_blocks_that_do_not_divide_the_axis():
    x = RANDOM.standard_normal((7, 3), np.float32)
    scale, zero = RANDOM.random((3, 3)).astype(np.float32) + 0.1, integers(np.uint8, 3, 3)
    check("QuantizeLinear", "x s z", {"x": x, "s": scale, "z": zero}, axis=0, block_size=3)


def test_constants_below_opset_19():
    """onnx's reference evaluator can't fold them."""
    weights = {"x": integers(np.int8, 4, 6), "s": np.array(0.1, np.float32), "z": np.array(3, np.int8)}
    source = model("DequantizeLinear", "x s z", {}, weights, opset=13)
    actual = npu_mlir.compile(source, emit="linalg").run({})["y"]
    np.testing.assert_array_equal(actual, reference(source, {}))


SIGNS = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8)]


@pytest.mark.parametrize(("left", "right"), SIGNS)
@pytest.mark.parametrize("known", [False, True])
def test_products_of_integers(left: Any, right: Any, known: bool):
    """With sums beyond what an f32 holds exactly."""
    inputs = {"a": integers(left, 3, 5, 600), "b": integers(right, 600, 9)}
    zeros = {"p": integers(left, 1)[0, ...], "q": integers(right, 9)}
    text = check("MatMulInteger", "a b p q", inputs | ({} if known else zeros), zeros if known else {})
    assert "npu_isa.mmad" in text
    check("MatMulInteger", "a b", inputs)


def test_vectors_of_integers():
    inputs = {"a": integers(np.uint8, 33), "b": integers(np.uint8, 33, 4)}
    check("MatMulInteger", "a b p", inputs, {"p": np.array(200, np.uint8)})


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("zero", [0, 5])
def test_convolutions_of_integers(known: bool, zero: int):
    """Padding is the zero point of the image, not 0."""
    inputs = {"x": integers(np.uint8, 1, 4, 6, 5)}
    weights = {"w": integers(np.uint8, 6, 2, 3, 3)}
    zeros = {"p": np.array(77, np.uint8), "q": np.array(128 + zero, np.uint8)}
    check(
        "ConvInteger", "x w p q", inputs | ({} if known else zeros), weights | (zeros if known else {}), group=2,
        pads=[1, 0, 1, 2], strides=[2, 1],
    )  # fmt: skip


def test_a_quantized_convolution_with_bias():
    inputs = {"x": integers(np.uint8, 2, 3, 8, 8)}
    weights = {
        "sx": np.array(0.02, np.float32), "zx": np.array(120, np.uint8), "w": integers(np.int8, 5, 3, 3, 3),
        "sw": RANDOM.random(5).astype(np.float32) * 0.01 + 0.001, "zw": np.zeros(5, np.int8),
        "sy": np.array(0.5, np.float32), "zy": np.array(100, np.uint8), "b": integers(np.int16, 5).astype(np.int32),
    }  # fmt: skip
    text = check("QLinearConv", "x sx zx w sw zw sy zy b", inputs, weights, pads=[1, 1, 1, 1])
    assert "npu_isa.mmad" in text


def test_dynamic_quantization_of_zeros():
    """Their scale is 1, also where they are constants."""
    constant = model("DynamicQuantizeLinear", "x", {}, {"x": np.zeros(2, np.float32)})
    del constant.graph.output[:]
    constant.graph.node[0].output.extend(["scale", "zero"])
    constant.graph.output.append(onnx.ValueInfoProto(name="scale"))
    assert npu_mlir.compile(constant).run({})["scale"] == 1
    source = model("DynamicQuantizeLinear", "x", {"x": np.zeros((2, 3), np.float32)}, {})
    source.graph.node[0].output.extend(["scale", "zero"])
    source.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("scale", "zero"))
    for x in (np.zeros((2, 3), np.float32), RANDOM.standard_normal((2, 3), np.float32)):
        typed = onnx.shape_inference.infer_shapes(source)
        expected = session(typed.SerializeToString()).run(None, {"x": x})
        actual = npu_mlir.compile(source).run({"x": x})
        for got, wanted in zip(actual.values(), expected, strict=True):
            np.testing.assert_array_equal(got, np.asarray(wanted))


def test_f16_keeps_quantization_exact():
    """Sums and scales stay f32."""
    inputs = {"a": integers(np.uint8, 4, 64), "b": integers(np.int8, 64, 8)}
    scales = {"s": np.array(0.013, np.float32), "t": np.array(5, np.float32)}
    zeros = {"p": np.array(9, np.uint8), "q": np.array(0, np.int8)}
    source = model("QLinearMatMul", "a s p b s q t p", inputs, scales | zeros)
    expected = npu_mlir.compile(source, emit="linalg").run(inputs)["y"]
    np.testing.assert_array_equal(
        npu_mlir.compile(source, emit="linalg", precision="f16").run(inputs)["y"], expected
    )


def test_refused():
    x = {"x": np.zeros((4, 6), np.float32)}
    source = model("QuantizeLinear", "x s", x, {"s": np.ones(5, np.float32)})
    with pytest.raises(UserError) as error:
        npu_mlir.compile(source)
    assert "a scale or zero point of 5 along axis 1 of 4x6" in str(error.value.notes[0])
    weights = {
        "s": np.ones((), np.float32),
        "z": np.ones((), helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E5M2)),
    }
    with pytest.raises(UserError) as error:
        npu_mlir.compile(model("QuantizeLinear", "x s z", x, weights))
    assert "its zero point is not 0" in str(error.value.notes[0])
