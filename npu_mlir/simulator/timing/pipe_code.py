"""What is known of pipes and flags while the code for their time is written (`inlined_timing.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.codegen.sink import Event
from npu_mlir.simulator.timing.symbolic_times import Time


@dataclass
class PipeCode:
    """A pipe: what its instructions have in common, and what is in flight between two points of control flow."""

    name: Pipe
    number: int
    heads: bool = False
    """Some instruction has a head, so that the gate matters."""
    latencies: set[int] = field(default_factory=set[int])
    starts: list[str] = field(default_factory=list[str])
    durations: list[int] = field(default_factory=list[int])
    """Of the entries in flight: when they start, and for how long they keep the pipe."""
    times: dict[str, Time] = field(default_factory=dict[str, Time])
    """Those of `f`, `d` and `g` that have changed."""

    @property
    def kept(self) -> str:
        """The variables that matter: one letter each."""
        return "f" + "d" * any(self.latencies) + "g" * self.heads

    def get(self, letter: str) -> Time:
        """The present value of a variable."""
        return self.times.get(letter, Time(f"{letter}{self.number}"))


@dataclass
class FlagCode:
    """The flags between two pipes, by event; None for one that was consumed."""

    name: str
    size: int = 0
    computed: bool = False
    """Some event id is not a constant."""
    known: dict[Event, Time | None] = field(default_factory=dict[Event, "Time | None"])

    def place(self, event: str) -> str:
        """Where the flag with that id is kept."""
        return f"{self.name}[{event}]" if self.computed else f"{self.name}_{event}"


def differ(a: Event, b: Event) -> bool:
    """Whether two events that are not equal have different ids for certain."""
    if (a.first, a.base, a.slots) == (b.first, b.base, b.slots):
        return a.offset != b.offset
    return a.first + a.slots <= b.first or b.first + b.slots <= a.first
