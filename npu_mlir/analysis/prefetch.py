"""Which operands to bring to L2 ahead of their launches, and before which launch.

    launch            0      1      2      3
    weights in HBM    w0     w1     w2     w3          6 MB each, a window of 16 MB
    brought before    w0 w1  w2     w3                 from its prefetch to its launch, at most 16 MB are on their way

What is on its way or waits in L2 takes the place of what was used before, and of what else waits: with too long a
window things are gone when their turn comes. A shorter one leaves less time to bring them. So of several windows, up to
the one that is asked for, the longest is taken with which no launch has more bytes to load from HBM than without
prefetches, and of what is brought hardly anything is gone again. A load that meets its own prefetch on the way takes
the shorter of missing and waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npu_mlir.analysis.residency import GmTouch, Residency


@dataclass(frozen=True)
class LaunchNeeds:
    """What a launch touches in GM, the first `loads` of it as operands, and which of these, by number, may be brought
    to L2 before."""

    touches: Sequence[GmTouch]
    loads: int
    candidates: Sequence[int]


@dataclass(frozen=True)
class PrefetchPlan:
    """The window in bytes, 0 for none, and what to bring before each launch: launches and numbers of operands."""

    window: int
    before: list[list[tuple[int, int]]]


def plan_prefetches(launches: Sequence[LaunchNeeds], window: int, size: int) -> PrefetchPlan:
    """Where to begin to bring what is not in an L2 of `size` bytes, at most `window` bytes ahead of their launches."""
    nothing: list[list[tuple[int, int]]] = [[] for _ in launches]
    there = _hot(launches, nothing, size)
    cold = [
        [number for number in launch.candidates if not hot[number] and launch.touches[number].bytes]
        for launch, hot in zip(launches, there, strict=True)
    ]
    least = _missing(launches, there)
    for part in PARTS if any(cold) else ():
        tried = int(window * part)
        before = _places(launches, cold, tried)
        found = _hot(launches, before, size)
        missing = _missing(launches, found)
        begun = [entry for entries in before for entry in entries]
        brought = sum(_size(launches, entry) for entry in begun)
        lost = sum(_size(launches, (i, n)) for i, n in begun if not found[i][n])
        if all(m <= n for m, n in zip(missing, least, strict=True)) and lost <= IN_VAIN * brought:
            return PrefetchPlan(tried if begun else 0, before)
    return PrefetchPlan(0, nothing)


PARTS = (1, 0.75, 0.5, 0.25, 0.125)
"""Of the window that is asked for, those that are tried."""

IN_VAIN = 1 / 8
"""The part of the bytes that may be gone again before their launch: time to bring the rest is worth more."""


def _size(launches: Sequence[LaunchNeeds], entry: tuple[int, int]) -> int:
    launch, number = entry
    return len(launches[launch].touches[number].bytes)


def _missing(launches: Sequence[LaunchNeeds], there: Sequence[Sequence[bool]]) -> list[int]:
    """The bytes of operands of each launch that are not in L2."""
    return [
        sum(len(launch.touches[number].bytes) for number in range(launch.loads) if not found[number])
        for launch, found in zip(launches, there, strict=True)
    ]


def _places(
    launches: Sequence[LaunchNeeds], cold: Sequence[Sequence[int]], window: int
) -> list[list[tuple[int, int]]]:
    """Before each launch, what is needed within the next launches that have no more than a window of such bytes."""
    sizes = [
        sum(len(launch.touches[number].bytes) for number in numbers)
        for launch, numbers in zip(launches, cold, strict=True)
    ]
    before: list[list[tuple[int, int]]] = []
    following, ahead = 0, 0
    for i in range(len(launches)):
        begun: list[tuple[int, int]] = []
        if following <= i:
            following, ahead = i, 0
        while following < len(launches) and ahead + sizes[following] <= window:
            begun += [(following, number) for number in cold[following]]
            ahead += sizes[following]
            following += 1
        # What this launch needs is used up when the next one comes; more than a window is not brought at all.
        if following > i:
            ahead -= sizes[i]
        before.append(begun)
    return before


def _hot(
    launches: Sequence[LaunchNeeds], before: Sequence[Sequence[tuple[int, int]]], size: int
) -> list[list[bool]]:
    """Of each launch, what of its operands is in L2, from an empty one."""
    residency = Residency(size)
    found: list[list[bool]] = []
    for launch, begun in zip(launches, before, strict=True):
        for other, number in begun:
            residency.launch([launches[other].touches[number]])
        findings, _ = residency.launch(launch.touches)
        found.append([finding.hot for finding in findings])
    return found
