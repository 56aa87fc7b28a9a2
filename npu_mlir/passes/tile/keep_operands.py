"""Keep chunks of operands in L1 while the loops run that they do not depend on.

The schedule names the operands (`keep = [a, b]`). A chunk that a loop over K brings to L1 for one tile after the other
is brought in the first of these iterations alone, and found there in the others: the buffer gets a slot for each chunk.
What is loaded in one piece stays anyway, but the cube has to wait for all of it; chunks that are kept are multiplied
as they come.

Before (schedule: keep = [a]):

    scf.for %m, %n {
      scf.for %k = %0 to %512 step %128 {
        %a = tile.alloc : memref<128x128xf16, l1>
        tile.load %A[%m, %k] into %a ...
        (loads of %B[%k, %n], products) } }

After:

    %a = tile.alloc {slots = 4} : memref<128x128xf16, l1>
    scf.for %m, %n {
      scf.for %k = %0 to %512 step %128 {
        %count = affine.apply (%m, %n, %k)                       counts the iterations of the innermost loop
        %s = tile.slot %a[%count]
        %first = arith.cmpi eq, %n, %0
        scf.if %first { tile.load %A[%m, %k] into %s ... }
        (loads of %B[%k, %n], products) } }

As there are as many slots as the loops within that of `%n` have iterations together, a chunk has the same slot in each
iteration of `%n`.

Leaves alone: operands that the schedule does not name, those that depend on all loops around them, and those that are
loaded in a single piece.
Does not handle: loops whose bounds are not constant.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.ir.running_count import running_count
from npu_mlir.passes.tile.buffers import buffer_role
from npu_mlir.support.locations import located


class KeepOperands(ModulePass):
    """Load the chunks of operands that stay in L1 once."""

    name = "tile-keep-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is not None and kernel.schedule.keep:
                keep_operands(kernel, kernel.schedule.keep)


def keep_operands(kernel: tile.KernelOp, roles: tuple[str, ...]) -> None:
    """Keep the chunks of the operands with these roles in L1."""
    top, forms = kernel.body.block, ScalarForms()
    for load in [op for op in kernel.walk() if isinstance(op, tile.LoadOp)]:
        alloc = load.dest.owner if load.dest is not None else None
        if not isinstance(alloc, tile.AllocOp) or load.parent is top or alloc.parent is not load.parent:
            continue
        if space_of(alloc.buffer.type) is not Space.L1 or buffer_role(alloc, Space.L1) not in roles:
            continue
        stay = _stay(load, forms)
        if stay.loops and stay.chunks > 1:
            with located(load):
                _keep(load, alloc, stay, top)


class _Stay(NamedTuple):
    """Where chunks stay in L1: the loops that they don't depend on, and how many there are within the innermost."""

    loops: list[scf.ForOp]
    chunks: int


def _stay(load: tile.LoadOp, forms: ScalarForms) -> _Stay:
    trips: list[int] = []
    loops: list[scf.ForOp] = []
    around = load.parent_op()
    while isinstance(around, scf.ForOp):
        depends = any(forms.step(value, around) != 0 for value in load.indices)
        if depends and loops:
            break
        if not depends:
            loops.append(around)
        else:
            trips.append(len(constant_trips(around) or ()))
        around = around.parent_op()
    return _Stay(loops, math.prod(trips))


def _keep(load: tile.LoadOp, alloc: tile.AllocOp, stay: _Stay, top: Block) -> None:
    home = cast("Block", load.parent)
    slot = tile.SlotOp(alloc.buffer, running_count(home, top))
    home.insert_op_after(slot, alloc)
    slot.result.name_hint = alloc.buffer.name_hint
    alloc.buffer.replace_uses_with_if(slot.result, lambda use: use.operation is not slot)
    alloc.properties["slots"] = IntegerAttr(stay.chunks, i64)
    alloc.detach()
    top.insert_op_before(alloc, cast("Operation", top.first_op))
    conditions: list[Operation] = [arith.CmpiOp(op.body.block.args[0], op.lb, "eq") for op in stay.loops]
    first: SSAValue = conditions[0].results[0]
    for condition in tuple(conditions[1:]):
        conditions.append(arith.AndIOp(first, condition.results[0]))
        first = conditions[-1].results[0]
    home.insert_ops_before(conditions, load)
    guarded = scf.IfOp(first, [], Region(Block()))
    home.insert_op_before(guarded, load)
    load.detach()
    guarded.true_region.block.add_ops([load, scf.YieldOp()])
