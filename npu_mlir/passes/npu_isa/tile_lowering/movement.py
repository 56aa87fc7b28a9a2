"""Data movement: `tile.load` and `tile.store` become DMA transfers, L0 loads and fixpipe copies.

    tile.load %A[%m, %k] into %a map (i0, i1, d0, d1) -> (i0 + d0, i1 + d1) pad 0.0 : gm, memref<16x64xf16, l1>
  becomes
    npu_isa.load_l1 %A[%m, %k], %a {map, shape = [16, 64], strides = [64, 1], pad = 0.0}

    tile.load %a[%k] into %a0 map (i0, d0, d1) -> (d0, d1 + i0) : l1, memref<16x16xf16, l0a>
  becomes
    %o = arith.muli %k, %c2
    %p = npu_isa.at %a + %o
    npu_isa.load_l0a %p, %a0 {shape = [16, 16], strides = [64, 1], rows = 1}

    tile.gather %A[] rows %r into %a axis 0 map (d0, d1) -> (d0, d1) : gm, memref<16xi64, ub>, memref<16x64xf32, ub>
  becomes
    scf.for %i = %c0 to %c16 step %c1 {
      %s = npu_isa.read_index %r + %i * 8 of 1000 : i64
      npu_isa.gather_ub %A[%s], %a + %i * 256 {map, axis = 0, shape = [64], strides = [1]}
    }

and `tile.scatter` likewise `npu_isa.scatter_ub`.

Moves between UB and L1, and `tile.insert`, become `npu_isa.copy_l1` and `npu_isa.copy_ub`.

Does not handle: a window (two tile dims in one coordinate) over GM, L0 loads of more dims than an instruction has
(their packing cannot be cut).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.analysis.strides import (
    Lanes,
    StridedLoops,
    collapse,
    drop_unit_dims,
    element_strides,
    simplify,
    split,
)
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa.base import BLOCK
from npu_mlir.dialects.tile import Space
from npu_mlir.ir.loop_bounds import constant_index
from npu_mlir.passes.npu_isa.tile_lowering.context import (
    KernelContext,
    Offset,
    PlacedBuffer,
    split_dims,
)
from npu_mlir.passes.npu_isa.tile_lowering.vector import advance, emit_vector
from npu_mlir.support.diagnostics import UserError


def lower_load(ctx: KernelContext, op: tile.LoadOp) -> None:
    """Lower a load; what becomes of it depends on the two spaces."""
    assert op.dest is not None
    dest = ctx.buffer(op.dest)
    source_space = tile.space_of(op.source.type)
    if source_space is Space.GM:
        _lower_gm_load(ctx, op, dest)
        return
    source = ctx.buffer(op.source)
    address, strides = _walk(ctx, op, source, len(dest.shape))
    match source.space, dest.space:
        case Space.L1, Space.L0A | Space.L0B:
            _emit_l0_load(ctx, address, strides, dest)
        case Space.L0C, Space.UB:
            _emit_fixpipe_ub(ctx, op, (address, strides, source), dest)
        case (Space.UB, Space.L1) | (Space.L1, Space.UB):
            _emit_local_copy(ctx, (address, strides, source), (dest.address, dest.strides, dest), dest.shape)
        case Space.UB, Space.UB:
            nest = StridedLoops(dest.shape, (dest.strides, strides))
            emit_vector(ctx, npu_isa.VUnaryOp, "copy", nest, [dest.address, address], [dest, source])
        case _:
            raise UserError(f"there is no instruction that moves from {source.space} to {dest.space}", loc=op)


def lower_store(ctx: KernelContext, op: tile.StoreOp) -> None:
    """Lower a store."""
    source = ctx.buffer(op.value)
    address, indices, map_, nest, loops = _gm_transfer(ctx, op.map.data, op.indices, _Part.of(source))
    if source.space is not Space.L0C:
        ctx.emit(npu_isa.StoreUbOp(address, op.dest, indices, map_, nest.extents, nest.strides[0]))
        return
    _check_scale(ctx, op, source.element, cast("tile.TileType", op.dest.type).get_element_type())
    row = _scales(ctx, op, len(source.shape))
    scales, scale_strides = None, None
    if row is not None:
        steps = [row[1][d] for d in loops]
        scales = advance(ctx, row[0], steps, list(loops.values()), npu_isa.SCALE_BYTES)
        scale_strides = [row[1][d] for d in nest.strides[1]]
    ctx.emit(
        npu_isa.FixpipeGmOp(
            address,
            op.dest,
            indices,
            map_,
            nest.extents,
            nest.strides[0],
            source.element,
            op.epilogue,
            scales,
            scale_strides,
        )
    )


def _scales(
    ctx: KernelContext, op: tile.LoadOp | tile.StoreOp, rank: int
) -> tuple[SSAValue, list[int]] | None:
    """The address of a row of factors, and its element stride along each dim of the tile; None if there is none."""
    if op.scales is None:
        return None
    row = ctx.buffer(op.scales)
    if row.space is not Space.L1:
        raise UserError(f"the fixpipe reads its scales from L1, not {row.space}", loc=op)
    strides = dict(zip(op.scale_dims, row.strides, strict=True))
    return row.address, [strides.get(d, 0) for d in range(rank)]


def lower_insert(ctx: KernelContext, op: tile.InsertOp) -> None:
    """Lower a tile that becomes part of a larger one in L1."""
    source, dest = ctx.buffer(op.value), ctx.buffer(op.dest)
    address, strides = _walk(ctx, op, dest, len(source.shape))
    _emit_local_copy(ctx, (source.address, source.strides, source), (address, strides, dest), source.shape)


def _check_scale(
    ctx: KernelContext, op: tile.LoadOp | tile.StoreOp, accumulator: Attribute, result: Attribute
) -> None:
    """Raise unless the fixpipe has the scale that a transfer from L0C asks for."""
    if op.epilogue is not None and op.epilogue.scale and not ctx.target.scales(accumulator, result):
        raise UserError(
            f"the fixpipe of '{ctx.target.name}' does not scale {accumulator} to {result}",
            notes=[f"--set fixpipe_scales.{accumulator}_{result}=true is a machine that does"],
            loc=op,
        )


def _lower_gm_load(ctx: KernelContext, op: tile.LoadOp, dest: PlacedBuffer) -> None:
    address, indices, map_, nest = _gm_side(ctx, op.map.data, op.indices, _Part.of(dest))
    instruction = npu_isa.LoadL1Op if dest.space is Space.L1 else npu_isa.LoadUbOp
    ctx.emit(instruction(op.source, indices, address, map_, nest.extents, nest.strides[0], op.pad))


def lower_gather(ctx: KernelContext, op: tile.GatherOp) -> None:
    """Lower a gather: a loop over the indices, each of which the scalar unit reads before a transfer brings the row."""
    assert op.dest is not None
    address, indices, map_, nest = _row(ctx, op, ctx.buffer(op.dest))
    axis = op.axis.value.data
    ctx.emit(
        npu_isa.GatherUbOp(op.source, indices, address, map_, axis, nest.extents, nest.strides[0], op.pad)
    )


def lower_scatter(ctx: KernelContext, op: tile.ScatterOp) -> None:
    """Lower a scatter: a loop over the indices, each of which the scalar unit reads before a transfer takes the row."""
    address, indices, map_, nest = _row(ctx, op, ctx.buffer(op.value))
    axis = op.axis.value.data
    ctx.emit(npu_isa.ScatterUbOp(address, op.dest, indices, map_, axis, nest.extents, nest.strides[0]))


def _row(
    ctx: KernelContext, op: tile.GatherOp | tile.ScatterOp, tile_: PlacedBuffer
) -> tuple[SSAValue, list[SSAValue], AffineMapAttr, StridedLoops]:
    """What `_gm_side` says of the transfer of one row of a tile, in a loop over rows, the index of each being read."""
    rows, dim, axis = ctx.buffer(op.rows), op.row_dim, op.axis.value.data
    position = [ctx.loop(tile_.shape[dim])] if tile_.shape[dim] != 1 else []
    step = rows.strides[0] * rows.element_bytes
    offset = Offset()
    _, start = split_dims(op.map.data.results[axis], len(op.indices), len(tile_.shape), op)
    ctx.add_expression(offset, start, op.indices, step)
    for iv in position:
        offset.add(iv, step)
    source = ctx.address(rows.address, offset)
    row = ctx.emit(npu_isa.ReadIndexOp(source, op.extent, rows.element)).result
    at = advance(ctx, tile_.address, (tile_.strides[dim],) * len(position), position, tile_.element_bytes)
    map_, used = _map_of_row(op)
    part = _Part(at, _without(tile_.shape, dim), _without(tile_.strides, dim), tile_.element_bytes)
    return _gm_side(ctx, map_, [*(op.indices[i] for i in used), row], part)


def _map_of_row(op: tile.GatherOp | tile.ScatterOp) -> tuple[AffineMap, list[int]]:
    """The map of one row, from (indices, the index of the row; the other dims of the tile), and which indices it
    takes."""
    count, dim, axis = len(op.indices), op.row_dim, op.axis.value.data
    exprs = op.map.data.results
    dims = {
        e.position
        for i, expr in enumerate(exprs)
        if i != axis
        for e in expr.dfs()
        if isinstance(e, AffineDimExpr)
    }
    used = [i for i in range(count) if i in dims]
    rank = op.map.data.num_dims - count
    new: list[AffineExpr] = [AffineConstantExpr(0)] * op.map.data.num_dims
    for position, i in enumerate(used):
        new[i] = AffineDimExpr(position)
    for d in range(rank):
        new[count + d] = AffineDimExpr(len(used) + 1 + d - (d > dim))
    results = [expr.replace_dims_and_symbols(new, []) for expr in exprs]
    results[axis] = AffineDimExpr(len(used))
    return AffineMap(len(used) + rank, 0, tuple(results)), used


def _without(values: tuple[int, ...], position: int) -> tuple[int, ...]:
    return values[:position] + values[position + 1 :]


@dataclass(frozen=True)
class _Part:
    """A tile on chip, or a part of one: the address of its first element and where its elements lie."""

    address: SSAValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int

    @staticmethod
    def of(buffer: PlacedBuffer) -> _Part:
        return _Part(buffer.address, buffer.shape, buffer.strides, buffer.element_bytes)


def _gm_side(
    ctx: KernelContext, map_: AffineMap, indices: Sequence[SSAValue], tile_: _Part
) -> tuple[SSAValue, list[SSAValue], AffineMapAttr, StridedLoops]:
    """What `_gm_transfer` says, without the scalar loops."""
    return _gm_transfer(ctx, map_, indices, tile_)[:4]


def _gm_transfer(
    ctx: KernelContext, map_: AffineMap, indices: Sequence[SSAValue], tile_: _Part
) -> tuple[SSAValue, list[SSAValue], AffineMapAttr, StridedLoops, dict[int, SSAValue]]:
    """The on-chip address, the indices and map into GM, the iteration space with its on-chip strides and the dims of
    the tile that it runs over, and the indices of scalar loops by the dims that these run over.

    Constant indices and unit dims go out of the map; the indices of scalar loops, over the dims that an instruction
    has no room for, come in.
    """
    for expr in map_.results:
        coefficients, _ = split_dims(expr, len(indices), len(tile_.shape), ctx.source)
        if sum(c != 0 and n > 1 for c, n in zip(coefficients, tile_.shape, strict=True)) > 1:
            raise UserError(
                f"a window over global memory, '{expr}': load the slab, then take windows", loc=ctx.source
            )
    moving = [d for d, extent in enumerate(tile_.shape) if extent != 1]
    # A second row of strides tells the dims apart, so that they can be found again after the split.
    numbered = StridedLoops(tile_.shape, (tile_.strides, tuple(range(len(tile_.shape))))).select(moving)
    outside, inside = split(numbered, npu_isa.MAX_DIMS)
    ivs = [ctx.loop(extent) for extent in outside.extents]
    address = advance(ctx, tile_.address, outside.strides[0], ivs, tile_.element_bytes)

    scalars = [v for v in dict.fromkeys(indices) if constant_index(v) is None] + ivs
    position: dict[SSAValue, AffineExpr] = {v: AffineDimExpr(i) for i, v in enumerate(scalars)}
    dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(tile_.shape)
    for iv, d in zip(ivs, outside.strides[1], strict=True):
        dims[d] = position[iv]
    for i, d in enumerate(inside.strides[1]):
        dims[d] = AffineDimExpr(len(scalars) + i)
    at = [position.get(v, AffineConstantExpr(constant_index(v) or 0)) for v in indices]
    results = tuple(expr.replace_dims_and_symbols([*at, *dims], []) for expr in map_.results)
    if not inside.rank:
        inside = StridedLoops((1,), ((1,), (0,)))
    loops = dict(zip(outside.strides[1], ivs, strict=True))
    return address, scalars, AffineMapAttr(AffineMap(len(scalars) + inside.rank, 0, results)), inside, loops


def _walk(
    ctx: KernelContext, op: tile.LoadOp | tile.InsertOp, source: PlacedBuffer, rank: int
) -> tuple[SSAValue, tuple[int, ...]]:
    """The address of the first element that a map takes of a buffer, and the element stride there along each dim of the
    tile."""
    offset = Offset()
    coefficients: list[tuple[int, ...]] = []
    for expr, stride in zip(op.map.data.results, source.strides, strict=True):
        moving, origin = split_dims(expr, len(op.indices), rank, op)
        coefficients.append(moving)
        ctx.add_expression(offset, origin, op.indices, stride * source.element_bytes)
    return ctx.address(source.address, offset), element_strides(coefficients, source.strides, rank)


def _emit_l0_load(
    ctx: KernelContext, address: SSAValue, strides: tuple[int, ...], dest: PlacedBuffer
) -> None:
    rows = _collapse_in_order(StridedLoops(dest.shape[: dest.rows], (strides[: dest.rows],)))
    columns = _collapse_in_order(StridedLoops(dest.shape[dest.rows :], (strides[dest.rows :],)))
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


def _collapse_in_order(nest: StridedLoops) -> StridedLoops:
    """Fewer dims that flatten to the same sequence of elements; at least one."""
    position, flat = 1, list[int]()
    for extent in reversed(nest.extents):
        flat.insert(0, position)
        position *= extent
    short = collapse(drop_unit_dims(StridedLoops(nest.extents, (tuple(flat), *nest.strides))))
    if not short.rank:
        return StridedLoops((1,), ((1,),))
    return StridedLoops(short.extents, short.strides[1:])


_Block = tuple[SSAValue, tuple[int, ...], PlacedBuffer]
"""The address of a block, its element strides, and the buffer that it is a part of."""


def _emit_local_copy(ctx: KernelContext, source: _Block, dest: _Block, shape: Sequence[int]) -> None:
    spaces = source[2].space, dest[2].space
    if "_".join(spaces) not in ctx.target.rates:
        raise UserError(
            f"{ctx.target.name} has no path from {spaces[0]} to {spaces[1]}",
            notes=[f"--set rates.{'_'.join(spaces)}=128 is a machine that has"],
            loc=ctx.source,
        )
    size, element = dest[2].element_bytes, dest[2].element
    nest = collapse(drop_unit_dims(StridedLoops(tuple(shape), (source[1], dest[1]))))
    outside, inside = split(nest, npu_isa.MAX_DIMS)
    ivs = [ctx.loop(extent) for extent in outside.extents]
    from_ = advance(ctx, source[0], outside.strides[0], ivs, size)
    to = advance(ctx, dest[0], outside.strides[1], ivs, size)
    if not inside.rank:
        inside = StridedLoops((1,), ((1,), (1,)))
    instruction = npu_isa.CopyL1Op if dest[2].space is Space.L1 else npu_isa.CopyUbOp
    from_strides, to_strides = inside.strides
    ctx.emit(instruction(from_, to, inside.extents, from_strides, to_strides, element))


def _emit_fixpipe_ub(
    ctx: KernelContext,
    op: tile.LoadOp,
    block: tuple[SSAValue, tuple[int, ...], PlacedBuffer],
    dest: PlacedBuffer,
) -> None:
    address, strides, source = block
    if ctx.target.split_cores:
        raise UserError(
            f"{ctx.target.name} has no path from L0C to UB: cube results reach the vector unit through GM",
            loc=op,
        )
    _check_scale(ctx, op, source.element, dest.element)
    row = _scales(ctx, op, len(dest.shape))
    more = () if row is None else (tuple(row[1]),)
    lanes = Lanes(ctx.target.vector_bytes, (dest.element_bytes,) * (2 + len(more)), BLOCK)
    nest = simplify(StridedLoops(dest.shape, (dest.strides, strides, *more)), lanes)
    outside, inside = split(nest, npu_isa.MAX_DIMS)
    ivs = [ctx.loop(extent) for extent in outside.extents]
    to = advance(ctx, dest.address, outside.strides[0], ivs, dest.element_bytes)
    from_ = advance(ctx, address, outside.strides[1], ivs, source.element_bytes)
    if row is not None:
        row = advance(ctx, row[0], outside.strides[2], ivs, npu_isa.SCALE_BYTES), row[1]
    if not inside.rank:
        inside = StridedLoops((1,), ((1,), (1,), (1,))[: 2 + len(more)])
    to_strides, from_strides, *rest = inside.strides
    types = (source.element, dest.element)
    scales, scale_strides = (None, None) if row is None else (row[0], rest[0])
    ctx.emit(
        npu_isa.FixpipeUbOp(
            from_, to, inside.extents, from_strides, to_strides, *types, op.epilogue, scales, scale_strides
        )
    )
