"""Choose the tile sizes, loop order and slots of every kernel, as a `#tile.schedule`.

All policy is here. A contraction takes the best tiling by the formula of `analysis.tiling`; a vector kernel the
largest tiles, innermost dims whole, that leave a few of them to overlap. Then the kernel is tiled, bufferized and
planned on the side: if a memory overflows, the tiles are made smaller, so that the schedule written down fits.

Before:

    tile.kernel @k(%A: memref<197x333xf32, gm>, ...) {

After:

    tile.kernel @k(%A: memref<197x333xf32, gm>, ...)
        schedule #tile.schedule<l1 = [112, 101, 333], l0 = [0, 0, 64], order = [0, 1], slots = {...}> {

Leaves alone: kernels that have a schedule.
An error: a kernel whose smallest tiles do not fit; the message lists the largest buffers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.dims import LoopNestOp, Kind
from npu_mlir.analysis.tiling import ACCUMULATOR, Dim, Product, Tiling, fill_divisors, tilings
from npu_mlir.analysis.vector_tiling import VectorLoops, shrink
from npu_mlir.analysis.structured.bodies import body_ops
from npu_mlir.analysis.structured.nest import factor_type
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import cube_type, element_bits, element_bytes, storage_bytes
from npu_mlir.passes.tile.apply_schedule import apply_schedule
from npu_mlir.passes.tile.bufferize import bufferize_kernel
from npu_mlir.passes.tile.double_buffer import double_buffer
from npu_mlir.passes.tile.fold_fixpipe import fixpipe_does, fold_fixpipe
from npu_mlir.passes.tile.kernel import Kernel, exact_classes, read_kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, levels_of
from npu_mlir.passes.tile.plan_memory import Overflow, overflow_error, try_plan
from npu_mlir.passes.tile.split_compute import split_kernel
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

MIN_TILES = 4
"""Tiles that a vector kernel is cut into at least, so that loads, computation and stores overlap."""

MIN_ELEMENTS = 2048
"""Elements below which a tile is not cut for the sake of overlap."""

TRIED_TILINGS = 8
"""Tilings of a contraction that are tried before giving up."""


class ChooseSchedule(ModulePass):
    """Write a schedule that fits on every kernel without one."""

    name = "tile-choose-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.schedule is None:
                kernel.properties["schedule"] = choose(kernel, target)


def choose(op: tile.KernelOp, target: Target) -> tile.ScheduleAttr:
    """The first candidate schedule that fits the target. Raises UserError if none does."""
    kernel = read_kernel(op)
    contraction = next((c for c in kernel.computes.values() if c.contraction), None)
    candidates = (
        _vector_schedules(kernel, target)
        if contraction is None
        else _contraction_schedules(kernel, contraction, target)
    )
    overflow: Overflow | None = None
    for schedule in _distinct(candidates):
        overflow = try_schedule(op, schedule, target)
        if overflow is None:
            return schedule
    if overflow is None:
        raise _no_tile(op, cast("LoopNestOp", contraction), target)
    raise overflow_error(op, overflow, target)


def _no_tile(op: tile.KernelOp, contraction: LoopNestOp, target: Target) -> UserError:
    """The error for a kernel of which no tiling fits, with what a single step of the cube needs of each memory."""
    element = factor_type(contraction)
    (m, k, n), bits = target.cube.tile(element), element_bits(element)
    left, right = (round_up(storage_bytes(side, bits), tile.ROW_ALIGNMENT) for side in (k, n))
    needs = {
        "l1": m * left + k * right,
        "l0a": storage_bytes(m * k, bits),
        "l0b": storage_bytes(k * n, bits),
        "l0c": m * n * ACCUMULATOR,
    }
    largest = sorted(needs.items(), key=lambda need: need[1] / target.capacity(need[0]), reverse=True)
    return UserError(
        f"kernel '@{op.sym_name.data}': no tile of its matrix product fits the memories of '{target.name}'",
        notes=[
            f"one step of the cube takes at least {size} bytes of {space}, which has {target.capacity(space)}"
            for space, size in largest
        ],
        loc=op,
    )


def _distinct(schedules: Iterator[tile.ScheduleAttr]) -> Iterator[tile.ScheduleAttr]:
    """The schedules without those that equal the one before."""
    return (schedule for schedule, _ in groupby(schedules))


def try_schedule(op: tile.KernelOp, schedule: tile.ScheduleAttr, target: Target) -> Overflow | None:
    """Tile, bufferize and plan a copy of the kernel: the memory that overflows, if one does."""
    copy = op.clone()
    copy.properties["schedule"] = schedule
    apply_schedule(copy)
    split_kernel(copy)
    fold_fixpipe(copy)
    bufferize_kernel(copy)
    double_buffer(copy)
    return try_plan(copy, target)


# ---- vector kernels -------------------------------------------------------------------------------------------------


def _vector_schedules(kernel: Kernel, target: Target) -> Iterator[tile.ScheduleAttr]:
    """Schedules with smaller and smaller tiles."""
    extents = {c.id: c.extent for c in kernel.classes.classes}
    nests = [_nest(kernel, compute) for compute in kernel.computes.values()]
    order = _loop_order(kernel)
    total = max(math.prod(extents[c] for c in nest.classes) for nest in nests)
    budget = max(MIN_ELEMENTS, total // MIN_TILES)
    while True:
        sizes = shrink(nests, extents, budget, target.vector_bytes // 4)
        tiles = [sizes[c] for c in range(len(extents))]
        looped = [c for c in order if sizes[c] < extents[c]]
        yield tile.ScheduleAttr.of({"ub": 2}, {"ub": tiles}, order=looped)
        if budget == 1:
            yield tile.ScheduleAttr.of({"ub": 1}, {"ub": tiles}, order=looped)
            return
        budget = budget * 2 // 3


def _nest(kernel: Kernel, compute: LoopNestOp) -> VectorLoops:
    of = kernel.classes.of[compute.key]
    kinds = [kernel.classes.classes[c].kind for c in of]
    row = of[compute.result[-1]] if compute.result else None
    return VectorLoops(
        of,
        tuple(c for c, kind in zip(of, kinds, strict=True) if kind is Kind.PAR),
        tuple(c for c, kind in zip(of, kinds, strict=True) if kind is Kind.RED),
        row if row is not None and kernel.classes.classes[row].kind is Kind.PAR else None,
    )


def _loop_order(kernel: Kernel) -> list[int]:
    """The parallel classes, those that most operations share outermost, so that what depends on few stays; otherwise
    in the order of the stored results' dims."""
    order: dict[int, None] = {}
    for store in kernel.stores:
        compute = kernel.computes[cast("linalg.GenericOp", store.value.owner)]
        order |= dict.fromkeys(kernel.classes.of[compute.key][d] for d in compute.result)
    order |= dict.fromkeys(c.id for c in kernel.classes.classes)
    shared = {c: sum(c in of for of in kernel.classes.of.values()) for c in order}
    parallel = [c for c in order if kernel.classes.classes[c].kind is Kind.PAR]
    return sorted(parallel, key=lambda c: -shared[c])


# ---- contractions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """How many elements of an accumulator pass through UB at once, and in how many slots."""

    elements: int
    slots: int


def _contraction_schedules(kernel: Kernel, compute: LoopNestOp, target: Target) -> Iterator[tile.ScheduleAttr]:
    """The best tilings by the formula, each with smaller and smaller pieces through UB."""
    product = _product(kernel, compute, target)
    for tiling in tilings(product, target)[:TRIED_TILINGS]:
        for piece in _pieces(product, tiling, target):
            yield _schedule(kernel, product, tiling, piece, target)


def _pieces(product: Product, tiling: Tiling, target: Target) -> Iterator[_Piece]:
    whole = math.prod(tiling.tile[d] for d in (*product.m, *product.n))
    if target.split_cores:
        yield _Piece(whole, 1)
        return
    per_element = 2 * (ACCUMULATOR + product.loaded + product.stored)
    elements = min(whole, target.ub // per_element)
    while elements:
        yield _Piece(elements, 2)
        elements = elements * 3 // 4
    yield _Piece(1, 1)


def _schedule(
    kernel: Kernel, product: Product, tiling: Tiling, piece: _Piece, target: Target
) -> tile.ScheduleAttr:
    classes = kernel.classes.classes
    tile_ = list(tiling.tile)
    dims = (*product.m, *product.n)
    whole = {c.id for c in classes if c.kind is Kind.MIXED}
    _round_for_pieces(product, tile_, dims, piece, target, whole)
    pieces = list(tile_)
    room = piece.elements // math.prod(tile_[d] for d in dims if d in whole)
    free = [d for d in dims if d not in whole]
    for d, size in zip(free, fill_divisors([tile_[d] for d in free], room), strict=True):
        pieces[d] = size
    rest = [c.extent for c in classes[len(tile_) :]]
    sizes = KernelSizes((*tile_, *rest), (*tiling.inner, *rest), (*pieces, *rest))
    slots = {"l1": 2, "l0a": 2, "l0b": 2, "l0c": tiling.l0c_slots, "ub": piece.slots}
    return tile.ScheduleAttr.of(
        slots, levels_of(kernel, sizes), order=tiling.order, bypass_ub=target.split_cores
    )


def _round_for_pieces(
    product: Product, tile_: list[int], dims: tuple[int, ...], piece: _Piece, target: Target, whole: set[int]
) -> None:
    """Round the dim that will be cut into pieces up, within the padding of the cube, so that it has divisors."""
    room = piece.elements
    for d in reversed(dims):
        if d in whole or tile_[d] <= room:
            room //= tile_[d]
            continue
        side, unit = (product.m, target.cube_m) if d in product.m else (product.n, target.cube_n)
        if all(tile_[o] == 1 for o in side if o != d):
            tile_[d] = round_up(tile_[d], unit)
        return


def _product(kernel: Kernel, compute: LoopNestOp, target: Target) -> Product:
    """The contraction as data, its dims numbered by class."""
    roles = contraction_roles(compute)
    assert roles is not None
    of, classes = kernel.classes.of[compute.key], kernel.classes.classes
    count = len(compute.extents)
    assert set(of) == set(range(count)), "the classes of the contraction are numbered first"
    exact = exact_classes(kernel, compute)
    dims = tuple(Dim(classes[c].extent, classes[c].kind is Kind.MIXED, c in exact) for c in range(count))
    position = {c: d for d, c in enumerate(of)}
    maps = [
        tuple(e._replace(coefficients=tuple(e.coefficients[position[c]] for c in range(count))) for e in map_)
        for map_ in compute.maps[:2]
    ]
    element = factor_type(compute)
    batch, m, n, k = (tuple(of[d] for d in dims_) for dims_ in (roles.batch, roles.m, roles.n, roles.k))
    loaded, stored = _traffic(kernel, compute)
    factors = (cube_type(element), element_bits(element))
    vector = _vector_bytes(kernel, compute)
    return Product(dims, batch, m, n, k, (maps[0], maps[1]), *factors, vector, loaded, stored)


def _vector_bytes(kernel: Kernel, contraction: LoopNestOp) -> int:
    """Bytes that the vector unit works through per element of the result, one operation after the other, without what
    the fixpipe does on the way."""
    free = {kernel.classes.of[contraction.key][d] for d in contraction.result}
    total = 0
    for op, compute in kernel.computes.items():
        if compute.contraction:
            continue
        generic = cast("linalg.GenericOp", op)
        of = kernel.classes.of[op]
        spans = [{of[d] for e in map_ for d in e.dims()} for map_ in compute.maps]
        whole: set[SSAValue] = {a for a, s in zip(generic.body.block.args, spans, strict=False) if s >= free}
        passing: set[SSAValue] = {
            a
            for a, v in zip(generic.body.block.args, generic.inputs, strict=False)
            if v.owner is contraction.key
        }
        for inner in body_ops(generic):
            if inner.operands[0] in passing and fixpipe_does(inner):
                passing.add(inner.results[0])
                whole.add(inner.results[0])
            elif any(v in whole for v in inner.operands) or any(compute.reduction):
                whole.add(inner.results[0])
                total += max(element_bytes(v.type) for v in (*inner.operands, *inner.results))
    return total


def _traffic(kernel: Kernel, contraction: LoopNestOp) -> tuple[int, int]:
    """Bytes per element of the result that the rest of the kernel loads beside it, and that it stores."""
    free = {kernel.classes.of[contraction.key][d] for d in contraction.result}
    loaded = stored = 0
    for op, compute in kernel.computes.items():
        generic = cast("linalg.GenericOp", op)
        for value, map_ in zip(generic.inputs, compute.maps, strict=False):
            dims = {kernel.classes.of[op][d] for e in map_ for d in e.dims()}
            if compute is not contraction and isinstance(value.owner, tile.LoadOp) and dims >= free:
                loaded += element_bytes(cast("Tensor", value.type).element_type)
    for store in kernel.stores:
        stored += element_bytes(cast("Tensor", store.value.type).element_type)
    return loaded, stored
