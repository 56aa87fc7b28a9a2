"""Kernels that put rows into a tensor: a copy of it, tile by tile, and then the rows where their indices say.

    %z = tile.scatter %u, %x[] rows %n axis 0 ... : tensor<16x64xf32>, tensor<1000x64xf32>, tensor<16xi64> -> ...
  becomes
    %z = tile.launch @k(%x, %n, %u)

    tile.kernel @k(%X: memref<1000x64xf32, gm>, %N: memref<16xi64, gm>, %U: memref<16x64xf32, gm>,
                   %Z: memref<1000x64xf32, gm>) {
      scf.for %i ... {
        %t = tile.load %X[%i] ... -> tensor<250x64xf32, ub>
        tile.store %t, %Z[%i] ...
      }
      %n = tile.load %N[] ... -> tensor<16xi64, ub>
      %u = tile.load %U[] ... -> tensor<16x64xf32, ub>
      tile.scatter %u, %Z[] rows %n axis 0 ...
    }

Where nothing else reads what `%x` holds and a launch has made it, there is no copy: the kernel `reuses [0]`, so that
its result lies where its operand does, and only the rows are moved.

Loads and stores alone need no policy but the sizes of their tiles, so these kernels are made tiled. Stores are in
order, so no flag stands between the copy and the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    AnyFloat,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.analysis.bound import KernelWork, bound
from npu_mlir.analysis.structured.nest import is_indirect
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, element_bits, place, storage_bytes, tile_bytes
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

SHARE = 4
"""The part of UB that a tile may take."""

LEAST = 8192
"""Bytes below which a tile is not cut for the sake of overlap."""


def scatter_kernel(op: tile.ScatterOp, target: Target) -> tile.KernelOp:
    """The kernel of a scatter on whole tensors, which has no name yet. Its arguments are the tensor, the indices, the
    rows and the result."""
    in_place = is_last_use(op.dest)
    block = Block(arg_types=[_buffer(v) for v in (op.dest, op.rows, op.value, op.results[0])])
    x, rows, updates, result = block.args
    body = _Body(target)
    if not in_place:
        body.copy(x, result)
    body.scatter(op, rows, updates, result)
    block.add_ops([*body.constants.values(), *body.block, tile.ReturnOp()])
    # Loops fill each tile on one pipe and empty it on another.
    schedule = tile.ScheduleAttr.of({"ub": 2}, {})
    kernel = tile.KernelOp("k", Region(block), 1, schedule, [0] if in_place else None)
    kernel.attributes["npu.bound"] = _bound(op, target, in_place)
    return kernel


def _buffer(value: SSAValue) -> MemRefType[Attribute]:
    type_ = cast("Tensor", value.type)
    return MemRefType(type_.element_type, type_.get_shape(), NoneAttr(), tile.SpaceAttr(Space.GM))


def _bound(op: tile.ScatterOp, target: Target, in_place: bool) -> DictionaryAttr:
    """The least that such a kernel has to do, as `tile-annotate-bounds` says it."""
    copied = [] if in_place else [_bytes(op.dest)]
    loads, stores = [*copied, _bytes(op.rows), _bytes(op.value)], [*copied, _bytes(op.value)]
    least = bound(KernelWork(tuple(("gm_ub", n) for n in loads), tuple(stores), (), (), False), target)
    entries = {"cycles": least.cycles, **least.pipes, "bytes": sum(loads) + sum(stores)}
    return DictionaryAttr({name: IntegerAttr(value, i64) for name, value in entries.items()})


def is_last_use(value: SSAValue) -> bool:
    """Whether a tensor that a kernel makes is read by one operation alone, whatever shape it has for it."""
    while True:
        if len(list(value.uses)) != 1:
            return False
        owner = value.owner
        if isinstance(owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            value = owner.operands[0]
            continue
        return isinstance(owner, tile.LaunchOp) or (isinstance(owner, GenericOp) and not is_indirect(owner))


def _bytes(value: SSAValue) -> int:
    type_ = cast("Tensor", value.type)
    return storage_bytes(prod(type_.get_shape()), element_bits(type_.element_type))


@dataclass(frozen=True)
class _Side:
    """Along one dim, where a tile stands: an index, or the start, and its extent."""

    start: SSAValue | None
    size: int


_Emit = Callable[[Sequence[_Side]], list[Operation]]
"""What makes the operations for one tile."""


@dataclass
class _Body:
    """A kernel's body under construction."""

    target: Target
    constants: dict[int, Operation] = field(default_factory=dict[int, Operation])
    block: list[Operation] = field(default_factory=list[Operation])

    def constant(self, value: int) -> SSAValue:
        if value not in self.constants:
            self.constants[value] = arith.ConstantOp(IntegerAttr(value, IndexType()))
        return self.constants[value].results[0]

    def copy(self, x: SSAValue, result: SSAValue) -> None:
        """Every element of `x` is written to the result."""
        type_ = cast("tile.TileType", x.type)
        shape, element = type_.get_shape(), type_.get_element_type()
        sizes = self.sizes(shape, element)

        def emit(sides: Sequence[_Side]) -> list[Operation]:
            load = self.load(x, sides, shape)
            indices, map_ = _places(sides)
            return [load, tile.StoreOp(load.results[0], result, indices, map_)]

        self.block += self.loops(shape, sizes, emit)

    def scatter(self, op: tile.ScatterOp, rows: SSAValue, updates: SSAValue, result: SSAValue) -> None:
        """Rows go where their indices say, in order."""
        type_ = cast("tile.TileType", updates.type)
        shape, element = type_.get_shape(), type_.get_element_type()
        axis = op.axis.value.data
        listed = cast("tile.TileType", rows.type).get_element_type()
        few = storage_bytes(shape[axis], element_bits(listed)) <= min(LEAST, self.target.ub // SHARE)
        room = self.target.ub - (self.tile_bytes(shape[axis : axis + 1], listed) if few else 0)

        def fits(sizes: Sequence[int]) -> bool:
            """Whether a tile and its indices have room in two slots, beside a shorter one if a loop is around."""
            beside = shape[axis] % sizes[axis] if list(sizes[:axis]) != list(shape[:axis]) else 0
            needed = 0
            for along in (sizes[axis], beside) if beside else (sizes[axis],):
                needed += self.tile_bytes([*sizes[:axis], along, *sizes[axis + 1 :]], element)
                needed += 0 if few else self.tile_bytes([along], listed)
            return 2 * needed <= room

        sizes = self.sizes(shape, element)
        for d in (axis, *range(len(sizes))):
            while sizes[d] > 1 and not fits(sizes):
                sizes[d] = -(-sizes[d] // 2)
        whole: tile.LoadOp | None = None
        if few:
            whole = self.load(rows, [_Side(None, shape[axis])], (shape[axis],))
            self.block.append(whole)

        def emit(sides: Sequence[_Side]) -> list[Operation]:
            load = self.load(updates, sides, shape)
            listing = whole or self.load(rows, [sides[axis]], (shape[axis],))
            places = list(sides)
            if whole is None:
                places[axis] = _Side(None, sides[axis].size)
            indices, map_ = _places(places)
            scatter = tile.ScatterOp(load.results[0], result, indices, listing.results[0], axis, map_)
            return [load, scatter] if whole else [load, listing, scatter]

        self.block += self.loops(shape, sizes, emit, exact=axis)

    def sizes(self, shape: Sequence[int], element: Attribute) -> list[int]:
        """Extents of a tile, cut from the outermost dim on."""
        total = storage_bytes(prod(shape), element_bits(element))
        limit = min(self.target.ub // SHARE, max(LEAST, total // SHARE))
        sizes = list(shape)
        for d in range(len(sizes)):
            while sizes[d] > 1 and self.tile_bytes(sizes, element) > limit:
                sizes[d] = -(-sizes[d] // 2)
        return sizes

    def tile_bytes(self, sizes: Sequence[int], element: Attribute) -> int:
        return tile_bytes(place(sizes, element, Space.UB), 0, self.target.cube)

    def load(self, source: SSAValue, sides: Sequence[_Side], shape: Sequence[int]) -> tile.LoadOp:
        """A tile of an argument, with zeros where it reaches beyond."""
        element = cast("tile.TileType", source.type).get_element_type()
        indices, map_ = _places(sides)
        beyond = any(s.start is not None and n % s.size for s, n in zip(sides, shape, strict=True))
        type_ = place([side.size for side in sides], element, Space.UB)
        return tile.LoadOp(source, indices, map_, type_, None, _zero(element) if beyond else None)

    def loops(
        self,
        shape: Sequence[int],
        sizes: Sequence[int],
        emit: _Emit,
        sides: Sequence[_Side] = (),
        exact: int | None = None,
    ) -> list[Operation]:
        """Loops over the tiles of a shape around what `emit` makes of each. Along the dim `exact`, no tile reaches
        beyond the end: the last one is shorter."""
        d = len(sides)
        if d == len(shape):
            return emit(sides)
        if sizes[d] >= shape[d]:
            return self.loops(shape, sizes, emit, [*sides, _Side(None, shape[d])], exact)
        rest = shape[d] % sizes[d] if d == exact else 0
        body = Block(arg_types=[IndexType()])
        inside = self.loops(shape, sizes, emit, [*sides, _Side(body.args[0], sizes[d])], exact)
        body.add_ops([*inside, scf.YieldOp()])
        bounds = (self.constant(0), self.constant(shape[d] - rest), self.constant(sizes[d]))
        ops: list[Operation] = [scf.ForOp(*bounds, [], Region(body))]
        if rest:
            last = _Side(self.constant(shape[d] - rest), rest)
            ops += self.loops(shape, sizes, emit, [*sides, last], exact)
        return ops


def _places(sides: Sequence[_Side]) -> tuple[list[SSAValue], AffineMap]:
    """The indices of a tile, and the map from them and its dims to coordinates."""
    starts = [side.start for side in sides if side.start is not None]
    results: list[AffineExpr] = []
    for d, side in enumerate(sides):
        expr: AffineExpr = AffineDimExpr(len(starts) + d)
        if side.start is not None:
            expr = AffineDimExpr(starts.index(side.start)) + expr
        results.append(expr)
    return starts, AffineMap(len(starts) + len(sides), 0, tuple(results))


def _zero(element: Attribute) -> Attribute:
    return (
        FloatAttr(0.0, element)
        if isinstance(element, AnyFloat)
        else IntegerAttr(0, cast("IntegerType", element))
    )
