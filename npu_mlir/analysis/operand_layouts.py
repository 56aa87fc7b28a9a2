"""What the order of the dims of its operands costs a contraction, on plain data.

The cube multiplies what L1 -> L0 brings, in blocks of 32 bytes: a run of neighbours along the rows of a matrix, or
along its columns, is moved as it is; where neighbours don't follow each other in either, each element takes a block. So
a matrix may as well lie transposed, and an image with its channels first or last, but a window that moves by two reads
single columns.

    estimate = max(steps of the cube, bytes of L1 -> L0 / rate, bytes of GM -> L1 / rate)

in cycles, for the whole contraction. It ranks two layouts of an operand; it is no bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects.tile import storage_bytes
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

BLOCK = 32
"""Bytes that a memory of the core moves at once."""

SIDE = 256
"""Rows or columns of the result that one tile of an operand is multiplied for: accumulators of f32 fill L0C at about
as many."""

Map = Sequence[Linear]


def contiguous_run(map_: Map, extents: Sequence[int], loops: Sequence[int]) -> int:
    """How many elements that lie side by side an operand's `loops`, outermost first, walk through without a jump.

    >>> nchw = [Linear((0, 0, 1), 0), Linear((1, 0, 0), 0), Linear((0, 1, 0), 0)]  # (c, h, w) of loops (h, w, c)
    >>> contiguous_run(nchw, (6, 8, 4), (0, 1)), contiguous_run(nchw, (6, 8, 4), (1, 2))
    (48, 1)
    """
    steps = [0] * len(extents)
    pitch = 1
    for expr in reversed(map_):
        for d in expr.dims():
            steps[d] += abs(expr.coefficients[d]) * pitch
        pitch *= coordinates(expr, extents)
    run = 1
    for d in reversed([d for d in loops if extents[d] != 1]):
        if steps[d] != run:
            break
        run *= extents[d]
    return run


def coordinates(expr: Linear, extents: Sequence[int]) -> int:
    """How many coordinates of a dim an expression spans."""
    return 1 + sum(abs(c) * (n - 1) for c, n in zip(expr.coefficients, extents, strict=True) if c)


def l0_bytes(
    map_: Map, extents: Sequence[int], rows: Sequence[int], columns: Sequence[int], bits: int
) -> int:
    """Bytes that bringing the whole matrix of an operand to L0 once moves, in blocks."""
    run = max(contiguous_run(map_, extents, loops) for loops in (rows, columns))
    count = math.prod(extents[d] for d in (*rows, *columns))
    return -(-count // run) * round_up(storage_bytes(run, bits), BLOCK)


def gm_bytes(map_: Map, extents: Sequence[int], bits: int) -> int:
    """Bytes that bringing the box of an operand to L1 moves, in blocks."""
    box = [coordinates(expr, extents) for expr in map_] or [1]
    return math.prod(box[:-1]) * round_up(storage_bytes(box[-1], bits), BLOCK)


def summed_in_order(map_: Map, reduced: Sequence[int]) -> tuple[int, ...]:
    """The summed loops in the order in which an operand has them in memory, outermost first.

    >>> summed_in_order([Linear((0, 0, 0, 1), 0), Linear((1, 0, 1, 0), 0), Linear((0, 1, 0, 0), 0)], (1, 2, 3))
    (3, 2, 1)
    """
    found = [d for expr in map_ for d in expr.dims() if d in reduced]
    return (*(d for d in reduced if d not in found), *dict.fromkeys(found))


def estimate(
    op: LoopNestOp, maps: Sequence[Map], summed: Sequence[int], element: str, bits: int, target: Target
) -> float:
    """Cycles of a contraction of `element` whose two operands are read by these maps, and whose `summed` loops are
    nested in this order; see the head of the module."""
    roles = contraction_roles(op)
    assert roles is not None and sorted(roles.k) == sorted(summed)
    roles = replace(roles, k=tuple(summed))
    extents = op.extents
    batch, m, n, k = (
        math.prod(extents[d] for d in dims) for dims in (roles.batch, roles.m, roles.n, roles.k)
    )
    step, cycles = target.cube.tile(element), target.cube_steps[element][1]
    cube = batch * -(-m // step.m) * -(-n // step.n) * -(-k // step.k) * cycles
    first, second = (maps[1], maps[0]) if roles.swapped else (maps[0], maps[1])
    left = l0_bytes(first, extents, roles.m, roles.k, bits) * -(-n // SIDE) / target.rates["l1_l0a"]
    right = l0_bytes(second, extents, roles.k, roles.n, bits) * -(-m // SIDE) / target.rates["l1_l0b"]
    gm = sum(gm_bytes(map_, extents, bits) for map_ in maps) / target.rates["gm_l1"]
    return max(cube, batch * (left + right), gm)


def reordering(elements: int, size: int, keeps_rows: bool, target: Target) -> float:
    """Cycles of the vector unit that writes elements of `size` bytes in another order, rows as they are or not, more
    than if the order stayed."""
    _, slope, _ = target.vector["default"]
    return 0.0 if keeps_rows else elements * (BLOCK - size) * slope / target.vector_bytes


def copying(elements: int, size: int, target: Target) -> float:
    """Cycles of a kernel that does nothing but write elements of `size` bytes to another place."""
    return target.latencies["launch"] + 2 * target.latencies["gm"] + elements * size / target.rates["ub_gm"]
