"""Give the buffers of a kernel their ping-pong copies and move them to the top of the kernel.

A buffer that a loop fills on one pipe and reads on another gets as many slots as the schedule says for its space (or
for what it is for there, its role), so that the filling of the next iteration can overlap the reading of this one.
The slot of an iteration is the running count over all loops around the buffer. Buffers of one pipe, and those outside
loops, keep one slot.

Before (schedule: slots = {ub = 2}):

    scf.for %i = %0 to %64 step %16 {
      %t = tile.alloc : memref<16x64xf32, ub>
      tile.load %a[%i] into %t ...
      linalg.generic ... ins(%t) ...
    }

After:

    %t = tile.alloc {slots = 2} : memref<16x64xf32, ub>
    scf.for %i = %0 to %64 step %16 {
      %n = affine.apply affine_map<(d0) -> (d0 floordiv 16)>(%i)
      %s = tile.slot %t[%n] : memref<16x64xf32, ub>
      tile.load %a[%i] into %s ...
      linalg.generic ... ins(%s) ...
    }

Leaves alone: kernels without a schedule keep one slot per buffer.
Does not handle: loops whose bounds are not constant.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.ir.running_count import running_count
from npu_mlir.passes.tile.buffers import buffer_role
from npu_mlir.support.locations import located


class DoubleBuffer(ModulePass):
    """Hoist the buffers of kernels and give them the slots that the schedule asks for."""

    name = "tile-double-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                double_buffer(kernel)


def double_buffer(kernel: tile.KernelOp) -> None:
    """Hoist the buffers of one kernel and give them slots."""
    top = kernel.body.block
    counts: dict[Block, SSAValue] = {}
    for alloc in [op for op in kernel.walk() if isinstance(op, tile.AllocOp) and op.parent is not top]:
        home = cast("Block", alloc.parent)
        copies = _copies(alloc, kernel.schedule)
        if copies > 1:
            with located(alloc):
                if home not in counts:
                    counts[home] = running_count(home, top)
                index = counts[home]
                slot = tile.SlotOp(alloc.buffer, index)
            home.insert_op_after(slot, alloc)
            slot.result.name_hint = alloc.buffer.name_hint
            alloc.buffer.replace_uses_with_if(slot.result, lambda use, slot=slot: use.operation is not slot)
            alloc.properties["slots"] = IntegerAttr(copies, i64)
        alloc.detach()
        top.insert_op_before(alloc, cast("Operation", top.first_op))


def _copies(alloc: tile.AllocOp, schedule: tile.ScheduleAttr | None) -> int:
    """How many slots a buffer gets."""
    space = space_of(alloc.buffer.type)
    if schedule is None or space is None or len(_pipes(alloc)) < 2:
        return 1
    return schedule.slots_of(space, buffer_role(alloc, space))


def _pipes(alloc: tile.AllocOp) -> set[Pipe]:
    """The pipes that access a buffer."""
    return {_pipe(use.operation, alloc.buffer) for use in alloc.buffer.uses}


_LOAD_PIPES = {
    (Space.GM, Space.L1): Pipe.MTE2,
    (Space.GM, Space.UB): Pipe.MTE2,
    (Space.L1, Space.L0A): Pipe.MTE1,
    (Space.L1, Space.L0B): Pipe.MTE1,
    (Space.L0C, Space.UB): Pipe.FIX,
    (Space.UB, Space.L1): Pipe.MTE3,
    (Space.L1, Space.UB): Pipe.MTE1,
}


def _pipe(op: Operation, buffer: SSAValue) -> Pipe:
    """The pipe on which an operation on buffers will access one of them."""
    match op:
        case tile.GatherOp():
            return Pipe.S if buffer is op.rows else Pipe.MTE2
        case tile.ScatterOp():
            return Pipe.S if buffer is op.rows else Pipe.MTE3
        case tile.LoadOp():
            if buffer is op.scales:
                return Pipe.FIX
            spaces = space_of(op.source.type), space_of(op.tile_type)
            return _LOAD_PIPES.get(cast("tuple[Space, Space]", spaces), Pipe.V)
        case tile.InsertOp():
            return Pipe.MTE3
        case tile.StoreOp():
            return Pipe.FIX if space_of(op.value.type) is Space.L0C else Pipe.MTE3
        case linalg.GenericOp() | linalg.FillOp():
            return Pipe.M if space_of(op.outputs[0].type) is Space.L0C else Pipe.V
        case _:
            return Pipe.S
