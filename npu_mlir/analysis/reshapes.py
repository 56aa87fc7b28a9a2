"""Reshapes by the groups of dims that they join and split, and those that only add or drop dims of size 1."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor

Reshape = tensor.CollapseShapeOp | tensor.ExpandShapeOp


def reassociation_groups(op: Reshape) -> list[list[int]]:
    """For each dim of the narrow side, the dims of the wide side that it stands for."""
    return [[dim.value.data for dim in group.data] for group in op.reassociation.data]


def kept_dims(wide: Sequence[int], groups: Sequence[Sequence[int]]) -> list[int] | None:
    """The dim of the wide shape that each group stands for, None when a group has two larger than 1.

    >>> kept_dims((4, 1, 8), [[0, 1], [2]])
    [0, 2]
    """
    kept: list[int] = []
    for group in groups:
        large = [d for d in group if wide[d] != 1]
        if len(large) > 1:
            return None
        kept.append(large[0] if large else group[0])
    return kept


def reshape_groups(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Source and target dims in the finest groups of equal extent; `collapse` the first, `expand` into the second.
    Unit dims join a neighbouring group, and a tensor of rank 0 has no groups.

    >>> reshape_groups((2, 3, 4), (6, 2, 2))
    [([0, 1], [0]), ([2], [1, 2])]
    """
    groups: list[tuple[list[int], list[int]]] = []
    s = t = 0
    while s < len(source) and t < len(target):
        left, right, a, b = [s], [t], source[s], target[t]
        while a != b:
            if a < b or b == 0:
                s += 1
                left.append(s)
                a *= source[s]
            else:
                t += 1
                right.append(t)
                b *= target[t]
        groups.append((left, right))
        s, t = s + 1, t + 1
    if groups:
        groups[-1][0].extend(range(s, len(source)))
        groups[-1][1].extend(range(t, len(target)))
    return groups
