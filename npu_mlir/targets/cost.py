"""How long a piece of work takes on a target.

Choices of the model: the fixed part of a transfer occupies its pipe, the latency of GM does not; the head of a vector
instruction fills the pipe, and is hidden while the pipe still executes what came before. On a machine with an L2 cache
a load takes one of two times, as a hit or as a miss; a store goes to L2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from npu_mlir.dialects.npu_isa import CubeWork, MoveWork, ScalarReadWork, VectorWork, Work
from npu_mlir.dialects.npu_isa.base import BLOCK
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.target import Target


class Cost(NamedTuple):
    """Cycles of one instruction."""

    occupancy: int
    """How long it keeps its pipe busy."""
    latency: int
    """How long after that it is complete."""
    head: int = 0
    """How long it takes to start on an empty pipe."""


CostFunction = Callable[[Any, Target], Cost]
_costs: dict[type, CostFunction] = {}


def cost(work_type: type) -> Callable[[CostFunction], CostFunction]:
    """Register the decorated function `(work, target) -> Cost` for a kind of work; kinds derived from it cost the same
    unless they have a function of their own."""

    def register(function: CostFunction) -> CostFunction:
        _costs[work_type] = function
        return function

    return register


def cost_of(work: Work, target: Target) -> Cost:
    """The cost of a piece of work on one core of the target, with GM as one flat memory."""
    return _function(work)(work, target)


def l2_cost(work: Work, target: Target, hit: bool) -> Cost:
    """The cost of a piece of work on one core of a target with L2: of a load, if what it reads is there or not.

    A hit never takes longer than a miss, whatever the numbers of the target are.
    """
    function = _function(work)
    cost = function(work, target)
    if function is not _move or not isinstance(work, MoveWork) or "gm" not in work.path:
        return cost
    latency = min(cost.latency, int(target.l2["latency"]))
    if not work.path.startswith("gm_"):
        return Cost(cost.occupancy, latency)
    if not hit:
        return cost
    rate = max(target.rates[work.path], target.l2["rate"])
    return Cost(target.latencies["dma"] + math.ceil(work.bytes / rate), latency)


def _function(work: Work) -> CostFunction:
    for kind in type(work).__mro__:
        if kind in _costs:
            return _costs[kind]
    raise UserError(f"no cost is known for {type(work).__name__}: @cost({type(work).__name__}) gives it one")


@cost(VectorWork)
def _vector(work: VectorWork, target: Target) -> Cost:
    head, slope, tail = target.vector.get(work.kind, target.vector["default"])
    return Cost(slope * vector_repeats(work, target), tail, head)


@cost(CubeWork)
def _cube(work: CubeWork, target: Target) -> Cost:
    return Cost(target.latencies["mmad"] + cube_cycles(work, target), 0)


@cost(MoveWork)
def _move(work: MoveWork, target: Target) -> Cost:
    through_gm = "gm" in work.path
    fixed = target.latencies["dma" if through_gm else "l0_load"]
    cycles = math.ceil(work.bytes / target.rates[work.path])
    return Cost(fixed + cycles, target.latencies["gm"] if through_gm else 0)


@cost(ScalarReadWork)
def _scalar_read(work: ScalarReadWork, target: Target) -> Cost:
    return Cost(target.latencies["scalar_read"], 0)


def cube_steps(work: CubeWork, target: Target) -> int:
    """Steps of the cube, each a product of its full size, that cover the work."""
    m, k, n = target.cube.tile(work.element)
    return -(-work.m // m) * -(-work.k // k) * -(-work.n // n)


def cube_cycles(work: CubeWork, target: Target) -> int:
    """Cycles that the steps of the cube take."""
    return cube_steps(work, target) * target.cube_steps[work.element][1]


def padded_macs(work: CubeWork, target: Target) -> int:
    """Multiply-adds that the cube performs, padding included."""
    return cube_steps(work, target) * math.prod(target.cube.tile(work.element))


def vector_repeats(work: VectorWork, target: Target) -> int:
    """Groups of the vector unit's width that cover the work, each within one row, or of blocks one stride apart."""
    blocks = target.vector_bytes // BLOCK
    along = [rows * -(-count // blocks) for rows, count in work.strided if blocks]
    return min([work.rows * -(-work.row_bytes // target.vector_bytes), *along])
