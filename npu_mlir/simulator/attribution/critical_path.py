"""The chain of what decided each time, as it grows: links from the newest back to the start.

    free of MTE2 ----(site 4, busy) 144--+
                                         +----(site 3, busy) 144----(site 2, flag) 1---- ... ---- start
    flag 0 MTE2 -> V ----(site 4, latency) 200--+

Where the chain itself is not asked for, only its sums by key are. Then `fold` merges, between the points where the
chains of the present times part, everything into one link: memory does not grow with the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

Key = tuple[int, str]
"""`(site, category)`"""

NOWHERE = -1
"""The site of scalar code."""

Link = tuple[Any, Key | dict[Key, int], int]
"""`(link before or None, key, cycles)`; for several that were merged, the cycles of each key, and their sum."""


def parts(link: Link | None) -> Iterator[tuple[Key, int]]:
    """The keys and cycles of a chain, from its end."""
    while link is not None:
        before, key, cycles = link
        if isinstance(key, dict):
            yield from key.items()
        elif cycles:
            yield key, cycles
        link = before


def fold(ends: Sequence[Link | None], roots: Sequence[Link] = ()) -> list[Link | None]:
    """The chains with these ends, with one link from where two chains meet to where the next two do; what is before a
    root stays as it is."""
    folded: dict[int, Link] = {id(root): root for root in roots}
    stops = _meetings(ends, set(folded))
    result: list[Link | None] = []
    for end in ends:
        node = end
        segments: list[tuple[int, Counter[Key]]] = []
        while node is not None and id(node) not in folded:
            first, sums = id(node), Counter[Key]()
            while True:
                before, key, cycles = node
                if isinstance(key, dict):
                    sums.update(key)
                elif cycles:
                    sums[key] += cycles
                node = before
                if node is None or id(node) in stops:
                    break
            segments.append((first, sums))
        link = None if node is None else folded[id(node)]
        for first, sums in reversed(segments):
            link = folded[first] = (link, sums, sums.total())
        result.append(link)
    return result


def _meetings(ends: Sequence[Link | None], roots: set[int]) -> set[int]:
    """The links, by identity, that chains end with, part at or begin with."""
    stops, seen = {id(end) for end in ends} | roots, set(roots)
    for end in ends:
        node = end
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            node = node[0]
        if node is not None:
            stops.add(id(node))
    return stops
