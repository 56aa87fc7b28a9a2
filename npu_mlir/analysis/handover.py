"""When is what the next section begins with stored? The last iteration of a store that meets it.

    for n in 0..2:                     the next section begins with rows 0 to 3
      for m in 0..8:
        store rows 4 m .. 4 m + 3, columns 64 n .. 64 n + 63

The last iteration that meets rows 0 to 3 is n = 1, m = 0: from then on they may be loaded, while the other rows are
still being computed.

A box may be given in another shape of the same elements; then it is taken for all elements from its first to its last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class LoadBox:
    """The elements of an array of this shape from position `first` to `last` along each dim, both included."""

    shape: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @property
    def end(self) -> int:
        """The position of the last element in row-major order."""
        return _position(self.last, self.shape)


@dataclass(frozen=True)
class StoreBoxes:
    """Where a store begins in an array of this shape: at `start` in the first iterations, and further by `steps` (per
    loop, along each dim) in the next of each loop; the outermost loop comes first. `trips` are their iterations."""

    shape: tuple[int, ...]
    start: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    trips: tuple[int, ...]


def last_iteration(store: StoreBoxes, box: LoadBox) -> tuple[int, ...] | None:
    """The number of the last iteration of each loop in which a store can meet a box, in the order of execution; the
    first if it can in none. None if that is not known, because loops don't go forward.

    >>> rows = StoreBoxes((32, 128), (0, 0), ((0, 64), (4, 0)), (2, 8))
    >>> last_iteration(rows, LoadBox((32, 128), (0, 0), (3, 127)))
    (1, 0)
    """
    if any(step < 0 for steps in store.steps for step in steps):
        return None
    # Each limit says that a sum of starts is at most so large: what meets the box fulfils all of them.
    pitch = [prod(store.shape[d + 1 :]) for d in range(len(store.shape))]
    limits: list[tuple[Sequence[int], int]] = []
    first = sum(s * p for s, p in zip(store.start, pitch, strict=True))
    moves = [sum(s * p for s, p in zip(steps, pitch, strict=True)) for steps in store.steps]
    limits.append((moves, box.end - first))
    if box.shape == store.shape:
        for d, (start, last) in enumerate(zip(store.start, box.last, strict=True)):
            limits.append(([steps[d] for steps in store.steps], last - start))
    room = [limit for _, limit in limits]
    if min(room) < 0:
        return (0,) * len(store.trips)
    found: list[int] = []
    for loop, trips in enumerate(store.trips):
        most = trips - 1
        for (moves, _), left in zip(limits, room, strict=True):
            if moves[loop]:
                most = min(most, left // moves[loop])
        found.append(most)
        room = [left - most * moves[loop] for (moves, _), left in zip(limits, room, strict=True)]
    return tuple(found)


def _position(at: Sequence[int], shape: Sequence[int]) -> int:
    position = 0
    for index, extent in zip(at, shape, strict=True):
        position = position * extent + index
    return position
