"""A pass between applying schedules and planning memory that makes buffers grow: more slots than the schedule says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile


@dataclass(frozen=True)
class MoreSlots(ModulePass):
    """Give buffers with slots several times as many."""

    name = "more-slots"
    runs_after: ClassVar[str] = "tile-double-buffer"

    times: int = 2
    """How many times as many."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for alloc in [o for o in op.walk() if isinstance(o, tile.AllocOp) and o.num_slots > 1]:
            alloc.properties["slots"] = IntegerAttr(alloc.num_slots * self.times, i64)
