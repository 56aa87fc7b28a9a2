"""The estimate of UB that rejects schedules without a try: never more than what is planned, and close to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import StringAttr

from npu_mlir.dialects import tile
from npu_mlir.passes.tile.candidates import ScheduleCandidate, candidates
from npu_mlir.passes.tile.kernel import read_kernel
from npu_mlir.passes.tile.kernel_sizes import kernel_sizes
from npu_mlir.passes.tile.trial import try_schedule
from npu_mlir.passes.tile.ub_estimate import least_ub
from npu_mlir.pipeline import phases_between
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import get_target
from random_linalg import Program, programs
from schedule_search import BEFORE, KERNELS, elementwise, formed, kernels, matmul, reduction, run
from test_pipeline_random import draw_schedule

PREPARATION = tuple(name for phase in phases_between("linalg", "linalg") for name in phase.passes)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(programs(most=3), st.sampled_from(["toy", "ascend-910", "ascend-910b"]), st.data())
def test_any_schedule_takes_at_least_that(program: Program, target: str, data: st.DataObject):
    module = program.module
    module.attributes["npu.target"] = StringAttr(target)
    try:
        run(module, (*PREPARATION, *BEFORE))
    except UserError:
        reject()
    for op in kernels(module):
        schedule = draw_schedule(data.draw, op, target_of(module).split_cores)
        kernel = read_kernel(op)
        least = least_ub(
            kernel, ScheduleCandidate(schedule, kernel_sizes(kernel, schedule)), target_of(module)
        )
        if least:
            others = dict.fromkeys(("l1", "l0a", "l0b", "l0c"), 1 << 30)
            assert (
                try_schedule(op, schedule, replace(target_of(module), ub=least - 1, **others)).overflow
                is not None
            )


@pytest.mark.parametrize("name", KERNELS)
def test_candidates_take_at_least_that(name: str):
    (op,) = kernels(formed(KERNELS[name]))
    kernel, target = read_kernel(op), get_target("toy")
    for candidate in candidates(kernel, target):
        least = least_ub(kernel, candidate, target)
        if least:
            assert try_schedule(op, candidate.schedule, replace(target, ub=least - 1)).overflow is not None


@pytest.mark.parametrize(
    ("text", "schedule", "least"),
    [
        # Rows of 9 take 64 bytes; two of them in two slots, which the result overwrites.
        (elementwise([4, 9], "f32", "%v = math.exp %x : f32"), {"ub": [2, 9], "order": [0]}, 2 * 2 * 64),
        # Two operands.
        (
            elementwise([4, 9], "f32", "%v = arith.addf %x, %y : f32", 2),
            {"ub": [2, 9], "order": [0]},
            2 * 2 * 2 * 64,
        ),
        # All at once: the operand.
        (elementwise([4, 9], "f32", "%v = math.exp %x : f32"), {"ub": [4, 9]}, 4 * 64),
        # Sums are of another shape than what is summed: two of them take 32 bytes.
        (reduction([4, 9], [1], "arith.addf"), {"ub": [2, 9], "order": [0]}, 2 * 2 * 64 + 2 * 32),
        # A chunk of 3 in two slots.
        (reduction([4, 9], [1], "arith.addf"), {"ub": [4, 3]}, 2 * 4 * 32),
        # Pieces of the accumulators, two rows of 6.
        (matmul(8, 6, 4), {"l1": [8, 6, 4], "ub": [2, 0, 0]}, 2 * 2 * 32),
    ],
)
def test_counted_by_hand(text: str, schedule: dict[str, list[int]], least: int):
    (op,) = kernels(formed(text))
    kernel = read_kernel(op)
    order = schedule.pop("order", [])
    attribute = tile.ScheduleAttr.of({"ub": 2}, schedule, order=order)
    assert (
        least_ub(kernel, ScheduleCandidate(attribute, kernel_sizes(kernel, attribute)), get_target("toy"))
        == least
    )


def test_most_hopeless_candidates_are_seen():
    """A sum of two operands on the toy machine: the first that the estimate lets pass is the one that fits."""
    text = elementwise([64, 64], "f32", "%v = arith.addf %x, %y : f32", 2)
    (op,) = kernels(formed(text))
    kernel, target = read_kernel(op), get_target("toy")
    estimates = [(least_ub(kernel, c, target), c) for c in candidates(kernel, target)]
    assert estimates[0][0] > target.ub
    first = next(c for least, c in estimates if least <= target.ub)
    assert try_schedule(op, first.schedule, target).overflow is None
