"""What is known about a run, as plain data: the tables of `npu-run` and its JSON are made from it.

The JSON is documented in docs/report.md; `SCHEMA` names its version, which changes with the meaning of an entry.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from npu_mlir.analysis.bound import NetworkBounds
from npu_mlir.dialects.npu_isa import MmadOp, Pipe
from npu_mlir.dialects.tile import KernelOp
from npu_mlir.report.host_work import host_work
from npu_mlir.report.launch_bounds import LaunchBounds, least_of
from npu_mlir.report.waterfall import Waterfall, waterfall_of
from npu_mlir.simulator.attribution.attribution import Attribution
from npu_mlir.support.accuracy import formulas_in
from npu_mlir.support.files import write_atomically
from npu_mlir.targets.module_target import target_label, target_of
from npu_mlir.targets.target import Target
from npu_mlir.validation.comparison import Comparison

if TYPE_CHECKING:
    from npu_mlir.api import Program
    from npu_mlir.simulator import KernelStats, Launch, SimulationResult
    from npu_mlir.simulator.simulate import OperandHeat, PrefetchRun

SCHEMA = "npu-mlir-report/1"


@dataclass(frozen=True)
class KernelRow:
    """All launches of one kernel. Cycles, instructions and multiply-accumulates are those of all launches together."""

    name: str
    graph_ops: str
    """The nodes of the model that the kernel computes, of its first launch."""
    launches: int
    instructions: int
    """How many were executed."""
    cycles: int
    macs: int
    """Multiply-accumulates of the model, without padding."""
    mac_utilisation: float
    """Share of the peak of the cube on the types that are multiplied, from 0 to 1."""
    bound: int | None = None
    """Cycles that its launches take at least; None for kernels that were not compiled by us."""
    efficiency: float | None = None
    """`bound / cycles`, from 0 to 1."""
    limit: str | None = None
    """The pipe that has the most to do."""
    pipe_bounds: dict[str, int] = field(default_factory=dict[str, int])
    """Cycles that each pipe is busy at least in one launch."""
    bytes: int | None = None
    """Bytes that one launch has to move from and to GM."""
    best_blocking: int | None = None
    """Cycles of one launch's busiest pipe under the best blocking, for kernels with one product."""
    attribution: Attribution | None = None
    """One launch, explained."""
    variants: list[VariantRow] = field(default_factory=list["VariantRow"])
    """Launches that found other operands in L2 than that one, where there are any."""

    def explained(self) -> Iterator[tuple[int, Attribution]]:
        """How many launches there are of each kind, and one of them explained, if they are."""
        others = sum(variant.launches for variant in self.variants)
        if self.attribution is not None:
            yield self.launches - others, self.attribution
        for variant in self.variants:
            if variant.attribution is not None:
                yield variant.launches, variant.attribution


@dataclass(frozen=True)
class VariantRow:
    """Launches of a kernel that found the same operands in L2."""

    launches: int
    cycles: int
    """Of all of them."""
    attribution: Attribution | None = None
    """One launch, explained."""


@dataclass(frozen=True)
class LaunchRow:
    """One launch, in the order of the host function."""

    kernel: str
    graph_ops: str
    """The nodes of the model that it computes."""
    start: int
    """Cycles since the start of the run."""
    cycles: int
    variant: int = 0
    """0 for a launch like the one that the kernel's `attribution` explains, else the number of its variant, from 1."""
    hits: int = 0
    """Bytes that it loads from L2; what it loads several times counts as often."""
    misses: int = 0
    """Bytes that it loads from HBM, or from GM on a machine without L2."""
    stored: int = 0
    bound: int | None = None
    """Cycles that it takes at least; of a section of a program, what its busiest pipe has to do."""
    operands: tuple[OperandHeat, ...] = ()
    """Of each operand and result, where it was and why, and its bytes."""


@dataclass(frozen=True)
class MemoryRow:
    """What moved between the core, L2 and HBM in a run."""

    l2: str
    """What L2 had at the start: nothing (`cold`), what the program leaves there (`warm`); `off`: GM is flat."""
    hits: int
    """Bytes loaded from L2."""
    misses: int
    """Bytes loaded from HBM."""
    stored: int
    """Bytes stored, to L2."""
    prefetched: int
    """Bytes that prefetches brought from HBM to L2."""
    hit_share: float
    """Of the bytes loaded, those from L2, from 0 to 1."""
    prefetches: list[PrefetchRun]


@dataclass(frozen=True)
class OutputRow:
    """One output, and how far it is from the reference if there was one."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    largest_error: float | None = None
    """The largest absolute difference to the reference, in the unit of the output."""
    worst_ratio: float | None = None
    """The largest difference as a multiple of what is allowed there: at most 1 if the output agrees."""
    nans: int = 0
    """How many elements are NaN. Where the reference has one as well they agree, which says little."""


@dataclass(frozen=True)
class Report:
    """Everything about one run. Cycles and kernels are there if it was simulated."""

    level: str
    """The level that was run: `graph`, `linalg`, `tile`, `tile-memref` or `isa`."""
    target: str | None
    """The machine; None for a level that has none."""
    precision: str
    """The float type of the model, `f32` or `f16`."""
    outputs: list[OutputRow]
    agrees: bool | None
    """Whether all outputs agree with the reference; None without one."""
    cores: int = 1
    cycles: int | None = None
    """From the first launch to the end of the last."""
    instructions: int | None = None
    """How many were executed."""
    macs: int | None = None
    """Multiply-accumulates of the model, without padding."""
    mac_utilisation: float | None = None
    """Share of the cube's peak, from 0 to 1."""
    kernels: list[KernelRow] = field(default_factory=list[KernelRow])
    launches: list[LaunchRow] = field(default_factory=list[LaunchRow])
    host_calls: list[str] = field(default_factory=list[str])
    """The graph ops that are left to the host, whose time is not counted; one entry per call, in order."""
    host_nodes: list[str] = field(default_factory=list[str])
    """The nodes that run on the host, each with its operator in parentheses if the model's own runs there."""
    host_macs: int = 0
    """Multiply-accumulates of these, as far as shapes tell; they are not part of `macs`."""
    host_mac_share: float | None = 0.0
    """`host_macs` as a share of those of the whole model, from 0 to 1; None for a level without kernels."""
    graph_ops: dict[str, int] = field(default_factory=dict[str, int])
    """Cycles by the graph ops that a launch computes."""
    critical: dict[str, int] = field(default_factory=dict[str, int])
    """The critical paths of all launches by cause, if they were explained."""
    bounds: NetworkBounds | None = None
    """Lower bounds of the whole run, if all kernels have one."""
    efficiency: float | None = None
    """The lower bound divided by the cycles, from 0 to 1."""
    assumptions: list[str] = field(default_factory=list[str])
    """What the figures rest on."""
    formulas: list[str] = field(default_factory=list[str])
    """The fast formulas in the kernels, with their errors."""
    memory: MemoryRow | None = None
    """L2 and HBM; None on a machine without L2."""
    waterfall: Waterfall | None = None
    """The way from ideal cycles to `cycles`, of the run and of each kernel, if the run was explained."""
    schema: str = SCHEMA


def report_of(
    program: Program,
    outputs: dict[str, np.ndarray],
    simulation: SimulationResult | None,
    comparisons: list[Comparison],
) -> Report:
    """The report of a run of `program`."""
    level, target, precision = program.level, program.target, program.precision
    by_name = {comparison.name: comparison for comparison in comparisons}
    rows = [_output_row(name, value, by_name.get(name)) for name, value in outputs.items()]
    agrees = all(comparison.agrees for comparison in comparisons) if comparisons else None
    work = host_work(program.module)
    host: dict[str, Any] = {
        "host_calls": work.calls,
        "host_nodes": work.nodes,
        "host_macs": work.macs,
        "host_mac_share": work.share,
    }
    if simulation is None or target is None:
        return Report(
            level, target_label(program.module) if target else None, precision, rows, agrees, **host
        )
    machine = target_of(program.module)
    bounds_of = LaunchBounds(program.module, machine, simulation)
    launches = [_launch_row(run, bounds_of.least(i)) for i, run in enumerate(simulation.launches)]
    kernels = _kernel_rows(program, simulation, machine, launches)
    macs = sum(kernel.macs for kernel in kernels)
    busy = sum(row.mac_utilisation * row.cycles for row in kernels)
    # Of types with different peaks, what they come to together.
    peak = macs / busy if busy else machine.peak_macs(precision)
    bounds = bounds_of.network()
    return Report(
        level,
        target_label(program.module),
        precision,
        rows,
        agrees,
        cycles=simulation.cycles,
        instructions=sum(kernel.instructions for kernel in kernels),
        macs=macs,
        mac_utilisation=_utilisation(busy, simulation.cycles),
        kernels=kernels,
        launches=launches,
        graph_ops=_by_graph_op(launches),
        critical=_critical(kernels),
        bounds=bounds,
        efficiency=bounds.linked / simulation.cycles if bounds is not None and simulation.cycles else None,
        assumptions=assumptions(machine, len(launches), work.calls, simulation.l2),
        formulas=formulas_in(program.module),
        memory=_memory(simulation, launches) if machine.l2 else None,
        waterfall=waterfall_of(simulation, bounds_of, peak, {row.name: row.macs for row in kernels}),
        **host,
    )


def _launch_row(run: Launch, least: int | None) -> LaunchRow:
    hits, misses, stored = (
        sum(getattr(o, name) for o in run.operands) for name in ("hits", "misses", "stored")
    )
    place = (run.kernel, run.loc, run.start, run.cycles, run.variant)
    return LaunchRow(*place, hits, misses, stored, least, run.operands)


def _memory(simulation: SimulationResult, launches: Sequence[LaunchRow]) -> MemoryRow:
    hits, misses, stored = (
        sum(getattr(run, name) for run in launches) for name in ("hits", "misses", "stored")
    )
    prefetched = sum(run.bytes for run in simulation.prefetches)
    share = hits / (hits + misses) if hits else 0.0
    return MemoryRow(simulation.l2, hits, misses, stored, prefetched, share, simulation.prefetches)


def assumptions(target: Target, launches: int = 0, calls: Sequence[str] = (), l2: str = "off") -> list[str]:
    """What the figures of a run with so many launches and these host calls rest on, and what they leave out."""
    left = "no work is left to the host"
    if calls:
        left = (
            f"{len(calls)} of {launches + len(calls)} steps are left to the host, whose time is not counted: "
            + ", ".join(dict.fromkeys(calls))
        )
    assumed = sorted(name for name, source in target.sources.items() if source.startswith("assumed"))
    return [
        f"assumed, not measured: {', '.join(assumed) or 'no number of the target'}",
        "one core",
        {
            "off": "GM at its cold rate: nothing is found in L2",
            "cold": "L2 is empty at the start",
            "warm": "L2 has at the start what the same program leaves there",
        }[l2],
        f"launches follow each other without overlap; {left}",
    ]


def write_report(report: Report, path: str) -> None:
    """Write a report as JSON."""
    write_atomically(path, json.dumps(asdict(report), indent=1) + "\n")


def _output_row(name: str, value: np.ndarray, comparison: Comparison | None) -> OutputRow:
    errors = (comparison.largest_error, comparison.worst_ratio) if comparison else (None, None)
    nans = int(np.count_nonzero(value != value))
    return OutputRow(name, tuple(value.shape), str(value.dtype), *errors, nans)


def _kernel_rows(
    program: Program, simulation: SimulationResult, machine: Target, launches: Sequence[LaunchRow]
) -> list[KernelRow]:
    kernels = {op.sym_name.data: op for op in program.module.ops if isinstance(op, KernelOp)}
    bounds: dict[str, list[int | None]] = {}
    for launch in launches:
        bounds.setdefault(launch.kernel, []).append(launch.bound)
    return [
        _kernel_row(run, kernels[run.name], _peak(kernels[run.name], machine), bounds[run.name])
        for run in simulation.kernels
    ]


def _peak(kernel: KernelOp, machine: Target) -> float:
    """Multiply-adds per cycle of the cube on elements of the type that a kernel multiplies."""
    elements = {str(op.element) for op in kernel.walk() if isinstance(op, MmadOp)}
    return max((machine.peak_macs(element) for element in elements), default=0.0)


def _kernel_row(run: KernelStats, kernel: KernelOp, peak: float, least: Sequence[int | None]) -> KernelRow:
    macs = run.launches * _integer(kernel, "npu.macs")
    bounds = least_of(kernel)
    bound = None if None in least else sum(cycles for cycles in least if cycles is not None)
    pipes = {name: cycles for name, cycles in bounds.items() if name in set(Pipe)}
    return KernelRow(
        run.name,
        run.loc,
        run.launches,
        run.instructions,
        run.cycles,
        macs,
        _utilisation(macs / peak if peak else 0.0, run.cycles),
        bound,
        bound / run.cycles if bound is not None and run.cycles else None,
        max(pipes, key=lambda name: pipes[name], default=None),
        pipes,
        bounds.get("bytes"),
        bounds.get("best_blocking"),
        run.attribution,
        [VariantRow(v.launches, v.cycles, v.attribution) for v in run.variants[1:]],
    )


def _by_graph_op(launches: list[LaunchRow]) -> dict[str, int]:
    cycles = Counter[str]()
    for launch in launches:
        cycles[launch.graph_ops] += launch.cycles
    return dict(cycles.most_common())


def _critical(kernels: list[KernelRow]) -> dict[str, int]:
    cycles = Counter[str]()
    for kernel in kernels:
        for launches, attribution in kernel.explained():
            for cause, part in attribution.critical.items():
                cycles[cause] += launches * part
    return dict(cycles.most_common())


def _utilisation(busy: float, cycles: int) -> float:
    """The share of the cycles in which the cube, at its peak, would have done the multiply-adds."""
    return busy / cycles if cycles else 0.0


def _integer(op: Operation, name: str) -> int:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else 0
