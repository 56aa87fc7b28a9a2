"""Kernels on the cores of a machine, on one clock: each goes on where the one before left its core.

    run = Run(target, cores=2)
    run.execute(Blocks(load, target), [x, y])              core 0
    run.execute(Blocks(add, target), [y, z])               core 0, while its pipes still execute the kernel before
    run.execute(Blocks(load, target), [u, v], core=1)      at the same time as the first
    run.end()
    run.cycles

Pipes belong to a core. Clock, flags and memories belong to the run: a kernel may wait for flags that the one before
set, and a race between two kernels is found as one within a kernel is. A scalar unit begins with a kernel when it has
issued the one before. `simulate` gives each launch a run of its own, which ends when all pipes are idle.

Cores share GM and L2, and do not slow each other down. What a kernel finds in L2 depends on the order in which kernels
are given to the run, whichever their core. Does not handle: flags between cores.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from npu_mlir.analysis.gm_addresses import ALIGNMENT, KernelTouches, gm_bytes
from npu_mlir.analysis.residency import GmTouch
from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import CubeWork, Pipe
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.simulator.attribution.attribution import Attribution, attribute
from npu_mlir.simulator.attribution.observed_timing import ObservedTiming
from npu_mlir.simulator.attribution.observer import Observer
from npu_mlir.simulator.attribution.recording import Recording
from npu_mlir.simulator.checks.hazard_sink import HazardSink
from npu_mlir.simulator.checks.hazards import Hazards
from npu_mlir.simulator.codegen.generator import Generated, generate
from npu_mlir.simulator.codegen.sink import Sink
from npu_mlir.simulator.debugger import Debugger
from npu_mlir.simulator.execution.values import Decoder, Values
from npu_mlir.simulator.program.blocks import NEVER, Blocks, Heat, Traffic
from npu_mlir.simulator.program.sites import site_texts
from npu_mlir.simulator.timing.called_timing import CalledTiming
from npu_mlir.simulator.timing.inlined_timing import InlinedTiming
from npu_mlir.simulator.timing.load_counts import LoadCounts
from npu_mlir.simulator.timing.memory_system import MemorySystem
from npu_mlir.simulator.timing.pipes import Clock
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.cost import padded_macs
from npu_mlir.targets.l2 import l2_state
from npu_mlir.targets.target import Target

STEP_BUDGET = 1_000_000_000
"""Loop iterations and instructions of one kernel."""


@dataclass
class Executed:
    """What one execution of a kernel amounts to."""

    start: int = 0
    """The time of the scalar unit when it begins, in cycles of the run."""
    end: int = 0
    """When everything issued to its core so far is complete, in cycles of the run."""
    instructions: int = 0
    macs: int = 0
    """Multiply-adds of the cube's operands, their padding to the cube's size excluded."""
    padded_macs: int = 0
    """Multiply-adds that the cube performed."""
    pipe_busy: dict[Pipe, int] = field(default_factory=dict[Pipe, int])
    """Cycles that instructions occupied each pipe."""
    traffic: dict[int, ArgumentTraffic] = field(default_factory=dict[int, "ArgumentTraffic"])
    """What was moved between the core and each argument in GM."""


@dataclass
class ArgumentTraffic:
    """Bytes that a kernel moved from and to one of its arguments in GM."""

    hits: int = 0
    """Loaded from L2."""
    misses: int = 0
    """Loaded from HBM, or from GM on a machine without L2."""
    stored: int = 0


class Run:
    """A stretch of time on a machine; see the module.

    `check` looks for hazards, `explain` attributes every cycle, `record` also keeps every entry that is issued. `alone`
    says that one kernel is all that runs, so that what only matters to another need not be kept. `decoders` are the
    memories of the cores, if they are to be those of other runs; `debugger` stops at the instructions of core 0. `l2`
    is what L2 has at first on a machine with one: nothing if it is `cold`; `off` makes GM a flat memory.
    """

    def __init__(
        self,
        target: Target,
        *,
        cores: int = 1,
        check: bool = True,
        explain: bool = False,
        record: bool = False,
        alone: bool = False,
        decoders: Sequence[Decoder] | None = None,
        debugger: Debugger | None = None,
        l2: str | None = None,
    ):
        self.target = target
        self.memory = MemorySystem(target) if l2_state(l2, target) != "off" else None
        self._places = _Places()
        self._beside: dict[int, Sequence[GmTouch]] = {}
        """What the last kernel of each core touches."""
        self.alone = alone
        self.debugger = debugger
        self.clock = Clock(target, cores)
        self.hazards = Hazards(target, cores, alone) if check else None
        self.observers = [
            Observer(core, target, Recording() if record else None)
            for core in (self.clock.cores if explain or record else ())
        ]
        self._decoders = decoders
        self._texts: list[list[str]] = [[] for _ in self.clock.cores]
        self._arguments: list[Any] = []
        """Kept, so that no other array gets the address of one that was used."""

    @property
    def decoders(self) -> Sequence[Decoder]:
        """The memories of the cores."""
        if self._decoders is None:
            self._decoders = [Decoder(Core(self.target)) for _ in self.clock.cores]
        return self._decoders

    @property
    def cycles(self) -> int:
        """When everything is complete on all cores."""
        return max(core.idle(core.now) for core in self.clock.cores)

    def execute(
        self,
        blocks: Blocks,
        arguments: Sequence[Any],
        *,
        core: int = 0,
        values: bool = True,
        skip: bool = True,
        budget: int = STEP_BUDGET,
        heat: Heat | None = None,
        constant: Container[int] = (),
        check: bool = True,
    ) -> Executed:
        """Run a kernel on a core, behind what was given to that core before.

        `arguments` are its arrays in GM, inputs before results. Without `values` nothing is computed, and they are
        whatever tells arrays apart: equal ones are the same array, None is one that nothing else has, a `range` is one
        with these bytes of GM. With `skip`, iterations of loops that only repeat what was seen are skipped if nobody
        has to see them. `heat` says where the arguments are on a machine with L2, if that isn't to follow from what
        the run has executed; `constant` are the numbers of arguments that no kernel of the run writes. Without
        `check`, no hazards are looked for in this kernel. Raises a `SimulationError` for a hazard, and for more than
        `budget` loop iterations and instructions.
        """
        clock = self.clock.cores[core]
        if heat is None and self.memory is not None:
            heat = self._heat(blocks.kernel, arguments, core)
        blocks = blocks.at(heat)
        counts = LoadCounts()
        if not self.alone:
            self._arguments.append(arguments)
        if self.observers:
            self._texts[core] += site_texts(blocks.kernel)
        sinks = self._sinks(blocks, arguments, core, values, counts, constant, check)
        generated = generate(blocks, sinks, skip=skip and blocks.long)
        start = clock.now
        clock.now, executions = generated.run(arguments if values else [None] * len(arguments), budget, start)
        executed = Executed(start, clock.idle(clock.now))
        return self._count(blocks, generated, executions, counts, executed)

    def prefetch(self, array: Any, size: int, core: int = 0) -> None:
        """Bring an array of so many bytes to L2 from now on, which is when the scalar unit of a core is through with
        what was given to it. `array` is as an argument of `execute`. Does nothing without L2."""
        if self.memory is not None:
            self._arguments.append(array)
            self.memory.prefetch(self._places.of(array, size), self.clock.cores[core].now)

    def _heat(self, kernel: tile.KernelOp, arguments: Sequence[Any], core: int) -> Heat:
        assert self.memory is not None
        types = [arg.type for arg in kernel.body.block.args]
        places = [self._places.of(a, gm_bytes(t)) for a, t in zip(arguments, types, strict=True)]
        touches = KernelTouches(kernel).at(places)
        beside = [touch for other, used in self._beside.items() if other != core for touch in used]
        self._beside[core] = touches
        now = self.clock.cores[core].now
        heat = self.memory.launch(touches, now, beside).heat
        return Heat(tuple(now + ready if ready else ready for ready in heat.ready), heat.fits)

    def _sinks(
        self,
        blocks: Blocks,
        arguments: Sequence[Any],
        core: int,
        values: bool,
        counts: LoadCounts,
        constant: Container[int],
        check: bool,
    ) -> list[Sink]:
        clock = self.clock.cores[core]
        sinks: list[Sink] = []
        debugger = self.debugger if core == 0 else None
        if debugger is not None:
            debugger.enter(blocks.kernel, clock, arguments)
            sinks.append(debugger)
        if self.hazards is not None and not check:
            self.hazards.skip(blocks.kernel, arguments, core)
        elif self.hazards is not None:
            sinks.append(HazardSink(self.hazards.enter(blocks.kernel, arguments, core, constant)))
        if self.observers:
            sinks.append(ObservedTiming(self.observers[core], counts))
        elif debugger is None and blocks.long:
            sinks.append(InlinedTiming(clock, self.alone, counts))
        else:
            sinks.append(CalledTiming(clock, counts))
        if values:
            sinks.append(Values(self.decoders[core].decode))
        return sinks

    def _count(
        self,
        blocks: Blocks,
        generated: Generated,
        executions: Sequence[int],
        counts: LoadCounts,
        executed: Executed,
    ) -> Executed:
        for count, block in zip(executions, generated.blocks, strict=True):
            executed.instructions += count * block.instructions
            for pipe, cycles in block.busy.items():
                if count and cycles:
                    executed.pipe_busy[pipe] = executed.pipe_busy.get(pipe, 0) + count * cycles
            for work in block.works:
                executed.macs += count * _macs(work)
                executed.padded_macs += count * padded_macs(work, blocks.target)
            for transfer in block.transfers:
                _add(executed.traffic, transfer, count)
        for op, load in blocks.loads.items():
            misses, delays = counts.misses.get(op, 0), counts.delays.get(op, 0)
            if load.ready == NEVER:
                delays = misses * (load.miss.occupancy - load.hit.occupancy)
            executed.pipe_busy[op.PIPE] = executed.pipe_busy.get(op.PIPE, 0) + delays
            if load.argument is not None and misses:
                traffic = executed.traffic[load.argument]
                traffic.hits -= misses * load.bytes
                traffic.misses += misses * load.bytes
        return executed

    def texts(self, core: int = 0) -> Sequence[str]:
        """The text of each site of a core, if it is observed."""
        return self._texts[core]

    def end(self) -> None:
        """Nothing follows. Raises a `SimulationError` for a flag that is still set, or a result that is not written
        completely."""
        if self.hazards is not None:
            self.hazards.end()

    def explain(self, core: int = 0, launch: int = 0) -> Attribution:
        """Where the time of a core goes, behind which come the `launch` cycles; asked for with `explain`, and once."""
        observer = self.observers[core]
        return attribute(
            observer, self.clock.cores[core].now, launch, observer.recording is not None, self._texts[core]
        )


def _add(traffic: dict[int, ArgumentTraffic], transfer: Traffic, count: int) -> None:
    if transfer.argument is None or not count:
        return
    own = traffic.setdefault(transfer.argument, ArgumentTraffic())
    moved = count * transfer.bytes
    if not transfer.load:
        own.stored += moved
    elif transfer.hit:
        own.hits += moved
    else:
        own.misses += moved


class _Places:
    """Where the arrays of a run are in GM: where they are in our memory; what only stands for arrays has places of its
    own."""

    def __init__(self) -> None:
        self._named: dict[Hashable, range] = {}
        self._end = 1 << 60

    def of(self, array: Any, size: int) -> range:
        """The bytes of an argument of a kernel."""
        if isinstance(array, np.ndarray):
            return range(array.ctypes.data, array.ctypes.data + array.nbytes)
        if isinstance(array, range):
            return array
        key = object() if array is None else array
        if key not in self._named:
            start = round_up(self._end, ALIGNMENT)
            self._end = start + size
            self._named[key] = range(start, self._end)
        return self._named[key]


def _macs(work: CubeWork) -> int:
    return work.m * work.k * work.n
