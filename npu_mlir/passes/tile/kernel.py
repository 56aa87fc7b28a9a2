"""What the scheduling passes know of an untiled kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import linear_map
from npu_mlir.analysis.dims import DimClasses, DimKind, LoopNestOp, dim_classes
from npu_mlir.analysis.structured.bodies import is_number
from npu_mlir.analysis.structured.nest import describe, root_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import space_of
from npu_mlir.support.diagnostics import UserError


@dataclass(frozen=True)
class Kernel:
    """An untiled kernel: its operations as plain data, their dimension classes, its stores."""

    op: tile.KernelOp
    computes: dict[Operation, LoopNestOp]
    classes: DimClasses
    stores: list[tile.StoreOp]

    @property
    def contractions(self) -> list[LoopNestOp]:
        """The operations for the cube."""
        return [compute for compute in self.computes.values() if compute.contraction]

    @property
    def root(self) -> Operation:
        """The operation that the kernel is about."""
        return root_of(list(self.computes.values()))


def is_tiled(op: tile.KernelOp) -> bool:
    """Whether a kernel consists of tiles: what its transfers bring or take has a place."""
    for inner in op.walk():
        if isinstance(inner, tile.LoadOp | tile.GatherOp):
            return space_of(inner.tile_type) is not None
    return False


def read_kernel(op: tile.KernelOp) -> Kernel:
    """Read a kernel as `tile-form-kernels` makes it."""
    block = op.body.block
    for load in (o for o in block.ops if isinstance(o, tile.LoadOp)):
        if load.indices or linear_map(load.map.data) is None:
            raise UserError("a kernel that is not tiled loads whole operands, through linear maps", loc=load)
    for gather in (o for o in block.ops if isinstance(o, tile.GatherOp)):
        rank = len(gather.tile_type.get_shape())
        if gather.map.data != AffineMap.identity(rank) or not isinstance(gather.rows.owner, tile.LoadOp):
            raise UserError(
                "a kernel that is not tiled gathers whole operands, by indices that it loads", loc=gather
            )
    computes: dict[Operation, LoopNestOp] = {
        g: describe(g, row_starts=True) for g in block.ops if isinstance(g, linalg.GenericOp)
    }
    classes = dim_classes(list(computes.values()))
    if classes is None:
        raise UserError("the operations of the kernel do not form one loop nest", loc=op)
    stores = [s for s in block.ops if isinstance(s, tile.StoreOp)]
    for store in stores:
        if not isinstance(store.value.owner, linalg.GenericOp):
            raise UserError("a kernel stores results of linalg.generic only", loc=store)
    return Kernel(op, computes, classes, stores)


def contractions_behind(kernel: Kernel, compute: LoopNestOp) -> list[LoopNestOp]:
    """The contractions that an operation depends on through operations of the vector unit alone; itself if it is
    one."""
    found: dict[Operation, LoopNestOp] = {}
    pending, seen = [compute], set[Operation]()
    while pending:
        current = pending.pop()
        op = cast("Operation", current.key)
        if op in seen:
            continue
        seen.add(op)
        if current.contraction:
            found[op] = current
        else:
            pending += [kernel.computes[o] for o in current.operands if o in kernel.computes]  # type: ignore[index]
    return [compute for op, compute in kernel.computes.items() if op in found]


def linked_classes(kernel: Kernel, contraction: LoopNestOp) -> list[int]:
    """The classes that a contraction sums and that other operations of the kernel have as well: those along which it
    reads what the kernel makes."""
    of = kernel.classes.class_of[contraction.key]
    summed = [of[d] for d, reduced in enumerate(contraction.reduction) if reduced]
    return [c for c in summed if kernel.classes.classes[c].kind is not DimKind.RED]


def exact_classes(kernel: Kernel, contraction: LoopNestOp) -> set[int]:
    """The summed classes whose chunks have to divide them, since what a load reads beyond their end is not zero: the
    neighbours of a slice, of a window, or padding with another value."""
    of = kernel.classes.class_of[contraction.key]
    exact: set[int] = set()
    for value, map_ in zip(cast("linalg.GenericOp", contraction.key).inputs, contraction.maps, strict=False):
        load = value.owner
        if not isinstance(load, tile.LoadOp):
            continue
        for axis, expr in enumerate(map_):
            if expr.dim() is None or not _zero_beyond(load, axis):
                exact |= {of[d] for d in expr.dims() if contraction.reduction[d]}
    return exact


def _zero_beyond(load: tile.LoadOp, axis: int) -> bool:
    """Whether a load of a whole operand would read zeros if the operand went on along an axis."""
    pad = load.pad
    if pad is not None and not is_number(pad, 0):
        return False
    end = cast("TensorType[Attribute]", load.tile_type).get_shape()[axis]
    extents = cast("tile.TileType", load.source.type).get_shape()
    coordinates = linear_map(load.map.data) or ()
    return any(
        expr.coefficients[axis] * end + expr.constant >= extent
        for expr, extent in zip(coordinates, extents, strict=False)
        if expr.coefficients[axis]
    )
