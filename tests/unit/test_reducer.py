"""The reducer: what is left of a module when a property of it has to stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.printing import op_text
from npu_mlir.ir.verification import verify
from npu_mlir.support.diagnostics import UserError
from npu_mlir.validation.reducer import reduce_module


@dataclass
class Has:
    """The problem that a module's text has a property."""

    test: Callable[[str], bool]
    tests: int = 0

    def shows(self, module: ModuleOp) -> bool:
        verify(module)
        self.tests += 1
        return self.test(op_text(module))


def reduced(text: str, test: Callable[[str], bool], max_tests: int = 3000) -> str:
    module = parse_module(make_context(), text, "test.mlir")
    verify(module)
    before = op_text(module)
    result = reduce_module(module, Has(test), max_tests)
    assert op_text(module) == before
    return op_text(result.module)


GRAPH = """
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x6xf32>) -> (tensor<1x6x6x6xf32>, tensor<1x6xf32>)
  attributes {input_names = ["x", "w"], output_names = ["y", "z"]} {
  %0 = graph.relu %x : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = graph.conv %0, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] layout NHWC {npu.node = "conv"}
    : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  %2 = graph.tanh %1 : (tensor<1x6x6x6xf32>) -> tensor<1x6x6x6xf32>
  %3 = graph.reduce mean %2 axes [1, 2] : (tensor<1x6x6x6xf32>) -> tensor<1x6xf32>
  %4 = graph.softmax %3 axis 1 : (tensor<1x6xf32>) -> tensor<1x6xf32>
  func.return %2, %4 : tensor<1x6x6x6xf32>, tensor<1x6xf32>
}
"""


@pytest.mark.parametrize("name", ["relu", "conv", "tanh", "reduce", "softmax"])
def test_one_op_of_a_graph_is_left(name: str):
    text = reduced(GRAPH, lambda text: f"graph.{name}" in text)
    assert text.count("graph.") == 1 and text.count("func.func") == 1
    assert "npu.node" not in text and "names" not in text
    assert len(text.splitlines()) <= 6


def test_sizes_shrink_together():
    text = reduced(GRAPH, lambda text: "graph.conv" in text)
    # The window is as large as the image.
    assert "tensor<1x3x3x1xf32>, tensor<3x3x1x1xf32>" in text or "tensor<1x1x1x1xf32>" in text


def test_two_ops_that_belong_together_stay():
    text = reduced(GRAPH, lambda text: "graph.relu" in text and "graph.softmax" in text)
    assert text.count("graph.") <= 4


def test_a_function_that_is_called_stays_as_it_is():
    text = """
    func.func @callee(%x: i32, %unused: i32) -> i32 {
      func.return %x : i32
    }
    func.func @main(%x: i32) -> i32 {
      %0 = arith.muli %x, %x : i32
      %1 = func.call @callee(%0, %x) : (i32, i32) -> i32
      func.return %1 : i32
    }
    """
    left = reduced(text, lambda text: "func.call" in text and "@callee(%" in text)
    assert "arith.muli" not in left and "func.call @callee" in left


def test_loops_are_unrolled_once():
    text = """
    func.func @main(%m: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %f = arith.constant 1.0 : f32
      scf.for %i = %c0 to %c8 step %c1 {
        %v = memref.load %m[%i] : memref<8xf32>
        %w = arith.addf %v, %f : f32
        memref.store %w, %m[%i] : memref<8xf32>
      }
      func.return
    }
    """
    left = reduced(text, lambda text: "memref.store" in text)
    assert "scf.for" not in left and "arith.addf" not in left
    kept = reduced(text, lambda text: "memref.store" in text and "scf.for" in text)
    assert "scf.for" in kept and "memref.load" not in kept


def test_a_module_without_the_problem_is_an_error():
    with pytest.raises(UserError, match="nothing to reduce"):
        reduced(GRAPH, lambda text: "graph.exp" in text)


def test_the_number_of_tests_is_limited():
    problem = Has(lambda text: "graph.softmax" in text)
    module = parse_module(make_context(), GRAPH, "test.mlir")
    result = reduce_module(module, problem, max_tests=3)
    assert result.tests == 3 and problem.tests == 4
    assert "graph.softmax" in op_text(result.module)
