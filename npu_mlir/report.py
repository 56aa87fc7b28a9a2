"""What `npu-run` says about a run: a table for people, JSON for programs, from the same data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from npu_mlir.comparison import Comparison
from npu_mlir.dialects.tile import KernelOp
from npu_mlir.files import write_atomically
from npu_mlir.targets.target import Target, get_target

if TYPE_CHECKING:
    from rich.table import Table

    from npu_mlir.api import Program
    from npu_mlir.simulator import SimulationResult

ELEMENT_BYTES = {"f32": 4, "f16": 2}

NAME_WIDTH = 24
"""Longer names of nodes are cut in tables (not in JSON)."""


@dataclass(frozen=True)
class KernelRow:
    """All launches of one kernel."""

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


@dataclass(frozen=True)
class OutputRow:
    """One output, and how far it is from the reference if there was one."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    largest_error: float | None = None
    worst_ratio: float | None = None


@dataclass(frozen=True)
class Report:
    """Everything about one run. Cycles and kernels are there if it was simulated."""

    level: str
    target: str | None
    precision: str
    outputs: list[OutputRow]
    agrees: bool | None
    """Whether all outputs agree with the reference; None without one."""
    cores: int = 1
    cycles: int | None = None
    instructions: int | None = None
    macs: int | None = None
    mac_utilisation: float | None = None
    kernels: list[KernelRow] = field(default_factory=list[KernelRow])


def peak_macs(target: Target, precision: str) -> float:
    """Multiply-accumulates that the cube of one core does in a cycle."""
    k = target.cube_k_bytes / ELEMENT_BYTES[precision]
    slowdown = target.cube_f32_slowdown if precision == "f32" else 1
    return target.cube_m * k * target.cube_n / slowdown


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
    if simulation is None or target is None:
        return Report(level, target, precision, rows, agrees)
    peak = peak_macs(get_target(target), precision)
    kernels = _kernel_rows(program, simulation, peak)
    macs = sum(kernel.macs for kernel in kernels)
    return Report(
        level,
        target,
        precision,
        rows,
        agrees,
        cycles=simulation.cycles,
        instructions=sum(kernel.instructions for kernel in kernels),
        macs=macs,
        mac_utilisation=_utilisation(macs, simulation.cycles, peak),
        kernels=kernels,
    )


def write_report(report: Report, path: str) -> None:
    """Write a report as JSON."""
    write_atomically(path, json.dumps(asdict(report), indent=2) + "\n")


def print_report(report: Report) -> None:
    """Print a report as tables on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_title(report))
    if report.kernels:
        console.print(_kernel_table(report))
    console.print(_output_table(report))
    if report.agrees is not None:
        verdict = "agree with" if report.agrees else "DIFFER from"
        console.print(f"The outputs {verdict} the reference (a ratio of at most 1 agrees).")


def _kernel_table(report: Report) -> Table:
    from rich.table import Table

    table = Table("kernel")
    table.add_column("graph ops", overflow="fold")
    for column in ("launches", "instructions", "cycles", "MAC util."):
        table.add_column(column, justify="right", no_wrap=True)
    for row in report.kernels:
        figures = _figures(row.launches, row.instructions, row.cycles, row.mac_utilisation)
        table.add_row(row.name, " + ".join(map(_short, row.graph_ops.split("+"))), *figures)
    table.add_section()
    launches = sum(row.launches for row in report.kernels)
    totals = _figures(launches, report.instructions or 0, report.cycles or 0, report.mac_utilisation or 0.0)
    table.add_row("total", "", *totals)
    return table


def _output_table(report: Report) -> Table:
    from rich.table import Table

    table = Table("output", "shape")
    for column in ("max |a-b|", "max |a-b|/(atol+rtol|b|)") if report.agrees is not None else ():
        table.add_column(column, justify="right", no_wrap=True)
    for row in report.outputs:
        errors = [f"{x:.3g}" for x in (row.largest_error, row.worst_ratio) if x is not None]
        table.add_row(row.name, f"{'x'.join(map(str, row.shape))} {row.dtype}", *errors)
    return table


def _short(name: str) -> str:
    """The end of a node's name: frameworks put the path of modules in front."""
    return name if len(name) <= NAME_WIDTH else f"…{name[1 - NAME_WIDTH :]}"


def _title(report: Report) -> str:
    parts = [f"level {report.level}", report.precision]
    if report.cycles is not None:
        parts = [f"target {report.target}", report.precision, f"{report.cores} core"]
    return ", ".join(parts)


def _figures(launches: int, instructions: int, cycles: int, utilisation: float) -> list[str]:
    share = f"{100 * utilisation:.1f} %" if utilisation else ""
    return [f"{launches:,}", f"{instructions:,}", f"{cycles:,}", share]


def _output_row(name: str, value: np.ndarray, comparison: Comparison | None) -> OutputRow:
    errors = (comparison.largest_error, comparison.worst_ratio) if comparison else (None, None)
    return OutputRow(name, tuple(value.shape), str(value.dtype), *errors)


def _kernel_rows(program: Program, simulation: SimulationResult, peak: float) -> list[KernelRow]:
    kernels = {op.sym_name.data: op for op in program.module.ops if isinstance(op, KernelOp)}
    rows: list[KernelRow] = []
    for run in simulation.kernels:
        macs = run.launches * _integer(kernels[run.name], "npu.macs")
        utilisation = _utilisation(macs, run.cycles, peak)
        rows.append(
            KernelRow(run.name, run.loc, run.launches, run.instructions, run.cycles, macs, utilisation)
        )
    return rows


def _utilisation(macs: int, cycles: int, peak: float) -> float:
    return macs / (cycles * peak) if cycles else 0.0


def _integer(op: Operation, name: str) -> int:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else 0
