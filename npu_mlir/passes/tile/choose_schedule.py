"""Choose the tile sizes, loop order and slots of every kernel, as a `#tile.schedule`.

`candidates` has the policy: schedules to consider, the best first. Each is tried on the side, with the passes that come
after, until one fits all memories; one whose tiles can't fit UB by a simple count is not even tried.

Before:

    tile.kernel @k(%A: memref<197x333xf32, gm>, ...) {

After:

    tile.kernel @k(%A: memref<197x333xf32, gm>, ...)
        schedule #tile.schedule<l1 = [112, 101, 333], l0 = [0, 0, 64], order = [0, 1], slots = {...}> {

Leaves alone: kernels that have a schedule.
An error: a kernel whose smallest tiles do not fit; the message lists the largest buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.nest import factor_type
from npu_mlir.analysis.tiling import ACCUMULATOR
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import element_bits, storage_bytes
from npu_mlir.passes.tile.candidates import ScheduleCandidate, candidates
from npu_mlir.passes.tile.kernel import read_kernel
from npu_mlir.passes.tile.plan_memory import Overflow, overflow_error
from npu_mlir.passes.tile.trial import default_passes, tried_passes, try_schedule
from npu_mlir.passes.tile.ub_estimate import least_ub
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.remarks import RemarkKind, remark, wanted
from npu_mlir.support.statistics import count
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]


class ChooseSchedule(ModulePass):
    """Write a schedule that fits on every kernel without one."""

    name = "tile-choose-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        passes = tried_passes()
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is None:
                kernel.schedule = choose(kernel, target, passes, ctx)


def choose(
    op: tile.KernelOp,
    target: Target,
    passes: Sequence[ModulePass] | None = None,
    ctx: Context | None = None,
) -> tile.ScheduleAttr:
    """The first candidate schedule that fits the target, tried with these passes (those of the pipeline by default).

    Raises UserError if none does.
    """
    kernel = read_kernel(op)
    passes = tried_passes() if passes is None else passes
    # What a pass of a plugin does to buffers, no estimate knows.
    estimated = [pass_.name for pass_ in passes] == default_passes()
    overflow: Overflow | None = None
    for candidate in candidates(kernel, target):
        least = least_ub(kernel, candidate, target) if estimated else 0
        if least > target.ub:
            _explain_estimate(op, candidate, least, target)
            continue
        count("num-tried", description="Schedules tried on a copy of the kernel")
        overflow = try_schedule(op, candidate.schedule, target, passes, ctx)
        if overflow is None:
            _explain(RemarkKind.PASSED, op, candidate, "chosen")
            return candidate.schedule
        _explain_overflow(op, candidate, overflow)
    if overflow is None:
        raise _no_tile(op, kernel.contractions[0], target)
    raise overflow_error(op, overflow, target)


# ---- messages -------------------------------------------------------------------------------------------------------


def _explain(
    kind: RemarkKind, op: tile.KernelOp, candidate: ScheduleCandidate, message: str, reason: str = ""
) -> None:
    """A remark about a candidate, with the cycles that the formula expects."""
    if wanted(kind, ChooseSchedule.name):
        estimate: dict[str, Any] = (
            {} if candidate.cycles is None else {"EstimatedCycles": round(candidate.cycles)}
        )
        schedule = str(candidate.schedule)
        remark(
            kind, ChooseSchedule.name, "schedule", op, message, reason=reason, Schedule=schedule, **estimate
        )


def _explain_overflow(op: tile.KernelOp, candidate: ScheduleCandidate, overflow: Overflow) -> None:
    needed, capacity = overflow.needed, overflow.capacity
    reason = f"needs {needed} bytes of {overflow.space}, {needed - capacity} more than there are"
    _explain(RemarkKind.MISSED, op, candidate, "tried and rejected", reason)


def _explain_estimate(op: tile.KernelOp, candidate: ScheduleCandidate, least: int, target: Target) -> None:
    reason = f"needs at least {least} bytes of ub, {least - target.ub} more than there are"
    _explain(RemarkKind.MISSED, op, candidate, "rejected without a try", reason)


def _no_tile(op: tile.KernelOp, contraction: LoopNestOp, target: Target) -> UserError:
    """The error for a kernel of which no tiling fits, with what a single step of the cube needs of each memory."""
    element = factor_type(contraction)
    (m, k, n), bits = target.cube.tile(element), element_bits(element)
    left, right = (round_up(storage_bytes(side, bits), tile.ROW_ALIGNMENT) for side in (k, n))
    needs = {
        "l1": m * left + k * right,
        "l0a": storage_bytes(m * k, bits),
        "l0b": storage_bytes(k * n, bits),
        "l0c": m * n * ACCUMULATOR,
    }
    largest = sorted(needs.items(), key=lambda need: need[1] / target.capacity(need[0]), reverse=True)
    return UserError(
        f"kernel '@{op.sym_name.data}': no tile of its matrix product fits the memories of '{target.name}'",
        notes=[
            f"one step of the cube takes at least {size} bytes of {space}, which has {target.capacity(space)}"
            for space, size in largest
        ],
        loc=op,
    )
