"""npu_isa: the plain interpreter, one small function per instruction on byte-addressed memories.

This is what the instructions mean; the simulator's decoded form computes the same and is tested against it. Flags
and barriers do nothing here, where instructions run one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import Space, Step, steps_of
from npu_mlir.interpreters import sums
from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.errors import index_among
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.npu_isa.functions import (
    BINARY,
    COMPARE,
    REDUCE,
    UNARY,
    compute_type,
    convert,
    epilogue,
    rounded,
)
from npu_mlir.interpreters.registry import Results, impl
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.targets.module_target import target_of

_CORE = "npu_isa.core"


def core_of(interp: Interpreter) -> Core:
    """The core that the interpreter runs kernels on."""
    core = interp.state.get(_CORE)
    if core is None:
        core = Core(target_of(interp.module))
        use_core(interp, core)
    return core


def use_core(interp: Interpreter, core: Core) -> None:
    """Run kernels on `core`."""
    interp.state[_CORE] = core


# ---- addresses -------------------------------------------------------------------------------------------------------


@impl("npu_isa.buffer")
def buffer(interp: Interpreter, op: npu_isa.BufferOp, args: Results) -> Results:
    return (op.address.value.data,)


@impl("npu_isa.slot")
def slot(interp: Interpreter, op: npu_isa.SlotOp, args: Results) -> Results:
    buffer = op.buffer.owner
    assert isinstance(buffer, npu_isa.BufferOp)
    return (args[0] + args[1] % buffer.slots.value.data * buffer.bytes.value.data,)


@impl("npu_isa.at")
def at(interp: Interpreter, op: npu_isa.AtOp, args: Results) -> Results:
    return (sum(args) + op.constant.value.data,)


# ---- data movement ---------------------------------------------------------------------------------------------------


def coordinates(
    op: npu_isa.GmLoad | npu_isa.GmStore, gm: np.ndarray, indices: Sequence[int]
) -> tuple[list[np.ndarray], np.ndarray]:
    """The GM coordinates of every element of the iteration space, and which elements lie inside."""
    dims = np.indices(ints(op.shape))
    point = [*indices, *dims]
    where = [np.broadcast_to(_evaluate(expr, point), dims.shape[1:]) for expr in op.map.data.results]
    inside = np.ones(dims.shape[1:], bool)
    for c, size in zip(where, gm.shape, strict=True):
        inside = inside & (c >= 0) & (c < size)
    return where, inside


def _evaluate(expr: Any, point: Sequence[Any]) -> Any:
    return expr.eval(point, [])


@impl("npu_isa.read_index")
def read_index(interp: Interpreter, op: npu_isa.ReadIndexOp, args: Results) -> Results:
    value = core_of(interp).view(Space.UB, args[0], (1,), (1,), numpy_dtype(op.element))[0]
    return (index_among(int(value), op.extent.value.data, op),)


@impl("npu_isa.load_l1")
@impl("npu_isa.load_ub")
@impl("npu_isa.gather_ub")
def gm_load(interp: Interpreter, op: npu_isa.GmLoad, args: Results) -> Results:
    source, *indices, dest = args
    where, inside = coordinates(op, source, indices)
    view = core_of(interp).view(op.SPACE, dest, ints(op.shape), ints(op.strides), source.dtype)
    view[...] = 0 if op.pad is None else constant_value(op.pad)
    view[inside] = source[tuple(c[inside] for c in where)]
    return ()


@impl("npu_isa.store_ub")
@impl("npu_isa.scatter_ub")
@impl("npu_isa.fixpipe_gm")
def gm_store(interp: Interpreter, op: npu_isa.GmStore, args: Results) -> Results:
    source, dest, *rest = args
    where, inside = coordinates(op, dest, rest[: len(op.indices)])
    dtype, steps = stored(op)
    core, shape = core_of(interp), ints(op.shape)
    view = core.view(op.SPACE, source, shape, ints(op.strides), dtype)
    row = scales_of(core, op, rest[-1]) if isinstance(op, npu_isa.FixpipeGmOp) and op.scales else None
    values = epilogue(view, steps, dest.dtype, row)[inside].astype(dest.dtype)
    # What has rank 0 has one element.
    dest[tuple(c[inside] for c in where)] = values if where else values.item()
    return ()


def stored(op: npu_isa.GmStore) -> tuple[np.dtype[Any], tuple[Step, ...]]:
    """The type of the elements on chip that an instruction stores, and the steps that it takes before the cast."""
    if isinstance(op, npu_isa.FixpipeGmOp):
        return numpy_dtype(op.accumulator), steps_of(op.epilogue)
    return numpy_dtype(op.gm_type), ()


def scales_of(core: Core, op: npu_isa.FixpipeUbOp | npu_isa.FixpipeGmOp, address: int) -> np.ndarray:
    """The factor of each element that a fixpipe instruction with `scales` moves."""
    assert op.scale_strides is not None
    return core.view(Space.L1, address, ints(op.shape), ints(op.scale_strides), np.dtype(np.float32))


@impl("npu_isa.fixpipe_ub")
def fixpipe_ub(interp: Interpreter, op: npu_isa.FixpipeUbOp, args: Results) -> Results:
    core, shape, dtype = core_of(interp), ints(op.shape), numpy_dtype(op.element)
    source = core.view(Space.L0C, args[0], shape, ints(op.source_strides), dtype)
    result = numpy_dtype(op.dest_element)
    values = epilogue(
        source, steps_of(op.epilogue), result, scales_of(core, op, args[2]) if op.scales else None
    )
    core.view(Space.UB, args[1], shape, ints(op.dest_strides), result)[...] = values
    return ()


@impl("npu_isa.copy_l1")
@impl("npu_isa.copy_ub")
def local_copy(interp: Interpreter, op: npu_isa.LocalCopy, args: Results) -> Results:
    core, shape, dtype = core_of(interp), ints(op.shape), numpy_dtype(op.element)
    source = core.view(op.SOURCE, args[0], shape, ints(op.source_strides), dtype)
    core.view(op.DEST, args[1], shape, ints(op.dest_strides), dtype)[...] = source
    return ()


@impl("npu_isa.load_l0a")
@impl("npu_isa.load_l0b")
def l0_load(interp: Interpreter, op: npu_isa.L0Load, args: Results) -> Results:
    core, dtype = core_of(interp), numpy_dtype(op.element)
    block = core.view(Space.L1, args[0], ints(op.shape), ints(op.strides), dtype)
    rows, columns = op.matrix
    matrix = core.matrix(op.SPACE, args[1], op.matrix, op.element)
    matrix[...] = 0
    matrix[:rows, :columns] = block.reshape(rows, columns)
    return ()


# ---- cube ------------------------------------------------------------------------------------------------------------


@impl("npu_isa.mmad")
def mmad(interp: Interpreter, op: npu_isa.MmadOp, args: Results) -> Results:
    core, (m, k, n) = core_of(interp), op.mkn
    wide = numpy_dtype(op.accumulator)
    a = core.matrix(Space.L0A, args[1], (m, k), op.element).astype(wide)
    b = core.matrix(Space.L0B, args[2], (k, n), op.element).astype(wide)
    c = core.matrix(Space.L0C, args[0], (m, n), op.accumulator)
    if op.zero is None and (op.init is None or not args[3]):
        c[...] = c + a @ b
        return ()
    c[...] = a @ b
    if op.bias is not None:
        c[:m, :n] += core.view(Space.L1, args[-1], (n,), (1,), numpy_dtype(op.bias_element))
    return ()


# ---- vector ----------------------------------------------------------------------------------------------------------


def vector_operands(
    interp: Interpreter, op: npu_isa.VectorInstruction, args: Results
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The destination and the sources of a vector instruction, the immediate among them."""
    core, shape = core_of(interp), ints(op.shape)
    dest, *sources = (
        core.view(Space.UB, address, shape, strides, numpy_dtype(type_))
        for address, strides, type_ in zip(args, op.operand_strides, op.types.data, strict=True)
    )
    if op.imm is not None and op.imm_position is not None:
        sources.insert(op.imm_position.value.data, _immediate(op.imm))
    return dest, sources


def _immediate(attr: Attribute) -> np.ndarray:
    return np.array(constant_value(attr), numpy_dtype(attr.type))  # type: ignore[attr-defined]


def widened(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The elements in the type that they are computed in."""
    return [a.astype(compute_type(a.dtype)) for a in arrays]


@impl("npu_isa.vunary")
def vunary(interp: Interpreter, op: npu_isa.VUnaryOp, args: Results) -> Results:
    dest, sources = vector_operands(interp, op, args)
    if op.kind.data == "copy":
        dest[...] = sources[0].copy()
    else:
        dest[...] = UNARY[op.kind.data](*widened(sources)).astype(dest.dtype)
    return ()


@impl("npu_isa.vtranspose")
def vtranspose(interp: Interpreter, op: npu_isa.VTransposeOp, args: Results) -> Results:
    dest, (source,) = vector_operands(interp, op, args)
    dest[...] = source.copy()
    return ()


@impl("npu_isa.vbinary")
def vbinary(interp: Interpreter, op: npu_isa.VBinaryOp, args: Results) -> Results:
    dest, sources = vector_operands(interp, op, args)
    dest[...] = BINARY[op.kind.data](*widened(sources)).astype(dest.dtype)
    return ()


@impl("npu_isa.vcmp")
def vcmp(interp: Interpreter, op: npu_isa.VCmpOp, args: Results) -> Results:
    dest, sources = vector_operands(interp, op, args)
    dest[...] = COMPARE[op.kind.data](*sources)
    return ()


@impl("npu_isa.vselect")
def vselect(interp: Interpreter, op: npu_isa.VSelectOp, args: Results) -> Results:
    dest, (mask, a, b) = vector_operands(interp, op, args)
    dest[...] = np.where(mask, a, b)
    return ()


@impl("npu_isa.vcast")
def vcast(interp: Interpreter, op: npu_isa.VCastOp, args: Results) -> Results:
    dest, (source,) = vector_operands(interp, op, args)
    if op.kind.data == "rcast":
        dest[...] = rounded(source, dest.dtype)
        return ()
    dest[...] = convert(np.ascontiguousarray(source), dest.dtype, op.kind.data == "ucast")
    return ()


@impl("npu_isa.vdup")
def vdup(interp: Interpreter, op: npu_isa.VDupOp, args: Results) -> Results:
    dest, (value,) = vector_operands(interp, op, args)
    dest[...] = value
    return ()


@impl("npu_isa.vreduce")
def vreduce(interp: Interpreter, op: npu_isa.VReduceOp, args: Results) -> Results:
    dest, (source,) = vector_operands(interp, op, args)
    _accumulate(dest, op, source.astype(compute_type(dest.dtype)), REDUCE[op.kind.data])
    return ()


@impl("npu_isa.vmadd")
def vmadd(interp: Interpreter, op: npu_isa.VMaddOp, args: Results) -> Results:
    dest, (a, b) = vector_operands(interp, op, args)
    wide = compute_type(dest.dtype)
    _accumulate(dest, op, a.astype(wide) * b.astype(wide), np.add)
    return ()


def _accumulate(dest: np.ndarray, op: npu_isa.VectorInstruction, values: np.ndarray, ufunc: np.ufunc) -> None:
    """`dest = ufunc(dest, values)`, over the dims along which the destination does not move."""
    steps = op.operand_strides[0]
    fixed = tuple(d for d, step in enumerate(steps) if step == 0)
    once = dest[(*(slice(0, 1) if step == 0 else slice(None) for step in steps), ...)]
    total = sums.reduce(ufunc, values, fixed) if fixed else values
    once[...] = ufunc(once.astype(values.dtype), total.astype(values.dtype)).astype(dest.dtype)


# ---- synchronisation -------------------------------------------------------------------------------------------------


@impl("npu_isa.set_flag")
@impl("npu_isa.wait_flag")
@impl("npu_isa.barrier")
@impl("npu_isa.prefetch")
def sequential(interp: Interpreter, op: Any, args: Results) -> Results:
    return ()
