"""Data movement: `tile.load` and `tile.store` become DMA transfers, L0 loads and fixpipe copies.

    tile.load %A[%m, %k] into %a map (i0, i1, d0, d1) -> (i0 + d0, i1 + d1) pad 0.0 : gm, memref<16x64xf16, l1>
  becomes
    npu_isa.load_l1 %A[%m, %k], %a {map, shape = [16, 64], strides = [64, 1], pad = 0.0}

    tile.load %a[%k] into %a0 map (i0, d0, d1) -> (d0, d1 + i0) : l1, memref<16x16xf16, l0a>
  becomes
    %o = arith.muli %k, %c2
    %p = npu_isa.at %a + %o
    npu_isa.load_l0a %p, %a0 {shape = [16, 16], strides = [64, 1], rows = 1}

Does not handle: a window (two tile dims in one coordinate) over GM, moves from UB to L1.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.analysis.strides import Nest, collapse, drop_unit_dims, element_strides, order
from npu_mlir.diagnostics import UserError
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile import Space
from npu_mlir.passes.npu_isa.tile_lowering.context import (
    Buffer,
    KernelContext,
    Offset,
    constant_value,
    split_dims,
)
from npu_mlir.passes.npu_isa.tile_lowering.vector import emit_vector


def lower_load(ctx: KernelContext, op: tile.LoadOp) -> None:
    """Lower a load; what becomes of it depends on the two spaces."""
    assert op.dest is not None
    dest = ctx.buffer(op.dest)
    source_space = tile.space_of(op.source.type)
    if source_space is Space.GM:
        _lower_gm_load(ctx, op, dest)
        return
    source = ctx.buffer(op.source)
    address, strides = _walk_source(ctx, op, source, len(dest.shape))
    match source.space, dest.space:
        case Space.L1, Space.L0A | Space.L0B:
            _emit_l0_load(ctx, address, strides, dest)
        case Space.L0C, Space.UB:
            _emit_fixpipe_ub(ctx, op, address, strides, dest)
        case Space.UB, Space.UB:
            nest = Nest(dest.shape, (dest.strides, strides))
            emit_vector(ctx, npu_isa.VUnaryOp, "copy", nest, [dest.address, address], [dest, source])
        case _:
            raise UserError(f"there is no instruction that moves from {source.space} to {dest.space}", loc=op)


def lower_store(ctx: KernelContext, op: tile.StoreOp) -> None:
    """Lower a store."""
    source = ctx.buffer(op.value)
    nest = drop_unit_dims(Nest(source.shape, (source.strides,)))
    map_, indices, shape = _gm_map(op, op.map.data, op.indices, source.shape)
    instruction = npu_isa.FixpipeGmOp if source.space is Space.L0C else npu_isa.StoreUbOp
    ctx.emit(instruction(source.address, op.dest, indices, map_, shape, nest.strides[0] or (1,)))


def _lower_gm_load(ctx: KernelContext, op: tile.LoadOp, dest: Buffer) -> None:
    nest = drop_unit_dims(Nest(dest.shape, (dest.strides,)))
    map_, indices, shape = _gm_map(op, op.map.data, op.indices, dest.shape)
    instruction = npu_isa.LoadL1Op if dest.space is Space.L1 else npu_isa.LoadUbOp
    ctx.emit(instruction(op.source, indices, dest.address, map_, shape, nest.strides[0] or (1,), op.pad))


def _gm_map(
    op: Operation, map_: AffineMap, indices: Sequence[SSAValue], shape: Sequence[int]
) -> tuple[AffineMapAttr, list[SSAValue], tuple[int, ...]]:
    """The map without unit dims and constant indices, the indices left, the extents left (never none)."""
    for expr in map_.results:
        coefficients, _ = split_dims(expr, len(indices), len(shape), op)
        if sum(c != 0 and n > 1 for c, n in zip(coefficients, shape, strict=True)) > 1:
            raise UserError(
                f"a window over global memory, '{expr}': load the slab, then take windows", loc=op
            )
    kept = [v for v in dict.fromkeys(indices) if constant_value(v) is None]
    substitution: list[AffineExpr] = []
    for value in indices:
        known = constant_value(value)
        substitution.append(AffineDimExpr(kept.index(value)) if known is None else AffineConstantExpr(known))
    extents: list[int] = []
    for extent in shape:
        substitution.append(AffineConstantExpr(0) if extent == 1 else AffineDimExpr(len(kept) + len(extents)))
        extents += [extent] if extent != 1 else []
    extents = extents or [1]
    results = tuple(expr.replace_dims_and_symbols(substitution, []) for expr in map_.results)
    return AffineMapAttr(AffineMap(len(kept) + len(extents), 0, results)), kept, tuple(extents)


def _walk_source(
    ctx: KernelContext, op: tile.LoadOp, source: Buffer, rank: int
) -> tuple[SSAValue, tuple[int, ...]]:
    """The address of the source's first element and its element stride along each dim of the tile."""
    offset = Offset()
    coefficients: list[tuple[int, ...]] = []
    for expr, stride in zip(op.map.data.results, source.strides, strict=True):
        moving, origin = split_dims(expr, len(op.indices), rank, op)
        coefficients.append(moving)
        ctx.add_expression(offset, origin, op.indices, stride * source.element_bytes)
    return ctx.address(source.address, offset), element_strides(coefficients, source.strides, rank)


def _emit_l0_load(ctx: KernelContext, address: SSAValue, strides: tuple[int, ...], dest: Buffer) -> None:
    rows = _collapse_in_order(Nest(dest.shape[: dest.rows], (strides[: dest.rows],)))
    columns = _collapse_in_order(Nest(dest.shape[dest.rows :], (strides[dest.rows :],)))
    instruction = npu_isa.LoadL0AOp if dest.space is Space.L0A else npu_isa.LoadL0BOp
    ctx.emit(
        instruction(
            address,
            dest.address,
            (*rows.extents, *columns.extents),
            (*rows.strides[0], *columns.strides[0]),
            rows.rank,
            dest.element,
        )
    )


def _collapse_in_order(nest: Nest) -> Nest:
    """Fewer dims that flatten to the same sequence of elements; at least one."""
    position, flat = 1, list[int]()
    for extent in reversed(nest.extents):
        flat.insert(0, position)
        position *= extent
    short = collapse(drop_unit_dims(Nest(nest.extents, (tuple(flat), *nest.strides))))
    if not short.rank:
        return Nest((1,), ((1,),))
    return Nest(short.extents, short.strides[1:])


def _emit_fixpipe_ub(
    ctx: KernelContext, op: tile.LoadOp, address: SSAValue, strides: tuple[int, ...], dest: Buffer
) -> None:
    if ctx.target.split_cores:
        raise UserError(
            f"{ctx.target.name} has no path from L0C to UB: cube results reach the vector unit through GM",
            loc=op,
        )
    nest = collapse(drop_unit_dims(Nest(dest.shape, (dest.strides, strides))))
    nest = order(nest, ctx.target.vector_bytes // dest.element_bytes) if nest.rank else nest
    shape = nest.extents or (1,)
    to, from_ = (row or (1,) for row in nest.strides)
    ctx.emit(npu_isa.FixpipeUbOp(address, dest.address, shape, from_, to, dest.element))
