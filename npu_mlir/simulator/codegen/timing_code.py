"""What generated code does about time; here, nothing, or a call per entry.

    S = t1(S + 2, 80, 200, 0)        an instruction, two scalar operations after the entry before
    S = t2(S, 0 + v3 % 2)            a flag

`S` is the time of the scalar unit; the functions are those of `pipes.py`, or those of an observer around them. In
`inlined_timing.py` the same is written out in the generated code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.attribution.observed_steady_state import ObservedRepeats
from npu_mlir.simulator.attribution.observer import Observer
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.errors import wait_without_set
from npu_mlir.simulator.timing.pipes import Clock
from npu_mlir.simulator.timing.steady_state import SteadyState
from npu_mlir.targets.cost import Cost


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


class NoTiming:
    """Code without time."""

    def begin(self) -> None:
        """The function begins."""

    def end(self) -> None:
        """The function ends."""

    def settle(self) -> None:
        """Control flow follows, or a value of `S` is needed: no entry is in the works."""

    def scalar(self, cycles: int) -> None:
        """The scalar unit computes."""

    def now(self) -> str:
        """The scalar time."""
        return "0"

    def instruction(self, op: npu_isa.Instruction, cost: Cost, slots: Sequence[str]) -> None:
        """Issue an instruction that uses the slots at these addresses."""

    def set_flag(self, op: npu_isa.SetFlagOp, event: Event) -> None:
        """Issue a set."""

    def wait_flag(self, op: npu_isa.WaitFlagOp, event: Event) -> None:
        """Issue a wait."""

    def barrier(self, op: npu_isa.BarrierOp) -> None:
        """Wait until all pipes are idle."""

    def repeats(self, period: int, pipes: Iterable[Pipe]) -> SteadyState:
        """What watches a loop of that period whose entries go to these pipes."""
        return SteadyState(period)

    def state(self) -> list[str]:
        """Expressions for all that the time of later entries depends on, settled: times, and lists `*name` of them."""
        return []

    def shift(self, cycles: str) -> list[str]:
        """The code that lets the time `cycles` pass in which nothing changes, settled, `S` excluded."""
        return []


class CalledTiming(NoTiming):
    """A call per entry."""

    def __init__(self, source: SourceWriter, clock: Clock, observer: Observer | None):
        self.source = source
        self.clock = clock
        self.observer = observer
        self.pending = 0

    def settle(self) -> None:
        if self.pending:
            self.source.line(f"S += {self.pending}")
        self.pending = 0

    def scalar(self, cycles: int) -> None:
        self.pending += cycles

    def now(self) -> str:
        return f"S + {self.pending}" if self.pending else "S"

    def _call(self, step: Callable[..., int], *arguments: str) -> None:
        self.source.line(f"S = {self.source.bind('t', step)}({', '.join([self.now(), *arguments])})")
        self.pending = 0

    def instruction(self, op: npu_isa.Instruction, cost: Cost, slots: Sequence[str]) -> None:
        numbers = (str(cost.occupancy), str(cost.latency), str(cost.head))
        if self.observer is None:
            self._call(self.clock.pipes[op.PIPE].run, *numbers)
        else:
            self._call(self.observer.instruction(op, cost), *numbers, *slots)

    def set_flag(self, op: npu_isa.SetFlagOp, event: Event) -> None:
        observer = self.observer
        self._call(_set(self.clock, *op.pipes) if observer is None else observer.set_flag(op), str(event))

    def wait_flag(self, op: npu_isa.WaitFlagOp, event: Event) -> None:
        observer = self.observer
        self._call(_wait(self.clock, op) if observer is None else observer.wait_flag(op), str(event))

    def repeats(self, period: int, pipes: Iterable[Pipe]) -> SteadyState:
        assert self.observer is not None
        return ObservedRepeats(period, self.observer, pipes)

    def barrier(self, op: npu_isa.BarrierOp) -> None:
        self._call(self.clock.idle if self.observer is None else self.observer.barrier(op))


def _set(clock: Clock, src: Pipe, dst: Pipe) -> Callable[[int, int], int]:
    set_flag, flags = clock.pipes[src].set_flag, clock.flags

    def step(now: int, event: int) -> int:
        now, flags[src, dst, event] = set_flag(now)
        return now

    return step


def _wait(clock: Clock, op: npu_isa.WaitFlagOp) -> Callable[[int, int], int]:
    src, dst = op.pipes
    wait_flag, pop = clock.pipes[dst].wait_flag, clock.flags.pop

    def step(now: int, event: int) -> int:
        raised = pop((src, dst, event), None)
        if raised is None:
            raise wait_without_set(op, event)
        return wait_flag(now, raised)

    return step
