"""Reshapes that only add or drop dims of size 1."""

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
