"""Dimension classes: which loop dims of a group of operations are one and the same loop.

Two dims are in one class when a value is produced along one and consumed along the other. With m, n, k for the dims of
a matrix product whose result feeds a bias and a row sum:

    matmul  (m, n, k):  c[m, n] += a[m, k] * b[k, n]           m      n      k
    add     (p, q):     d[p, q] = c[p, q] + bias[q]       =>   p      q
    rowsum  (r, s):     e[r] += d[r, s]                        r      s
                                                             par   mixed   red

The kind of a class says how it can be looped over: *par*, parallel in every operation, is an outer loop; *red*, reduced
by the one operation that has it, is that operation's own loop; *mixed*, reduced by one and parallel in another, has
to be whole on chip.

Everything here is plain data, so that kernel formation can ask "what if" without touching IR.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from npu_mlir.analysis.affine_maps import Linear


class Kind(StrEnum):
    """How a dimension class can be looped over."""

    PAR = "par"
    RED = "red"
    MIXED = "mixed"


@dataclass(frozen=True)
class LoopNestOp:
    """An operation on a loop nest: `extents` and `reduction` per loop dim, a map per operand and for the result.

    `operands` are keys of the values read; the operation's own key is the value that it produces.
    """

    key: Hashable
    extents: tuple[int, ...]
    reduction: tuple[bool, ...]
    operands: tuple[Hashable, ...]
    maps: tuple[tuple[Linear, ...], ...]
    result: tuple[int, ...]
    """The loop dim that each dim of the result is."""
    contraction: bool = False
    """The cube unit computes it."""


@dataclass(frozen=True)
class DimClass:
    """A class of loop dims: its number, extent and kind."""

    id: int
    extent: int
    kind: Kind


@dataclass
class DimClasses:
    """The classes of a group and the class of every (operation, loop dim)."""

    classes: list[DimClass]
    of: dict[Hashable, tuple[int, ...]] = field(default_factory=dict[Hashable, tuple[int, ...]])


def dim_classes(group: Sequence[LoopNestOp]) -> DimClasses | None:
    """Unite the dims of the operations of a group, in topological order.

    None when the group cannot be one loop nest: an internal value is read through a map that is not plain dims, dims
    of different extents meet, or two dims of one operation fall into one class.
    """
    parent: dict[tuple[Hashable, int], tuple[Hashable, int]] = {}

    def find(x: tuple[Hashable, int]) -> tuple[Hashable, int]:
        root = x
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[x] != root:
            parent[x], x = root, parent[x]
        return root

    by_key = {op.key: op for op in group}
    for op in group:
        for operand, map_ in zip(op.operands, op.maps, strict=True):
            producer = by_key.get(operand)
            if producer is None:
                continue
            for produced, expr in zip(producer.result, map_, strict=True):
                consumed = expr.dim()
                if consumed is None:
                    return None
                parent[find((op.key, consumed))] = find((producer.key, produced))
    return _number(group, find)


def _number(group: Sequence[LoopNestOp], find: object) -> DimClasses | None:
    members: dict[object, list[tuple[LoopNestOp, int]]] = {}
    order: list[LoopNestOp] = sorted(group, key=lambda op: not op.contraction)
    for op in order:
        for dim in range(len(op.extents)):
            members.setdefault(find((op.key, dim)), []).append((op, dim))  # type: ignore[operator]
    result = DimClasses([])
    ids: dict[tuple[Hashable, int], int] = {}
    for number, dims in enumerate(members.values()):
        extents = {op.extents[d] for op, d in dims}
        if len(extents) != 1 or len({op.key for op, _ in dims}) != len(dims):
            return None
        result.classes.append(DimClass(number, extents.pop(), _kind(dims)))
        ids |= {(op.key, d): number for op, d in dims}
    for op in group:
        result.of[op.key] = tuple(ids[op.key, d] for d in range(len(op.extents)))
    return result


def _kind(dims: Iterable[tuple[LoopNestOp, int]]) -> Kind:
    dims = list(dims)
    reduced = [op.reduction[d] for op, d in dims]
    if not any(reduced):
        return Kind.PAR
    return Kind.RED if len(dims) == 1 else Kind.MIXED


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
    """Match `result[batch, m, n] += a[batch, m, k] * b[batch, k, n]`; any group but k may be empty.

    Either operand may be read through windows (a convolution). None when the maps are not those of a contraction: a
    reduction dim that only one operand has, or a parallel dim that both have without private ones (depthwise).
    """
    a, b = ({d for expr in map_ for d in expr.dims()} for map_ in op.maps[:2])
    reduced = {d for d, red in enumerate(op.reduction) if red}
    parallel = [d for d in op.result if d not in reduced]
    if not reduced or not reduced <= a & b or sorted([*parallel, *reduced]) != [*range(len(op.extents))]:
        return None
    batch = [d for d in parallel if d in a and d in b]
    # A dim that neither operand has (of extent one, mostly) counts as a row.
    rows, columns = [d for d in parallel if d not in b], [d for d in parallel if d in b and d not in a]
    if not (rows or columns) or (batch and not (rows and columns)):
        return None
    swapped = _first(rows, parallel, op.extents) > _first(columns, parallel, op.extents)
    if swapped:
        rows, columns = columns, rows
    return Contraction(tuple(batch), tuple(rows), tuple(columns), tuple(sorted(reduced)), swapped)


def _first(dims: Sequence[int], result: Sequence[int], extents: Sequence[int]) -> int:
    """Position in the result of the first of `dims` that is not of extent one, -1 when there is none."""
    return next((result.index(d) for d in dims if extents[d] > 1), -1)
