"""Which operands of a launch are in L2 when it begins, by what the launches before have touched.

    launch   touches             bytes touched from the launch that touched it last to this one, both included
    0        x, w0 -> y0
    1        y0, w1 -> y1        y0: x, w0, y0, w1, y1    at most the size of L2: still there (hot)
    2        y1, w0 -> y2        w0: all so far           more than L2: may be gone (cold)

The rules, on ranges of GM addresses:

- an operand is *hot* at a launch if each of its bytes has been touched, and the union of the ranges touched from the
  launch of that last touch to this one, both included, is at most the size of L2. Whatever the order of accesses within
  launches, and whatever lies between, a cache that evicts what was used least recently still has it;
- in a launch whose ranges fit L2 together, a load that repeats what it loaded in an earlier iteration finds it there.

So residency depends on the host function alone: not on schedules, rates or time. What is hot is in an exact LRU cache
as well, which the tests hold it to; what is not may be there, so the time errs on the slow side.

A range that is touched in part may count as touched in a footprint, but not as being there afterwards.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from npu_mlir.support.arithmetic import round_up

SECTOR = 32
"""Bytes that are there or not as a whole: the smallest transfer."""


@dataclass(frozen=True)
class GmTouch:
    """What a launch does with an operand or result: the bytes of GM, and whether it touches all of them; some at
    least, unless the range is empty."""

    bytes: range
    whole: bool = True


@dataclass(frozen=True)
class Finding:
    """Whether an operand is in L2 when a launch begins, and why."""

    hot: bool
    first: bool
    """Some of it has never been touched (or not for certain)."""
    since: int = 0
    """Bytes touched since its last touch, itself and this launch included; as many as are needed to tell that it is
    cold."""
    range: range = range(0)

    def reason(self) -> str:
        """For people: `cold: first use`, `hot: 3.1 MB since`."""
        if self.first:
            return "cold: first use"
        return f"{'hot' if self.hot else 'cold'}: {_size(self.since)} since"


def _size(count: int) -> str:
    unit, name = next(((u, n) for u, n in ((10**6, "MB"), (10**3, "kB")) if count >= u), (1, "B"))
    return f"{count / unit:.1f} {name}" if unit > 1 else f"{count} B"


class Residency:
    """An L2 cache of `size` bytes, as launch follows launch."""

    def __init__(self, size: int):
        self.size = size
        self._time = 0
        self._certain = _LastTouches()
        self._possible = _LastTouches()

    def launch(
        self, touches: Sequence[GmTouch], beside: Sequence[GmTouch] = ()
    ) -> tuple[list[Finding], bool]:
        """A launch touches these ranges: for each whether it is there when it begins, and whether all of them fit
        together, with what is touched `beside` it."""
        places = [_sectors(touch.bytes) for touch in touches]
        last = [self._certain.oldest(place) for place in places]
        self._time += 1
        for touch, place in zip((*touches, *beside), (*places, *(_sectors(b.bytes) for b in beside))):
            self._possible.touch(place, self._time)
            if touch.whole:
                self._certain.touch(place, self._time)
        findings: list[Finding] = []
        for place, time in zip(places, last, strict=True):
            since = 0 if time is None else self._possible.since(time, self.size)
            findings.append(Finding(time is not None and since <= self.size, time is None, since, place))
        return findings, self._possible.since(self._time, self.size) <= self.size


def _sectors(bytes_: range) -> range:
    start = bytes_.start // SECTOR * SECTOR
    return range(start, round_up(bytes_.stop, SECTOR)) if bytes_ else range(start, start)


class _LastTouches:
    """When each byte was touched last. Times grow from 1 on."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        """Of the pieces, which are sorted and don't overlap."""
        self.ends: list[int] = []
        self.times: list[int] = []
        self.sizes = [0]
        """Bytes that were touched last at each time."""

    def touch(self, place: range, time: int) -> None:
        """All bytes of a range are touched now."""
        while len(self.sizes) <= time:
            self.sizes.append(0)
        if not place:
            return
        low, high = bisect_right(self.ends, place.start), bisect_left(self.starts, place.stop)
        pieces: list[tuple[int, int, int]] = [(place.start, place.stop, time)]
        for start, end, before in self._pieces(low, high):
            self.sizes[before] -= min(end, place.stop) - max(start, place.start)
            if start < place.start:
                pieces.insert(0, (start, place.start, before))
            if end > place.stop:
                pieces.append((place.stop, end, before))
        self.sizes[time] += len(place)
        self.starts[low:high] = [piece[0] for piece in pieces]
        self.ends[low:high] = [piece[1] for piece in pieces]
        self.times[low:high] = [piece[2] for piece in pieces]

    def oldest(self, place: range) -> int | None:
        """The earliest of the last touches of all bytes of a range; None if one was never touched."""
        low, high = bisect_right(self.ends, place.start), bisect_left(self.starts, place.stop)
        covered = sum(min(e, place.stop) - max(s, place.start) for s, e, _ in self._pieces(low, high))
        if covered < len(place) or not place:
            return None
        return min(self.times[low:high])

    def since(self, time: int, enough: int) -> int:
        """How many bytes have been touched since a time, itself included; counted until they are more than `enough`."""
        total = 0
        for size in reversed(self.sizes[time:]):
            total += size
            if total > enough:
                break
        return total

    def _pieces(self, low: int, high: int) -> Iterable[tuple[int, int, int]]:
        return list(zip(self.starts[low:high], self.ends[low:high], self.times[low:high], strict=True))
