"""Choose the tile sizes, loop order and slots of every kernel, as a `#tile.schedule`.

`candidates` has the policy: schedules to consider, the best first. Each is tried on the side, with the passes that come
after, until one fits all memories; one whose tiles can't fit UB by a simple count is not even tried. Where the
simulator is at hand, that one is measured, and if it takes longer or shorter than expected, a few others are too
(`effort`).

Before:

    tile.kernel @k(%A: memref<197x333xf32, gm>, ...) {

After:

    tile.kernel @k(%A: memref<197x333xf32, gm>, ...)
        schedule #tile.schedule<l1 = [112, 101, 333], l0 = [0, 0, 64], order = [0, 1], slots = {...}> {

Leaves alone: kernels that have a schedule.
An error: a kernel whose smallest tiles do not fit; the message lists the largest buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
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
from npu_mlir.passes.tile.measuring import Measure, present_measure
from npu_mlir.passes.tile.operand_heat import Cold, cold_operands
from npu_mlir.passes.tile.plan_memory import Overflow, overflow_error
from npu_mlir.passes.tile.trial import Trial, default_passes, tried_passes, try_schedule
from npu_mlir.passes.tile.ub_estimate import least_ub
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.remarks import RemarkKind, remark, wanted
from npu_mlir.support.statistics import count
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]


@dataclass(frozen=True)
class ChooseSchedule(ModulePass):
    """Write a schedule that fits on every kernel without one."""

    name = "tile-choose-schedule"
    effort: int = 2
    """How much to measure: 1 nothing, 2 the best of a product and, if that was misjudged, a few more, 3 many."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.effort not in MEASURED:
            raise UserError(f"the effort can't be {self.effort}: it is 1, 2 or 3")
        target = target_of(op)
        passes, cold, measure = tried_passes(), cold_operands(op, target), present_measure()
        # What passes of plugins make of a kernel is measured in the program only.
        if measure is None or [pass_.name for pass_ in passes] != default_passes():
            measure = None
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is None:
                choice = _Choice(kernel, target, passes, ctx, cold.get(kernel.sym_name.data))
                kernel.schedule = choice.make(measure, self.effort)


MEASURED = {1: 0, 2: 4, 3: 24}
"""Tilings that are measured at most, by effort."""

MISJUDGED = 0.01
"""Part of the cycles that a measured tiling may differ from what was expected of it before others are measured."""


def choose(
    op: tile.KernelOp,
    target: Target,
    passes: Sequence[ModulePass] | None = None,
    ctx: Context | None = None,
    cold: Cold | None = None,
) -> tile.ScheduleAttr:
    """The first candidate schedule that fits the target, tried with these passes (those of the pipeline by default).

    `cold` are the arguments that come from HBM on a machine with L2, all if it is None. Raises UserError if no
    candidate fits.
    """
    return _Choice(op, target, tried_passes() if passes is None else passes, ctx, cold).make(None, 1)


class _Choice:
    """The choice of a schedule for one kernel."""

    def __init__(
        self,
        op: tile.KernelOp,
        target: Target,
        passes: Sequence[ModulePass],
        ctx: Context | None,
        cold: Cold | None,
    ):
        self.op, self.target, self.passes, self.ctx, self.cold = op, target, passes, ctx, cold
        self.kernel = read_kernel(op)
        # What a pass of a plugin does to buffers, no estimate knows.
        self.estimated = [pass_.name for pass_ in passes] == default_passes()
        self.overflow: Overflow | None = None

    def make(self, measure: Measure | None, effort: int) -> tile.ScheduleAttr:
        """The best schedule by the measure, or the first that fits. Raises UserError if none does."""
        best: tuple[float, ScheduleCandidate, Trial] | None = None
        for measured, (candidate, trial) in enumerate(self._fitting(), 1):
            expected = candidate.cycles
            if measure is None or not MEASURED[effort] or (expected is None and effort < 3):
                best = best or (inf, candidate, trial)
                break
            cycles = measure(trial.kernel, self.target, self.cold)
            count("num-measured", description="Schedules measured")
            if best is None or (cycles is not None and cycles < best[0]):
                if best is not None:
                    _explain_measured(self.op, best[1], best[0])
                best = (inf if cycles is None else cycles, candidate, trial)
            elif cycles is not None:
                _explain_measured(self.op, candidate, cycles)
            sure = cycles is None or (expected and abs(cycles - expected) <= MISJUDGED * expected)
            if measured == MEASURED[effort] or (sure and effort < 3):
                break
        if best is None:
            if self.overflow is None:
                raise _no_tile(self.op, self.kernel.contractions[0], self.target)
            raise overflow_error(self.op, self.overflow, self.target)
        cycles, candidate, trial = best
        trial.keep()
        _explain(RemarkKind.PASSED, self.op, candidate, "chosen", cycles=None if cycles == inf else cycles)
        return candidate.schedule

    def _fitting(self) -> Iterator[tuple[ScheduleCandidate, Trial]]:
        """The candidates that fit, the best first; of each tiling the first."""
        tilings: set[int] = set()
        for candidate in candidates(self.kernel, self.target, self.cold):
            if candidate.tiling in tilings:
                continue
            least = least_ub(self.kernel, candidate, self.target) if self.estimated else 0
            if least > self.target.ub:
                _explain_estimate(self.op, candidate, least, self.target)
                continue
            count("num-tried", description="Schedules tried on a copy of the kernel")
            trial = try_schedule(self.op, candidate.schedule, self.target, self.passes, self.ctx)
            if trial.overflow is None:
                tilings.add(candidate.tiling)
                yield candidate, trial
                continue
            self.overflow = trial.overflow
            _explain_overflow(self.op, candidate, trial.overflow)


# ---- messages -------------------------------------------------------------------------------------------------------


def _explain(
    kind: RemarkKind,
    op: tile.KernelOp,
    candidate: ScheduleCandidate,
    message: str,
    reason: str = "",
    cycles: float | None = None,
) -> None:
    """A remark about a candidate, with the cycles that are expected, and those that were measured."""
    if wanted(kind, ChooseSchedule.name):
        estimate: dict[str, Any] = (
            {} if candidate.cycles is None else {"EstimatedCycles": round(candidate.cycles)}
        )
        if cycles is not None:
            estimate["MeasuredCycles"] = round(cycles)
        schedule = str(candidate.schedule)
        remark(
            kind, ChooseSchedule.name, "schedule", op, message, reason=reason, Schedule=schedule, **estimate
        )


def _explain_measured(op: tile.KernelOp, candidate: ScheduleCandidate, cycles: float) -> None:
    _explain(RemarkKind.MISSED, op, candidate, "measured and rejected", "takes longer", cycles)


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
