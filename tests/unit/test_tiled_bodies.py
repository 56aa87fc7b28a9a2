"""The body that was tiled for the schedule that is chosen is the kernel's: nothing is tiled twice."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects import tile
from npu_mlir.passes.tile.apply_schedule import ApplySchedule
from npu_mlir.passes.tile.choose_schedule import ChooseSchedule
from npu_mlir.passes.tile.tiler.tiler import Tiler
from schedule_search import CONTEXT, elementwise, formed, kernels

TEXT = elementwise([64, 64], "f32", "%v = math.exp %x : f32")


@pytest.fixture
def tilings(monkeypatch: pytest.MonkeyPatch) -> list[Tiler]:
    """The tilers that ran."""
    found: list[Tiler] = []
    run = Tiler.run

    def counted(tiler: Tiler):  # type: ignore[no-untyped-def]
        found.append(tiler)
        return run(tiler)

    monkeypatch.setattr(Tiler, "run", counted)
    return found


def chosen() -> tuple[ModuleOp, tile.KernelOp]:
    module = formed(TEXT)
    ChooseSchedule().apply(CONTEXT, module)
    return module, kernels(module)[0]


def tiled_anew(kernel: tile.KernelOp) -> str:
    """A copy of the kernel, for which nothing is kept, tiled."""
    copy = ModuleOp([kernel.clone()])
    ApplySchedule().apply(CONTEXT, copy)
    return str(kernels(copy)[0])


def test_it_is_kept(tilings: list[Tiler]):
    module, kernel = chosen()
    tries = len(tilings)
    expected = tiled_anew(kernel)
    assert len(tilings) == tries + 1
    ApplySchedule().apply(CONTEXT, module)
    assert len(tilings) == tries + 1
    assert str(kernel) == expected and "scf.for" in expected


def test_another_schedule_is_applied(tilings: list[Tiler]):
    module, kernel = chosen()
    tries = len(tilings)
    kernel.schedule = tile.ScheduleAttr.of({"ub": 2}, {"ub": [8, 32]}, order=[1, 0])
    expected = tiled_anew(kernel)
    ApplySchedule().apply(CONTEXT, module)
    assert len(tilings) == tries + 2 and str(kernel) == expected and "tensor<8x32xf32" in expected


def test_another_body_is_tiled(tilings: list[Tiler]):
    module, kernel = chosen()
    tries = len(tilings)
    (exp,) = (op for op in kernel.walk() if isinstance(op, math.ExpOp))
    block = exp.parent
    assert block is not None
    block.insert_op_before(negated := arith.NegfOp(exp.operand), exp)
    exp.operands[0] = negated.result
    ApplySchedule().apply(CONTEXT, module)
    assert len(tilings) == tries + 1 and any(isinstance(op, arith.NegfOp) for op in kernel.walk())
