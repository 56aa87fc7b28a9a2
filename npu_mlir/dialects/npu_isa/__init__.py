"""The `npu_isa` dialect: the instructions of a DaVinci-class NPU core.

A kernel at this level is a `tile.kernel` whose body holds instructions, scalar control flow (`scf.for`, `scf.if`,
`arith` on index) and flags. Every instruction class is the only place that knows its pipe, what it reads and writes
(`accesses`) and what its cost depends on (`work`).

Addressing. On-chip operands are addresses, `!npu_isa.addr<ub>`; `shape` (printed `over [...]`) is the iteration space
of the instruction and `strides` (printed `<...>` behind each operand) gives each operand's element stride per dimension
(0 repeats an element). GM operands are the kernel's memref arguments; `map` takes (indices; iteration dims) to
coordinates, each coordinate depends on at most one iteration dim, and coordinates outside the memref are padded on load
and skipped on store.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from npu_mlir.dialects.npu_isa.addresses import AtOp, BufferOp, SlotOp
from npu_mlir.dialects.npu_isa.base import (
    IM2COL_DIMS,
    MAX_DIMS,
    SCALE_BYTES,
    Access,
    AddrType,
    CubeWork,
    Elements,
    Extent,
    Instruction,
    MoveWork,
    Pipe,
    ScalarReadWork,
    VectorWork,
    Work,
)
from npu_mlir.dialects.npu_isa.cube import MmadOp
from npu_mlir.dialects.npu_isa.gm import FixpipeGmOp, GmLoad, GmStore, LoadL1Op, LoadUbOp, StoreUbOp
from npu_mlir.dialects.npu_isa.local import (
    CopyL1Op,
    CopyUbOp,
    FixpipeUbOp,
    L0Load,
    LoadL0AOp,
    LoadL0BOp,
    LocalCopy,
)
from npu_mlir.dialects.npu_isa.prefetch import PrefetchOp
from npu_mlir.dialects.npu_isa.rows import GatherUbOp, ReadIndexOp, ScatterUbOp
from npu_mlir.dialects.npu_isa.sync import BarrierOp, FlagInstruction, SetFlagOp, WaitFlagOp
from npu_mlir.dialects.npu_isa.vector import (
    VBinaryOp,
    VCastOp,
    VCmpOp,
    VDupOp,
    VectorInstruction,
    VMaddOp,
    VReduceOp,
    VSelectOp,
    VTransposeOp,
    VUnaryOp,
)

INSTRUCTIONS: tuple[type[Instruction], ...] = (
    LoadL1Op,
    LoadUbOp,
    ReadIndexOp,
    GatherUbOp,
    StoreUbOp,
    ScatterUbOp,
    FixpipeGmOp,
    CopyL1Op,
    CopyUbOp,
    FixpipeUbOp,
    LoadL0AOp,
    LoadL0BOp,
    MmadOp,
    VUnaryOp,
    VTransposeOp,
    VBinaryOp,
    VMaddOp,
    VCmpOp,
    VSelectOp,
    VCastOp,
    VReduceOp,
    VDupOp,
)

NpuIsa = Dialect(
    "npu_isa",
    [BufferOp, SlotOp, AtOp, *INSTRUCTIONS, SetFlagOp, WaitFlagOp, BarrierOp, PrefetchOp],
    [AddrType],
)

__all__ = [
    "IM2COL_DIMS",
    "INSTRUCTIONS",
    "MAX_DIMS",
    "SCALE_BYTES",
    "Access",
    "AddrType",
    "AtOp",
    "BarrierOp",
    "BufferOp",
    "CopyL1Op",
    "CopyUbOp",
    "CubeWork",
    "Elements",
    "Extent",
    "FixpipeGmOp",
    "FixpipeUbOp",
    "FlagInstruction",
    "GatherUbOp",
    "GmLoad",
    "GmStore",
    "Instruction",
    "L0Load",
    "LoadL0AOp",
    "LoadL0BOp",
    "LoadL1Op",
    "LoadUbOp",
    "LocalCopy",
    "MmadOp",
    "MoveWork",
    "NpuIsa",
    "Pipe",
    "PrefetchOp",
    "ReadIndexOp",
    "ScalarReadWork",
    "ScatterUbOp",
    "SetFlagOp",
    "SlotOp",
    "StoreUbOp",
    "VBinaryOp",
    "VCastOp",
    "VCmpOp",
    "VDupOp",
    "VMaddOp",
    "VReduceOp",
    "VSelectOp",
    "VTransposeOp",
    "VUnaryOp",
    "VectorInstruction",
    "VectorWork",
    "WaitFlagOp",
    "Work",
]
