"""Run a module at the level of instructions: outputs, cycles and counters.

The host function runs as everywhere, its loops too; each `tile.launch` runs the kernel on one core that holds no data
before. Launches are serial. A kernel's cycles depend on no data, so its hazards are found once, and its time once for
each state of L2 that it finds its operands in: in it or not, as follows from the launches before, or on their way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npu_mlir.analysis.gm_addresses import GmAddresses, KernelTouches, viewed
from npu_mlir.analysis.residency import GmTouch
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.interpreters.errors import IndexOutOfRange
from npu_mlir.interpreters.framework import Interpreter, check_inputs
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.numerics import quiet
from npu_mlir.interpreters.registry import Results, Step
from npu_mlir.interpreters.tile import arena_of
from npu_mlir.ir.loop_bounds import times_run
from npu_mlir.ir.sections import launches_in_order, new_windows
from npu_mlir.simulator.attribution.attribution import Attribution, loc_of
from npu_mlir.simulator.attribution.recording import Recording
from npu_mlir.simulator.codegen.generator import Generated, generate
from npu_mlir.simulator.debugger import Debugger
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.execution.values import Decoder, Values
from npu_mlir.simulator.linked import ProgramRun
from npu_mlir.simulator.program.blocks import Blocks, Heat
from npu_mlir.simulator.run import STEP_BUDGET, ArgumentTraffic, Run
from npu_mlir.simulator.timing.memory_system import MemorySystem, Placed
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape
from npu_mlir.targets.l2 import l2_state
from npu_mlir.targets.module_target import check_target, target_of
from npu_mlir.targets.target import Target

Prefetch = tile.PrefetchOp | npu_isa.PrefetchOp
"""What stands in the host function for bringing data to L2."""

MOST_LAUNCHES = 10_000_000
"""Of one run: more would take hours."""


@dataclass
class KernelStats:
    """What all launches of one kernel amount to. Cycles are those of the target's clock (`Target.clock_mhz`)."""

    name: str
    """The kernel's symbol."""
    loc: str
    """The graph ops that it computes, joined by `+`; empty if it has no location."""
    launches: int = 0
    instructions: int = 0
    """Instructions executed, without flags, barriers and scalar operations."""
    cycles: int = 0
    """Each launch from an empty core until all pipes are idle, and the fixed cost of a launch."""
    macs: int = 0
    """Multiply-adds of the cube's operands, their padding to the cube's size excluded."""
    padded_macs: int = 0
    """Multiply-adds that the cube performed."""
    pipe_busy: dict[Pipe, int] = field(default_factory=dict[Pipe, int])
    """Cycles that instructions occupied each pipe."""
    attribution: Attribution | None = None
    """One launch, explained, if `explain` or `record` asked for it."""
    recording: Recording | None = None
    """The entries of one launch, if `record` asked for them."""
    traffic: dict[int, ArgumentTraffic] = field(default_factory=dict[int, ArgumentTraffic])
    """Bytes moved from and to GM, by argument."""
    variants: list[KernelStats] = field(default_factory=list["KernelStats"])
    """The launches by the state of L2 that they found their operands in: for each the sums of its launches, and one of
    them explained."""


@dataclass(frozen=True)
class OperandHeat:
    """Where a launch found one of its operands, or put one of its results."""

    reason: str
    """`cold: first use`, `hot: 3.1 MB since`, `prefetched`; `result` for what it makes; empty without L2."""
    hot: bool
    """In L2 when the launch begins, or on its way there."""
    prefetched: bool
    """Brought there by a prefetch."""
    hits: int
    """Bytes loaded from L2; what is loaded several times counts as often."""
    misses: int
    """Bytes loaded from HBM, or from GM on a machine without L2."""
    stored: int


@dataclass(frozen=True)
class PrefetchRun:
    """One prefetch, in the order of the host function."""

    loc: str
    """The graph ops that use what it brings, joined by `+`."""
    issued: int
    start: int
    """When its queue gets to it."""
    ready: int
    """When its bytes are in L2, in cycles from the start of the host function."""
    bytes: int
    """0 for what is there already."""


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel, in the order of the host function."""

    kernel: str
    """The kernel's symbol."""
    loc: str
    """The graph ops that this launch computes, joined by `+`."""
    start: int
    """In cycles from the start of the host function, whose own time is not counted."""
    cycles: int
    """As in `KernelStats`, of this launch."""
    variant: int = 0
    """Which of the kernel's variants it is."""
    operands: tuple[OperandHeat, ...] = ()
    """What it moved from and to each of its operands and results, and why."""


@dataclass
class SimulationResult:
    """What a run of the host function came to."""

    outputs: list[np.ndarray]
    """The results of the host function, in their order; empty when no values were asked for."""
    cycles: int
    """Of all launches, which are serial, in cycles of the target's clock."""
    kernels: list[KernelStats]
    """In the order of their first launches."""
    launches: list[Launch] = field(default_factory=list[Launch])
    prefetches: list[PrefetchRun] = field(default_factory=list[PrefetchRun])
    l2: str = "off"
    """What L2 had at the start: `cold`, `warm`; `off` without L2."""


def simulate(
    module: ModuleOp,
    inputs: Sequence[np.ndarray] = (),
    *,
    target: Target | str | None = None,
    check: bool = True,
    values: bool = True,
    function: str = "main",
    budget: int = STEP_BUDGET,
    explain: bool = False,
    record: bool = False,
    progress: Callable[[int, int], None] | None = None,
    extrapolate: bool = True,
    watch: Callable[[tile.LaunchOp, list[np.ndarray]], None] | None = None,
    breaks: Sequence[str] = (),
    l2: str | None = None,
) -> SimulationResult:
    """Run the host function of a module of instructions.

    `check` looks for races, misused flags, reads of memory that was never written and accesses outside of buffers.
    Without `values`, time alone is computed and no inputs are needed; if nothing is checked or recorded either,
    iterations of loops that repeat what was seen are skipped, unless `extrapolate` is false: the results are the same.
    `explain` attributes every cycle, `record` also keeps every entry that the scalar unit issues. `progress` is called
    after each launch, with how many there were and how many there are; `watch` with the launch and its results, which
    are overwritten later. At `breaks`, names of kernels or nodes or cycles, a prompt opens on standard input. `l2` is
    what the cache of a machine that has one contains at first: nothing (`cold`), what is left there by the same program
    run before (`warm`); `off` takes GM for a flat memory.

    Raises a `SimulationError` for a program that misuses the machine (a race, a flag, memory that was never written or
    does not exist) or takes more than `budget` loop iterations and instructions in one launch. Raises a `UserError`
    for inputs that do not fit the function, for another target than the module was compiled for, for a state of L2
    that it can't be in, and for a break point that nothing can match.
    """
    machine = _machine(module, target)
    options = _Options(
        check,
        budget,
        explain or record,
        record,
        progress,
        extrapolate,
        watch,
        tuple(breaks),
        l2_state(l2, machine),
        values,
    )
    host = _Host(module, machine, options)
    if not values:
        for op in host.addresses.run(module):
            if isinstance(op, tile.LaunchOp):
                host.time(op)
            elif isinstance(op, Prefetch):
                host.prefetch(op)
            elif isinstance(op, tile.ProgramOp):
                host.begin_program(op)
            else:
                host.end_program()
        return host.result([])
    main = host.symbol(function)
    if isinstance(main, FuncOp):
        check_inputs(main, inputs)
    if host.memory is not None:
        host.order = host.addresses.run(main)
    with quiet():
        outputs = host.call(function, inputs)
    return host.result([np.array(output) for output in outputs])


def _machine(module: ModuleOp, asked: Target | str | None) -> Target:
    """The target of a module; a `UserError` if another one is asked for."""
    if asked is None:
        return target_of(module)
    machine = Target.load(asked) if isinstance(asked, str) else asked
    check_target(module, machine)
    return machine


@dataclass(frozen=True)
class _Options:
    """What is asked for beside outputs and cycles."""

    check: bool
    budget: int
    explain: bool
    record: bool
    progress: Callable[[int, int], None] | None = None
    extrapolate: bool = True
    watch: Callable[[tile.LaunchOp, list[np.ndarray]], None] | None = None
    breaks: Sequence[str] = ()
    l2: str = "off"
    values: bool = True


class _Host(Interpreter):
    """Runs the host function and simulates its launches."""

    def __init__(self, module: ModuleOp, target: Target, options: _Options):
        super().__init__(module)
        self.target = target
        self.options = options
        self.launches: list[Launch] = []
        self.now = 0
        self.total = sum(times_run(op) for op in module.walk() if isinstance(op, tile.LaunchOp))
        if self.total > MOST_LAUNCHES:
            raise UserError(f"{self.total} launches, and at most {MOST_LAUNCHES} are simulated")
        self.debugger: Debugger | None = None
        if options.breaks:
            self.debugger = Debugger(options.breaks, self.decoder.core)
            self.debugger.unused([op for op in module.ops if isinstance(op, tile.KernelOp)])
        self.programs: dict[Operation, KernelProgram] = {}
        self.prefetches: list[PrefetchRun] = []
        self.memory: MemorySystem | None = None
        self.addresses = GmAddresses(module)
        self.order: Iterator[Operation] = iter(())
        """Of the launches and prefetches of a run with values, to know where their operands lie."""
        self.running: ProgramRun | None = None
        """The program that launches are sections of."""
        self.sections: list[tuple[KernelProgram, KernelStats]] = []
        """Those of the running program."""
        self.timed: dict[Hashable, Any] = {}
        """What sections came to in time; see `ProgramRun`."""
        self.windows: set[tuple[Hashable, ...]] = set()
        """Sections in a row in which hazards have been looked for."""
        self.checked: Iterator[bool] = iter(())
        """For each section of the running program, whether that is still to be done."""
        if options.l2 != "off":
            self.memory = MemorySystem(target)
            if options.l2 == "warm":
                self._warm_up()

    @cached_property
    def decoder(self) -> Decoder:
        """The memory of the core: there once values are computed."""
        return Decoder(Core(self.target), self.module)

    def program(self, launch: tile.LaunchOp) -> KernelProgram:
        """The program of the kernel that is launched."""
        kernel = self.symbol(launch.kernel)
        if not isinstance(kernel, tile.KernelOp):
            raise UserError(f"'@{launch.kernel.string_value()}' is not a kernel", loc=launch)
        if kernel not in self.programs:
            self.programs[kernel] = KernelProgram(kernel, self)
        return self.programs[kernel]

    def placed(self, op: tile.LaunchOp) -> Placed | None:
        """Where a launch that comes next finds its operands; None without L2."""
        if self.memory is None:
            return None
        return self.memory.launch(self._touches(op), self._start())

    def _start(self) -> int:
        """When the next launch begins; its fixed cost comes before its first instruction."""
        start = self.now + self.target.latencies["launch"]
        return start if self.running is None else start + self.running.now

    def _touches(self, op: tile.LaunchOp) -> list[GmTouch]:
        places = [self.addresses.of(value) for value in (*op.inputs, *op.results)]
        return self.program(op).touches.at(places)

    def _warm_up(self) -> None:
        """Leave in L2 what a run of the whole program does."""
        assert self.memory is not None
        for op in self.addresses.run(self.module):
            if isinstance(op, tile.LaunchOp):
                self.memory.residency.launch(self._touches(op))
            elif isinstance(op, Prefetch):
                self.memory.residency.launch([GmTouch(self.addresses.of(op.source))])

    def prefetch(self, op: Prefetch) -> None:
        """A prefetch begins, if there is an L2."""
        if self.memory is not None:
            now = self.now
            if self.running is not None and self.sections:
                now = self._start()
            done = self.memory.prefetch(self.addresses.of(op.source), now)
            run = PrefetchRun(loc_of(op), now, done.start, done.ready, done.bytes)
            self.prefetches.append(run)

    # ---- programs

    def begin_program(self, op: tile.ProgramOp) -> None:
        """What is launched next is one program."""
        options = self.options
        if options.check:
            # Hazards depend on no data: what has run in the same row is not looked at again.
            names = [launch.kernel.string_value() for launch in launches_in_order(op.body.block)]
            self.checked = iter(new_windows(names, self.windows))
        self.running = ProgramRun(
            self.target,
            self.timed,
            check=options.check,
            explain=options.explain,
            record=options.record,
            decoders=[self.decoder] if options.values else None,
            debugger=self.debugger,
        )
        self.sections = []

    def end_program(self) -> None:
        """The core comes to rest."""
        assert self.running is not None
        self.running.run.end()
        launch = self.target.latencies["launch"]
        for (program, once), (attribution, recording) in zip(self.sections, self.running.explain(launch)):
            program.explained(once, attribution, recording)
        self.now += self.running.complete + (launch if self.sections else 0)
        self.running = None

    def constants(self, op: tile.LaunchOp) -> set[int]:
        """The operands of a launch that no launch writes."""
        found: set[int] = set()
        for number, value in enumerate(op.inputs):
            owner = viewed(value).owner
            if isinstance(owner, Operation):
                constant = owner.name in ("graph.weight", "arith.constant")
            else:
                constant = isinstance(owner.parent_op(), FuncOp)
            if constant:
                found.add(number)
        return found

    def _next(self, op: Operation) -> None:
        """Go on to a launch or prefetch, so that the addresses are those of this time."""
        if self.memory is not None and next(self.order, None) is not op:
            raise UserError("the order of launches is not known before, and L2 wants it: --l2 off", loc=op)

    def time(self, op: tile.LaunchOp) -> None:
        """Simulate the time of a launch, without values."""
        program = self.program(op)
        if self.running is not None:
            self.running.begin_section()
        placed = self.placed(op)
        if self.running is not None:
            self._section(op, self._names(op), placed, values=False)
        else:
            program.time(placed)
        self.count(op, placed)

    def _names(self, op: tile.LaunchOp) -> list[Hashable]:
        """What tells the operands and results of a launch apart, without values: their bytes."""
        return [self.addresses.of(value) for value in (*op.inputs, *op.results)]

    def _section(
        self, op: tile.LaunchOp, arguments: Sequence[Any], placed: Placed | None, values: bool
    ) -> None:
        """Simulate a launch as a section of the running program."""
        assert self.running is not None
        program = self.program(op)
        check = next(self.checked, False) or self.debugger is not None
        once = program.section(
            self.running, arguments, placed, self.constants(op), values, not self.sections, check
        )
        self.sections.append((program, once))

    def step(self, op: Operation) -> Step:
        if isinstance(op, Prefetch):
            return lambda args: self._next(op) or self.prefetch(op) or ()
        if isinstance(op, tile.ProgramOp):
            return lambda args: self._program(op)
        if not isinstance(op, tile.LaunchOp):
            return super().step(op)
        program, count = self.program(op), len(op.inputs)

        def launch(args: Results) -> Results:
            self._next(op)
            if self.running is not None:
                self.running.begin_section()
            placed = self.placed(op)
            outputs = self._results(op, args[count:])
            inputs = [np.ascontiguousarray(a) for a in args[:count]]
            for output, operand in zip(outputs, program.kernel.reused, strict=True):
                if any(np.may_share_memory(a, output) for i, a in enumerate(inputs) if i != operand):
                    raise SimulationError(
                        "a result lies where an operand of its launch is still needed", loc=op
                    )
                if operand is None:
                    continue
                if op.result_offsets is None:
                    # Nobody has said where it lies: in a place of its own, so that the operand stays what it is.
                    output[...] = inputs[operand]
                elif inputs[operand].ctypes.data != output.ctypes.data:
                    raise SimulationError("a result has to lie where the operand does that it reuses", loc=op)
            # What is simulated has arrays without gaps.
            whole = [o if o.flags.c_contiguous else np.empty(o.shape, o.dtype) for o in outputs]
            for array, operand in zip(whole, program.kernel.reused, strict=True):
                if operand is None:
                    array.reshape(-1).view(np.uint8).fill(0xFF)
            try:
                if self.running is not None:
                    self.running.note_views(zip([*inputs, *whole], [*args[:count], *outputs], strict=True))
                    self._section(op, [*inputs, *whole], placed, values=True)
                else:
                    program.launch(inputs, whole, placed)
            except IndexOutOfRange as error:
                raise error.launched_by(op) from None
            for output, array in zip(outputs, whole, strict=True):
                if output is not array:
                    output[...] = array
            self.count(op, placed)
            if self.options.watch is not None:
                self.options.watch(op, outputs)
            return tuple(outputs)

        return launch

    def _program(self, op: tile.ProgramOp) -> Results:
        self._next(op)
        self.begin_program(op)
        outputs = self.run_block(op.body.block)
        self._next(op.yielded)
        self.end_program()
        return outputs

    def count(self, op: tile.LaunchOp, placed: Placed | None) -> None:
        """Note a launch that has just been simulated."""
        program = self.programs[self.symbol(op.kernel)]
        once = program.last
        loc = loc_of(op) or program.stats.loc
        operands = _operand_heat(op, once, placed)
        name, number = program.stats.name, program.number(once)
        start = self.now
        if self.running is not None:
            launch = self.target.latencies["launch"]
            start += self.running.complete - once.cycles + launch
        self.launches.append(Launch(name, loc, start, once.cycles, number, operands))
        if self.running is None:
            self.now += once.cycles
        if self.options.progress is not None:
            self.options.progress(len(self.launches), self.total)

    def _results(self, op: tile.LaunchOp, slots: Sequence[int]) -> list[np.ndarray]:
        places = op.places()
        if places is None:
            return [np.empty(static_shape(t), numpy_dtype(t)) for t in op.result_types]
        slots = slots or (0,) * len(places)
        return list(map(arena_of(self).place, places, slots, op.result_types, op.strides()))

    def result(self, outputs: list[np.ndarray]) -> SimulationResult:
        stats = [program.stats for program in self.programs.values()]
        cycles = sum(s.cycles for s in stats)
        return SimulationResult(outputs, cycles, stats, self.launches, self.prefetches, self.options.l2)


def _operand_heat(op: tile.LaunchOp, once: KernelStats, placed: Placed | None) -> tuple[OperandHeat, ...]:
    """What a launch moved, argument by argument, and why."""
    found: list[OperandHeat] = []
    for number in range(len(op.inputs) + len(op.results)):
        traffic = once.traffic.get(number, ArgumentTraffic())
        if placed is None:
            found.append(OperandHeat("", False, False, traffic.hits, traffic.misses, traffic.stored))
            continue
        reason = placed.reason(number) if number < len(op.inputs) else "result"
        hot, prefetched = placed.findings[number].hot, placed.prefetched[number]
        found.append(OperandHeat(reason, hot, prefetched, traffic.hits, traffic.misses, traffic.stored))
    return tuple(found)


class KernelProgram:
    """A kernel, ready to be launched: generated functions for its first launch and for the others."""

    def __init__(self, kernel: tile.KernelOp, host: _Host):
        self.kernel = kernel
        self.host = host
        loc = kernel.attributes.get("npu.node")
        self.stats = KernelStats(kernel.sym_name.data, loc.data if isinstance(loc, StringAttr) else "")
        self.timed: dict[Hashable, KernelStats] = {}
        """One launch for each state of L2, and for each of the core as a section of a program."""
        self._variants: dict[int, int] = {}
        """The number of each of them, by its identity."""
        self.last = self.stats
        """The last launch."""
        self._repeat: Generated | None = None
        self.blocks = Blocks(kernel, host.target)

    @cached_property
    def touches(self) -> KernelTouches:
        """What a launch does with its operands and results."""
        return KernelTouches(self.kernel)

    def launch(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], placed: Placed | None
    ) -> None:
        """Run the kernel once on GM arrays; the first launch finds hazards, and with each state of L2 the cycles."""
        arguments, heat = [*inputs, *outputs], self._heat(placed)
        if not self.timed or self.host.debugger is not None:
            self._count(heat, self._first(arguments, heat, values=True))
            return
        if self._repeat is None:
            self._repeat = generate(self.blocks, [Values(self.host.decoder.decode)])
        self._repeat.run(arguments, self.host.options.budget)
        self.time(placed)

    def time(self, placed: Placed | None) -> None:
        """Count a launch without values."""
        heat = self._heat(placed)
        once = self.timed.get(heat)
        if once is None:
            once = self._first([None] * len(self.kernel.body.block.args), heat, values=False)
        self._count(heat, once)

    def section(
        self,
        run: ProgramRun,
        arguments: Sequence[Any],
        placed: Placed | None,
        constant: Container[int],
        values: bool,
        first: bool,
        check: bool,
    ) -> KernelStats:
        """Run the kernel as a section of a program, the `first` of which has the cost of the launch; with `check`,
        hazards are looked for."""
        options, heat = self.host.options, self._heat(placed)
        alone = values and not check
        if alone:
            # Nothing has to be seen of it but its values, and time is known already, or found without.
            if self._repeat is None:
                self._repeat = generate(self.blocks, [Values(self.host.decoder.decode)])
            self._repeat.run(arguments, options.budget)
        section = run.section(
            self.blocks,
            arguments,
            heat,
            values=values and not alone,
            skip=options.extrapolate,
            budget=options.budget,
            constant=constant,
            check=check,
        )
        executed, launch = section.executed, self.host.target.latencies["launch"] if first else 0
        key = (section.key, first)
        once = self.timed.get(key) or KernelStats(
            self.stats.name,
            self.stats.loc,
            1,
            executed.instructions,
            section.cycles + launch,
            executed.macs,
            executed.padded_macs,
            executed.pipe_busy,
            traffic=executed.traffic,
        )
        self._count(key, once)
        return once

    def explained(self, once: KernelStats, attribution: Attribution, recording: Recording | None) -> None:
        """Note where the time of a section went."""
        once.attribution, once.recording = attribution, recording
        variant = self.stats.variants[self.number(once)]
        variant.attribution, variant.recording = attribution, recording
        if self.number(once) == 0:
            self.stats.attribution, self.stats.recording = attribution, recording

    def number(self, once: KernelStats) -> int:
        """Which of the variants a launch is."""
        return self._variants[id(once)]

    def _heat(self, placed: Placed | None) -> Heat | None:
        if placed is None:
            return None
        # What is not loaded makes no difference.
        loaded = self.blocks.loaded
        ready = tuple(time if i in loaded else 0 for i, time in enumerate(placed.heat.ready))
        return Heat(ready, placed.heat.fits or set(ready) == {0})

    def _first(self, arguments: Sequence[Any], heat: Heat | None, values: bool) -> KernelStats:
        target, options = self.host.target, self.host.options
        run = Run(
            target,
            check=options.check and not self.timed,
            explain=options.explain,
            record=options.record,
            alone=True,
            decoders=[self.host.decoder] if values else None,
            debugger=self.host.debugger,
            l2="off",
        )
        executed = run.execute(
            self.blocks, arguments, values=values, skip=options.extrapolate, budget=options.budget, heat=heat
        )
        run.end()
        launch = target.latencies["launch"]
        once = KernelStats(
            self.stats.name,
            self.stats.loc,
            1,
            executed.instructions,
            executed.end + launch,
            executed.macs,
            executed.padded_macs,
            executed.pipe_busy,
            traffic=executed.traffic,
        )
        if run.observers:
            once.attribution = run.explain(launch=launch)
            once.recording = run.observers[0].recording
        return once

    def _count(self, key: Hashable, once: KernelStats) -> None:
        self.last = once
        if key not in self.timed:
            self.timed[key] = once
            self._variants[id(once)] = len(self._variants)
            variant = KernelStats(once.name, once.loc, attribution=once.attribution, recording=once.recording)
            self.stats.variants.append(variant)
            if len(self.timed) == 1:
                self.stats.attribution, self.stats.recording = once.attribution, once.recording
        _add(self.stats, once)
        _add(self.stats.variants[self.number(once)], once)


def _add(total: KernelStats, launch: KernelStats) -> None:
    total.launches += 1
    total.instructions += launch.instructions
    total.cycles += launch.cycles
    total.macs += launch.macs
    total.padded_macs += launch.padded_macs
    for pipe, cycles in launch.pipe_busy.items():
        total.pipe_busy[pipe] = total.pipe_busy.get(pipe, 0) + cycles
    for number, traffic in launch.traffic.items():
        own = total.traffic.setdefault(number, ArgumentTraffic())
        own.hits += traffic.hits
        own.misses += traffic.misses
        own.stored += traffic.stored
