"""Skip the iterations of a loop while an observer explains the time, exactly.

In a loop that is in a state again, each further round adds the same to every sum of the observer. The critical paths
need more: each chain of the present was, one round ago, some chain of then, not always the same one.

    one round ago       now
    free of MTE2  <---  free of MTE2      + 290 busy, 2 flag
          ^-----------  flag 0 MTE2 -> V  + 200 latency, 145 busy
    free of V           free of V  (from the flag)

Rounds are composed like functions, by squaring, so that a million take twenty steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.attribution.critical_path import NOWHERE, Key, Link, fold
from npu_mlir.simulator.attribution.observer import Observer

Round = dict[int, tuple[int, Counter[Key]]]
"""For each chain, by number, the one of a round ago that it continues, and what it adds."""

Sums = list[dict[Any, int]]


@dataclass(frozen=True)
class _Memory:
    """Of a state: the ends of all chains, each a link of its own, and all sums."""

    marks: list[Link]
    sums: Sums


class ObservedRepeats:
    """The state of an observer in a loop whose body has entries of `pipes`; implements `codegen.sink.Repeats`.

    `sums` is what else adds up, `ready` the times at which prefetches are over."""

    def __init__(
        self,
        observer: Observer,
        pipes: Iterable[Pipe],
        sums: Sequence[MutableMapping[Any, int]] = (),
        ready: Sequence[int] = (),
    ):
        self.observer = observer
        self.used = set(pipes)
        self.sums = sums
        self.ready = ready

    def state(self, now: int) -> Hashable:
        """Beside what time depends on: what each pipe does before its next entry."""
        observer = self.observer

        def ahead(time: int) -> int:
            return time - now if time >= now else -1

        state: list[Hashable] = [observer.folds, now - observer.now, *map(ahead, self.ready)]
        for name, pipe in observer.pipes.items():
            clock = pipe.clock
            state += map(ahead, (clock.free, clock.gate, clock.done, *clock.starts))
            if name in self.used:
                state += (clock.free - now, frozenset(pipe.blocked.items()))
        flags = observer.clock.flags
        state.append(
            frozenset(
                (src, dst, event, site, ahead(flags(src, dst)[event]))
                for (src, dst, event), (_, site, _) in observer.raised.items()
            )
        )
        observer.activity.count(now)
        state += [
            tuple((start - now, end - now) for start, end in intervals)
            for intervals in observer.activity.intervals.values()
        ]
        return tuple(state)

    def remember(self) -> _Memory:
        """What adds up so far, and a mark at the end of each chain, for `repeat` to see what an iteration adds."""
        marks: list[Link] = [(end, (NOWHERE, "scalar"), 0) for end in self.observer.ends()]
        self.observer.replace(marks)
        return _Memory(marks, [dict(sums) for sums in self._sums()])

    def repeat(self, times: int, cycles: int, memory: _Memory) -> None:
        """Add what has been added since `memory` as often again, each time `cycles` later."""
        observer = self.observer
        for sums, before in zip(self._sums(), memory.sums, strict=True):
            for key, value in sums.items():
                sums[key] = value + times * (value - before.get(key, 0))
        observer.replace(_repeated(observer.ends(), memory.marks, times))
        observer.shift(times * cycles, self.used)

    def _sums(self) -> list[MutableMapping[Any, int]]:
        """Everything that adds up; pipes that are not used lie idle for longer and longer."""
        observer = self.observer
        sums: list[MutableMapping[Any, int]] = [observer.scalar, observer.activity.cycles, *self.sums]
        # Those of sections before are what they are.
        for site in observer.sites[observer.cuts[-1].sites if observer.cuts else 0 :]:
            sums += (site.sums, site.starved, site.waiting)
        return sums + [pipe.blocked for name, pipe in observer.pipes.items() if name not in self.used]


def _repeated(ends: Sequence[Link | None], marks: Sequence[Link], times: int) -> list[Link | None]:
    """The ends of the chains after so many further rounds like the one from the marks to the ends."""
    number = {id(mark): i for i, mark in enumerate(marks)}
    one: Round = {}
    for i, link in enumerate(fold(ends, marks)):
        added = Counter[Key]()
        while id(link) not in number:
            assert link is not None
            before, sums, _ = link
            assert isinstance(sums, dict)
            for key, cycles in sums.items():
                added[key] += cycles
            link = before
        one[i] = number[id(link)], added
    # Only chains that others continue matter from the second round on.
    continued = {start: one[start] for start, _ in one.values()}
    before = {i: _extended(ends[start], added) for i, (start, added) in _power(continued, times - 1).items()}
    return [_extended(before[start], added) for start, added in one.values()]


def _power(one: Round, times: int) -> Round:
    result: Round = {i: (i, Counter()) for i in one}
    while times:
        if times % 2:
            result = _compose(result, one)
        one = _compose(one, one)
        times //= 2
    return result


def _compose(last: Round, first: Round) -> Round:
    """First the one, then the other."""
    return {i: (first[start][0], added + first[start][1]) for i, (start, added) in last.items()}


def _extended(link: Link | None, added: Counter[Key]) -> Link | None:
    return (link, added, added.total()) if added else link
