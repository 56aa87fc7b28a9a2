"""split-tiles: cut the outermost tile of each kernel into parts, so that loads overlap with computation.

    tile.kernel @k0(...) schedule #tile.schedule<ub = [32, 64], slots = {ub = 2}>
  becomes
    tile.kernel @k0(...) schedule #tile.schedule<ub = [8, 64], order = [0], slots = {ub = 2}>

It stands behind tile-choose-schedule, which wrote the schedule, and before tile-apply-schedule, which obeys it: a
schedule is an attribute, and changing it is all that a pass has to do. The kernel then runs over four tiles, and while
the vector unit works on one, the next is loaded into the other slot.

Does not handle: kernels with a matrix product, whose tiles of the accumulator belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile


@dataclass(frozen=True)
class SplitTiles(ModulePass):
    """Cut the outermost tile of each vector kernel."""

    name = "split-tiles"
    runs_after: ClassVar[str] = "tile-choose-schedule"

    parts: int = 4
    """How many parts; the tile has to be divisible by it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is not None:
                kernel.schedule = split(kernel.schedule, self.parts)


def split(schedule: tile.ScheduleAttr, parts: int) -> tile.ScheduleAttr:
    """The schedule with the outermost tile cut."""
    sizes, order = list(schedule.sizes("ub")), list(schedule.order)
    outermost = order[0] if order else 0
    uses_cube = bool(schedule.sizes("l1"))
    if uses_cube or not sizes or sizes[outermost] % parts:
        return schedule
    sizes[outermost] //= parts
    return schedule.replaced({"ub": sizes}, order=order or [outermost])
