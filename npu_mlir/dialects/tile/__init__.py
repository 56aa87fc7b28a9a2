"""The `tile` dialect: kernels, loops over tiles, loads and stores between memory spaces.

It lives in two forms. On tensors, an on-chip tile is a value whose type carries its memory space as the tensor
encoding (`tensor<16x64xf16, #tile.space<ub>>`); on memrefs, it is a buffer made by `tile.alloc`. In both, global
memory (GM) is seen through the kernel's arguments, which are memrefs in the space `gm`, and computation stays
`linalg.generic`: on operands in L0A and L0B it means the cube unit, on UB the vector unit.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from npu_mlir.dialects.tile.buffers import AllocOp, SlotOp
from npu_mlir.dialects.tile.cube import Cube, CubeTile, cube_type, layout, may_multiply, tile_bytes
from npu_mlir.dialects.tile.epilogue import (
    EpilogueAttr,
    Offset,
    Relu,
    Scale,
    Scales,
    Step,
    check_epilogue,
    scale_factor,
    steps_of,
)
from npu_mlir.dialects.tile.host import HostOp, YieldOp
from npu_mlir.dialects.tile.kernels import KernelOp, LaunchOp, ReserveOp, ReturnOp
from npu_mlir.dialects.tile.prefetch import PrefetchOp
from npu_mlir.dialects.tile.programs import AwaitStoredOp, BoundaryOp, ProgramOp, StoredOp
from npu_mlir.dialects.tile.rows import GatherOp, ScatterOp, row_dim
from npu_mlir.dialects.tile.schedule import ScheduleAttr
from npu_mlir.dialects.tile.schedule_entries import ROLES, SIZE_LEVELS
from npu_mlir.dialects.tile.spaces import (
    ROW_ALIGNMENT,
    Space,
    SpaceAttr,
    TileType,
    buffer_type,
    element_bits,
    element_bytes,
    place,
    space_of,
    storage_bytes,
)
from npu_mlir.dialects.tile.transfers import LOADS, STORES, InsertOp, LoadOp, StoreOp, check_map

Tile = Dialect(
    "tile",
    [
        ReturnOp,
        KernelOp,
        LaunchOp,
        ReserveOp,
        PrefetchOp,
        HostOp,
        ProgramOp,
        BoundaryOp,
        StoredOp,
        AwaitStoredOp,
        YieldOp,
        LoadOp,
        StoreOp,
        InsertOp,
        GatherOp,
        ScatterOp,
        AllocOp,
        SlotOp,
    ],
    [SpaceAttr, ScheduleAttr, EpilogueAttr],
)

__all__ = [
    "LOADS",
    "ROLES",
    "ROW_ALIGNMENT",
    "SIZE_LEVELS",
    "STORES",
    "AllocOp",
    "AwaitStoredOp",
    "BoundaryOp",
    "Cube",
    "CubeTile",
    "EpilogueAttr",
    "GatherOp",
    "HostOp",
    "InsertOp",
    "KernelOp",
    "LaunchOp",
    "LoadOp",
    "Offset",
    "PrefetchOp",
    "ProgramOp",
    "Relu",
    "ReserveOp",
    "ReturnOp",
    "Scale",
    "Scales",
    "ScatterOp",
    "ScheduleAttr",
    "SlotOp",
    "Space",
    "SpaceAttr",
    "Step",
    "StoreOp",
    "StoredOp",
    "Tile",
    "TileType",
    "YieldOp",
    "buffer_type",
    "check_epilogue",
    "check_map",
    "cube_type",
    "element_bits",
    "element_bytes",
    "layout",
    "may_multiply",
    "place",
    "row_dim",
    "scale_factor",
    "space_of",
    "steps_of",
    "storage_bytes",
    "tile_bytes",
]
