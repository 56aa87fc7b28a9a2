"""Operands of the operations of a tiled kernel: the boxes of GM that they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import Linear, affine_expression, dense_rows, linear_map
from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.structured.nest import is_shape_only
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, element_bits, place, storage_bytes
from npu_mlir.passes.tile.kernel import Kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes
from npu_mlir.passes.tile.tiler.loops import LoopNest, Position
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

WHOLE_INDICES = 8192
"""Bytes of indices of a gather up to which they are loaded at once, whatever its tiles are, if they leave room."""

INDEX_SHARE = 4
"""The part of UB that indices that are loaded at once may take."""


_WHOLE_AT_FIRST = (DimKind.RED, DimKind.LINK)
"""Classes whose loops belong to single operations."""


class OperandTiler(LoopNest, ABC):
    """Makes the tiles of operands at the current position."""

    def __init__(self, kernel: Kernel, sizes: KernelSizes, target: Target):
        self.kernel = kernel
        self.target = target
        self.classes = kernel.classes
        self.sizes = sizes
        args = kernel.op.body.block.args
        start = {
            c.id: Position((), c.extent if c.kind in _WHOLE_AT_FIRST else sizes.tile[c.id])
            for c in self.classes.classes
        }
        super().__init__([a.type for a in args], start)
        for new, old in zip(self.block.args, args, strict=True):
            new.name_hint, new.location = old.name_hint, old.location

    @abstractmethod
    def value(self, compute: LoopNestOp) -> SSAValue:
        """The tile of an operation's result in UB."""

    def operand(self, compute: LoopNestOp, index: int, space: Space = Space.UB) -> tuple[SSAValue, AffineMap]:
        """The tile of operand `index` of an operation, and the map from the operation's loop dims to it."""
        generic = cast("linalg.GenericOp", compute.key)
        value = [*generic.inputs, *generic.outputs][index]
        map_ = generic.indexing_maps.data[index].data
        if isinstance(value.owner, linalg.GenericOp):
            return self.value(self.kernel.computes[value.owner]), map_
        of = self.classes.class_of[compute.key]
        exprs = linear_map(map_)
        assert exprs is not None
        if index < len(generic.inputs) and is_shape_only(generic, index):
            return self._window(value, [self._box(e, of)[0] for e in exprs]), map_
        dense = dense_rows(exprs)
        boxes = [self._box(e, of) for e in dense]
        classes = {of[d] for e in exprs for d in e.dims()}
        key = (value, space, tuple(boxes), tuple((e, tuple(of[d] for d in e.dims())) for e in exprs))
        owner = cast("tile.LoadOp | tile.GatherOp", value.owner)
        tile_ = self.memo(
            key,
            classes,
            lambda: (
                self._gather(owner, exprs, of)
                if isinstance(owner, tile.GatherOp)
                else self._load(owner, exprs, of, space)
            ),
        )
        local = [
            Linear(
                e.coefficients,
                sum(max(-c * (self.size(of[d]) - 1), 0) for d, c in enumerate(e.coefficients)),
            )
            for e in dense
        ]
        return tile_, AffineMap(map_.num_dims, 0, tuple(affine_expression(e) for e in local))

    def _window(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        empty = tensor.EmptyOp([], TensorType(cast("Tensor", value.type).element_type, shape))
        self.here.emit(empty)
        return empty.tensor

    def _box(self, expr: Linear, of: Sequence[int]) -> tuple[int, int]:
        """(extent, constant part of the start) of the coordinates that `expr` takes over the current tile."""
        extent, start = 1, expr.constant
        for d, c in enumerate(expr.coefficients):
            last = c * (self.size(of[d]) - 1)
            extent += abs(last)
            start += min(last, 0)
        return extent, start

    def _load(self, load: tile.LoadOp, exprs: Sequence[Linear], of: Sequence[int], space: Space) -> SSAValue:
        """Load the part of an argument that the expressions take over the current tile."""
        source = linear_map(load.map.data)
        assert source is not None
        indices, starts = self._starts(exprs, of)
        steps = [_step(e, d) for e, d in zip(exprs, dense_rows(exprs), strict=True)]
        map_ = _map([_compose(s, starts, steps, len(indices)) for s in source], len(indices), len(exprs))
        type_ = self._dense_type(load.results[0], exprs, of, space)
        pad = self._padding(load, exprs, of)
        new = tile.LoadOp(self.gm(load.source), indices, map_, type_, None, pad)
        self.here.emit(new)
        return new.results[0]

    def _gather(self, gather: tile.GatherOp, exprs: Sequence[Linear], of: Sequence[int]) -> SSAValue:
        """Gather the rows that the expressions take over the current tile, by a tile of the indices."""
        axis = gather.axis.value.data
        rows, whole = self._rows(gather, exprs[axis], of)
        if whole:
            indices, starts = self._starts(exprs, of)
        else:
            indices, starts = self._starts([e for i, e in enumerate(exprs) if i != axis], of)
            starts.insert(axis, Linear((0,) * len(indices), 0))
        steps = [_step(e, d) for e, d in zip(exprs, dense_rows(exprs), strict=True)]
        steps[axis] = 1
        rank = len(exprs)
        identity = [Linear(tuple(int(i == d) for i in range(rank)), 0) for d in range(rank)]
        map_ = _map([_compose(s, starts, steps, len(indices)) for s in identity], len(indices), rank)
        type_ = self._dense_type(gather.results[0], exprs, of, Space.UB)
        pad = self._padding(gather, exprs, of)
        new = tile.GatherOp(self.gm(gather.source), indices, rows, axis, map_, type_, None, pad)
        self.here.emit(new)
        return new.results[0]

    def _rows(self, gather: tile.GatherOp, places: Linear, of: Sequence[int]) -> tuple[SSAValue, bool]:
        """The tile of the indices of a gather whose positions are `places`, and whether it has all of them.

        As the scalar unit waits for them, few indices are loaded at once."""
        load = cast("tile.LoadOp", gather.rows.owner)
        dim = places.dim()
        type_ = cast("Tensor", gather.rows.type)
        if dim is not None:
            size = round_up(self.classes.classes[of[dim]].extent, self.sizes.tile[of[dim]])
            most = min(WHOLE_INDICES, self.target.ub // INDEX_SHARE)
            if storage_bytes(size, element_bits(type_.element_type)) <= most:
                return self.memo((gather.rows, size), set(), lambda: self._load_indices(load, size)), True
        key = (gather.rows, Space.UB, self._box(places, of), places, tuple(of[d] for d in places.dims()))
        classes = {of[d] for d in places.dims()}
        return self.memo(key, classes, lambda: self._load(load, [places], of, Space.UB)), False

    def _load_indices(self, load: tile.LoadOp, size: int) -> SSAValue:
        """All indices, and zeros up to so many."""
        type_ = cast("Tensor", load.results[0].type)
        pad = _zero(type_.element_type) if size > type_.get_shape()[0] else load.pad
        placed = place((size,), type_.element_type, Space.UB)
        new = tile.LoadOp(self.gm(load.source), [], load.map, placed, None, pad)
        self.here.emit(new)
        return new.results[0]

    def _starts(self, exprs: Sequence[Linear], of: Sequence[int]) -> tuple[list[SSAValue], list[Linear]]:
        """The index values that the starts of the expressions over the current tile are made of, and the starts."""
        indices: dict[SSAValue, int] = {}
        for e in exprs:
            for d in e.dims():
                for term in self.start(of[d]):
                    indices.setdefault(term, len(indices))
        starts: list[Linear] = []
        for e in exprs:
            coefficients = [0] * len(indices)
            for d in e.dims():
                for term in self.start(of[d]):
                    coefficients[indices[term]] += e.coefficients[d]
            starts.append(Linear(tuple(coefficients), self._box(e, of)[1]))
        return list(indices), starts

    def _dense_type(
        self, value: SSAValue, exprs: Sequence[Linear], of: Sequence[int], space: Space
    ) -> Tensor:
        """The type of the tile of what the expressions take of a value."""
        dense = [self._box(e, of)[0] for e in dense_rows(exprs)]
        return place(dense, cast("Tensor", value.type).element_type, space)

    def _padding(
        self, op: tile.LoadOp | tile.GatherOp, exprs: Sequence[Linear], of: Sequence[int]
    ) -> Attribute | None:
        """What a tile has outside of the operand: zero if nothing else is said and it reaches there."""
        if op.pad is not None or not self._overhangs({of[d] for e in exprs for d in e.dims()}):
            return op.pad
        return _zero(cast("Tensor", op.results[0].type).element_type)

    def _overhangs(self, classes: set[int]) -> bool:
        """Whether some tile of these classes reaches beyond their extent."""
        return any(self.classes.classes[c].extent % self.sizes.tile[c] for c in classes)

    def gm(self, value: SSAValue) -> SSAValue:
        """The argument of the new body for one of the kernel."""
        index = list(self.kernel.op.body.block.args).index(value)  # type: ignore[arg-type]
        return self.block.args[index]


def _map(coordinates: Sequence[Linear], indices: int, rank: int) -> AffineMap:
    return AffineMap(indices + rank, 0, tuple(affine_expression(c) for c in coordinates))


def _step(expr: Linear, dense: Linear) -> int:
    """The stride in the memory of a tile dim whose coordinate is `expr`, and `dense` in the tile."""
    return next((expr.coefficients[d] // dense.coefficients[d] for d in expr.dims()), 1)


def _compose(outer: Linear, starts: Sequence[Linear], steps: Sequence[int], indices: int) -> Linear:
    """`outer` over tensor dims, each of which is its start plus a multiple of a tile dim, as an expression over
    (indices; tile dims)."""
    coefficients, constant = [0] * (indices + len(steps)), outer.constant
    for d in outer.dims():
        factor = outer.coefficients[d]
        coefficients[indices + d] += factor * steps[d]
        constant += factor * starts[d].constant
        for i, c in enumerate(starts[d].coefficients):
            coefficients[i] += factor * c
    return Linear(tuple(coefficients), constant)


def _zero(element_type: Attribute) -> Attribute:
    if isinstance(element_type, AnyFloat):
        return FloatAttr(0.0, element_type)
    return IntegerAttr(0, cast("IntegerType", element_type))
