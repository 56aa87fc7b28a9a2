"""Tile every kernel as its `#tile.schedule` says, by generation from the stores backwards.

`value(v)` emits the tile of the kernel value `v` at the current loop position: an operand becomes a load of the box
that is read, a reduction its own loop over chunks, a contraction its loops over K with loads to L1, L0A and L0B, and
anything else the same operation on the tiles of its operands. What does not depend on the innermost loops is emitted
before them, so an operand panel stays on chip exactly when the loop order allows it. After a contraction, its
accumulator is handed to the vector unit piece by piece.

Before (a matrix product with a bias; types shortened):

    tile.kernel @k(%A, %B, %b, %C) schedule <l1 = [64, 32, 128], l0 = [0, 0, 64], ub = [16, 0, 0], order = [0, 1]> {
      %a = tile.load %A[] ...
      %c = linalg.generic ... ins(%a, %w) outs(%zero)
      %d = linalg.generic ... ins(%c, %bias)
      tile.store %d, %C[] ...
    }

After:

    scf.for %m, %n {
      %acc = scf.for %k iter_args(%c0 = %zero) {
        %a = tile.load %A[%m, %k] ... : tensor<64x128xf16, l1>               // %b1 likewise
        %c1 = scf.for %k0 iter_args(%c = %c0) {
          %a0 = tile.load %a[%k0] ... : tensor<64x64xf16, l0a>               // %b0 likewise
          %x = linalg.generic ... ins(%a0, %b0) outs(%c) : tensor<64x32xf32, l0c>
          scf.yield %x }
        scf.yield %c1 }
      scf.for %s {
        %t = tile.load %acc[%s] ... : tensor<16x32xf32, ub>
        %d = linalg.generic ... ins(%t, %bias) : tensor<16x32xf32, ub>
        tile.store %d, %C[%m, %s, %n] ... } }

Tiles keep their size at the border: loads pad, stores clip. A vector reduction is exact instead: it takes its last,
shorter chunk by itself.

Leaves alone: kernels that are made of tiles already.
Does not handle: streaming a class that is reduced in one operation and parallel in another (kept whole).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile
from npu_mlir.passes.tile.kernel import is_tiled, read_kernel
from npu_mlir.passes.tile.kernel_sizes import kernel_sizes
from npu_mlir.passes.tile.tiled_bodies import replace_body
from npu_mlir.passes.tile.tiler.tiler import Tiler
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class ApplySchedule(ModulePass):
    """Tile the kernels by their schedules."""

    name = "tile-apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is not None and not is_tiled(kernel):
                apply_schedule(kernel, target)


def apply_schedule(op: tile.KernelOp, target: Target) -> None:
    """Replace the body of a kernel by its tiled form."""
    replace_body(op, lambda: _tiled(op, target))


def _tiled(op: tile.KernelOp, target: Target) -> Block:
    """The tiled body of a kernel. Raises UserError if the schedule is not for this kernel."""
    kernel, schedule = read_kernel(op), op.schedule
    assert schedule is not None
    return Tiler(kernel, kernel_sizes(kernel, schedule), schedule.order, schedule.bypass_ub, target).run()
