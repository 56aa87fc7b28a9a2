"""Candidates for a kernel with a contraction: the best tilings by the formula of `analysis.tiling`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, SSAValue

from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.structured.bodies import SIGNED_WIDENING, body_ops
from npu_mlir.analysis.structured.fixpipe import Drained, passed
from npu_mlir.analysis.structured.nest import factor_type, init_of
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.analysis.tiling import ACCUMULATOR, Dim, Product, Tiling, ceil_div, fill_divisors, tilings
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import cube_type, element_bits, element_bytes
from npu_mlir.passes.tile.candidates.candidate import ScheduleCandidate
from npu_mlir.passes.tile.kernel import Kernel, exact_classes
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, levels_of
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

TRIED_TILINGS = 8
"""Tilings of a contraction that are tried before giving up."""


@dataclass(frozen=True)
class _Piece:
    """How many elements of an accumulator pass through UB at once, and in how many slots."""

    elements: int
    slots: int


_INIT_SLOTS = 3
"""Slots of the row that accumulators start from: its load comes before those of the operands of a tile, and should not
wait until the tile before last is multiplied."""


def contraction_candidates(
    kernel: Kernel, compute: LoopNestOp, target: Target
) -> Iterator[ScheduleCandidate]:
    """The best tilings by the formula, each with smaller and smaller pieces through UB."""
    product = _product(kernel, compute, target)
    for tiling in tilings(product, target)[:TRIED_TILINGS]:
        for piece in _pieces(product, tiling, target):
            yield _candidate(kernel, product, tiling, piece, target)


def _pieces(product: Product, tiling: Tiling, target: Target) -> Iterator[_Piece]:
    whole = math.prod(tiling.tile[d] for d in (*product.m, *product.n))
    if target.split_cores:
        yield _Piece(whole, 1)
        return
    # What is stored often takes the place of what arrived; where not, a smaller piece fits.
    elements = min(whole, target.ub // (2 * (product.passing + product.loaded)))
    while elements:
        yield _Piece(elements, 2)
        elements = elements * 3 // 4
    yield _Piece(1, 1)


def _candidate(
    kernel: Kernel, product: Product, tiling: Tiling, piece: _Piece, target: Target
) -> ScheduleCandidate:
    classes = kernel.classes.classes
    tile_ = list(tiling.tile)
    dims = (*product.m, *product.n)
    whole = {c.id for c in classes if c.kind is DimKind.MIXED}
    _round_for_pieces(product, tile_, dims, piece, target, whole)
    pieces = list(tile_)
    room = piece.elements // math.prod(tile_[d] for d in dims if d in whole)
    free = [d for d in dims if d not in whole]
    for d, size in zip(free, fill_divisors([tile_[d] for d in free], room), strict=True):
        pieces[d] = size
    rest = [c.extent for c in classes[len(tile_) :]]
    sizes = KernelSizes((*tile_, *rest), (*tiling.inner, *rest), (*pieces, *rest))
    tiles = math.prod(ceil_div(product.dims[d].extent, tile_[d]) for d in tiling.order)
    rows = product.starts_from_row and tiles > 2
    l1 = {"a": 2, "b": 2, "init": _INIT_SLOTS} if rows else 2
    slots = {"l1": l1, "l0a": 2, "l0b": 2, "l0c": tiling.l0c_slots, "ub": piece.slots}
    schedule = tile.ScheduleAttr.of(
        slots, levels_of(kernel, sizes), order=tiling.order, bypass_ub=target.split_cores
    )
    return ScheduleCandidate(schedule, sizes, tiling.cycles)


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
    of, classes = kernel.classes.class_of[compute.key], kernel.classes.classes
    count = len(compute.extents)
    assert set(of) == set(range(count)), "the classes of the contraction are numbered first"
    exact = exact_classes(kernel, compute)
    dims = tuple(Dim(classes[c].extent, classes[c].kind is DimKind.MIXED, c in exact) for c in range(count))
    position = {c: d for d, c in enumerate(of)}
    maps = [
        tuple(e._replace(coefficients=tuple(e.coefficients[position[c]] for c in range(count))) for e in map_)
        for map_ in compute.maps[:2]
    ]
    element = factor_type(compute)
    batch, m, n, k = (tuple(of[d] for d in dims_) for dims_ in (roles.batch, roles.m, roles.n, roles.k))
    loaded, stored = _traffic(kernel, compute)
    factors = (cube_type(element), element_bits(element))
    vector, passing = _epilogue(kernel, compute, target)
    row = not isinstance(init_of(cast("linalg.GenericOp", compute.key)), linalg.FillOp)
    return Product(dims, batch, m, n, k, (maps[0], maps[1]), *factors, vector, loaded, stored, passing, row)


def _epilogue(kernel: Kernel, contraction: LoopNestOp, target: Target) -> tuple[int, int]:
    """Bytes per element of the result that the vector unit works through, one operation after the other, without what
    the fixpipe does on the way; and those that the fixpipe leaves in UB."""
    free = {kernel.classes.class_of[contraction.key][d] for d in contraction.result}
    accumulator = cast("Tensor", cast("linalg.GenericOp", contraction.key).results[0].type).element_type
    total, arrived = 0, [ACCUMULATOR]
    for op, compute in kernel.computes.items():
        if compute.contraction:
            continue
        generic = cast("linalg.GenericOp", op)
        of = kernel.classes.class_of[op]
        spans = [{of[d] for e in map_ for d in e.dims()} for map_ in compute.maps]
        whole: set[SSAValue] = {a for a, s in zip(generic.body.block.args, spans, strict=False) if s >= free}
        passing: dict[SSAValue, _Passing] = {
            a: _Passing(Drained.start(accumulator), 0)
            for a, v in zip(generic.body.block.args, generic.inputs, strict=False)
            if v.owner is contraction.key
        }
        for inner in body_ops(generic):
            bytes_ = max(element_bytes(v.type) for v in (*inner.operands, *inner.results))
            before = passing.get(cast("SSAValue", passed(inner)))
            widens = isinstance(inner, SIGNED_WIDENING)
            after = before.state.then(inner) if before is not None and not widens else None
            if before is not None and after is not None:
                whole.add(inner.results[0])
                total += bytes_
                counted = before.counted + bytes_
                if after.is_possible(target):
                    total, counted = total - counted, 0
                    arrived.append(element_bytes(inner.results[0].type))
                passing[inner.results[0]] = _Passing(after, counted)
            elif any(v in whole for v in inner.operands) or any(compute.reduction):
                whole.add(inner.results[0])
                total += bytes_
    return total, min(arrived)


@dataclass(frozen=True)
class _Passing:
    """Accumulators on the way through the fixpipe, and the bytes that were counted since it could last stop."""

    state: Drained
    counted: int


def _traffic(kernel: Kernel, contraction: LoopNestOp) -> tuple[int, int]:
    """Bytes per element of the result that the rest of the kernel loads beside it, and that it stores."""
    free = {kernel.classes.class_of[contraction.key][d] for d in contraction.result}
    loaded = stored = 0
    for op, compute in kernel.computes.items():
        generic = cast("linalg.GenericOp", op)
        for value, map_ in zip(generic.inputs, compute.maps, strict=False):
            dims = {kernel.classes.class_of[op][d] for e in map_ for d in e.dims()}
            if compute is not contraction and isinstance(value.owner, tile.LoadOp) and dims >= free:
                loaded += element_bytes(cast("Tensor", value.type).element_type)
    for store in kernel.stores:
        stored += element_bytes(cast("Tensor", store.value.type).element_type)
    return loaded, stored
