"""convert-tile-to-npu-isa: instructions instead of loads, stores and `linalg.generic`s on buffers.

    %x = tile.alloc {address = 0, slots = 2} : memref<16x64xf32, #tile.space<ub>>
    scf.for %i = %c0 to %c64 step %c16 {
      %s = tile.slot %x[%count]
      tile.load %A[%i] into %s map affine_map<(i0, d0, d1) -> (i0 + d0, d1)>
      linalg.generic ins(%s) outs(%s) { math.exp }
      tile.store %s, %B[%i] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)>
    }
  becomes
    %x = npu_isa.buffer 0, 4096 bytes, 2 slots : ub
    scf.for %i = %c0 to %c64 step %c16 {
      %s = npu_isa.slot %x[%count]
      npu_isa.load_ub %A[%i], %s {map, shape = [16, 64], strides = [64, 1]}
      npu_isa.vunary exp %s, %s {shape = [1024], strides = [[1], [1]]}
      npu_isa.store_ub %s, %B[%i] {map, shape = [16, 64], strides = [64, 1]}
    }

A `tile.prefetch` of the host function becomes an `npu_isa.prefetch`. Control flow and scalar arithmetic stay. The
result has sequential meaning: nothing orders the pipes yet. The parts are in `tile_lowering`: `context` (buffers,
addresses), `movement`, `cube`, `vector`.

Does not handle: tiles as tensors (run `tile-bufferize`), buffers without an address (run `tile-plan-memory`), loops
that carry buffers.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.passes.npu_isa.tile_lowering import cube, movement, vector
from npu_mlir.passes.npu_isa.tile_lowering.context import KernelContext
from npu_mlir.support.diagnostics import UserError, located_errors
from npu_mlir.support.locations import located
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class ConvertTileToNpuIsa(ModulePass):
    """Lower the kernels of a module to instructions."""

    name = "convert-tile-to-npu-isa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                lower_kernel(kernel, target)
        for prefetch in [p for p in op.walk() if isinstance(p, tile.PrefetchOp)]:
            with located(prefetch):
                Rewriter.replace_op(prefetch, npu_isa.PrefetchOp(prefetch.source))


def lower_kernel(kernel: tile.KernelOp, target: Target) -> None:
    """Lower one kernel in place."""
    accumulators = cube.Accumulators(kernel)
    ctx = KernelContext(kernel, target)
    old: list[Operation] = []
    for op in list(kernel.body.walk()):
        with located(op), located_errors(op):
            if _lower_op(ctx, op, accumulators):
                old.append(op)
    for op in reversed(old):
        _erase_with_windows(op)


def _erase_with_windows(op: Operation) -> None:
    """Erase an op that was lowered, and the operands that only said how large its window is."""
    owners = [value.owner for value in op.operands]
    op.detach()
    op.erase()
    for owner in owners:
        if isinstance(owner, memref.AllocOp) and owner.parent is not None and not any(owner.memref.uses):
            owner.detach()
            owner.erase()


def _lower_op(ctx: KernelContext, op: Operation, accumulators: cube.Accumulators) -> bool:
    """Emit what becomes of `op`; False if `op` stays."""
    ctx.lower(op)
    match op:
        case tile.AllocOp():
            ctx.add_alloc(op)
        case tile.SlotOp():
            ctx.add_slot(op)
        case tile.LoadOp() | tile.StoreOp() | tile.InsertOp() | tile.GatherOp() | tile.ScatterOp():
            _check_on_buffers(op)
            if isinstance(op, tile.LoadOp):
                movement.lower_load(ctx, op)
            elif isinstance(op, tile.GatherOp):
                movement.lower_gather(ctx, op)
            elif isinstance(op, tile.ScatterOp):
                movement.lower_scatter(ctx, op)
            elif isinstance(op, tile.InsertOp):
                movement.lower_insert(ctx, op)
            else:
                movement.lower_store(ctx, op)
        case FillOp() if cube.in_accumulator(op):
            cube.check_fill(op)
        case FillOp():
            vector.lower_fill(ctx, op)
        case GenericOp() if cube.is_start(op):
            cube.check_start(op)
        case GenericOp() if cube.in_accumulator(op):
            cube.lower_contraction(ctx, op, accumulators)
        case GenericOp():
            vector.lower_generic(ctx, op)
        case _:
            return False
    return True


def _check_on_buffers(
    op: tile.LoadOp | tile.StoreOp | tile.InsertOp | tile.GatherOp | tile.ScatterOp,
) -> None:
    side = op.value if isinstance(op, tile.StoreOp | tile.ScatterOp) else op.dest
    if side is None or not isinstance(side.type, MemRefType):
        raise UserError(f"'{op.name}' works on tensors here: run tile-bufferize first", loc=op)
