"""Which joined tensors are put together in place: their homes in GM, and what of others lies in them.

    a = join(x, y)          home of c: x y z w        its pieces are written there by what makes them
    b = join(a, z)          a, b: the first two and three pieces of it
    c = join(b, w)

A piece lies in one place only. Where it is a piece of another tensor as well that isn't a part of the first, or twice
of one, it is copied there, which has to pay: joining as a sum of padded pieces takes the vector unit through the whole
tensor once for each piece, but no launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from npu_mlir.dialects import tile
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

MOST_PIECES = 256
"""Pieces up to which a tensor whose pieces are joined themselves is seen as one of all of theirs."""


@dataclass(frozen=True)
class Join:
    """A tensor, by its key, that consists of others along an axis, in order."""

    key: Hashable
    axis: int
    pieces: tuple[Hashable, ...]


@dataclass
class Home:
    """A tensor that is put together in place, and the joined tensors that are runs of its pieces, itself included: the
    first piece and how many there are, by their keys."""

    join: Join
    parts: dict[Hashable, tuple[int, int]] = field(default_factory=dict[Hashable, tuple[int, int]])


def homes(joins: Sequence[Join], accept: Callable[[Join], bool]) -> list[Home]:
    """The homes of joined tensors (in topological order). Those with the most pieces are asked for first, by `accept`;
    what it refuses is joined otherwise."""
    flat: dict[Hashable, Join] = {}
    for join in joins:
        pieces: list[Hashable] = []
        for piece in join.pieces:
            inner = flat.get(piece)
            pieces += inner.pieces if inner is not None and inner.axis == join.axis else [piece]
        flat[join.key] = Join(join.key, join.axis, tuple(pieces)) if len(pieces) <= MOST_PIECES else join
    found: list[Home] = []
    places: dict[tuple[int, Hashable], tuple[Home, int]] = {}
    for join in sorted(flat.values(), key=lambda j: -len(j.pieces)):
        known = places.get((join.axis, join.pieces[0]))
        if known is not None:
            home, first = known
            if home.join.pieces[first : first + len(join.pieces)] == join.pieces:
                home.parts[join.key] = (first, len(join.pieces))
                continue
        if accept(join):
            home = Home(join, {join.key: (0, len(join.pieces))})
            found.append(home)
            for number, piece in enumerate(join.pieces):
                places.setdefault((join.axis, piece), (home, number))
    return found


@dataclass(frozen=True)
class Piece:
    """A piece of a joined tensor: its bytes, those that lie together, and whether it has to be copied."""

    bytes: int
    run: int
    copied: bool


def pays(pieces: Sequence[Piece], row: int, target: Target) -> bool:
    """Whether it pays to put pieces together in place; a row of the joined tensor has `row` bytes, which in UB are
    padded, as runs are in transfers.

    >>> from npu_mlir.targets.target import get_target
    >>> target = get_target("ascend-910")
    >>> pays([Piece(200_000, 64, False), Piece(100_000, 32, False)], 96, target)
    True
    >>> pays([Piece(64, 64, True), Piece(64, 64, False)], 128, target)
    False
    >>> pays([Piece(20_000, 2, False)] * 2, 4, target)
    False
    """
    total = sum(piece.bytes for piece in pieces)
    slope = target.vector.get("add", target.vector["default"])[1]
    padded = total // row * round_up(row, tile.ROW_ALIGNMENT)
    summed = max(
        (len(pieces) - 1) * slope * math.ceil(padded / target.vector_bytes), total / target.rates["ub_gm"]
    )
    slowest = min(target.rates["gm_ub"], target.rates["ub_gm"])
    placed = 0.0
    for piece in pieces:
        gaps = piece.bytes // piece.run * (round_up(piece.run, tile.ROW_ALIGNMENT) - piece.run)
        placed += gaps / target.rates["ub_gm"]
        placed += target.latencies["launch"] + piece.bytes / slowest if piece.copied else 0
    return placed < summed
