"""Run a module at the level of instructions: outputs, cycles and counters.

The host function runs as everywhere; each `tile.launch` runs the kernel on one core that holds no data before. Launches
are serial. A kernel's cycles depend on neither data nor addresses of GM, so its time (and its hazards) are found once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.interpreters.framework import Interpreter, check_inputs
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.numerics import quiet
from npu_mlir.interpreters.registry import Results, Step
from npu_mlir.simulator.attribution.attribution import Attribution, loc_of
from npu_mlir.simulator.attribution.recording import Recording
from npu_mlir.simulator.codegen.generator import Generated, generate
from npu_mlir.simulator.debugger import Debugger
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.execution.values import Decoder, Values
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.simulator.run import STEP_BUDGET, Run
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape
from npu_mlir.targets.module_target import check_target, target_of
from npu_mlir.targets.target import Target


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
) -> SimulationResult:
    """Run the host function of a module of instructions.

    `check` looks for races, misused flags, reads of memory that was never written and accesses outside of buffers.
    Without `values`, time alone is computed and no inputs are needed; if nothing is checked or recorded either,
    iterations of loops that repeat what was seen are skipped, unless `extrapolate` is false: the results are the same.
    `explain` attributes every cycle, `record` also keeps every entry that the scalar unit issues. `progress` is called
    after each launch, with how many there were and how many there are; `watch` with the launch and its results, which
    are overwritten later. At `breaks`, names of kernels or nodes or cycles, a prompt opens on standard input.

    Raises a `SimulationError` for a program that misuses the machine (a race, a flag, memory that was never written or
    does not exist) or takes more than `budget` loop iterations and instructions in one launch. Raises a `UserError`
    for inputs that do not fit the function, for another target than the module was compiled for, and for a break point
    that nothing can match.
    """
    machine = _machine(module, target)
    options = _Options(check, budget, explain or record, record, progress, extrapolate, watch, tuple(breaks))
    host = _Host(module, machine, options)
    if not values:
        for launch in module.walk():
            if isinstance(launch, tile.LaunchOp):
                host.program(launch).time()
                host.count(launch)
        return host.result([])
    main = host.symbol(function)
    if isinstance(main, FuncOp):
        check_inputs(main, inputs)
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


class _Host(Interpreter):
    """Runs the host function and simulates its launches."""

    def __init__(self, module: ModuleOp, target: Target, options: _Options):
        super().__init__(module)
        self.target = target
        self.options = options
        self.launches: list[Launch] = []
        self.now = 0
        self.total = sum(isinstance(op, tile.LaunchOp) for op in module.walk())
        self.debugger: Debugger | None = None
        if options.breaks:
            self.debugger = Debugger(options.breaks, self.decoder.core)
            self.debugger.unused([op for op in module.ops if isinstance(op, tile.KernelOp)])
        self.programs: dict[Operation, KernelProgram] = {}

    @cached_property
    def decoder(self) -> Decoder:
        """The memory of the core: there once values are computed."""
        return Decoder(Core(self.target))

    @cached_property
    def arena(self) -> np.ndarray:
        """The bytes that launch results with planned offsets lie in: there once a launch needs them for values."""
        size = 0
        for op in self.module.walk():
            if isinstance(op, tile.LaunchOp) and op.result_offsets is not None:
                for offset, type_ in zip(_offsets(op), op.result_types, strict=True):
                    size = max(size, offset + _bytes(type_))
        return np.empty(size, np.uint8)

    def program(self, launch: tile.LaunchOp) -> KernelProgram:
        """The program of the kernel that is launched."""
        kernel = self.symbol(launch.kernel)
        if not isinstance(kernel, tile.KernelOp):
            raise UserError(f"'@{launch.kernel.string_value()}' is not a kernel", loc=launch)
        if kernel not in self.programs:
            self.programs[kernel] = KernelProgram(kernel, self)
        return self.programs[kernel]

    def step(self, op: Operation) -> Step:
        if not isinstance(op, tile.LaunchOp):
            return super().step(op)
        program = self.program(op)

        def launch(args: Results) -> Results:
            outputs = self._results(op)
            inputs = [np.ascontiguousarray(a) for a in args]
            if any(np.may_share_memory(a, b) for a in inputs for b in outputs):
                raise SimulationError("a result lies where an operand of its launch is still needed", loc=op)
            for output in outputs:
                output.reshape(-1).view(np.uint8).fill(0xFF)
            program.launch(inputs, outputs)
            self.count(op)
            if self.options.watch is not None:
                self.options.watch(op, outputs)
            return tuple(outputs)

        return launch

    def count(self, op: tile.LaunchOp) -> None:
        """Note a launch that has just been simulated."""
        program = self.programs[self.symbol(op.kernel)]
        assert program.once is not None
        loc = loc_of(op) or program.stats.loc
        self.launches.append(Launch(program.stats.name, loc, self.now, program.once.cycles))
        self.now += program.once.cycles
        if self.options.progress is not None:
            self.options.progress(len(self.launches), self.total)

    def _results(self, op: tile.LaunchOp) -> list[np.ndarray]:
        results: list[np.ndarray] = []
        offsets = _offsets(op) if op.result_offsets is not None else None
        for i, type_ in enumerate(op.result_types):
            size = _bytes(type_)
            if offsets is None:
                memory = np.empty(size, np.uint8)
            else:
                memory = self.arena[offsets[i] : offsets[i] + size]
            results.append(memory.view(numpy_dtype(type_)).reshape(static_shape(type_)))
        return results

    def result(self, outputs: list[np.ndarray]) -> SimulationResult:
        stats = [program.stats for program in self.programs.values()]
        return SimulationResult(outputs, sum(s.cycles for s in stats), stats, self.launches)


def _offsets(op: tile.LaunchOp) -> list[int]:
    assert op.result_offsets is not None
    return list(ints(op.result_offsets))


def _bytes(type_: Any) -> int:
    return prod(static_shape(type_)) * numpy_dtype(type_).itemsize


class KernelProgram:
    """A kernel, ready to be launched: generated functions for its first launch and for the others."""

    def __init__(self, kernel: tile.KernelOp, host: _Host):
        self.kernel = kernel
        self.host = host
        loc = kernel.attributes.get("npu.node")
        self.stats = KernelStats(kernel.sym_name.data, loc.data if isinstance(loc, StringAttr) else "")
        self.once: KernelStats | None = None
        self._repeat: Generated | None = None
        self.blocks = Blocks(kernel, host.target)

    def launch(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Run the kernel once on GM arrays; the first launch finds its cycles."""
        arguments = [*inputs, *outputs]
        if self.once is None or self.host.debugger is not None:
            self.once = self._first(arguments, values=True)
        else:
            if self._repeat is None:
                self._repeat = generate(self.blocks, [Values(self.host.decoder.decode)])
            self._repeat.run(arguments, self.host.options.budget)
        self._count(self.once)

    def time(self) -> None:
        """Count a launch without values."""
        if self.once is None:
            self.once = self._first([None] * len(self.kernel.body.block.args), values=False)
        self._count(self.once)

    def _first(self, arguments: Sequence[Any], values: bool) -> KernelStats:
        target, options = self.host.target, self.host.options
        run = Run(
            target,
            check=options.check,
            explain=options.explain,
            record=options.record,
            alone=True,
            decoders=[self.host.decoder] if values else None,
            debugger=self.host.debugger,
        )
        executed = run.execute(
            self.blocks, arguments, values=values, skip=options.extrapolate, budget=options.budget
        )
        run.end()
        launch = target.latencies["launch"]
        if run.observers:
            self.stats.attribution = run.explain(launch=launch)
            self.stats.recording = run.observers[0].recording
        return KernelStats(
            self.stats.name,
            self.stats.loc,
            1,
            executed.instructions,
            executed.end + launch,
            executed.macs,
            executed.padded_macs,
            executed.pipe_busy,
        )

    def _count(self, launch: KernelStats) -> None:
        total = self.stats
        total.launches += 1
        total.instructions += launch.instructions
        total.cycles += launch.cycles
        total.macs += launch.macs
        total.padded_macs += launch.padded_macs
        for pipe, cycles in launch.pipe_busy.items():
            total.pipe_busy[pipe] = total.pipe_busy.get(pipe, 0) + cycles
