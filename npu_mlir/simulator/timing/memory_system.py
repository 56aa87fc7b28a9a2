"""L2 and HBM as the launches and prefetches of a program see them, one after the other.

    prefetch w1        queue of its own:  w1 |-------| ready
    launch k0 (w0)     w0 is in HBM: its loads miss
    launch k1 (w1)     loads of w1 hit; before it is ready they take what is the shorter: to miss, or to wait and hit

What is where follows from `analysis.residency`. Prefetches are executed in order, each as long as its bytes take at the
rate of the queue; what is there already takes no time. Nothing waits for them but loads that are the faster for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from npu_mlir.analysis.residency import Finding, GmTouch, Residency
from npu_mlir.simulator.program.blocks import Heat
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class Prefetched:
    """A prefetch: when it begins and when its data is in L2, in cycles; and how many bytes it had to bring."""

    start: int
    ready: int
    bytes: int


@dataclass(frozen=True)
class Placed:
    """Where a launch finds its operands and results."""

    heat: Heat
    findings: list[Finding]
    prefetched: list[bool] = field(default_factory=list[bool])
    """For each, whether a prefetch has brought it, or is about to."""

    def reason(self, number: int) -> str:
        """Why an operand is where it is, for people."""
        if not self.prefetched[number]:
            return self.findings[number].reason()
        wait = self.heat.ready[number]
        return f"prefetched: ready after {wait:,} cycles" if wait else "prefetched"


class MemorySystem:
    """The state of L2 and of the queue of prefetches. Times are cycles of a clock that the caller has."""

    def __init__(self, target: Target):
        self.target = target
        self.residency = Residency(int(target.l2["size"]))
        self.free = 0
        """When the queue of prefetches has nothing to do."""
        self._brought: list[tuple[range, int]] = []
        """What prefetches have brought, and when it is ready, the newest last."""

    def prefetch(self, place: range, now: int) -> Prefetched:
        """Bring these bytes to L2."""
        (finding,), _ = self.residency.launch([GmTouch(place)])
        if finding.hot:
            return Prefetched(now, now, 0)
        start = max(now, self.free)
        cycles = self.target.latencies["dma"] + math.ceil(len(place) / self.target.l2["prefetch"])
        self.free = start + cycles
        ready = self.free + self.target.latencies["gm"]
        self._brought.append((place, ready))
        return Prefetched(start, ready, len(place))

    def launch(self, touches: Sequence[GmTouch], now: int, beside: Sequence[GmTouch] = ()) -> Placed:
        """A kernel begins that touches these places; its times count from `now`."""
        findings, fits = self.residency.launch(touches, beside)
        ready: list[int | None] = []
        prefetched: list[bool] = []
        for touch, finding in zip(touches, findings, strict=True):
            times = [t for place, t in self._brought if finding.hot and _overlap(place, touch.bytes)]
            prefetched.append(bool(times))
            ready.append(max(0, max(times, default=0) - now) if finding.hot else None)
        # What a launch has loaded itself is there for the next, however late its prefetch is.
        whole = [touch.bytes for touch in touches if touch.whole]
        self._brought = [
            (place, 0 if any(w.start <= place.start and place.stop <= w.stop for w in whole) else time)
            for place, time in self._brought
        ]
        return Placed(Heat(tuple(ready), fits), findings, prefetched)


def _overlap(a: range, b: range) -> bool:
    return a.start < b.stop and b.start < a.stop
