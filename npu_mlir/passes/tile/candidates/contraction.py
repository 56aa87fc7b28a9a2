"""Candidates for a kernel with a contraction: the best tilings by the times of `analysis.tiling_search`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.structured.bodies import SIGNED_WIDENING, body_ops
from npu_mlir.analysis.structured.fixpipe import Drained, columns_of, passed, rows_of
from npu_mlir.analysis.structured.nest import factor_type, init_of
from npu_mlir.analysis.structured.roles import Contraction, contraction_roles
from npu_mlir.analysis.structured.slopes import least_slope
from npu_mlir.analysis.tiling import ACCUMULATOR, Dim, Product, fill_divisors
from npu_mlir.analysis.tiling_search import Tiling, tilings
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import cube_type, element_bits, element_bytes
from npu_mlir.passes.tile.candidates.candidate import ScheduleCandidate
from npu_mlir.passes.tile.kernel import Kernel, exact_classes
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, levels_of
from npu_mlir.passes.tile.operand_heat import Cold
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

TRIED_TILINGS = 24
"""Tilings of a contraction that are tried before giving up."""


def contraction_candidates(
    kernel: Kernel, compute: LoopNestOp, target: Target, cold: Cold | None = None
) -> Iterator[ScheduleCandidate]:
    """The best tilings, each with smaller and smaller pieces through UB. `cold` are the arguments that come from HBM on
    a machine with L2, all if it is None."""
    product = _product(kernel, compute, target)
    sources = [_argument(value) for value in cast("linalg.GenericOp", compute.key).inputs[:2]]
    a, b = (cold is None or source in cold for source in sources)
    swapped = cast("Contraction", contraction_roles(compute)).swapped
    found = _tilings(product, target, (b, a) if swapped else (a, b))
    for number, tiling in enumerate(found[:TRIED_TILINGS]):
        for piece, slots in _pieces(product, tiling, target):
            yield _candidate(kernel, number, tiling, piece, slots, target)


_found: dict[tuple[Product, tuple[bool, bool]], tuple[Target, list[Tiling]]] = {}
"""What was found for the last products: whether contractions become one kernel is asked before schedules are chosen."""

_REMEMBERED = 256


def _tilings(product: Product, target: Target, cold: tuple[bool, bool]) -> list[Tiling]:
    """The best tilings of a product; searched for once."""
    known = _found.get((product, cold))
    if known is None or known[0] != target:
        if len(_found) >= _REMEMBERED:
            _found.clear()
        known = _found[product, cold] = target, tilings(product, target, cold)
    return known[1]


def _argument(value: SSAValue) -> int | None:
    """The number of the kernel's argument that a load brings."""
    source = value.owner.source if isinstance(value.owner, tile.LoadOp) else None
    return source.index if isinstance(source, BlockArgument) else None


def _pieces(product: Product, tiling: Tiling, target: Target) -> Iterator[tuple[Sequence[int], int]]:
    """Pieces through UB and their slots: what is stored often takes the place of what arrived; where not, a smaller
    piece fits."""
    if target.split_cores:
        yield tiling.piece, 1
        return
    dims = [d for d in (*product.m, *product.n) if not product.dims[d].whole]
    elements = math.prod(tiling.piece[d] for d in dims)
    while elements:
        piece = list(tiling.piece)
        for d, size in zip(dims, fill_divisors([tiling.tile[d] for d in dims], elements), strict=True):
            piece[d] = size
        yield piece, 2
        elements = elements * 3 // 4
    yield [1 if d in dims else size for d, size in enumerate(tiling.piece)], 1


def _candidate(
    kernel: Kernel, number: int, tiling: Tiling, piece: Sequence[int], slots: int, target: Target
) -> ScheduleCandidate:
    rest = [c.extent for c in kernel.classes.classes[len(tiling.tile) :]]
    sizes = KernelSizes((*tiling.tile, *rest), (*tiling.inner, *rest), (*piece, *rest))
    a, b = tiling.l1_slots
    l1 = {"a": a, "b": b, "init": tiling.row_slots} if tiling.row_slots else a if a == b else {"a": a, "b": b}
    schedule = tile.ScheduleAttr.of(
        {"l1": l1, "l0a": 2, "l0b": 2, "l0c": tiling.l0c_slots, "ub": slots},
        levels_of(kernel, sizes),
        order=tiling.order,
        keep=tiling.keep,
        bypass_ub=target.split_cores,
    )
    return ScheduleCandidate(schedule, sizes, tiling.cycles, number)


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
        for map_ in (compute.maps[:2] if not roles.swapped else compute.maps[1::-1])
    ]
    element = factor_type(compute)
    batch, m, n, k = (tuple(of[d] for d in dims_) for dims_ in (roles.batch, roles.m, roles.n, roles.k))
    loaded, stored = loaded_beside(kernel, compute, kernel.computes), stored_bytes(kernel)
    factors = (cube_type(element), element_bits(element))
    vector, passing, by_rows = epilogue(kernel, compute, target, kernel.computes)
    row = not isinstance(init_of(cast("linalg.GenericOp", compute.key)), linalg.FillOp)
    operands = (maps[0], maps[1])
    return Product(dims, batch, m, n, k, operands, *factors, vector, loaded, stored, passing, row, by_rows)


def epilogue(
    kernel: Kernel, contraction: LoopNestOp, target: Target, computes: Mapping[Operation, LoopNestOp]
) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """Bytes per element of the result that the vector unit works through in operations behind a contraction, one after
    the other, each times the cycles of a step, without what the fixpipe does on the way; those that the fixpipe
    leaves in UB; and bytes and cycles of what reduces."""
    free = {kernel.classes.class_of[contraction.key][d] for d in contraction.result}
    accumulator = cast("Tensor", cast("linalg.GenericOp", contraction.key).results[0].type).element_type
    total, arrived = 0, [ACCUMULATOR]
    columns = columns_of(cast("linalg.GenericOp", contraction.key))
    by_rows: list[tuple[int, int]] = []
    for op, compute in computes.items():
        if compute.contraction:
            continue
        generic = cast("linalg.GenericOp", op)
        of = kernel.classes.class_of[op]
        spans = [{of[d] for e in map_ for d in e.dims()} for map_ in compute.maps]
        rows = rows_of(generic, cast("linalg.GenericOp", contraction.key).results[0], columns)
        whole: set[SSAValue] = {a for a, s in zip(generic.body.block.args, spans, strict=False) if s >= free}
        passing: dict[SSAValue, _Passing] = {
            a: _Passing(Drained.start(accumulator), 0)
            for a, v in zip(generic.body.block.args, generic.inputs, strict=False)
            if v.owner is contraction.key
        }
        for inner in body_ops(generic):
            bytes_ = max(element_bytes(v.type) for v in (*inner.operands, *inner.results))
            work = bytes_ * least_slope(inner, any(compute.reduction), target)
            before = passing.get(cast("SSAValue", passed(inner, rows)))
            widens = isinstance(inner, SIGNED_WIDENING)
            after = before.state.then(inner, rows) if before is not None and not widens else None
            if before is not None and after is not None:
                whole.add(inner.results[0])
                total += work
                counted = before.counted + work
                if after.is_possible(target):
                    total, counted = total - counted, 0
                    arrived.append(element_bytes(inner.results[0].type))
                passing[inner.results[0]] = _Passing(after, counted)
            elif any(v in whole for v in inner.operands) or any(compute.reduction):
                if any(compute.reduction):
                    by_rows.append((bytes_, work // bytes_))
                whole.add(inner.results[0])
                total += work
    return total, min(arrived), tuple(by_rows)


@dataclass(frozen=True)
class _Passing:
    """Accumulators on the way through the fixpipe, and the work that was counted since it could last stop."""

    state: Drained
    counted: int


def loaded_beside(kernel: Kernel, contraction: LoopNestOp, computes: Mapping[Operation, LoopNestOp]) -> int:
    """Bytes per element of a contraction's result that operations behind it load beside it."""
    free = {kernel.classes.class_of[contraction.key][d] for d in contraction.result}
    loaded = 0
    for op, compute in computes.items():
        generic = cast("linalg.GenericOp", op)
        for value, map_ in zip(generic.inputs, compute.maps, strict=False):
            dims = {kernel.classes.class_of[op][d] for e in map_ for d in e.dims()}
            if compute is not contraction and isinstance(value.owner, tile.LoadOp) and dims >= free:
                loaded += element_bytes(cast("Tensor", value.type).element_type)
    return loaded


def stored_bytes(kernel: Kernel) -> int:
    """Bytes per element of the results that a kernel stores, together."""
    return sum(element_bytes(cast("Tensor", store.value.type).element_type) for store in kernel.stores)
