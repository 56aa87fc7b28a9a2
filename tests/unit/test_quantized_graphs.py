"""Quantized graphs: every level computes the same integers, and instructions have no hazard."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import npu_mlir
import quantized_graphs
from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.tile import Offset, Relu, Scale, Scales
from npu_mlir.support.onnx_session import session

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int):
    """`python tests/unit/quantized_graphs.py` looks at more."""
    quantized_graphs.check(seed)


def test_random_graphs_with_sums_in_f16():
    quantized_graphs.check(12, precision="f16")


def convolution(relu: bool, zero: int, channels: bool, unsigned: bool = False) -> onnx.ModelProto:
    """dequantize, conv with a bias, relu, quantize: channels last at both ends."""
    kind: Any = np.uint8 if unsigned else np.int8
    scale = (RANDOM.random(16) * 0.01 + 0.002 if channels else np.full((), 0.004)).astype(np.float32)
    arrays: dict[str, Any] = {
        "sx": np.float32(0.02), "zx": kind(7), "sy": np.float32(0.25), "zy": kind(zero),
        "w": RANDOM.integers(-127, 128, (16, 8, 3, 3)).astype(np.int8), "sw": scale,
        "zw": np.zeros(scale.shape, np.int8),
        "b": RANDOM.integers(-5000, 5000, 16).astype(np.int32), "zb": np.zeros(16, np.int32),
        "sb": np.broadcast_to(np.float32(0.02) * scale, (16,)).astype(np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Transpose", ["x"], ["xt"], perm=[0, 3, 1, 2]),
        helper.make_node("DequantizeLinear", ["xt", "sx", "zx"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wf"], **({"axis": 0} if channels else {})),
        helper.make_node("DequantizeLinear", ["b", "sb", "zb"], ["bf"], axis=0),
        helper.make_node("Conv", ["xf", "wf", "bf"], ["c"], pads=[1] * 4),
        *([helper.make_node("Relu", ["c"], ["r"])] if relu else []),
        helper.make_node("QuantizeLinear", ["r" if relu else "c", "sy", "zy"], ["yt"]),
        helper.make_node("Transpose", ["yt"], ["y"], perm=[0, 2, 3, 1]),
    ]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph(
        nodes,
        "conv",
        [helper.make_tensor_value_info("x", element, [1, 12, 11, 8])],
        [helper.make_tensor_value_info("y", element, [1, 12, 11, 16])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("target", ["ascend-910", "ascend-910b"])
@pytest.mark.parametrize("channels", [True, False])
@pytest.mark.parametrize(("relu", "zero"), [(True, -128), (True, -3), (False, 5), (False, 0)])
def test_a_convolution_is_the_cube_s(target: str, channels: bool, relu: bool, zero: int):
    """Bias, requantization, relu and zero point take no vector instruction, and agree with onnxruntime."""
    source = convolution(relu, zero, channels)
    program = npu_mlir.compile(source, target=target)
    ops = [op for op in program.module.walk() if isinstance(op, npu_isa.Instruction)]
    assert not [op for op in ops if isinstance(op, npu_isa.VectorInstruction)]
    (drain,) = [op for op in ops if isinstance(op, npu_isa.FixpipeUbOp | npu_isa.FixpipeGmOp)]
    assert drain.epilogue is not None
    steps = [type(step) for step in drain.epilogue.data]
    expected = [
        Scales if channels else Scale,
        *([Relu] if relu and zero != -128 else []),
        *([Offset] if zero else []),
    ]
    assert steps == expected
    assert any(isinstance(op, npu_isa.MmadOp) and op.bias is not None for op in ops)
    x = RANDOM.integers(-128, 128, (1, 12, 11, 8)).astype(np.int8)
    (found,) = program.run({"x": x}).values()
    wanted = np.asarray(session(source.SerializeToString()).run(None, {"x": x})[0])
    distance = np.abs(found.astype(int) - wanted.astype(int))
    assert distance.max() <= 1 and (distance > 0).mean() <= 1e-3


def test_unsigned_inputs_become_signed():
    source = convolution(True, 3, True, unsigned=True)
    program = npu_mlir.compile(source)
    x = RANDOM.integers(0, 256, (1, 12, 11, 8)).astype(np.uint8)
    (found,) = program.run({"x": x}).values()
    wanted = np.asarray(session(source.SerializeToString()).run(None, {"x": x})[0])
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - wanted.astype(int)).max() <= 1
    assert any(isinstance(op, npu_isa.MmadOp) and str(op.element) == "i8" for op in program.module.walk())


def test_goals():
    """512^3 with bias, relu and requantization: at most 21,000 cycles; a 3x3 convolution of 64 channels, 16,800."""
    rng = np.random.default_rng(1)
    arrays: dict[str, Any] = {
        "sx": np.float32(0.02), "zx": np.int8(-5), "sy": np.float32(0.5), "zy": np.int8(-128),
        "w": rng.integers(-127, 128, (512, 512)).astype(np.int8), "zw": np.zeros(512, np.int8),
        "sw": (rng.random(512) * 0.01 + 0.002).astype(np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wf"], axis=1),
        helper.make_node("MatMul", ["xf", "wf"], ["p"]),
        helper.make_node("Relu", ["p"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "sy", "zy"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "gemm",
        [helper.make_tensor_value_info("x", onnx.TensorProto.INT8, [512, 512])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT8, [512, 512])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    assert npu_mlir.compile(model).simulate().cycles <= 21_000
