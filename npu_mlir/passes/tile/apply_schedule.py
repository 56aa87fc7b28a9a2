"""Tile every kernel as its `#tile.schedule` says, by generation from the stores backwards.

`value(v)` emits the tile of the kernel value `v` at the current loop position: an operand becomes a load of the box
that is read, a reduction its own loop over chunks, a contraction its loops over K with loads to L1, L0A and L0B, and
anything else the same operation on the tiles of its operands. What does not depend on the innermost loops is emitted
before them, so an operand panel stays on chip exactly when the loop order allows it. After a contraction, its
accumulator is handed to the vector unit piece by piece.

Before (a matrix product with a bias; types shortened):

    tile.kernel @k(%A, %B, %b, %C) schedule <tile = [64, 32, 128], inner = [16, 32, 64], order = [0, 1]> {
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

Does not handle: streaming a class that is reduced in one operation and parallel in another (kept whole).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npu_mlir.analysis.dims import LoopNestOp, Kind
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.support.diagnostics import UserError
from npu_mlir.dialects import tile
from npu_mlir.passes.tile.kernel import Kernel, exact_classes, read_kernel
from npu_mlir.passes.tile.tiler.tiler import Tiler


class ApplySchedule(ModulePass):
    """Tile the kernels by their schedules."""

    name = "tile-apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is not None:
                apply_schedule(kernel)


def apply_schedule(op: tile.KernelOp) -> None:
    """Replace the body of a kernel by its tiled form."""
    kernel = read_kernel(op)
    assert op.schedule is not None
    sizes = {key: op.schedule.sizes(key) for key in ("tile", "inner", "order")}
    _check_schedule(kernel, sizes)
    tiled = Tiler(kernel, sizes["tile"], sizes["inner"], sizes["order"], op.schedule.direct).run()
    op.body.detach_block(op.body.block)
    op.body.add_block(tiled)


def _check_schedule(kernel: Kernel, sizes: dict[str, tuple[int, ...]]) -> None:
    op, classes = kernel.op, kernel.classes
    count = len(classes.classes)
    if len(sizes["tile"]) != count or len(sizes["inner"]) != count:
        raise UserError(f"the schedule must give 'tile' and 'inner' for {count} dimension classes", loc=op)
    contractions = [compute for compute in kernel.computes.values() if compute.contraction]
    batch = {classes.of[compute.key][d] for compute in contractions for d in _batch(compute)}
    exact = {c for compute in contractions for c in exact_classes(kernel, compute)}
    for c, size, inner in zip(classes.classes, sizes["tile"], sizes["inner"], strict=True):
        if not 0 < inner <= size:
            raise UserError(f"class {c.id}: need 0 < inner <= tile, got {inner} and {size}", loc=op)
        if size % inner:
            raise UserError(
                f"class {c.id}: the inner size {inner} has to divide the tile size {size}", loc=op
            )
        if c.kind is Kind.MIXED and not inner == size == c.extent:
            raise UserError(
                f"class {c.id} is reduced and used again: tile and inner size must be whole, {c.extent}",
                loc=op,
            )
        if c.id in batch and size != 1:
            raise UserError(
                f"class {c.id} is a batch of matrix products: its tile must be 1, got {size}", loc=op
            )
        if c.id in exact and c.extent % size:
            raise UserError(
                f"class {c.id} is a sum over a part of an operand: its tile has to divide {c.extent}, got {size}",
                loc=op,
            )
    looped = {c.id for c in classes.classes if c.kind is Kind.PAR and sizes["tile"][c.id] < c.extent}
    if not looped <= set(sizes["order"]):
        raise UserError(f"the order must name the tiled parallel classes {sorted(looped)}", loc=op)


def _batch(compute: LoopNestOp) -> tuple[int, ...]:
    """The batch dims of a contraction, of which L0 holds one at a time."""
    roles = contraction_roles(compute)
    return () if roles is None else roles.batch
