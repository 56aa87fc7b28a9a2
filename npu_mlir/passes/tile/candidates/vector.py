"""Candidates for a kernel of the vector unit: smaller and smaller tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import count
from typing import cast

from xdsl.dialects.linalg import ops as linalg

from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.vector_tiling import VectorLoops, shrink
from npu_mlir.dialects import tile
from npu_mlir.passes.tile.candidates.candidate import ScheduleCandidate
from npu_mlir.passes.tile.kernel import Kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes
from npu_mlir.targets.target import Target

MIN_TILES = 4
"""Tiles that a vector kernel is cut into at least, so that loads, computation and stores overlap."""

MIN_ELEMENTS = 2048
"""Elements below which a tile is not cut for the sake of overlap."""


def vector_candidates(kernel: Kernel, target: Target) -> Iterator[ScheduleCandidate]:
    """Schedules with smaller and smaller tiles, the smallest at last in one slot."""
    extents = {c.id: c.extent for c in kernel.classes.classes}
    nests = [_nest(kernel, compute) for compute in kernel.computes.values()]
    order = _loop_order(kernel)
    total = max(math.prod(extents[c] for c in nest.classes) for nest in nests)
    budget = max(MIN_ELEMENTS, total // MIN_TILES)
    for number in count():
        sizes = shrink(nests, extents, budget, target.vector_bytes // 4)
        tiles = tuple(sizes[c] for c in range(len(extents)))
        looped = [c for c in order if sizes[c] < extents[c]]
        for slots in (2,) if budget > 1 else (2, 1):
            schedule = tile.ScheduleAttr.of({"ub": slots}, {"ub": tiles}, order=looped)
            yield ScheduleCandidate(schedule, KernelSizes(tiles, tiles, tiles), tiling=number)
        if budget == 1:
            return
        budget = budget * 2 // 3


def _nest(kernel: Kernel, compute: LoopNestOp) -> VectorLoops:
    of = kernel.classes.class_of[compute.key]
    kinds = [kernel.classes.classes[c].kind for c in of]
    row = of[compute.result[-1]] if compute.result else None
    return VectorLoops(
        of,
        tuple(c for c, kind in zip(of, kinds, strict=True) if kind is DimKind.PAR),
        tuple(c for c, kind in zip(of, kinds, strict=True) if kind is DimKind.RED),
        row if row is not None and kernel.classes.classes[row].kind is DimKind.PAR else None,
        frozenset(_operand_rows(compute, of)),
    )


def _operand_rows(compute: LoopNestOp, of: Sequence[int]) -> Iterator[int]:
    """The classes along which rows of operands lie that are as large as the loops, in whatever order."""
    loops = {d for d, extent in enumerate(compute.extents) if extent > 1}
    for map_ in compute.maps:
        dims = [d for expr in map_ for d in expr.dims() if expr.dim() == d and d in loops]
        if len(dims) == len(loops) > 1:
            yield of[dims[-1]]


def _loop_order(kernel: Kernel) -> list[int]:
    """The parallel classes, those that most operations share outermost, so that what depends on few stays; otherwise
    in the order of the stored results' dims."""
    order: dict[int, None] = {}
    for store in kernel.stores:
        compute = kernel.computes[cast("linalg.GenericOp", store.value.owner)]
        order |= dict.fromkeys(kernel.classes.class_of[compute.key][d] for d in compute.result)
    order |= dict.fromkeys(c.id for c in kernel.classes.classes)
    shared = {c: sum(c in of for of in kernel.classes.class_of.values()) for c in order}
    parallel = [c for c in order if kernel.classes.classes[c].kind is DimKind.PAR]
    return sorted(parallel, key=lambda c: -shared[c])
