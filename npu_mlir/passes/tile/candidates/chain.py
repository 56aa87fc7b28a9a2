"""Candidates for a kernel with two contractions, the second of which reads what the first has become: the best tilings
by the formula of `analysis.chain_tiling`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation

from npu_mlir.analysis.chain_tiling import Chain, ChainTiling, chain_tilings, maps_over
from npu_mlir.analysis.dims import DimKind, LoopNestOp
from npu_mlir.analysis.structured.nest import factor_type
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.analysis.tiling import Dim, Product, fill_divisors
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import cube_type, element_bits, element_bytes
from npu_mlir.passes.tile.candidates.candidate import ScheduleCandidate
from npu_mlir.passes.tile.candidates.contraction import epilogue, loaded_beside, stored_bytes
from npu_mlir.passes.tile.kernel import Kernel, contractions_behind, exact_classes, linked_classes
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, Link, levels_of, ops_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

INIT_SLOTS = 3
"""Slots of the rows that accumulators start from: their load comes before those of the operands of a tile."""

TRIED_TILINGS = 4
"""Tilings of a chain that are tried before giving up."""


def chain_candidates(kernel: Kernel, target: Target) -> Iterator[ScheduleCandidate]:
    """The best tilings by the formula, each with smaller and smaller pieces through UB; none if no chain is made of the
    contractions, or nothing fits."""
    chain = chain_of(kernel, target)
    if chain is None:
        return
    for number, tiling in enumerate(chain_tilings(chain, target)[:TRIED_TILINGS]):
        products = chain.first, chain.second
        wholes = [math.prod(tiling.tile[d] for d in (*p.m, *p.n)) for p in products]
        budgets = [
            min(whole, target.ub // (2 * (p.passing + p.loaded)))
            for p, whole in zip(products, wholes, strict=True)
        ]
        while any(budgets):
            yield _candidate(kernel, chain, number, tiling, budgets, 2)
            budgets = [b * 2 // 3 for b in budgets]
        yield _candidate(kernel, chain, number, tiling, [1, 1], 1)


def chain_of(kernel: Kernel, target: Target) -> Chain | None:
    """The two contractions of a kernel as data, over the numbers of its classes; None if they are no chain."""
    if len(kernel.contractions) != 2:
        return None
    first, second = kernel.contractions
    made = [
        i
        for i, key in enumerate(second.operands[:2])
        if (producer := kernel.computes.get(cast("Operation", key))) is not None
        and contractions_behind(kernel, producer) == [first]
    ]
    if len(made) != 1:
        return None
    between, behind = dict[Operation, LoopNestOp](), dict[Operation, LoopNestOp]()
    for op, compute in kernel.computes.items():
        sources = contractions_behind(kernel, compute)
        if sources == [first]:
            between[op] = compute
        elif sources == [second]:
            behind[op] = compute
    link = cast("Tensor", cast("linalg.GenericOp", second.key).inputs[made[0]].type)
    products = (
        _product(kernel, first, between, element_bytes(link.element_type), target),
        _product(kernel, second, behind, stored_bytes(kernel), target),
    )
    roles = contraction_roles(second)
    assert roles is not None
    return Chain(*products, tuple(linked_classes(kernel, second)), int(made[0] != roles.swapped))


def _product(
    kernel: Kernel,
    compute: LoopNestOp,
    computes: Mapping[Operation, LoopNestOp],
    stored: int,
    target: Target,
) -> Product:
    """One of the contractions, its dims numbered by class, with the operations behind it."""
    roles = contraction_roles(compute)
    assert roles is not None
    of, classes = kernel.classes.class_of[compute.key], kernel.classes.classes
    exact = exact_classes(kernel, compute)
    dims = tuple(Dim(c.extent, c.kind is DimKind.MIXED, c.id in exact) for c in classes)
    # That of the rows first.
    maps = maps_over(compute.maps[1::-1] if roles.swapped else compute.maps[:2], of, len(classes))
    element = factor_type(compute)
    batch, m, n, k = (tuple(of[d] for d in dims_) for dims_ in (roles.batch, roles.m, roles.n, roles.k))
    factors = (cube_type(element), element_bits(element))
    vector, passing, _ = epilogue(kernel, compute, target, computes)
    loaded = loaded_beside(kernel, compute, computes)
    return Product(dims, batch, m, n, k, (maps[0], maps[1]), *factors, vector, loaded, stored, passing)


def _candidate(
    kernel: Kernel,
    chain: Chain,
    number: int,
    tiling: ChainTiling,
    budgets: Sequence[int],
    ub_slots: int,
) -> ScheduleCandidate:
    classes = kernel.classes.classes
    whole = {c.id for c in classes if c.kind is DimKind.MIXED}
    named = {d for p in (chain.first, chain.second) for d in (*p.batch, *p.m, *p.n, *p.k)}
    tiles = [tiling.tile[c.id] if c.id in named else c.extent for c in classes]
    inner = [tiling.inner[c.id] if c.id in named else c.extent for c in classes]
    pieces = list(tiles)
    for product, budget in zip((chain.first, chain.second), budgets, strict=True):
        dims = (*product.m, *product.n)
        room = max(1, budget // math.prod(tiles[d] for d in dims if d in whole))
        # What both have is cut as the one needs it that has less room.
        free = [d for d in dims if d not in whole]
        for d, size in zip(free, fill_divisors([pieces[d] for d in free], room), strict=True):
            pieces[d] = size
    link = Link(tiling.chunks, tiling.per_tile)
    key = kernel.contractions[1].key
    sizes = KernelSizes(tuple(tiles), tuple(inner), tuple(pieces), {key: link})
    slots = {
        "l1": {"a": 2, "b": 2, "init": INIT_SLOTS, "link": tiling.link_slots},
        "l0a": 2,
        "l0b": 2,
        "l0c": tiling.l0c_slots,
        "ub": ub_slots,
    }
    schedule = tile.ScheduleAttr.of(
        slots, levels_of(kernel, sizes), order=tiling.order, keep=tiling.keep, ops=ops_of(kernel, sizes)
    )
    return ScheduleCandidate(schedule, sizes, tiling.cycles, number)
