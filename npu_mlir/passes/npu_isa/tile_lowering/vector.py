"""The vector unit: `linalg.generic` and `linalg.fill` on UB become one vector instruction each, in scalar loops where
an instruction has too few dims.

    linalg.generic {maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d1), (d0, d1) -> (d0, d1)]}
      ins(%x, %bias : memref<32x64xf32, ub>, memref<64xf32, ub>) outs(%y : memref<32x64xf32, ub>) { arith.addf }
  becomes
    npu_isa.vbinary add %y, %x, %bias {shape = [32, 64], strides = [[64, 1], [64, 1], [0, 1]]}

The rank and order of the dims are chosen by `npu_mlir.analysis.strides`; linear maps of any kind are strides.
Elementwise instructions run over the padding at the end of the rows where that saves steps.

Does not handle: bodies of several instructions, results that are written more than once per element.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, MemRefType, Signedness
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, SSAValue

from npu_mlir.analysis.affine_maps import Linear, linear_map
from npu_mlir.analysis.strides import (
    Lanes,
    StridedLoops,
    StrideError,
    check_extents,
    cost,
    element_strides,
    simplify,
    split,
    transposed,
    transposed_blocks,
    widen,
)
from npu_mlir.analysis.structured.nest import is_reduction, loop_extents
from npu_mlir.analysis.structured.vector_form import VectorForm, VectorOperand, classify
from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa.base import BLOCK
from npu_mlir.dialects.npu_isa.vector import TRANSPOSED_BYTES, TRANSPOSED_PIECES
from npu_mlir.dialects.tile import Space
from npu_mlir.passes.npu_isa.tile_lowering.context import KernelContext, Offset, PlacedBuffer
from npu_mlir.support.diagnostics import UserError


def lower_generic(ctx: KernelContext, op: GenericOp) -> None:
    """Lower a generic on UB."""
    form = classify(op)
    maps, extents = _iteration_space(op)
    dest = len(op.inputs)
    _check_result(op, maps[dest], extents, form)
    read = [s for s in form.sources if isinstance(s, int)]
    if read == [dest] and form.kind == "copy":
        return
    buffers = [_vector_buffer(ctx, op.operands[i]) for i in (dest, *read)]
    rows: list[tuple[int, ...]] = []
    offsets: list[Offset] = []
    for i, buffer in zip((dest, *read), buffers, strict=True):
        rows.append(element_strides([e.coefficients for e in maps[i]], buffer.strides, len(extents)))
        start = sum(e.constant * s for e, s in zip(maps[i], buffer.strides, strict=True))
        offsets.append(Offset(constant=start * buffer.element_bytes))
    addresses = [ctx.address(b.address, o) for b, o in zip(buffers, offsets, strict=True)]
    nest = StridedLoops(extents, tuple(rows))
    if not form.instruction.ACCUMULATES:
        nest = _over_padding(ctx, nest, [maps[i] for i in (dest, *read)], buffers)
    _emit_form(ctx, form, nest, addresses, buffers)


def _over_padding(
    ctx: KernelContext, nest: StridedLoops, maps: Sequence[Sequence[Linear]], buffers: Sequence[PlacedBuffer]
) -> StridedLoops:
    """The nest with the padding at the end of the rows, where that saves steps and all operands have it.

    What is computed there is never looked at.
    """
    dim = maps[0][-1].dim() if maps[0] else None
    if dim is None:
        return nest
    rooms = [_room(map_, buffer, dim) for map_, buffer in zip(maps, buffers, strict=True)]
    extent = min(room for room in rooms if room is not None)
    lanes = _lanes(ctx, npu_isa.VUnaryOp, buffers)
    return widen(nest, dim, extent, lanes) if extent > nest.extents[dim] else nest


def _room(map_: Sequence[Linear], buffer: PlacedBuffer, dim: int) -> int | None:
    """How far a dim can go over an operand until it meets the next row; None for an operand that doesn't move."""
    uses = [expr for expr in map_ if expr.coefficients[dim]]
    if not uses:
        return None
    if len(uses) > 1 or map_[-1].dim() != dim or len(buffer.shape) < 2:
        return 0
    return buffer.strides[-2]


def _lanes(
    ctx: KernelContext, instruction: type[npu_isa.VectorInstruction], buffers: Sequence[PlacedBuffer]
) -> Lanes:
    """What a step of the vector unit does with these operands."""
    costs = ctx.target.vector
    _, cycles, _ = costs["default"]
    _, folding, _ = costs.get("reduce", costs["default"])
    sizes = tuple(b.element_bytes for b in buffers)
    if instruction is not npu_isa.VReduceOp:
        folding = cycles
    return Lanes(ctx.target.vector_bytes, sizes, BLOCK, cycles, folding)


def lower_fill(ctx: KernelContext, op: FillOp) -> None:
    """Lower the fill of a buffer in UB."""
    owner = op.inputs[0].owner
    if not isinstance(owner, arith.ConstantOp):
        raise UserError("a buffer can only be filled with a constant", loc=op)
    dest = _vector_buffer(ctx, op.outputs[0])
    nest = StridedLoops(_with_padding(dest), (dest.strides,))
    emit_vector(ctx, npu_isa.VDupOp, "dup", nest, [dest.address], [dest], owner.value, 0)


def _with_padding(buffer: PlacedBuffer) -> tuple[int, ...]:
    """The extents of a buffer with the padding at the end of its rows, so that it is one run."""
    if len(buffer.shape) < 2:
        return buffer.shape
    return (*buffer.shape[:-1], buffer.strides[-2])


def _iteration_space(op: GenericOp) -> tuple[list[list[Linear]], tuple[int, ...]]:
    maps: list[list[Linear]] = []
    shapes: list[tuple[int, ...]] = []
    for attr, operand in zip(op.indexing_maps, op.operands, strict=True):
        linear = linear_map(attr.data)
        if linear is None:
            raise UserError(f"the indexing map {attr.data} is not linear", loc=op)
        maps.append(linear)
        shapes.append(operand.type.get_shape() if isinstance(operand.type, MemRefType) else ())
    extents = loop_extents(op)
    try:
        check_extents(maps, shapes, extents)
    except StrideError as error:
        raise UserError(str(error), loc=op) from error
    return maps, extents


def _check_result(op: GenericOp, out_map: Sequence[Linear], extents: Sequence[int], form: VectorForm) -> None:
    """Raise unless each element of the result is written once, or accumulated over the reduction dims."""
    used = [d for expr in out_map for d in expr.dims()]
    if any(len(expr.dims()) > 1 for expr in out_map) or len(set(used)) != len(used):
        raise UserError("the result's indexing map must have its own dimension in each coordinate", loc=op)
    accumulates = form.instruction in (npu_isa.VReduceOp, npu_isa.VMaddOp)
    for dim, reduced in enumerate(is_reduction(op)):
        if dim not in used and extents[dim] != 1 and not (reduced and accumulates):
            raise UserError(f"the result has no coordinate for dimension {dim}", loc=op)


def _vector_buffer(ctx: KernelContext, value: SSAValue) -> PlacedBuffer:
    buffer = ctx.buffer(value)
    if buffer.space is not Space.UB:
        raise UserError(f"the vector unit works on UB, not on {buffer.space}", loc=ctx.source)
    return buffer


def _emit_form(
    ctx: KernelContext,
    form: VectorForm,
    nest: StridedLoops,
    addresses: Sequence[SSAValue],
    buffers: Sequence[PlacedBuffer],
) -> None:
    constants = [(i, s) for i, s in enumerate(form.sources) if not isinstance(s, int)]
    if len(constants) == 2 and form.kind == "select":
        _emit_constant_select(ctx, form.sources, nest, addresses, buffers)
        return
    if len(constants) > 1 or (constants and form.instruction in (npu_isa.VUnaryOp, npu_isa.VCastOp)):
        raise UserError("the operands are constants: fold the operation first", loc=ctx.source)
    position, imm = constants[0] if constants else (None, None)
    emit_vector(
        ctx, form.instruction, form.kind, nest, addresses, buffers, imm, position, unsigned=form.unsigned
    )


def _emit_constant_select(
    ctx: KernelContext,
    sources: Sequence[VectorOperand],
    nest: StridedLoops,
    addresses: Sequence[SSAValue],
    buffers: Sequence[PlacedBuffer],
) -> None:
    """`mask ? 1.0 : 2.0`: fill with the second constant, then select between the first and that."""
    (dest, mask), (to, mask_buffer) = addresses, buffers
    if dest is mask:
        raise UserError("a select between two constants cannot overwrite its mask", loc=ctx.source)
    _, first, second = sources
    assert not isinstance(first, int) and not isinstance(second, int)
    out, condition = nest.strides
    emit_vector(ctx, npu_isa.VDupOp, "dup", StridedLoops(nest.extents, (out,)), [dest], [to], second, 0)
    ctx.lower(ctx.source)
    both = StridedLoops(nest.extents, (out, condition, out))
    emit_vector(ctx, npu_isa.VSelectOp, "select", both, [dest, mask, dest], [to, mask_buffer, to], first, 1)


def emit_vector(
    ctx: KernelContext,
    instruction: type[npu_isa.VectorInstruction],
    kind: str,
    nest: StridedLoops,
    addresses: Sequence[SSAValue],
    buffers: Sequence[PlacedBuffer],
    imm: Attribute | None = None,
    imm_position: int | None = None,
    *,
    unsigned: bool = False,
) -> None:
    """Emit one instruction for the whole nest, in scalar loops over the dims that it has no room for.

    `addresses` and `buffers` belong to the destination and then to every source that is in memory. With `unsigned`,
    the instruction takes their integers without a sign.
    """
    if not prod(nest.extents):
        return
    if kind == "copy" and (blocks := _in_blocks(ctx, nest, addresses, buffers)) is not None:
        _emit_nest(ctx, npu_isa.VTransposeOp, "transpose", *blocks, addresses, buffers)
        return
    outside, inside = split(simplify(nest, _lanes(ctx, instruction, buffers)), npu_isa.MAX_DIMS)
    _emit_nest(
        ctx, instruction, kind, outside, inside, addresses, buffers, imm, imm_position, unsigned=unsigned
    )


def _emit_nest(
    ctx: KernelContext,
    instruction: type[npu_isa.VectorInstruction],
    kind: str,
    outside: StridedLoops,
    inside: StridedLoops,
    addresses: Sequence[SSAValue],
    buffers: Sequence[PlacedBuffer],
    imm: Attribute | None = None,
    imm_position: int | None = None,
    *,
    unsigned: bool = False,
) -> None:
    """Emit an instruction for the inner loops, in scalar loops over the outer ones."""
    if outside.rank:
        ivs = [ctx.loop(extent) for extent in outside.extents]
        addresses = [
            advance(ctx, address, row, ivs, buffer.element_bytes)
            for address, row, buffer in zip(addresses, outside.strides, buffers, strict=True)
        ]
    shape, strides = inside.extents, inside.strides
    if not shape:
        shape, strides = (1,), tuple((1,) for _ in buffers)
    types = [b.element for b in buffers]
    imm = _typed(imm, instruction, types)
    if unsigned:
        types, imm = [without_sign(type_) for type_ in types], _immediate_without_sign(imm)
    ctx.emit(instruction(kind, addresses[0], addresses[1:], shape, strides, types, imm, imm_position))


def _in_blocks(
    ctx: KernelContext, nest: StridedLoops, addresses: Sequence[SSAValue], buffers: Sequence[PlacedBuffer]
) -> tuple[StridedLoops, StridedLoops] | None:
    """Scalar loops and the loops of one instruction for a copy that blocks transpose, where that takes fewer cycles
    than element by element."""
    costs, size = ctx.target.vector, buffers[0].element_bytes
    if "transpose" not in costs or size not in TRANSPOSED_BYTES or any(map(_is_odd, addresses)):
        return None
    blocks = transposed(nest, size, TRANSPOSED_PIECES, BLOCK)
    if blocks is None:
        return None
    steps = -(-TRANSPOSED_PIECES * BLOCK // ctx.target.vector_bytes)
    cycles = transposed_blocks(blocks, size, TRANSPOSED_PIECES, BLOCK) * steps * costs["transpose"][1]
    if cycles >= cost(nest, _lanes(ctx, npu_isa.VUnaryOp, buffers)):
        return None
    surplus = max(0, blocks.rank - npu_isa.MAX_DIMS)
    dims = range(blocks.rank)
    return blocks.select(dims[:surplus]), blocks.select(dims[surplus:])


def _is_odd(address: SSAValue) -> bool:
    """Whether an address is known to be no multiple of a block's bytes, or not known to be one."""
    base = address.owner
    return isinstance(base, npu_isa.AtOp) and (
        base.offset is not None or bool(base.constant.value.data % BLOCK)
    )


def advance(
    ctx: KernelContext, address: SSAValue, row: Sequence[int], ivs: Sequence[SSAValue], element_bytes: int
) -> SSAValue:
    """The address of an operand in the current iteration of the scalar loops."""
    offset = Offset()
    for iv, stride in zip(ivs, row, strict=True):
        offset.add(iv, stride * element_bytes)
    base = address.owner
    if isinstance(base, npu_isa.AtOp) and base.offset is None:
        address, offset.constant = base.base, base.constant.value.data
    return ctx.address(address, offset)


def _typed(
    imm: Attribute | None, instruction: type[npu_isa.VectorInstruction], types: Sequence[Attribute]
) -> Attribute | None:
    """A fill's constant in the type of the destination; `linalg.fill` converts it."""
    if instruction is npu_isa.VDupOp and isinstance(imm, FloatAttr) and imm.type != types[0]:
        return FloatAttr(imm.value.data, types[0])  # pyright: ignore[reportArgumentType, reportCallIssue]
    if instruction is npu_isa.VDupOp and isinstance(imm, IntegerAttr) and imm.type != types[0]:
        return IntegerAttr(imm.value.data, types[0])  # pyright: ignore[reportArgumentType, reportCallIssue]
    return imm


def without_sign(type_: Attribute) -> Attribute:
    """An integer type as that of numbers without a sign; other types, and i1, as they are."""
    if isinstance(type_, IntegerType) and type_.width.data > 1:
        return IntegerType(type_.width.data, Signedness.UNSIGNED)
    return type_


def _immediate_without_sign(imm: Attribute | None) -> Attribute | None:
    if isinstance(imm, IntegerAttr) and isinstance(imm.type, IntegerType) and imm.type.width.data > 1:
        return IntegerAttr(imm.value.data % (1 << imm.type.width.data), without_sign(imm.type))  # pyright: ignore
    return imm
