# ruff: noqa: E501
"""Every lowering of a graph op against the reference meaning of the op, on seeded random data."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp

from npu_mlir.dialects import graph
from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.passes.linalg.convert_graph_to_linalg import ConvertGraphToLinalg
from npu_mlir.support.dtypes import numpy_dtype, static_shape

CASES = """
graph.add %a, %b : (tensor<1x8x4x4xT>, tensor<8x1x1xT>) -> tensor<1x8x4x4xT>
graph.add %a, %b : (tensor<3x1xT>, tensor<1x4xT>) -> tensor<3x4xT>
graph.sub %a, %b : (tensor<2x3xT>, tensor<T>) -> tensor<2x3xT>
graph.sub %a, %b : (tensor<T>, tensor<T>) -> tensor<T>
graph.mul %a, %b : (tensor<1x8x1x1xT>, tensor<1x8x4x4xT>) -> tensor<1x8x4x4xT>
graph.div %a, %b : (tensor<2x3xT>, tensor<2x1xT>) -> tensor<2x3xT>
graph.maximum %a, %b : (tensor<2x3xT>, tensor<2x3xT>) -> tensor<2x3xT>
graph.minimum %a, %b : (tensor<2x3xT>, tensor<3xT>) -> tensor<2x3xT>
graph.relu %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.neg %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.abs %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.exp %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.log %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.sqrt %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.tanh %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.erf %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.sigmoid %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.softplus %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.mish %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.reciprocal %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.floor %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.ceil %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.sin %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.cos %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.tan %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.asin %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.acos %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.atan %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.sinh %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.cosh %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.asinh %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.acosh %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.atanh %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.round %a : (tensor<2x3xT>) -> tensor<2x3xT>
graph.bitcast %a : (tensor<2x3xf32>) -> tensor<2x3xi32>
graph.bitwise_and %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
graph.bitwise_or %a, %b : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
graph.bitwise_xor %a, %b : (tensor<4xi8>, tensor<i8>) -> tensor<4xi8>
graph.pow %a, %b : (tensor<2x3xT>, tensor<2x3xT>) -> tensor<2x3xT>
graph.leaky_relu %a alpha 0.1 : (tensor<2x3xT>) -> tensor<2x3xT>
graph.leaky_relu %a alpha 1.5 : (tensor<2x3xT>) -> tensor<2x3xT>
graph.hard_sigmoid %a alpha 0.2 beta 0.5 : (tensor<2x3xT>) -> tensor<2x3xT>
graph.clip %a min 0.0 max 1.0 : (tensor<2x3xT>) -> tensor<2x3xT>
graph.clip %a max 0.5 : (tensor<2x3xT>) -> tensor<2x3xT>
graph.prelu %a, %b : (tensor<1x8x4x4xT>, tensor<8x1x1xT>) -> tensor<1x8x4x4xT>
graph.where %a, %b, %c : (tensor<4xi1>, tensor<2x4xT>, tensor<T>) -> tensor<2x4xT>
graph.equal %a, %b : (tensor<2x1xi32>, tensor<257xi32>) -> tensor<2x257xi1>
graph.less %a, %b : (tensor<4xT>, tensor<T>) -> tensor<4xi1>
graph.less_or_equal %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
graph.greater %a, %b : (tensor<4xT>, tensor<T>) -> tensor<4xi1>
graph.greater_or_equal %a, %b : (tensor<4xT>, tensor<T>) -> tensor<4xi1>
graph.logical_and %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
graph.logical_or %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
graph.logical_xor %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
graph.logical_not %a : (tensor<4xi1>) -> tensor<4xi1>
graph.add %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
graph.div %a, %b : (tensor<40xi32>, tensor<40xi32>) -> tensor<40xi32>
graph.neg %a : (tensor<4xi64>) -> tensor<4xi64>
graph.relu %a : (tensor<4xi32>) -> tensor<4xi32>
graph.cast %a : (tensor<2x3xT>) -> tensor<2x3xi32>
graph.cast %a : (tensor<2x3xT>) -> tensor<2x3xi1>
graph.cast %a : (tensor<2x3xi1>) -> tensor<2x3xT>
graph.cast %a : (tensor<2x3xi1>) -> tensor<2x3xi64>
graph.cast %a : (tensor<2x3xi64>) -> tensor<2x3xi8>
graph.cast %a : (tensor<2x3xi8>) -> tensor<2x3xT>
graph.cast %a : (tensor<2x3xf32>) -> tensor<2x3xf16>
graph.cast %a : (tensor<2x3xf16>) -> tensor<2x3xf32>
graph.matmul %a, %b : (tensor<4x8x16xT>, tensor<16x32xT>) -> tensor<4x8x32xT>
graph.matmul %a, %b : (tensor<2x1x5x6xT>, tensor<1x3x6x4xT>) -> tensor<2x3x5x4xT>
graph.matmul %a, %b : (tensor<5x6xT>, tensor<3x6x4xT>) -> tensor<3x5x4xT>
graph.gemm %a, %b, %c alpha 1.0 beta 1.0 trans_b : (tensor<4x16xT>, tensor<32x16xT>, tensor<32xT>) -> tensor<4x32xT>
graph.gemm %a, %b, %c alpha 0.5 beta 2.0 trans_a : (tensor<16x4xT>, tensor<16x8xT>, tensor<4x1xT>) -> tensor<4x8xT>
graph.gemm %a, %b alpha 1.0 beta 1.0 : (tensor<4x16xT>, tensor<16x8xT>) -> tensor<4x8xT>
graph.conv %a, %b, %c strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x8x9x9xT>, tensor<16x8x3x3xT>, tensor<16xT>) -> tensor<1x16x5x5xT>
graph.conv %a, %b strides [1, 2] pads [0, 1, 2, 0] dilations [2, 1] : (tensor<2x3x9x9xT>, tensor<4x3x3x2xT>) -> tensor<2x4x7x5xT>
graph.conv %a, %b, %c strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 8 layout NHWC : (tensor<1x9x9x8xT>, tensor<3x3x1x8xT>, tensor<8xT>) -> tensor<1x7x7x8xT>
graph.conv %a, %b, %c strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] group 8 : (tensor<1x8x9x9xT>, tensor<8x1x3x3xT>, tensor<8xT>) -> tensor<1x8x9x9xT>
graph.conv %a, %b strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1] layout NHWC : (tensor<1x8x8x3xT>, tensor<3x3x3x4xT>) -> tensor<1x4x4x4xT>
graph.conv %a, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 : (tensor<1x6x5x5xT>, tensor<4x3x3x3xT>) -> tensor<1x4x3x3xT>
graph.conv %a, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 2 layout NHWC : (tensor<1x5x5x6xT>, tensor<3x3x3x4xT>) -> tensor<1x3x3x4xT>
graph.conv %a, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 3 : (tensor<1x3x5x5xT>, tensor<6x1x3x3xT>) -> tensor<1x6x3x3xT>
graph.conv %a, %b, %c strides [2] pads [1, 2] dilations [1] : (tensor<2x4x11xT>, tensor<6x4x3xT>, tensor<6xT>) -> tensor<2x6x6xT>
graph.max_pool %a kernel [3, 3] strides [2, 2] pads [0, 0, 1, 1] dilations [1, 1] : (tensor<1x8x24x24xT>) -> tensor<1x8x12x12xT>
graph.max_pool %a kernel [2, 3] strides [1, 2] pads [1, 1, 0, 1] dilations [2, 1] layout NHWC : (tensor<2x7x8x4xT>) -> tensor<2x6x4x4xT>
graph.avg_pool %a kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC : (tensor<1x24x24x8xT>) -> tensor<1x12x12x8xT>
graph.avg_pool %a kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x12x12xT>) -> tensor<1x4x6x6xT>
graph.avg_pool %a kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] count_include_pad : (tensor<1x4x12x12xT>) -> tensor<1x4x6x6xT>
graph.global_avg_pool %a : (tensor<1x8x24x24xT>) -> tensor<1x8x1x1xT>
graph.global_max_pool %a layout NHWC : (tensor<1x24x24x8xT>) -> tensor<1x1x1x8xT>
graph.reduce sum %a axes [1, 2] keepdims : (tensor<2x3x4xT>) -> tensor<2x1x1xT>
graph.reduce sum %a axes [1] : (tensor<2x3x4xT>) -> tensor<2x4xT>
graph.reduce mean %a axes [0, 2] : (tensor<2x3x4xT>) -> tensor<3xT>
graph.reduce max %a axes [1] keepdims : (tensor<2x3x4xT>) -> tensor<2x1x4xT>
graph.reduce min %a axes [2] : (tensor<2x3x4xT>) -> tensor<2x3xT>
graph.reduce prod %a axes [1] : (tensor<2x3xT>) -> tensor<2xT>
graph.reduce max %a axes [0] : (tensor<5x3xi32>) -> tensor<3xi32>
graph.reduce sum %a axes [0, 1] : (tensor<5x3xi64>) -> tensor<i64>
graph.softmax %a axis 1 : (tensor<4x10xT>) -> tensor<4x10xT>
graph.softmax %a axis 1 : (tensor<2x5x3xT>) -> tensor<2x5x3xT>
graph.log_softmax %a axis 1 : (tensor<4x10xT>) -> tensor<4x10xT>
graph.layer_norm %a, %b, %c axis 2 epsilon 1.0e-05 : (tensor<2x4x8xT>, tensor<8xT>, tensor<8xT>) -> tensor<2x4x8xT>
graph.layer_norm %a, %b axis 1 epsilon 1.0e-05 : (tensor<2x4x8xT>, tensor<4x8xT>) -> tensor<2x4x8xT>
graph.batch_norm %a, %b, %c, %d, %e epsilon 1.0e-05 : (tensor<1x8x4x4xT>, tensor<8xT>, tensor<8xT>, tensor<8xT>, tensor<8xT>) -> tensor<1x8x4x4xT>
graph.reshape %a : (tensor<2x3x4xT>) -> tensor<6x4xT>
graph.reshape %a : (tensor<2x3x4x5xT>) -> tensor<6x5x4xT>
graph.reshape %a : (tensor<1x1xT>) -> tensor<T>
graph.reshape %a : (tensor<T>) -> tensor<1x1xT>
graph.reshape %a : (tensor<1x4x1x3xT>) -> tensor<4x3x1xT>
graph.expand %a : (tensor<3x1xT>) -> tensor<2x3x4xT>
graph.transpose %a perm [0, 3, 1, 2] : (tensor<1x4x5x3xT>) -> tensor<1x3x4x5xT>
graph.transpose %a perm [1, 0, 2] : (tensor<1x4x5xT>) -> tensor<4x1x5xT>
graph.concat %a, %b axis 1 : (tensor<1x8x4xT>, tensor<1x2x4xT>) -> tensor<1x10x4xT>
graph.slice %a offsets [0, 2] sizes [2, 3] strides [1, 2] : (tensor<2x8xT>) -> tensor<2x3xT>
graph.slice %a offsets [0, 0] sizes [2, 8] strides [1, 1] : (tensor<2x8xT>) -> tensor<2x8xT>
graph.pad %a low [0, 1] high [0, 2] value 1.5 : T : (tensor<2x8xT>) -> tensor<2x11xT>
graph.gather %a, %b axis 0 : (tensor<100x8xT>, tensor<2x5xi64>) -> tensor<2x5x8xT>
graph.gather %a, %b axis 1 : (tensor<3x100x8xT>, tensor<4xi32>) -> tensor<3x4x8xT>
""".strip().splitlines()


def module_of(case: str) -> ModuleOp:
    types = re.search(r" : \((.*)\) -> (.*)$", case)
    assert types is not None
    names = re.findall(r"%[a-e]", case)
    arguments = ", ".join(
        f"{n}: {t}" for n, t in zip(names, re.findall(r"tensor<.*?>", types[1]), strict=True)
    )
    text = f"func.func @main({arguments}) -> {types[2]} {{ %r = {case} func.return %r : {types[2]} }}"
    return parse_module(make_context(), text, "case.mlir")


def random_inputs(module: ModuleOp, seed: int = 0) -> list[np.ndarray]:
    """Numbers for the function's inputs: indices and divisors stay in range, bases of `pow` positive."""
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    rng = np.random.default_rng(seed)
    positive = any(
        isinstance(op, graph.PowOp | graph.LogOp | graph.SqrtOp | graph.BatchNormOp) for op in module.walk()
    )
    arrays: list[np.ndarray] = []
    for type_ in function.function_type.inputs:
        dtype, shape = numpy_dtype(type_), static_shape(type_)
        if dtype == np.bool_:
            arrays.append(rng.integers(0, 2, shape).astype(dtype))
        elif dtype.kind == "i":
            values = rng.integers(-9, 10, shape)
            arrays.append(np.where(values == 0, 5, values).astype(dtype))
        else:
            values = rng.standard_normal(shape)
            arrays.append((np.abs(values) + 0.1 if positive else values).astype(dtype))
    return arrays


def variants(case: str) -> list[str]:
    """The element types for T; for a case without it, any one."""
    return ["f32", "f16"] if "T" in case else ["f32"]


@pytest.mark.parametrize(
    ("case", "element"), [(case, element) for case in CASES for element in variants(case)]
)
def test_lowering_keeps_the_meaning(case: str, element: str) -> None:
    module = module_of(re.sub(r"\bT\b|(?<=x)T\b", element, case))
    module.verify()
    inputs = random_inputs(module)
    expected = run_function(module, "main", inputs)
    ConvertGraphToLinalg().apply(Context(), module)
    module.verify()
    assert not [
        op for op in module.walk() if isinstance(op, graph.GraphOp) and not isinstance(op, graph.WeightOp)
    ]
    actual = run_function(module, "main", inputs)
    tolerance = {"rtol": 5e-3, "atol": 5e-3} if element == "f16" else {"rtol": 1e-5, "atol": 1e-5}
    for a, b in zip(actual, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), **tolerance)


def test_every_graph_op_has_a_lowering() -> None:
    from npu_mlir.passes.linalg.graph_lowering import LOWERINGS

    assert set(graph.OPS) - set(LOWERINGS) == {graph.WeightOp}


def test_maps_stay_linear_and_unit_dims_are_dropped() -> None:
    module = module_of("graph.add %a, %b : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>")
    ConvertGraphToLinalg().apply(Context(), module)
    (generic,) = (op for op in module.walk() if isinstance(op, GenericOp))
    assert [str(attr.data) for attr in generic.indexing_maps] == [
        "(d0, d1, d2, d3) -> (d0, d1, d2, d3)",
        "(d0, d1, d2, d3) -> (d1)",
        "(d0, d1, d2, d3) -> (d0, d1, d2, d3)",
    ]
