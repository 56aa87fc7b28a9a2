"""How a kernel orders itself behind what ran before it in a program: which pipes wait for which, and where.

    head       MTE2 waits for the pipes of sections before that touch the bytes which the head writes
    boundary   MTE2 waits for all other pipes of this section and those before, then they wait for MTE2

As flags are set in order on their pipes, one that stands at the start of a section is raised when everything is
complete that its pipe got from sections before. So kernels need to know of each other only which pipes they use, and
where.

Each pipe waits for MTE2 whenever MTE2 has waited for it: so the ids of these flags are free again at the next boundary.

What comes first is told by the order of launches; a section has to look back no further than those directly before it,
because these have waited for all that came earlier.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LOADS = "MTE2"
"""The pipe that loads from GM, and with which a section begins."""


class Span(NamedTuple):
    """Bytes of a memory."""

    memory: Hashable
    low: int
    high: int


@dataclass(frozen=True)
class BoundaryWaits:
    """Which pipes wait for which."""

    head: tuple[str, ...]
    """Those that MTE2 waits for before the head."""
    body: tuple[str, ...]
    """Those that it waits for behind the head. Then all of them wait for it."""


Usage = Mapping[str, Sequence[Span]]
"""What a kernel touches, by pipe."""


def boundary_waits(head: Sequence[Span], own: Iterable[str], before: Sequence[Usage]) -> BoundaryWaits:
    """The waits of a section whose head writes these bytes and which uses these pipes, behind any of the sections
    `before`; none if nothing comes before.

    >>> boundary_waits([Span("l1", 0, 8)], ["MTE2", "V"], [{"MTE1": [Span("l1", 4, 6)], "M": [], "MTE2": []}])
    BoundaryWaits(head=('MTE1',), body=('M', 'V'))
    """
    if not before:
        return BoundaryWaits((), ())
    used = sorted({*own, *(pipe for usage in before for pipe in usage)} - {LOADS})
    early = [p for p in used if any(_meet(head, usage.get(p, ())) for usage in before)]
    return BoundaryWaits(tuple(early), tuple(p for p in used if p not in early))


def _meet(some: Sequence[Span], others: Sequence[Span]) -> bool:
    return any(a.memory == b.memory and a.low < b.high and b.low < a.high for a in some for b in others)
