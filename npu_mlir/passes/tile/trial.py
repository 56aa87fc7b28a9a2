"""Trying a schedule on the side: the passes up to memory planning run on a copy of the kernel.

These are the passes that will run on the kernel itself, those of plugins included: what the pipeline has between
`tile-choose-schedule` and `tile-plan-memory`, and where it ends before, what the default pipeline has from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.passes import load_pass
from npu_mlir.passes.phases import PIPELINE
from npu_mlir.passes.tile.plan_memory import Overflow, PlanMemory, try_plan
from npu_mlir.passes.tile.tiled_bodies import kept_for
from npu_mlir.passes.upcoming import upcoming_passes
from npu_mlir.support.diagnostics import Note, UserError
from npu_mlir.support.remarks import muted
from npu_mlir.targets.target import Target

CHOICE = "tile-choose-schedule"


def default_passes() -> list[str]:
    """What the default pipeline has between choosing schedules and planning memory."""
    names = [name for phase in PIPELINE for name in phase.passes]
    return names[names.index(CHOICE) + 1 : names.index(PlanMemory.name)]


def tried_passes() -> list[ModulePass]:
    """The passes that will run between choosing schedules and planning memory."""
    passes = list(upcoming_passes())
    names = [pass_.name for pass_ in passes]
    if PlanMemory.name in names:
        return passes[: names.index(PlanMemory.name)]
    default = default_passes()
    done = max((i for i, name in enumerate(default) if name in names), default=-1)
    return [*passes, *(load_pass(name)() for name in default[done + 1 :])]


@dataclass(frozen=True)
class Trial:
    """A kernel under a schedule, on a copy of it."""

    overflow: Overflow | None
    """The memory that is too small, if one is."""
    kernel: tile.KernelOp
    """The copy, alone in a module, its memory planned."""
    keep: Callable[[], None]
    """Keeps the tiled body for the kernel itself."""


def try_schedule(
    op: tile.KernelOp,
    schedule: tile.ScheduleAttr,
    target: Target,
    passes: Sequence[ModulePass] | None = None,
    ctx: Context | None = None,
) -> Trial:
    """Run the passes on a copy of the kernel with this schedule and plan its memory.

    Raises UserError if a pass does.
    """
    copy = op.clone()
    copy.schedule = schedule
    root = op.get_toplevel_object()
    module = ModuleOp([copy], dict(root.attributes) if isinstance(root, ModuleOp) else {})
    with muted(), kept_for(op) as keep:
        for pass_ in tried_passes() if passes is None else passes:
            try:
                pass_.apply(ctx or make_context(), module)
            except UserError as error:
                error.notes.append(Note(f"in pass '{pass_.name}', while {schedule} was tried"))
                raise
    kernels = [kernel for kernel in module.ops if isinstance(kernel, tile.KernelOp)]
    overflow = next((found for kernel in kernels if (found := try_plan(kernel, target)) is not None), None)
    return Trial(overflow, kernels[0], keep)
