"""The roles of a contraction's loops, on plain data.

    c[b, i, j] += x[b, i, k] * y[b, k, j]          batch (b), m (i), n (j), k (k)

A loop is batch if both operands have it, m if the first alone has it, n if the second alone has it, and k if it is
summed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from npu_mlir.analysis.dims import LoopNestOp


@dataclass(frozen=True)
class LoopRoles:
    """The loops of a contraction by role, each in loop order."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    def exchanged(self) -> LoopRoles:
        """The roles with the operands the other way round."""
        return LoopRoles(self.batch, self.n, self.m, self.k)


def loop_roles(
    a: Collection[int], b: Collection[int], reduced: Collection[int], num_loops: int
) -> LoopRoles | None:
    """The roles of the loops 0 to `num_loops`, by which of them the two operands depend on and which are summed.

    None when a loop is summed that only one operand has, or none. A parallel loop of neither operand counts as m.

    >>> loop_roles({0, 2}, {2, 1}, {2}, 3)
    LoopRoles(batch=(), m=(0,), n=(1,), k=(2,))
    """
    if any(d not in a or d not in b for d in reduced):
        return None
    parallel = [d for d in range(num_loops) if d not in reduced]
    return LoopRoles(
        tuple(d for d in parallel if d in a and d in b),
        tuple(d for d in parallel if d not in b),
        tuple(d for d in parallel if d in b and d not in a),
        tuple(d for d in range(num_loops) if d in reduced),
    )


@dataclass(frozen=True)
class Contraction:
    """The roles of a contraction's loop dims. `swapped` exchanges its operands, so that the rows of the result come
    before its columns."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    swapped: bool


def contraction_roles(op: LoopNestOp) -> Contraction | None:
    """Match `result[batch, m, n] += a[batch, m, k] * b[batch, k, n]`; any group but k may be empty. Batch, m and n come
    in the order of the result.

    Either operand may be read through windows (a convolution). None when the maps are not those of a contraction: a
    reduction dim that only one operand has, or a parallel dim that both have without private ones (depthwise).
    """
    a, b = ({d for expr in map_ for d in expr.dims()} for map_ in op.maps[:2])
    reduced = {d for d, red in enumerate(op.reduction) if red}
    parallel = [d for d in op.result if d not in reduced]
    roles = loop_roles(a, b, reduced, len(op.extents))
    if roles is None or not reduced or sorted([*parallel, *reduced]) != [*range(len(op.extents))]:
        return None
    batch, rows, columns = (sorted(dims, key=parallel.index) for dims in (roles.batch, roles.m, roles.n))
    if not (rows or columns) or (batch and not (rows and columns)):
        return None
    swapped = _first(rows, parallel, op.extents) > _first(columns, parallel, op.extents)
    if swapped:
        rows, columns = columns, rows
    return Contraction(tuple(batch), tuple(rows), tuple(columns), roles.k, swapped)


def _first(dims: Sequence[int], result: Sequence[int], extents: Sequence[int]) -> int:
    """Position in the result of the first of `dims` that is not of extent one, -1 when there is none."""
    return next((result.index(d) for d in dims if extents[d] > 1), -1)
