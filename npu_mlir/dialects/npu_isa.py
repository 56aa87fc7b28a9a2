"""The `npu_isa` dialect: the instructions of a DaVinci-class NPU core.

A kernel at this level is a `tile.kernel` whose body holds instructions, scalar control flow (`scf.for`, `scf.if`,
`arith` on index) and flags. Every instruction class is the only place that knows its pipe, what it reads and writes
(`accesses`) and what its cost depends on (`work`).

Addressing. On-chip operands are addresses, `!npu_isa.addr<ub>`; `shape` is the iteration space of the instruction and
`strides` gives each operand's element stride per dimension (0 repeats an element). GM operands are the kernel's
memref arguments; `map` takes (indices; iteration dims) to coordinates, each coordinate depends on at most one
iteration dim, and coordinates outside the memref are padded on load and skipped on store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from npu_mlir.dialects.tile import SpaceAttr


class Pipe(StrEnum):
    """An in-order execution queue of the core."""

    S = "S"
    V = "V"
    M = "M"
    MTE1 = "MTE1"
    MTE2 = "MTE2"
    MTE3 = "MTE3"
    FIX = "FIX"


@dataclass(frozen=True)
class Extent:
    """A static set of bytes relative to an address: `dims` = (count, byte stride) nested around `run` bytes."""

    dims: tuple[tuple[int, int], ...]
    run: int


@dataclass(frozen=True)
class Access:
    """One operand's memory access: the bytes of `extent` from the address (or GM memref) `operand`.

    For a GM operand `extent` is None: the touched box follows from the instruction's map, indices and shape.
    """

    operand: SSAValue
    write: bool
    extent: Extent | None


@irdl_attr_definition
class AddrType(ParametrizedAttribute, TypeAttribute):
    """The address of bytes in an on-chip memory: `!npu_isa.addr<#tile.space<ub>>`."""

    name = "npu_isa.addr"
    space: SpaceAttr = param_def()


class Instruction(IRDLOperation):
    """Base of all instructions."""

    PIPE: ClassVar[Pipe]

    def accesses(self) -> tuple[Access, ...]:
        """What the instruction reads and writes."""
        raise NotImplementedError


# ---- addresses (scalar unit) -----------------------------------------------------------------------------------------


@irdl_op_definition
class BufferOp(IRDLOperation):
    """A buffer of `slots` copies of `bytes` bytes each, from `address` on."""

    name = "npu_isa.buffer"
    address = prop_def(IntegerAttr[IntegerType])
    bytes = prop_def(IntegerAttr[IntegerType])
    slots = prop_def(IntegerAttr[IntegerType])
    result = result_def(AddrType)
    traits = traits_def(Pure())

    def __init__(self, space: SpaceAttr, address: int, bytes: int, slots: int = 1):
        super().__init__(
            result_types=[AddrType(space)],
            properties={
                k: IntegerAttr(v, i64) for k, v in (("address", address), ("bytes", bytes), ("slots", slots))
            },
        )


@irdl_op_definition
class SlotOp(IRDLOperation):
    """The address of copy `index mod slots` of a buffer."""

    name = "npu_isa.slot"
    buffer = operand_def(AddrType)
    index = operand_def(IndexType)
    result = result_def(AddrType)
    traits = traits_def(Pure())

    def __init__(self, buffer: SSAValue, index: SSAValue):
        super().__init__(operands=[buffer, index], result_types=[buffer.type])


@irdl_op_definition
class AtOp(IRDLOperation):
    """The address `offset` bytes (an index value, or the attribute `constant`) further on."""

    name = "npu_isa.at"
    base = operand_def(AddrType)
    offset = opt_operand_def(IndexType)
    constant = prop_def(IntegerAttr[IntegerType])
    result = result_def(AddrType)
    traits = traits_def(Pure())

    def __init__(self, base: SSAValue, offset: SSAValue | None = None, constant: int = 0):
        super().__init__(
            operands=[base, offset],
            result_types=[base.type],
            properties={"constant": IntegerAttr(constant, i64)},
        )


# ---- data movement ---------------------------------------------------------------------------------------------------


class GmLoad(Instruction):
    """GM -> on-chip: `dest[sum d*strides] = source[map(indices, d)]`, `pad` outside; element type of the memref."""

    PIPE: ClassVar[Pipe] = Pipe.MTE2
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    dest = operand_def(AddrType)
    map = prop_def(AffineMapAttr)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    pad = opt_prop_def(FloatAttr | IntegerAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        dest: SSAValue,
        map_: AffineMapAttr,
        shape: Sequence[int],
        strides: Sequence[int],
        pad: Attribute | None = None,
    ):
        super().__init__(
            operands=[source, indices, dest],
            properties={
                "map": map_,
                "shape": DenseArrayBase.from_list(i64, list(shape)),
                "strides": DenseArrayBase.from_list(i64, list(strides)),
                "pad": pad,
            },
        )


@irdl_op_definition
class LoadL1Op(GmLoad):
    """GM -> L1."""

    name = "npu_isa.load_l1"


@irdl_op_definition
class LoadUbOp(GmLoad):
    """GM -> UB."""

    name = "npu_isa.load_ub"


class GmStore(Instruction):
    """On-chip -> GM: `dest[map(indices, d)] = source[sum d*strides]`, targets outside `dest` are skipped."""

    source = operand_def(AddrType)
    dest = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMapAttr,
        shape: Sequence[int],
        strides: Sequence[int],
    ):
        super().__init__(
            operands=[source, dest, indices],
            properties={
                "map": map_,
                "shape": DenseArrayBase.from_list(i64, list(shape)),
                "strides": DenseArrayBase.from_list(i64, list(strides)),
            },
        )


@irdl_op_definition
class StoreUbOp(GmStore):
    """UB -> GM."""

    name = "npu_isa.store_ub"
    PIPE: ClassVar[Pipe] = Pipe.MTE3


@irdl_op_definition
class FixpipeGmOp(GmStore):
    """L0C -> GM through the fixpipe: f32 accumulators, cast to the element type of `dest`."""

    name = "npu_isa.fixpipe_gm"
    PIPE: ClassVar[Pipe] = Pipe.FIX


@irdl_op_definition
class FixpipeUbOp(Instruction):
    """L0C -> UB: a strided block of accumulators (cores whose L0C reaches UB)."""

    name = "npu_isa.fixpipe_ub"
    PIPE: ClassVar[Pipe] = Pipe.FIX
    source = operand_def(AddrType)
    dest = operand_def(AddrType)
    shape = prop_def(DenseArrayBase)
    source_strides = prop_def(DenseArrayBase)
    dest_strides = prop_def(DenseArrayBase)
    element = prop_def(Attribute)

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        shape: Sequence[int],
        source_strides: Sequence[int],
        dest_strides: Sequence[int],
        element: Attribute,
    ):
        super().__init__(
            operands=[source, dest],
            properties={
                "shape": DenseArrayBase.from_list(i64, list(shape)),
                "source_strides": DenseArrayBase.from_list(i64, list(source_strides)),
                "dest_strides": DenseArrayBase.from_list(i64, list(dest_strides)),
                "element": element,
            },
        )


class L0Load(Instruction):
    """L1 -> L0: the strided block `shape`/`strides` at `source`, its first `rows` dims flattened to matrix rows, the
    rest to columns, packed as a row-major matrix padded with zeros to multiples of the cube's side."""

    PIPE: ClassVar[Pipe] = Pipe.MTE1
    source = operand_def(AddrType)
    dest = operand_def(AddrType)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    rows = prop_def(IntegerAttr[IntegerType])
    element = prop_def(Attribute)

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        shape: Sequence[int],
        strides: Sequence[int],
        rows: int,
        element: Attribute,
    ):
        super().__init__(
            operands=[source, dest],
            properties={
                "shape": DenseArrayBase.from_list(i64, list(shape)),
                "strides": DenseArrayBase.from_list(i64, list(strides)),
                "rows": IntegerAttr(rows, i64),
                "element": element,
            },
        )


@irdl_op_definition
class LoadL0AOp(L0Load):
    """L1 -> L0A: rows are m, columns k."""

    name = "npu_isa.load_l0a"


@irdl_op_definition
class LoadL0BOp(L0Load):
    """L1 -> L0B: rows are k, columns n."""

    name = "npu_isa.load_l0b"


# ---- cube ------------------------------------------------------------------------------------------------------------


@irdl_op_definition
class MmadOp(Instruction):
    """C (+)= A x B. `init` (an i1; or the unit attribute `zero` for always) starts from zero instead of from C.

    A is a `m x k` matrix in L0A, B `k x n` in L0B, C `m x n` in L0C; row-major, sides padded to multiples of the cube's side.
    """

    name = "npu_isa.mmad"
    PIPE: ClassVar[Pipe] = Pipe.M
    c = operand_def(AddrType)
    a = operand_def(AddrType)
    b = operand_def(AddrType)
    init = opt_operand_def(i1)
    m = prop_def(IntegerAttr[IntegerType])
    k = prop_def(IntegerAttr[IntegerType])
    n = prop_def(IntegerAttr[IntegerType])
    zero = opt_prop_def(Attribute)
    element = prop_def(Attribute)
    accumulator = prop_def(Attribute)

    def __init__(
        self,
        c: SSAValue,
        a: SSAValue,
        b: SSAValue,
        mkn: tuple[int, int, int],
        element: Attribute,
        accumulator: Attribute,
        init: SSAValue | None = None,
        zero: Attribute | None = None,
    ):
        super().__init__(
            operands=[c, a, b, init],
            properties={
                "m": IntegerAttr(mkn[0], i64),
                "k": IntegerAttr(mkn[1], i64),
                "n": IntegerAttr(mkn[2], i64),
                "zero": zero,
                "element": element,
                "accumulator": accumulator,
            },
        )


# ---- vector ----------------------------------------------------------------------------------------------------------


class VectorInstruction(Instruction):
    """`dest[d] = kind(sources[d])` over the iteration space `shape` (at most four dims, innermost last).

    `strides` lists the element strides of the destination, then of every source; `types` their element types. One
    source may be an immediate: `imm`, standing at position `imm_position` among the sources.
    """

    PIPE: ClassVar[Pipe] = Pipe.V
    KINDS: ClassVar[frozenset[str]]
    dest = operand_def(AddrType)
    sources = var_operand_def(AddrType)
    kind = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(ArrayAttr)
    types = prop_def(ArrayAttr)
    imm = opt_prop_def(FloatAttr | IntegerAttr)
    imm_position = opt_prop_def(IntegerAttr[IntegerType])

    def __init__(
        self,
        kind: str,
        dest: SSAValue,
        sources: Sequence[SSAValue],
        shape: Sequence[int],
        strides: Sequence[Sequence[int]],
        types: Sequence[Attribute],
        imm: Attribute | None = None,
        imm_position: int | None = None,
    ):
        super().__init__(
            operands=[dest, sources],
            properties={
                "kind": StringAttr(kind),
                "shape": DenseArrayBase.from_list(i64, list(shape)),
                "strides": ArrayAttr([DenseArrayBase.from_list(i64, list(s)) for s in strides]),
                "types": ArrayAttr(types),
                "imm": imm,
                "imm_position": IntegerAttr(imm_position, i64) if imm_position is not None else None,
            },
        )


@irdl_op_definition
class VUnaryOp(VectorInstruction):
    """Elementwise function of one source."""

    name = "npu_isa.vunary"
    KINDS: ClassVar[frozenset[str]] = frozenset({"copy", "exp", "log", "sqrt", "abs", "neg", "relu", "not"})


@irdl_op_definition
class VBinaryOp(VectorInstruction):
    """Elementwise function of two sources, one of which may be an immediate."""

    name = "npu_isa.vbinary"
    KINDS: ClassVar[frozenset[str]] = frozenset(
        {"add", "sub", "mul", "div", "max", "min", "and", "or", "xor"}
    )


@irdl_op_definition
class VMaddOp(VectorInstruction):
    """`dest += a * b` in the destination's type (widening); a destination stride 0 accumulates over that dim."""

    name = "npu_isa.vmadd"
    KINDS: ClassVar[frozenset[str]] = frozenset({"madd"})


@irdl_op_definition
class VCmpOp(VectorInstruction):
    """Compare two sources (one may be immediate) into a mask of i1 (one byte each)."""

    name = "npu_isa.vcmp"
    KINDS: ClassVar[frozenset[str]] = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@irdl_op_definition
class VSelectOp(VectorInstruction):
    """`dest = mask ? a : b`; a or b may be immediate (imm_position 1 or 2)."""

    name = "npu_isa.vselect"
    KINDS: ClassVar[frozenset[str]] = frozenset({"select"})


@irdl_op_definition
class VCastOp(VectorInstruction):
    """Convert between element types: `cast` (signed ints, truncation toward zero), `ucast` (unsigned source)."""

    name = "npu_isa.vcast"
    KINDS: ClassVar[frozenset[str]] = frozenset({"cast", "ucast"})


@irdl_op_definition
class VReduceOp(VectorInstruction):
    """`dest = kind(dest, source)`, accumulating over the dims whose destination stride is 0."""

    name = "npu_isa.vreduce"
    KINDS: ClassVar[frozenset[str]] = frozenset({"sum", "prod", "max", "min"})


@irdl_op_definition
class VDupOp(VectorInstruction):
    """Fill with the immediate `imm` (no sources, imm_position 0)."""

    name = "npu_isa.vdup"
    KINDS: ClassVar[frozenset[str]] = frozenset({"dup"})


# ---- synchronisation -------------------------------------------------------------------------------------------------


class FlagInstruction(IRDLOperation):
    """Base of set_flag and wait_flag: event id = event + index mod slots, of the pair (src, dst)."""

    src = prop_def(StringAttr)
    dst = prop_def(StringAttr)
    event = prop_def(IntegerAttr[IntegerType])
    slots = prop_def(IntegerAttr[IntegerType])
    index = opt_operand_def(IndexType)

    def __init__(self, src: Pipe, dst: Pipe, event: int, slots: int = 1, index: SSAValue | None = None):
        super().__init__(
            operands=[index],
            properties={
                "src": StringAttr(src.value),
                "dst": StringAttr(dst.value),
                "event": IntegerAttr(event, i64),
                "slots": IntegerAttr(slots, i64),
            },
        )


@irdl_op_definition
class SetFlagOp(FlagInstruction):
    """Executes in src's queue: raise the flag once everything before it there is complete."""

    name = "npu_isa.set_flag"


@irdl_op_definition
class WaitFlagOp(FlagInstruction):
    """Blocks dst's queue until the flag is raised, then lowers it."""

    name = "npu_isa.wait_flag"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait until every pipe is idle."""

    name = "npu_isa.barrier"

    def __init__(self) -> None:
        super().__init__()


INSTRUCTIONS: tuple[type[Instruction], ...] = (
    LoadL1Op,
    LoadUbOp,
    StoreUbOp,
    FixpipeGmOp,
    FixpipeUbOp,
    LoadL0AOp,
    LoadL0BOp,
    MmadOp,
    VUnaryOp,
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
    [BufferOp, SlotOp, AtOp, *INSTRUCTIONS, SetFlagOp, WaitFlagOp, BarrierOp],
    [AddrType],
)
