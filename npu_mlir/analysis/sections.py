"""How a kernel orders itself behind what ran before it in a program: which pipes wait for which.

Pairs of pipes that touch the same memory, or that have flags between them, shake hands at the start of a section:

    MTE1 -> M     everything that MTE1 got from sections before is complete; then
    M -> MTE1     everything of M is, and M has seen the flag of MTE1

As flags are set in order on their pipes, one that stands at the start of a section is raised when everything is
complete that its pipe got from sections before. So kernels need to know of each other only what they touch, and which
flags they use: from then on, neither bytes nor ids are in use by what came before. As the second flag of a pair is set
behind the first, the ids of the two are free again at the next boundary as well.

Of each pair, that pipe comes first which has its data first, since it is through earlier.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LOADS = "MTE2"
"""The pipe that loads from GM, and with which a section begins."""

ORDER = (LOADS, "MTE1", "M", "FIX", "V", "MTE3")
"""The pipes, in the order in which they get data."""

Pair = tuple[str, str]


class Span(NamedTuple):
    """Bytes of a memory that are read or written."""

    memory: Hashable
    low: int
    high: int
    write: bool


@dataclass(frozen=True)
class SectionUse:
    """What a kernel, or several, touch with each pipe, and the pairs of pipes between which they have flags."""

    spans: Mapping[str, frozenset[Span]] = field(default_factory=dict[str, frozenset[Span]])
    flags: frozenset[Pair] = frozenset()

    def meets(self, pipe: str, spans: Iterable[Span]) -> bool:
        """Whether a pipe touches some of these bytes, so that an order is needed."""
        return any(_conflict(a, b) for a in self.spans.get(pipe, ()) for b in spans)


def together(uses: Iterable[SectionUse]) -> SectionUse:
    """The uses of several kernels."""
    spans: dict[str, set[Span]] = {}
    flags: set[Pair] = set()
    for use in uses:
        flags |= use.flags
        for pipe, own in use.spans.items():
            spans.setdefault(pipe, set()).update(own)
    return SectionUse({pipe: frozenset(_merged(own)) for pipe, own in spans.items()}, frozenset(flags))


def handshakes(own: SectionUse, before: SectionUse) -> list[Pair]:
    """The pairs of pipes that shake hands at the start of a section, in the order in which they do; the pipe that is
    first through stands first.

    >>> matrices = {"MTE1": frozenset({Span("l0a", 0, 8, True)}), "M": frozenset({Span("l0a", 0, 8, False)})}
    >>> handshakes(SectionUse(matrices), SectionUse({"V": frozenset({Span("ub", 0, 8, True)}), **matrices}))
    [('MTE1', 'M')]
    """
    found: list[Pair] = []
    for i, one in enumerate(ORDER):
        for other in ORDER[i + 1 :]:
            if any(_needed(a, b, own, before) for a, b in ((one, other), (other, one))):
                found.append((one, other))
    return found


def _needed(earlier: str, later: str, own: SectionUse, before: SectionUse) -> bool:
    """Whether what a pipe did in sections before has to be over before another does anything in this one."""
    # The ids that the later pipe sets are free once the earlier one has waited for all of them.
    if (later, earlier) in own.flags and (later, earlier) in before.flags:
        return True
    return before.meets(earlier, own.spans.get(later, ()))


def _conflict(a: Span, b: Span) -> bool:
    return a.memory == b.memory and a.low < b.high and b.low < a.high and (a.write or b.write)


def _merged(spans: Iterable[Span]) -> Iterable[Span]:
    """The same bytes in as few spans as possible."""
    last: Span | None = None
    for span in sorted(spans, key=lambda s: (str(s.memory), s.write, s.low)):
        if (
            last is not None
            and (last.memory, last.write) == (span.memory, span.write)
            and span.low <= last.high
        ):
            last = last._replace(high=max(last.high, span.high))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
