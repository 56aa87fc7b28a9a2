"""The message about a product that fits no memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile
from npu_mlir.passes import load_pass
from npu_mlir.passes.tile.choose_schedule import choose
from npu_mlir.passes.tile.trial import default_passes, tried_passes
from npu_mlir.passes.upcoming import followed_by
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.target import get_target
from schedule_search import elementwise, formed, kernels, matmul

TOY = get_target("toy")


def choose_for(text: str, **memories: int) -> tile.ScheduleAttr:
    """The schedule for a machine like the toy with other memories."""
    (kernel,) = kernels(formed(text))
    return choose(kernel, replace(TOY, **memories))


@pytest.mark.parametrize("space", ["l0a", "l0b", "l0c"])
def test_the_memory_that_lacks_most_is_named_first(space: str):
    with pytest.raises(UserError, match="no tile of its matrix product fits") as caught:
        choose_for(matmul(4, 4, 4), **{space: 16})
    first, *others = caught.value.notes
    # 4 x 16 B of operands, 4 x 4 x 4 B of accumulators.
    assert f"at least 64 bytes of {space}, which has 16" in str(first)
    assert len(others) == 3


def test_panels_in_l1_are_padded():
    with pytest.raises(UserError) as caught:
        choose_for(matmul(4, 4, 4), l1=16)
    # Four rows and four columns of 16 B, which take 32 each.
    assert "at least 256 bytes of l1, which has 16" in str(caught.value.notes[0])


def test_half_takes_more_of_k():
    with pytest.raises(UserError) as caught:
        choose_for(matmul(4, 4, 4, element="f16"), l1=16)
    assert "at least 384 bytes of l1, which has 16" in str(caught.value.notes[0])


def test_pieces_become_one_element_in_one_slot():
    """A piece of the accumulators takes a row of 32 B, and its exponential the same place."""
    product = matmul(4, 4, 4, "%v = math.exp %x : f32")
    assert choose_for(product, ub=64).slots["ub"] == 2
    smallest = choose_for(product, ub=32)
    assert smallest.slots["ub"] == 1 and smallest.sizes("ub") == (1, 1, 0)
    with pytest.raises(UserError, match="needs 32 bytes of ub"):
        choose_for(product, ub=31)


def test_vector_tiles_become_one_element_in_one_slot():
    """A row of 32 B for the operand and the result, which takes its place."""
    exponential = elementwise([4, 9], "f32", "%v = math.exp %x : f32")
    assert choose_for(exponential, ub=64).slots["ub"] == 2
    smallest = choose_for(exponential, ub=32)
    assert smallest.slots["ub"] == 1 and smallest.sizes("ub") == (1, 1)
    with pytest.raises(UserError, match="needs 32 bytes of ub"):
        choose_for(exponential, ub=31)


class Refuses(ModulePass):
    """Fails on every kernel."""

    name = "refuses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise UserError("no such kernels, please", loc=next(iter(op.ops)))


def test_an_error_of_a_tried_pass_names_it_and_the_schedule():
    (kernel,) = kernels(formed(matmul(4, 4, 4)))
    with pytest.raises(UserError, match="no such kernels") as caught:
        choose(kernel, TOY, [Refuses()])
    (note,) = caught.value.notes
    assert note.message.startswith("in pass 'refuses', while #tile.schedule<l1 = [4, 4, 4], ")


def test_what_runs_between_is_tried():
    """The passes of the pipeline that runs, up to memory planning; where it ends before, the default ones behind."""
    apply, plan = load_pass("tile-apply-schedule")(), load_pass("tile-plan-memory")()
    names = default_passes()
    assert [p.name for p in tried_passes()] == names
    with followed_by([apply, Refuses()]):
        assert [p.name for p in tried_passes()] == [names[0], "refuses", *names[1:]]
    with followed_by([Refuses(), plan, apply]):
        assert [p.name for p in tried_passes()] == ["refuses"]
    assert [p.name for p in tried_passes()] == names
