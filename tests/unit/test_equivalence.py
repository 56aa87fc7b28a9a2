"""What counts as a change of a result, and how passes declare what they may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.pass_infra.pass_manager import PassManager
from npu_mlir.pass_infra.pipeline_parser import PassNest
from npu_mlir.support.tolerance import Tolerance
from npu_mlir.validation.equivalence import (
    NARROW,
    WIDE,
    EquivalenceChecker,
    EquivalenceError,
    find_difference,
)
from npu_mlir.validation.evaluation import random_inputs

NAN, INF = float("nan"), float("inf")


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (array(1, 2), array(1, 2)),
        (array(1, NAN, INF), array(1, NAN, INF)),
        (array(1000, 1), array(1000.05, 1.005)),
        (array(), array()),
        (array(1e38, -1e38), array(1e38, -1e38)),
        (np.array([True, False]), np.array([True, False])),
        (np.array([2**62 + 1]), np.array([2**62 + 1])),
    ],
)
def test_same(before: np.ndarray, after: np.ndarray):
    assert find_difference(before, after, WIDE) is None


@pytest.mark.parametrize(
    ("before", "after", "index"),
    [
        (array(1, 2, 3), array(1, 2.1, 4), (2,)),
        (array(1, NAN), array(1, 0), (1,)),
        (array(1, 0), array(1, NAN), (1,)),
        (array(INF, 1), array(-INF, 1), (0,)),
        (array(1, 1e30), array(1, INF), (1,)),
        (array(0, 0), array(0, 1e-20), (1,)),
        (np.array([True, False]), np.array([True, True]), (1,)),
        (np.array([2**62, 2**62]), np.array([2**62, 2**62 + 1]), (1,)),
        (np.array([5], np.uint8), np.array([4], np.uint8), (0,)),
        (array(1), array(1, 2), ()),
        (array(1), np.array([1.0]), ()),
        (np.float32(1) + np.zeros(()), np.float32(2) + np.zeros(()), ()),
    ],
)
def test_different(before: np.ndarray, after: np.ndarray, index: tuple[int, ...]):
    difference = find_difference(np.asarray(before), np.asarray(after), NARROW)
    assert difference is not None
    assert difference.index == index


def test_what_is_said_about_a_difference():
    difference = find_difference(array(1, 2, 3), array(1, 2.5, 4), WIDE)
    assert difference is not None
    assert (difference.before, difference.after, difference.count) == (3.0, 4.0, 2)
    assert difference.allowed == " by more than 0.0001 * |before| + 1e-05 * 3"


TEXT = """
func.func @f(%x: tensor<4xf32>, %i: index) -> (tensor<4xf32>, index) {
  %0 = arith.mulf %x, %x : tensor<4xf32>
  func.return %0, %i : tensor<4xf32>, index
}
func.func private @unused(%m: memref<3xf16>) -> i1 {
  %true = arith.constant true
  func.return %true : i1
}
"""


def run(change: Callable[[ModuleOp], None], tolerance: Tolerance | None = None, anchor: str = "") -> None:
    class Change(ModulePass):
        name = "change"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            change(op)

    class Tolerant(Change):
        tolerance: ClassVar[Tolerance | None] = None

    Tolerant.tolerance = tolerance
    pass_ = Change() if tolerance is None else Tolerant()
    nest = PassNest("builtin.module", (PassNest(anchor, (pass_,)) if anchor else pass_,))
    module = parse_module(make_context(), TEXT, "test.mlir")
    PassManager(nest, instruments=[EquivalenceChecker()]).run(make_context(), module)


def scale(factor: float) -> Callable[[ModuleOp], None]:
    """Multiply the result of `@f` by a factor."""

    def change(module: ModuleOp) -> None:
        for op in list(module.walk()):
            if isinstance(op, arith.MulfOp):
                constant = arith.ConstantOp(splat(factor), TensorType(f32, [4]))
                product = arith.MulfOp(op.result, constant.result)
                assert op.parent is not None
                op.parent.insert_ops_after([constant, product], op)
                op.result.replace_uses_with_if(
                    product.result, lambda use, new=product: use.operation is not new
                )

    return change


def splat(value: float):
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    return DenseIntOrFPElementsAttr.from_list(TensorType(f32, [4]), [value])


@pytest.mark.parametrize("anchor", ["", "func.func"])
def test_a_change_is_found_wherever_the_pass_is_anchored(anchor: str):
    with pytest.raises(EquivalenceError, match="pass 'change' changed result 0 of '@f' at") as caught:
        run(scale(1.01), anchor=anchor)
    assert (caught.value.kind, caught.value.pass_name) == ("result", "change")


def test_a_declared_tolerance_is_held_to():
    run(scale(1.0))
    run(scale(1.00001))
    run(scale(1.01), Tolerance(0.02, 0))
    with pytest.raises(EquivalenceError):
        run(scale(1.01), Tolerance(0.005, 0))
    with pytest.raises(EquivalenceError):
        run(scale(1.00001), Tolerance(0, 0))


def erase(number: int) -> Callable[[ModuleOp], None]:
    return lambda module: module.body.block.erase_op(list(module.ops)[number])


def test_private_functions_may_go():
    run(erase(1))
    with pytest.raises(EquivalenceError, match="pass 'change' changed the module: '@f' is gone"):
        run(erase(0))


def test_types_have_to_stay():
    def change(module: ModuleOp) -> None:
        function = next(op for op in module.ops if isinstance(op, FuncOp))
        block = function.body.block
        block.insert_arg(f32, 2)
        function.function_type = FunctionType.from_lists(
            [arg.type for arg in block.args], list(function.function_type.outputs)
        )

    with pytest.raises(EquivalenceError, match="pass 'change' changed the type of '@f' from") as caught:
        run(change)
    assert caught.value.kind == "type"


def test_ir_that_cannot_run_is_the_pass_s_fault():
    def change(module: ModuleOp) -> None:
        function = next(op for op in module.ops if isinstance(op, FuncOp))
        block = function.body.block
        zero = arith.ConstantOp.from_int_and_width(0, block.args[1].type)
        division = arith.DivUIOp(block.args[1], zero.result)
        block.insert_ops_before([zero, division], block.first_op)
        block.last_op.operands[1] = division.result

    with pytest.raises(EquivalenceError, match="so that it cannot run: running it fails with Zero") as caught:
        run(change)
    assert caught.value.kind == "run"


def test_inputs_depend_on_the_seed_only():
    module = parse_module(make_context(), TEXT, "test.mlir")
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    one, two, other = (random_inputs(function, seed, 0) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    assert (one[0] != other[0]).any()
    assert isinstance(one[1], int)
    assert (random_inputs(function, 1, 1)[0] < 0).all()
