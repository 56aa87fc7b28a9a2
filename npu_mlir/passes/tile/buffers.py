"""What passes need to know of the buffers of a tiled kernel: what they are for."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of


def buffer_role(alloc: tile.AllocOp, space: Space) -> str:
    """What a buffer is for: one of `tile.ROLES`."""
    users = [use.operation for use in alloc.buffer.uses]
    if space is Space.L1:
        if any(isinstance(op, tile.InsertOp) or _comes_from_ub(op, alloc.buffer) for op in users):
            return "link"
        readers = {
            space_of(op.tile_type)
            for op in users
            if isinstance(op, tile.LoadOp) and op.source is alloc.buffer
        }
        return "a" if Space.L0A in readers else "b" if Space.L0B in readers else "init"
    fillers = {
        space_of(op.source.type)
        for op in users
        if isinstance(op, tile.LoadOp | tile.GatherOp) and alloc.buffer is op.dest
    }
    return "in" if Space.GM in fillers else "acc" if Space.L0C in fillers else "out"


def _comes_from_ub(op: Operation, buffer: SSAValue) -> bool:
    return isinstance(op, tile.LoadOp) and op.dest is buffer and space_of(op.source.type) is Space.UB
