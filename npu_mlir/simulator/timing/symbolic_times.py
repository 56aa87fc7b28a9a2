"""Times in generated code as a variable plus a constant, with what is known of them when the code is written.

Everything is relative to one place in the code, with the entries that are issued from there on numbered by pipe. The
scalar time is `S` plus a constant, and later where a full queue holds up the scalar unit: a `BoundCheck` each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from npu_mlir.dialects.npu_isa import Pipe


@dataclass(frozen=True)
class Time:
    """The value of `name + offset`, and what it is not before."""

    name: str
    offset: int = 0
    leads: tuple[tuple[int, int], ...] = ()
    """`(lead, count)`: not before `lead` cycles after what the scalar time was at the start of what is in flight,
    and after what the first `count` checks of queues have made of it."""
    behind: tuple[tuple[Pipe, int, int], ...] = ()
    """`(pipe, entry, cycles)`: not before so many cycles after the entry starts."""

    def __str__(self) -> str:
        return f"{self.name} + {self.offset}" if self.offset else self.name

    def later(self, cycles: int) -> Time:
        """The time `cycles` after this one."""
        if not cycles:
            return self
        leads = tuple([(lead + cycles, count) for lead, count in self.leads])
        behind = tuple([(pipe, entry, before + cycles) for pipe, entry, before in self.behind])
        return Time(self.name, self.offset + cycles, leads, behind)


@dataclass(frozen=True)
class BoundCheck:
    """An entry can't be issued, at `S + offset`, before an older one, `old`, has left the queue."""

    pipe: Pipe
    entry: int
    offset: int
    old: str

    def text(self, offset: int) -> str:
        """Whether it holds up the scalar unit at `S + offset`."""
        return f"{self.old} > {Time('S', offset)}"

    def line(self) -> str:
        """The check and what follows."""
        return f"if {self.text(self.offset)}: S = {self.old}{f' - {self.offset}' if self.offset else ''}"


def strongest(leads: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Without those that say less than another."""
    result: list[tuple[int, int]] = []
    for lead in sorted(leads, reverse=True):
        if not result or lead[1] > result[-1][1]:
            result.append(lead)
    return tuple(result)
