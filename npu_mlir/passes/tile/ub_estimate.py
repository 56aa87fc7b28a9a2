"""How much of UB a schedule takes at least, counted without tiling the kernel.

Counted are buffers that are there at the same moment in any case. With loops over tiles, these are the buffers with
slots, which live as long as the outermost loop: what is loaded from GM, the piece of the accumulators, and what is
stored, unless its operation may overwrite one of these. Without, they are the operands of one operation. The
temporaries of operations come on top, so the count is less than what is needed, never more. Of chains of contractions
nothing is counted: what belongs to one of them need not be there while another one runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue

from npu_mlir.analysis.affine_maps import Linear, dense_rows
from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.structured.fixpipe import columns_of, rows_of
from npu_mlir.analysis.structured.nest import is_shape_only
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, element_bytes, place, tile_bytes
from npu_mlir.passes.tile.candidates import ScheduleCandidate
from npu_mlir.passes.tile.kernel import Kernel
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]
TileShape = tuple[tuple[int, ...], Attribute]
"""Extents and element type."""


def least_ub(kernel: Kernel, candidate: ScheduleCandidate, target: Target) -> int:
    """Bytes of UB that a kernel needs at least under a candidate's schedule; 0 if nothing is known."""
    slots = candidate.schedule.slots_of(Space.UB)
    if candidate.schedule.bypass_ub or slots < 2 or len(kernel.contractions) > 1:
        return 0
    estimate = _Estimate(kernel, candidate, slots, target)
    return estimate.in_loops() if estimate.looped else estimate.of_an_operation()


@dataclass(frozen=True)
class _Load:
    """A tile of an operand: what tells it from others, its extents, the classes that it depends on."""

    key: object
    shape: TileShape
    classes: frozenset[int]


class _Estimate:
    """The buffers of a kernel that is tiled in a certain way."""

    def __init__(self, kernel: Kernel, candidate: ScheduleCandidate, slots: int, target: Target):
        self.target = target
        sizes = candidate.sizes
        self.kernel = kernel
        self.slots = slots
        classes = kernel.classes.classes
        whole = [c.extent if c.kind is DimKind.RED else sizes.piece[c.id] for c in classes]
        self.size = [
            min(sizes.piece[c.id], sizes.chunk[c.id], size) for c, size in zip(classes, whole, strict=True)
        ]
        """What an operation goes over at once; a reduction never beyond its end."""
        outer = {c for c in candidate.schedule.order if sizes.tile[c] < classes[c].extent}
        self.looped = outer | {c.id for c in classes if sizes.piece[c.id] < sizes.tile[c.id]}
        """The classes with a loop around everything that depends on them."""
        self.chunked = {c.id for c in classes if c.kind is DimKind.RED and sizes.tile[c.id] < c.extent}
        self.needed = list(self._needed())

    def _needed(self) -> Iterator[LoopNestOp]:
        """The operations of the vector unit that stores need, and the contraction that hands pieces to it."""
        pending = [store.value.owner for store in self.kernel.stores]
        seen: set[Operation] = set()
        while pending:
            op = pending.pop()
            if not isinstance(op, linalg.GenericOp) or op in seen:
                continue
            seen.add(op)
            compute = self.kernel.computes[op]
            yield compute
            if not compute.contraction:
                pending += [v.owner for v in op.operands]

    def in_loops(self) -> int:
        """Bytes of the buffers that live as long as the outermost loop."""
        loads: dict[object, int] = {}
        shapes: set[TileShape] = set()
        for compute in self.needed:
            if not self._classes_of(compute, compute.result) & self.looped:
                continue
            for load in self._piece(compute) if compute.contraction else self._loads(compute):
                streams = bool(load.classes & (self.looped | self.chunked))
                loads[load.key] = max(
                    loads.get(load.key, 0), self._bytes(load.shape) * (self.slots if streams else 1)
                )
                shapes.add(load.shape)
        stored = {shape for shape in self._stored() if shape not in shapes}
        return sum(loads.values()) + self.slots * sum(self._bytes(shape) for shape in stored)

    def of_an_operation(self) -> int:
        """Bytes of the operands of the operation that has most of them."""
        totals = [0]
        for compute in self.needed:
            if not compute.contraction:
                loads = {load.key: load for load in self._loads(compute)}
                totals.append(
                    sum(
                        self._bytes(load.shape) * (self.slots if load.classes & self.chunked else 1)
                        for load in loads.values()
                    )
                )
        return max(totals)

    def _bytes(self, shape: TileShape) -> int:
        extents, element = shape
        return tile_bytes(place(extents, element, Space.UB), 0, self.target.cube)

    def _classes_of(self, compute: LoopNestOp, dims: tuple[int, ...] | list[int]) -> frozenset[int]:
        of = self.kernel.classes.class_of[compute.key]
        return frozenset(of[d] for d in dims)

    def _loads(self, compute: LoopNestOp) -> Iterator[_Load]:
        """The tiles of operands from GM, told apart as the tiler does."""
        generic = cast("linalg.GenericOp", compute.key)
        of = self.kernel.classes.class_of[compute.key]
        rows = self._rows(generic)
        for i, (value, map_) in enumerate(zip(generic.inputs, compute.maps, strict=False)):
            if not isinstance(value.owner, tile.LoadOp | tile.GatherOp) or is_shape_only(generic, i):
                continue
            if generic.body.block.args[i] in rows:
                continue
            shape = tuple(self._extent(expr, of) for expr in dense_rows(map_))
            dims = tuple((expr, self._classes_of(compute, expr.dims())) for expr in map_)
            element = cast("Tensor", value.type).element_type
            yield _Load((value, dims), (shape, element), frozenset().union(*(classes for _, classes in dims)))

    def _rows(self, generic: linalg.GenericOp) -> frozenset[SSAValue]:
        """The arguments of a body that reads a product which the fixpipe may read from L1: factors of its columns."""
        for value in generic.inputs:
            owner = value.owner
            if isinstance(owner, linalg.GenericOp) and self.kernel.computes[owner].contraction:
                return rows_of(generic, value, columns_of(owner))
        return frozenset()

    def _extent(self, expr: Linear, of: tuple[int, ...]) -> int:
        return 1 + sum(abs(expr.coefficients[d]) * (self.size[of[d]] - 1) for d in expr.dims())

    def _piece(self, compute: LoopNestOp) -> Iterator[_Load]:
        """The piece of the accumulators, which the fixpipe may have cast on its way."""
        generic = cast("linalg.GenericOp", compute.key)
        shape = tuple(self.size[self.kernel.classes.class_of[compute.key][d]] for d in compute.result)
        types = [cast("Tensor", generic.results[0].type).element_type, *_narrowed(generic.results[0])]
        element = min(types, key=element_bytes)
        yield _Load(compute.key, (shape, element), self._classes_of(compute, compute.result))

    def _stored(self) -> Iterator[TileShape]:
        """The tiles that are stored within the loops."""
        for store in self.kernel.stores:
            compute = self.kernel.computes[cast("linalg.GenericOp", store.value.owner)]
            classes = [self.kernel.classes.class_of[compute.key][d] for d in compute.result]
            if self.looped & set(classes) and not compute.contraction:
                yield tuple(self.size[c] for c in classes), cast("Tensor", store.value.type).element_type


def _narrowed(value: SSAValue) -> Iterator[Attribute]:
    """The types to which an operation that reads a value casts down."""
    for use in value.uses:
        for inner in use.operation.walk():
            if isinstance(inner, arith.TruncFOp | arith.FPToSIOp):
                yield inner.results[0].type
