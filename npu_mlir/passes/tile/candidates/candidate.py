"""A schedule to consider, with what is known about it before it is tried."""

from __future__ import annotations

from dataclasses import dataclass

from npu_mlir.dialects import tile
from npu_mlir.passes.tile.kernel_sizes import KernelSizes


@dataclass(frozen=True)
class ScheduleCandidate:
    """A schedule, the sizes that it gives, and the cycles that a formula expects (None where there is none)."""

    schedule: tile.ScheduleAttr
    sizes: KernelSizes
    cycles: float | None = None
    tiling: int = 0
    """Candidates of the same number differ only in how much passes through UB at once."""
