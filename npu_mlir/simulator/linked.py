"""A program of launches on one core: each section begins where the one before has left the pipes.

    section 0 |=== head ===|======= body =======|
    section 1                     |== head ==|      |===== body =====|
    cycles    |------ of section 0 -------------|---- of section 1 --|

A section takes the cycles from when everything before it is complete to when it is complete itself, so that the cycles
of all sections are those of the program. What a section does in time depends on its kernel, on where its operands are,
and on the state of the pipes that it begins with, relative to the scalar unit: where these have been met before, time
is known.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from npu_mlir.simulator.attribution.attribution import Attribution, attribute_sections
from npu_mlir.simulator.attribution.recording import Recording
from npu_mlir.simulator.debugger import Debugger
from npu_mlir.simulator.execution.values import Decoder
from npu_mlir.simulator.program.blocks import Blocks, Heat
from npu_mlir.simulator.run import Executed, Run
from npu_mlir.simulator.timing.pipes import ClockState
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class Section:
    """What a section came to."""

    executed: Executed
    """Its counters; of its times only their difference counts."""
    cycles: int
    key: Hashable
    """Sections of a kernel with equal keys do the same in time."""


@dataclass(frozen=True)
class _Timed:
    executed: Executed
    now: int
    idle: int
    state: ClockState


class ProgramRun:
    """One execution of a program. Times are cycles since its launch."""

    def __init__(
        self,
        target: Target,
        known: dict[Hashable, _Timed],
        *,
        check: bool,
        explain: bool,
        record: bool,
        decoders: Sequence[Decoder] | None,
        debugger: Debugger | None,
    ):
        self.run = Run(
            target,
            check=check,
            explain=explain,
            record=record,
            decoders=decoders,
            debugger=debugger,
            l2="off",
        )
        self.known = known
        """What sections came to, by kernel and key; shared by all programs of a simulation."""
        self._clock = self.run.clock.cores[0]
        self._explained = bool(self.run.observers)
        self._base = 0
        """When the time of the clock began."""
        self._complete = 0
        """When all sections so far are complete."""
        self._kept: list[np.ndarray] = []
        """Arrays that stand for others, so that none gets the `id` of one that was used."""
        self._cost = target.latencies["section"]
        self._ends: list[int] = []

    @property
    def now(self) -> int:
        """The time of the scalar unit."""
        return self._base + self._clock.now

    @property
    def complete(self) -> int:
        """When everything so far is complete."""
        return self._complete

    def begin_section(self) -> None:
        """The scalar unit goes on to the next kernel."""
        for observer in self.run.observers:
            observer.begin_section()
            observer.pause("section", self._cost if self._ends else 0)
        self._clock.now += self._cost if self._ends else 0
        if not self._explained:
            self._base += self._clock.now

    def note_views(self, arguments: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
        """Say which arguments of the next section stand for arrays with gaps, and for which."""
        for array, view in arguments:
            if self.run.hazards is not None and array is not view and not view.flags.c_contiguous:
                self.run.hazards.gm.views[id(array)] = view
                self._kept.append(array)

    def section(
        self,
        blocks: Blocks,
        arguments: Sequence[Any],
        heat: Heat | None,
        *,
        values: bool,
        skip: bool,
        budget: int,
        constant: Container[int] = (),
        check: bool = True,
    ) -> Section:
        """Run a kernel after `begin_section`; the times of `heat` count from then on. Without `check`, no hazards are
        looked for in it."""
        clock = self._clock
        if self._explained:
            heat = _later(heat, clock.now)
            key: Hashable = object()
            executed = self._execute(blocks, arguments, heat, values, skip, budget, constant, check)
            end = clock.idle(clock.now)
        else:
            state = clock.rebase()
            key = (heat, state, self._complete - self._base)
            known = self.known.get((blocks.kernel, heat, state))
            check &= self.run.hazards is not None
            if known is None or values or check:
                executed = self._execute(blocks, arguments, heat, values, skip, budget, constant, check)
                idle = clock.idle(clock.now)
                if known is None:
                    now = clock.now
                    after = clock.rebase()
                    self.known[blocks.kernel, heat, state] = _Timed(executed, now, idle, after)
                    self._base += now
                    idle -= now
                end = self._base + idle
            else:
                if self.run.hazards is not None:
                    self.run.hazards.skip(blocks.kernel, arguments)
                clock.be(known.state)
                executed = known.executed
                end = self._base + known.idle
                self._base += known.now
        cycles, self._complete = end - self._complete, end
        self._ends.append(end)
        return Section(executed, cycles, key)

    def _execute(
        self,
        blocks: Blocks,
        arguments: Sequence[Any],
        heat: Heat | None,
        values: bool,
        skip: bool,
        budget: int,
        constant: Container[int],
        check: bool,
    ) -> Executed:
        return self.run.execute(
            blocks,
            arguments,
            values=values,
            skip=skip,
            budget=budget,
            heat=heat,
            constant=constant,
            check=check,
        )

    def explain(self, launch: int) -> list[tuple[Attribution, Recording | None]]:
        """Where the time of each section goes, and its entries if they are recorded; asked for at the end, and once."""
        if not self._explained:
            return []
        observer = self.run.observers[0]
        found = attribute_sections(observer, self._clock.now, launch, self._ends, self.run.texts())
        if observer.recording is None:
            return [(attribution, None) for attribution in found]
        cuts = [*observer.cuts, observer.cut()]
        starts = [0, *self._ends]
        return [
            (a, observer.recording.part(cut.entries, after.entries, cut.sites, start))
            for a, cut, after, start in zip(found, cuts, cuts[1:], starts)
        ]


def _later(heat: Heat | None, now: int) -> Heat | None:
    """The times of prefetches on a clock that is at `now`."""
    if heat is None:
        return None
    return Heat(tuple(now + ready if ready else ready for ready in heat.ready), heat.fits)
