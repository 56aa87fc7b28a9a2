"""The linalg passes keep values: on random programs, and on graphs that models are made of."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes import load_pass
from npu_mlir.support.dtypes import numpy_dtype, static_shape
from random_linalg import Program, Sizes, programs

EXAMPLES = int(os.environ.get("NPU_MLIR_EXAMPLES", "60"))
PASSES = [
    "linalg-fold-unit-reshapes",
    "linalg-expand-math",
    "linalg-fuse-elementwise",
    "linalg-fold-transposes",
    "canonicalize",
    "cse",
]


def run(module: ModuleOp, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return run_function(module, "main", inputs)


def lower(module: ModuleOp, *names: str) -> Counter[str]:
    """Run passes, checking the module after each; returns how many of each op the function has."""
    for name in names:
        load_pass(name)().apply(make_context(), module)
        verify(module)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return Counter(op.name for op in function.body.block.ops)


def assert_close(got: list[np.ndarray], expected: list[np.ndarray], name: str) -> None:
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        relative = 1e-2 if a.dtype == np.float16 else 1e-4
        finite = np.abs(b[np.isfinite(b)].astype(np.float64)) if a.dtype.kind == "f" else np.zeros(1)
        tolerance = relative * finite.max(initial=0.0) + 1e-5
        np.testing.assert_allclose(
            a.astype(np.float64), b.astype(np.float64), relative, tolerance, err_msg=name
        )


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(programs(most=6, sizes=Sizes((1, 1, 2, 3, 5), 1500, 60_000)))
def test_random_programs(program: Program) -> None:
    expected = run(program.module, program.inputs)
    for name in PASSES:
        lower(program.module, name)
        assert_close(run(program.module, program.inputs), expected, name)


LAYER_NORM = """
func.func @main(%x: tensor<1x16x8xf32>, %g: tensor<1x16x1xf32>) -> tensor<1x16x8xf32> {
  %c = arith.constant dense<0.0625> : tensor<f32>
  %0 = graph.reduce sum %x axes [1] : (tensor<1x16x8xf32>) -> tensor<1x8xf32>
  %1 = graph.mul %x, %x : (tensor<1x16x8xf32>, tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %2 = graph.reduce sum %1 axes [1] : (tensor<1x16x8xf32>) -> tensor<1x8xf32>
  %3 = graph.mul %0, %c : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %4 = graph.mul %2, %c : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %5 = graph.mul %3, %3 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %6 = graph.sub %4, %5 : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %7 = graph.reshape %6 : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %8 = graph.sqrt %7 : (tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %9 = graph.reciprocal %8 : (tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %10 = graph.mul %9, %g : (tensor<1x1x8xf32>, tensor<1x16x1xf32>) -> tensor<1x16x8xf32>
  %11 = graph.reshape %3 : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %12 = graph.expand %11 : (tensor<1x1x8xf32>) -> tensor<1x16x8xf32>
  %13 = graph.sub %x, %12 : (tensor<1x16x8xf32>, tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %14 = graph.mul %13, %10 : (tensor<1x16x8xf32>, tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  func.return %14 : tensor<1x16x8xf32>
}"""

SQUEEZE_EXCITE = """
func.func @main(%x: tensor<1x4x5x8xf32>, %w: tensor<1x1x8x2xf32>, %b: tensor<2xf32>, %v: tensor<1x1x2x8xf32>)
    -> tensor<1x4x5x8xf32> {
  %0 = graph.global_avg_pool %x layout NHWC : (tensor<1x4x5x8xf32>) -> tensor<1x1x1x8xf32>
  %1 = graph.conv %0, %w, %b strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC
    : (tensor<1x1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<2xf32>) -> tensor<1x1x1x2xf32>
  %2 = graph.relu %1 : (tensor<1x1x1x2xf32>) -> tensor<1x1x1x2xf32>
  %3 = graph.conv %2, %v strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC
    : (tensor<1x1x1x2xf32>, tensor<1x1x2x8xf32>) -> tensor<1x1x1x8xf32>
  %4 = graph.sigmoid %3 : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf32>
  %5 = graph.mul %x, %4 : (tensor<1x4x5x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x4x5x8xf32>
  func.return %5 : tensor<1x4x5x8xf32>
}"""

RESIDUAL = """
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = graph.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.add %0, %b : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %2 = graph.matmul %x, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.add %2, %b : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %4 = graph.add %1, %3 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = graph.relu %4 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %5 : tensor<8x8xf32>
}"""


def lowered(text: str) -> Counter[str]:
    """The ops after all linalg passes, which have to keep the values."""
    module = parse_module(make_context(), text, "case.mlir")
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    rng = np.random.default_rng(0)
    inputs = [
        rng.standard_normal(static_shape(t)).astype(numpy_dtype(t)) for t in function.function_type.inputs
    ]
    expected = run(module, inputs)
    counts = lower(module, "convert-graph-to-linalg", *PASSES)
    assert_close(run(module, inputs), expected, "all")
    return counts


def test_layer_norm_by_hand_has_no_reshape_between_its_generics() -> None:
    counts = lowered(LAYER_NORM)
    # Two sums, the square, the mean, the factor, the product; only the argument %g is reshaped.
    assert counts["linalg.generic"] == 6
    assert counts["tensor.expand_shape"] == 0 and counts["tensor.collapse_shape"] == 1


def test_squeeze_and_excite_has_no_reshape_but_of_weights() -> None:
    counts = lowered(SQUEEZE_EXCITE)
    # Sum, mean, two products, two epilogues, the final product.
    assert counts["linalg.generic"] == 7
    assert counts["tensor.expand_shape"] == 0 and counts["tensor.collapse_shape"] == 2


def test_each_matrix_product_keeps_its_epilogue() -> None:
    counts = lowered(RESIDUAL)
    # Two products, bias of one, bias of the other with sum and relu.
    assert counts["linalg.generic"] == 4


@pytest.mark.parametrize("name", [*PASSES, "linalg-generalize-named-ops", "convert-graph-to-linalg"])
def test_empty_module(name: str) -> None:
    load_pass(name)().apply(make_context(), ModuleOp([]))
