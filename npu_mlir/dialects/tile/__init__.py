"""The `tile` dialect: kernels, loops over tiles, loads and stores between memory spaces.

It lives in two forms. On tensors, an on-chip tile is a value whose type carries its memory space as the tensor
encoding (`tensor<16x64xf16, #tile.space<ub>>`); on memrefs, it is a buffer made by `tile.alloc`. In both, global
memory (GM) is seen through the kernel's arguments, which are memrefs in the space `gm`, and computation stays
`linalg.generic`: on operands in L0A and L0B it means the cube unit, on UB the vector unit.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from npu_mlir.dialects.tile.buffers import AllocOp, SlotOp
from npu_mlir.dialects.tile.host import HostOp, YieldOp
from npu_mlir.dialects.tile.kernels import KernelOp, LaunchOp, ReturnOp
from npu_mlir.dialects.tile.schedule import ScheduleAttr
from npu_mlir.dialects.tile.schedule_entries import ROLES, SIZE_LEVELS
from npu_mlir.dialects.tile.spaces import (
    ROW_ALIGNMENT,
    Space,
    SpaceAttr,
    TileType,
    buffer_type,
    element_bytes,
    matrix_strides,
    place,
    space_of,
    tile_bytes,
    tile_strides,
)
from npu_mlir.dialects.tile.transfers import LOADS, STORES, LoadOp, StoreOp, check_map

Tile = Dialect(
    "tile",
    [ReturnOp, KernelOp, LaunchOp, HostOp, YieldOp, LoadOp, StoreOp, AllocOp, SlotOp],
    [SpaceAttr, ScheduleAttr],
)

__all__ = [
    "LOADS",
    "ROW_ALIGNMENT",
    "STORES",
    "AllocOp",
    "HostOp",
    "KernelOp",
    "LaunchOp",
    "LoadOp",
    "ReturnOp",
    "ROLES",
    "SIZE_LEVELS",
    "ScheduleAttr",
    "SlotOp",
    "Space",
    "SpaceAttr",
    "StoreOp",
    "Tile",
    "TileType",
    "YieldOp",
    "buffer_type",
    "check_map",
    "element_bytes",
    "matrix_strides",
    "place",
    "space_of",
    "tile_bytes",
    "tile_strides",
]
