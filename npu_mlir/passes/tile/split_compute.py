"""Split the vector operations of a kernel so that each is the body of one instruction.

Every operation of a body becomes a `linalg.generic` of its own, with a tile in UB for each intermediate value, so that
all temporaries exist before memory is planned. What depends on one operand only is computed in the shape of that
operand: `exp(bias[n])` stays a row. A multiply-add on the accumulator, widening or not, is one instruction already.

Before:

    %r = linalg.generic {[(m, n) -> (m, n), (m, n) -> (n), (m, n) -> (m, n)], parallel} ins(%x, %b) outs(%e) {
      %0 = arith.addf %x, %b
      %1 = arith.maximumf %0, 0.0
      linalg.yield %1
    }

After:

    %0 = linalg.generic {...} ins(%x, %b) outs(%e0) { arith.addf }
    %r = linalg.generic {...} ins(%0) outs(%e) { arith.maximumf with 0.0 }

On a machine that transposes blocks (`vector.transpose` in its target), an operand whose rows lie along another loop
than those of the result is brought in order by a copy, which is one instruction: before the operation, or behind one of
a single operand if that makes its elements narrower.

    %r = linalg.generic {[(m, n) -> (n, m), (m, n) -> (m, n)], parallel} ins(%x) outs(%e) { arith.truncf }
  becomes
    %0 = linalg.generic {[(n, m) -> (n, m), (n, m) -> (n, m)], parallel} ins(%x) outs(%e0) { arith.truncf }
    %r = linalg.generic {[(m, n) -> (n, m), (m, n) -> (m, n)], parallel} ins(%0) outs(%e) { yield }

Leaves alone: what runs on the cube (results in L0C), bodies of one operation, copies and fills.
Does not handle: bodies that read the accumulator anywhere but in their last operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, TensorType, UnknownLoc
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import Linear, affine_expression, linear_map, projection
from npu_mlir.analysis.structured.bodies import (
    RoundingCast,
    body_ops,
    constant_operands,
    is_multiply_add,
    rounding_cast,
)
from npu_mlir.analysis.structured.nest import is_reduction, is_shape_only, loop_extents, maps_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa.vector import TRANSPOSED_BYTES, TRANSPOSED_PIECES
from npu_mlir.dialects.tile import Space, element_bytes, place, space_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located
from npu_mlir.targets.module_target import target_of

Tensor = TensorType[Attribute]


class SplitCompute(ModulePass):
    """Make each vector operation the body of one instruction."""

    name = "tile-split-compute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        transposes = "transpose" in target_of(op).vector
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                split_kernel(kernel, transposes)


def split_kernel(kernel: tile.KernelOp, transposes: bool = False) -> None:
    """Split all vector operations of one kernel; `transposes` if the machine transposes blocks."""
    for op in list(kernel.walk()):
        if not isinstance(op, linalg.GenericOp) or space_of(op.outputs[0].type) is not Space.UB:
            continue
        inner = body_ops(op)
        if len(inner) == 1 and not isinstance(inner[0].location, UnknownLoc):
            # Of a fused operation this may be one part.
            op.location = inner[0].location
        rounding = rounding_cast(op.body.block)
        alone = rounding is not None and len(rounding.ops) == len(inner)
        several = len(inner) > 1 and not is_multiply_add(op) and not alone
        reorders = transposes and bool(inner) and _reorders(op)
        if several or reorders or any(len(constant_operands(o)) > 1 for o in inner):
            _Splitter(op, reorders).run()


def _reorders(op: linalg.GenericOp) -> bool:
    """Whether an elementwise operation reads rows that lie along another loop than those of its result."""
    if any(is_reduction(op)):
        return False
    extents, result = loop_extents(op), projection(maps_of(op)[-1])
    return result is not None and any(
        _is_transposed(value, map_, result, extents)
        for value, map_ in zip(op.inputs, maps_of(op), strict=False)
    )


def _is_transposed(value: SSAValue, map_: AffineMap, result: Sequence[int], extents: Sequence[int]) -> bool:
    """Whether the rows of an operand lie along another loop than those of the result, and a transpose of blocks pays:
    both loops are longer than a quarter of a block."""
    dims = projection(map_)
    if dims is None or element_bytes(_element_of(value)) not in TRANSPOSED_BYTES:
        return False
    rows = [d for d in result if extents[d] > 1]
    own = [d for d in dims if extents[d] > 1]
    if len(own) < 2 or not rows or own[-1] == rows[-1] or rows[-1] not in own:
        return False
    return min(extents[own[-1]], extents[rows[-1]]) > TRANSPOSED_PIECES // 4


@dataclass(frozen=True)
class _Tile:
    """A value in UB and how the loop dims of the operation index it."""

    value: SSAValue
    map: AffineMap


class _Splitter:
    """Splits one operation."""

    def __init__(self, op: linalg.GenericOp, reorders: bool = False):
        self.op = op
        self.reorders = reorders
        self.extents = loop_extents(op)
        self.maps = maps_of(op)
        self.args = op.body.block.args
        self.tiles: dict[SSAValue, _Tile] = {
            arg: _Tile(value, map_) for arg, value, map_ in zip(self.args, op.inputs, self.maps, strict=False)
        }

    def run(self) -> None:
        terminator = self.op.body.block.last_op
        assert terminator is not None
        result = terminator.operands[0]
        rounding = rounding_cast(self.op.body.block)
        if rounding is not None and isinstance(rounding.source.owner, arith.ConstantOp):
            rounding = None
        together = () if rounding is None else rounding.ops
        for inner in body_ops(self.op):
            if inner in together[:-1]:
                continue
            if self.args[-1] in inner.operands and inner.results[0] is not result:
                raise UserError(
                    "the accumulator may only be read by the last operation of the body", loc=self.op
                )
            with located(self.op), located(inner):
                final = inner.results[0] is result
                if final and rounding is not None:
                    self.tiles[result] = self._final_together(rounding)
                    continue
                self.tiles[inner.results[0]] = self._final(inner) if final else self._intermediate(inner)
        if isinstance(result.owner, Operation) and result in self.tiles:
            self.op.results[0].replace_all_uses_with(self.tiles[result].value)
            self.op.detach()
            self.op.erase()

    def _final_together(self, rounding: RoundingCast) -> _Tile:
        """The operations of a cast that rounds and saturates, which are one instruction."""
        source = self.tiles[rounding.source]
        block = Block(arg_types=[_element(source), _element_of(self.op.outputs[0])])
        mapping: dict[SSAValue, SSAValue] = {rounding.source: block.args[0]}
        for inner in rounding.ops:
            for operand in inner.operands:
                if isinstance(operand.owner, arith.ConstantOp):
                    block.add_op(operand.owner.clone(mapping))
            block.add_op(inner.clone(mapping))
        block.add_op(linalg.YieldOp(mapping[rounding.ops[-1].results[0]]))
        new = linalg.GenericOp(
            [source.value],
            [self.op.outputs[0]],
            Region(block),
            [AffineMapAttr(m) for m in (source.map, self.maps[-1])],
            self.op.iterator_types,
            [self.op.results[0].type],
        )
        self._emit(new)
        return _Tile(new.results[0], self.maps[-1])

    def _operands(self, inner: Operation) -> list[_Tile | arith.ConstantOp]:
        """The operands as tiles and constants; of several constants all but the last become tiles."""
        operands: list[_Tile | arith.ConstantOp] = []
        constants = len(constant_operands(inner))
        for value in inner.operands:
            if isinstance(value.owner, arith.ConstantOp):
                constants -= 1
                operands.append(value.owner if not constants else self._filled(value.owner))
            elif value is not self.args[-1]:
                operands.append(self.tiles[value])
        return operands

    def _filled(self, constant: arith.ConstantOp) -> _Tile:
        """A tile full of a constant, one element that is broadcast."""
        copy = constant.clone()
        empty = tensor.EmptyOp([], place([1], constant.result.type, Space.UB))
        fill = linalg.FillOp([copy.result], [empty.tensor], [empty.tensor.type])
        for op in (copy, empty, fill):
            self._emit(op)
        return _Tile(
            fill.results[0], AffineMap(len(self.extents), 0, (AffineMap.constant_map(0).results[0],))
        )

    def _emit(self, op: Operation) -> None:
        block = self.op.parent
        assert block is not None
        block.insert_op_before(op, self.op)

    def _intermediate(self, inner: Operation) -> _Tile:
        """One operation of the body as an operation on tiles with a new tile as its result."""
        operands = self._operands(inner)
        tiles = [t for t in operands if isinstance(t, _Tile)]
        element = inner.results[0].type
        shapes = {(t.map, cast("Tensor", t.value.type).get_shape()) for t in tiles}
        if len(shapes) == 1:
            # Computed in the shape of its operand, whatever the window through which that is read.
            map_, shape = shapes.pop()
            rank = len(shape)
            plain = [_Tile(t.value, AffineMap.identity(rank)) for t in tiles]
            value = self._generic(
                inner, operands, plain, rank, AffineMap.identity(rank), place(shape, element, Space.UB)
            )
            return _Tile(value, map_)
        operands = self._all_in_order(operands)
        tiles = [t for t in operands if isinstance(t, _Tile)]
        dims = sorted({d for t in tiles for e in linear_map(t.map) or () for d in e.dims()})
        rename = {d: i for i, d in enumerate(dims)}
        narrow = [_Tile(t.value, _restrict(t.map, rename)) for t in tiles]
        type_ = place([self.extents[d] for d in dims], element, Space.UB)
        value = self._generic(inner, operands, narrow, len(dims), AffineMap.identity(len(dims)), type_)
        identity = AffineMap.identity(len(self.extents)).results
        return _Tile(value, AffineMap(len(self.extents), 0, tuple(identity[d] for d in dims)))

    def _is_transposed(self, tile_: _Tile) -> bool:
        result = projection(self.maps[-1])
        return result is not None and _is_transposed(tile_.value, tile_.map, result, self.extents)

    def _all_in_order(self, operands: list[_Tile | arith.ConstantOp]) -> list[_Tile | arith.ConstantOp]:
        """The operands, with copies of those whose rows lie along another loop than those of the result."""
        if not self.reorders:
            return operands
        return [self._in_order(t) if isinstance(t, _Tile) and self._is_transposed(t) else t for t in operands]

    def _in_order(self, tile_: _Tile, out: SSAValue | None = None) -> _Tile:
        """A copy of a tile with its dims in the order that the result has them in; at `out`, if that is given."""
        read = projection(tile_.map) or []
        dims = [d for d in projection(self.maps[-1]) or [] if d in read]
        dims += [d for d in read if d not in dims]
        element = _element(tile_)
        rank = len(self.extents)
        if out is None:
            empty = tensor.EmptyOp([], place([self.extents[d] for d in dims], element, Space.UB))
            self._emit(empty)
            out = empty.tensor
            rename = {d: i for i, d in enumerate(dims)}
            source, to = _restrict(tile_.map, rename), AffineMap.identity(len(dims))
        else:
            source, to = tile_.map, self.maps[-1]
        block = Block(arg_types=[element, element])
        block.add_op(linalg.YieldOp(block.args[0]))
        parallel = IteratorTypeAttr(IteratorType.PARALLEL)
        maps = [AffineMapAttr(source), AffineMapAttr(to)]
        copy = linalg.GenericOp(
            [tile_.value], [out], Region(block), maps, [parallel] * to.num_dims, [out.type]
        )
        self._emit(copy)
        identity = AffineMap.identity(rank).results
        return _Tile(copy.results[0], AffineMap(rank, 0, tuple(identity[d] for d in dims)))

    def _final(self, inner: Operation) -> _Tile:
        """The operation that makes the result, in the loops of the original operation."""
        operands = self._operands(inner)
        tiles = [t for t in operands if isinstance(t, _Tile)]
        if self.reorders and len(tiles) == 1 and self._is_transposed(tiles[0]) and _narrows(inner, tiles[0]):
            return self._in_order(self._intermediate(inner), self.op.outputs[0])
        operands = self._all_in_order(operands)
        tiles = [t for t in operands if isinstance(t, _Tile)]
        windows = [
            _Tile(v, m)
            for i, (v, m) in enumerate(zip(self.op.inputs, self.maps, strict=False))
            if is_shape_only(self.op, i)
        ]
        inputs = [*tiles, *windows]
        block = Block(arg_types=[*(_element(t) for t in inputs), _element_of(self.op.outputs[0])])
        _fill_body(block, inner, operands, self.args[-1])
        new = linalg.GenericOp(
            [t.value for t in inputs],
            [self.op.outputs[0]],
            Region(block),
            [AffineMapAttr(m) for m in (*(t.map for t in inputs), self.maps[-1])],
            self.op.iterator_types,
            [self.op.results[0].type],
        )
        self._emit(new)
        return _Tile(new.results[0], self.maps[-1])

    def _generic(
        self,
        inner: Operation,
        operands: list[_Tile | arith.ConstantOp],
        tiles: list[_Tile],
        rank: int,
        result_map: AffineMap,
        type_: Tensor,
    ) -> SSAValue:
        empty = tensor.EmptyOp([], type_)
        self._emit(empty)
        block = Block(arg_types=[*(_element(t) for t in tiles), type_.element_type])
        _fill_body(block, inner, operands, self.args[-1])
        parallel = IteratorTypeAttr(IteratorType.PARALLEL)
        new = linalg.GenericOp(
            [t.value for t in tiles],
            [empty.tensor],
            Region(block),
            [AffineMapAttr(m) for m in (*(t.map for t in tiles), result_map)],
            [parallel] * rank,
            [type_],
        )
        self._emit(new)
        return new.results[0]


def _narrows(inner: Operation, tile_: _Tile) -> bool:
    """Whether an operation leaves elements that are no wider than those that it reads, and can be transposed."""
    size = element_bytes(inner.results[0].type)
    return size in TRANSPOSED_BYTES and size <= element_bytes(_element(tile_))


def _element(tile_: _Tile) -> Attribute:
    return _element_of(tile_.value)


def _element_of(value: SSAValue) -> Attribute:
    return cast("Tensor", value.type).element_type


def _fill_body(
    block: Block, inner: Operation, operands: list[_Tile | arith.ConstantOp], accumulator: BlockArgument
) -> None:
    """Write the operation into a new body, whose arguments are the tiles among `operands` in order, then the result."""
    args = iter(block.args)
    rest = iter(operands)
    values: list[SSAValue] = []
    for value in inner.operands:
        if value is accumulator:
            values.append(block.args[-1])
            continue
        operand = next(rest)
        if isinstance(operand, _Tile):
            values.append(next(args))
        else:
            constant = operand.clone()
            block.add_op(constant)
            values.append(constant.result)
    copy = inner.clone()
    for i, value in enumerate(values):
        copy.operands[i] = value
    block.add_op(copy)
    block.add_op(linalg.YieldOp(copy.results[0]))


def _restrict(map_: AffineMap, rename: dict[int, int]) -> AffineMap:
    """The map over fewer dims, under new numbers."""
    exprs = [Linear(tuple(e.coefficients[d] for d in rename), e.constant) for e in linear_map(map_) or ()]
    return AffineMap(len(rename), 0, tuple(affine_expression(e) for e in exprs))
