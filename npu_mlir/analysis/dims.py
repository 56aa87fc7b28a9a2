"""Dimension classes: which loop dims of a group of operations are one and the same loop.

Two dims are in one class when a value is produced along one and consumed along the other. With m, n, k for the dims of
a matrix product whose result feeds a bias and a row sum:

    matmul  (m, n, k):  c[m, n] += a[m, k] * b[k, n]           m      n      k
    add     (p, q):     d[p, q] = c[p, q] + bias[q]       =>   p      q
    rowsum  (r, s):     e[r] += d[r, s]                        r      s
                                                             par   mixed   red

The kind of a class says how it can be looped over: *par*, parallel in every operation, is an outer loop; *red*, reduced
by the one operation that has it, is that operation's own loop; *link*, made by a contraction, parallel in what is
between, and summed by another contraction, is a loop of each of the two; *mixed*, reduced by one and parallel in
another in any other way, has to be whole on chip.

Everything here is plain data, so that kernel formation can ask "what if" without touching IR.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from xdsl.utils.disjoint_set import DisjointSet

from npu_mlir.analysis.affine_maps import Linear

Loop: TypeAlias = tuple[Hashable, int]
"""A loop dim of an operation: (the operation's key, its number)."""


class DimKind(StrEnum):
    """How a dimension class can be looped over."""

    PAR = "par"
    RED = "red"
    LINK = "link"
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
    kind: DimKind


@dataclass
class DimClasses:
    """The classes of a group and the class of every (operation, loop dim)."""

    classes: list[DimClass]
    class_of: dict[Hashable, tuple[int, ...]] = field(default_factory=dict[Hashable, tuple[int, ...]])


def dim_classes(group: Sequence[LoopNestOp]) -> DimClasses | None:
    """Unite the dims of the operations of a group, in topological order; None when it cannot be one loop nest."""
    classes = unite_dims(group)
    return None if isinstance(classes, str) else classes


def unite_dims(group: Sequence[LoopNestOp]) -> DimClasses | str:
    """Unite the dims of the operations of a group, in topological order, or the reason why it cannot be one loop nest:
    an internal value is read through a map that is not plain dims, dims of different extents meet, or two dims of one
    operation fall into one class."""
    loops = DisjointSet([(op.key, dim) for op in group for dim in range(len(op.extents))])
    by_key = {op.key: op for op in group}
    for op in group:
        for operand, map_ in zip(op.operands, op.maps, strict=True):
            producer = by_key.get(operand)
            if producer is None:
                continue
            for produced, expr in zip(producer.result, map_, strict=True):
                consumed = expr.dim()
                if consumed is None:
                    return "one reads what another makes in windows, strided, or at a fixed place"
                loops.union_left((producer.key, produced), (op.key, consumed))
    return _number(group, loops)


def _number(group: Sequence[LoopNestOp], loops: DisjointSet[Loop]) -> DimClasses | str:
    members: dict[Loop, list[tuple[LoopNestOp, int]]] = {}
    order: list[LoopNestOp] = sorted(group, key=lambda op: not op.contraction)
    for op in order:
        for dim in range(len(op.extents)):
            members.setdefault(loops.find((op.key, dim)), []).append((op, dim))
    result = DimClasses([])
    ids: dict[tuple[Hashable, int], int] = {}
    for number, dims in enumerate(members.values()):
        extents = {op.extents[d] for op, d in dims}
        if len(extents) != 1:
            return f"a loop of {min(extents)} and one of {max(extents)} would have to be one"
        if len({op.key for op, _ in dims}) != len(dims):
            return "two loops of one operation would have to be one"
        result.classes.append(DimClass(number, extents.pop(), _kind(dims)))
        ids |= {(op.key, d): number for op, d in dims}
    for op in group:
        result.class_of[op.key] = tuple(ids[op.key, d] for d in range(len(op.extents)))
    return result


def _kind(dims: Iterable[tuple[LoopNestOp, int]]) -> DimKind:
    dims = list(dims)
    reduced = [op.reduction[d] for op, d in dims]
    if not any(reduced):
        return DimKind.PAR
    if len(dims) == 1:
        return DimKind.RED
    summing = [op for (op, _), is_reduced in zip(dims, reduced, strict=True) if is_reduced]
    making = [op for (op, _), is_reduced in zip(dims, reduced, strict=True) if not is_reduced]
    linked = all(op.contraction for op in summing) and any(op.contraction for op in making)
    return DimKind.LINK if linked else DimKind.MIXED
