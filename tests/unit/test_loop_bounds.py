"""What constants say of index values and loops."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, f32
from xdsl.ir import Block, Region, SSAValue

from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.support.diagnostics import UserError

INDEX = IndexType()


def constant(value: int) -> SSAValue:
    return arith.ConstantOp(IntegerAttr(value, INDEX)).result


def loop(lower: SSAValue, upper: SSAValue, step: SSAValue) -> scf.ForOp:
    return scf.ForOp(lower, upper, step, [], Region(Block([scf.YieldOp()], arg_types=[INDEX])))


def test_only_integer_constants_are_known() -> None:
    assert constant_index(constant(-3)) == -3
    assert constant_index(arith.AddiOp(constant(1), constant(2)).result) is None
    assert constant_index(arith.ConstantOp(FloatAttr(1.0, f32)).result) is None
    assert constant_index(Block(arg_types=[INDEX]).args[0]) is None


@pytest.mark.parametrize(
    ("bounds", "indices"), [((0, 7, 3), [0, 3, 6]), ((2, 4, 5), [2]), ((4, 4, 1), []), ((5, 1, 2), [])]
)
def test_trips_are_the_values_of_the_index(bounds: tuple[int, int, int], indices: list[int]) -> None:
    trips = constant_trips(loop(*map(constant, bounds)))
    assert trips is not None and list(trips) == indices


@pytest.mark.parametrize("position", range(3))
def test_bounds_that_are_computed_are_not_known(position: int) -> None:
    bounds = [constant(n) for n in (0, 8, 2)]
    bounds[position] = Block(arg_types=[INDEX]).args[0]
    assert constant_trips(loop(*bounds)) is None


@pytest.mark.parametrize("step", [0, -1])
def test_steps_that_lead_nowhere_are_an_error(step: int) -> None:
    with pytest.raises(UserError, match=f"the step of a loop has to be positive, not {step}"):
        constant_trips(loop(constant(0), constant(8), constant(step)))
