"""What generated code does with the entries of a kernel: sinks, of which any number can be put together.

A kernel is a program of the scalar unit, which issues entries: instructions, sets and waits of flags, barriers. A sink
is told of each in program order while the code is written, and writes code for it: a call or arithmetic. Values, time,
hazards, attribution and the debugger are sinks.

    sinks: Hazards, Time, Values                                c1(v3, v5, 4096)                # hazards
      npu_isa.vunary relu %s<1>, %t<1> over [64] : f32   ->     S = t1(S + 2, 80, 200, 0)       # time
                                                                x1(v3, v5)                      # values

What a sink says of itself decides what the code has to contain: addresses are computed only where a sink needs them,
iterations are skipped only where every sink can do without, short loops are unrolled where all code is in place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import npu_isa
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.program.blocks import Blocks

Op = TypeVar("Op", bound=Operation)


@dataclass(frozen=True)
class Event:
    """The event id of a flag: `first + (base + offset) mod slots`; `base` is a variable, empty for none."""

    first: int
    base: str = ""
    offset: int = 0
    slots: int = 1

    @property
    def constant(self) -> int | None:
        """The id, if it is always the same."""
        if self.base and self.slots > 1:
            return None
        return self.first + self.offset % self.slots

    def __str__(self) -> str:
        if self.constant is not None:
            return str(self.constant)
        index = f"({self.base} + {self.offset})" if self.offset else self.base
        return f"{self.first} + {index} % {self.slots}" if self.first else f"{index} % {self.slots}"


def canonical(first: int, base: str, offset: int, slots: int) -> Event:
    """An event, so that those with equal ids on account of their form are equal."""
    if not base or slots == 1:
        return Event(first + offset % slots)
    return Event(first, base, offset % slots, slots)


@dataclass(frozen=True)
class Entry(Generic[Op]):
    """An entry, and the Python expressions that stand for its parts in the code."""

    op: Op
    now: Callable[[], str]
    """Makes an expression for the time of the scalar unit in cycles, before the entry is issued."""
    operands: Sequence[str] = ()
    """The operands in their order; none if no sink needs addresses."""
    bases: Sequence[SSAValue | None] = ()
    """For each operand of an instruction that is an address, the buffer or slot that it lies in."""
    slots: Sequence[str] = ()
    """The first byte of each of these buffers and slots."""
    first: str = "True"
    """Of a load that may hit or miss, a condition: all loops are in their first iterations that make it miss."""
    results: Sequence[str] = ()
    """The variables that hold the results, 0 where nothing has computed them; none if no sink needs addresses."""


class Repeats(Protocol):
    """What of a sink's state is not in variables of the generated code, in a loop whose iterations may be skipped."""

    def state(self, now: int) -> Hashable:
        """All that later entries can depend on, with times relative to `now`, in cycles."""
        ...

    def remember(self) -> Any:
        """What `repeat` needs of a state that may be met again."""
        ...

    def repeat(self, times: int, cycles: int, memory: Any) -> None:
        """Do so many times more what has been done in `cycles` since `memory`."""
        ...


class Sink:
    """Writes the code for one purpose; this one writes none. A sink serves one generated function."""

    needs_addresses: bool = False
    """Whether it needs the operands of entries."""
    skips: bool = False
    """Whether iterations may be skipped that only repeat what was seen; then it takes part in `loop`, `times` and
    `shift`."""
    in_place: bool = False
    """Whether its code for an entry is arithmetic, which may be written several times, so that unrolling loops pays."""

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        """The function begins."""

    def end(self) -> None:
        """The function ends."""

    def settle(self) -> None:
        """Control flow follows: whatever has been put off is written now."""

    def scalar(self, cycles: int) -> None:
        """The scalar unit computes for so many cycles."""

    def now(self) -> str | None:
        """An expression for the time of the scalar unit in cycles, if this is the sink that keeps it: in `S`."""
        return None

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        """An instruction is issued."""

    def set_flag(self, entry: Entry[npu_isa.SetFlagOp], event: Event) -> None:
        """A flag is set."""

    def wait_flag(self, entry: Entry[npu_isa.WaitFlagOp], event: Event) -> None:
        """A flag is waited for."""

    def barrier(self, entry: Entry[npu_isa.BarrierOp]) -> None:
        """The scalar unit waits until all pipes are idle."""

    def loop(self, op: scf.ForOp) -> Repeats | None:
        """A loop begins, iterations of which may be skipped."""
        return None

    def counters(self) -> list[str]:
        """Variables that count what has happened, and on which nothing else depends."""
        return []

    def times(self) -> list[str]:
        """Expressions for the times that later entries depend on, settled: -1 is none; `*name` is a list of them."""
        return []

    def shift(self, cycles: str) -> list[str]:
        """The code that lets the time `cycles` pass in which nothing changes, settled, `S` excluded."""
        return []
