"""A run as tables on the terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import prod

from rich.table import Table

from npu_mlir.analysis.waterfall import STEPS
from npu_mlir.report.host_work import HostWork, summary
from npu_mlir.report.report import KernelRow, MemoryRow, Report
from npu_mlir.report.views.terminal import PlainConsole
from npu_mlir.report.waterfall import Waterfall
from npu_mlir.simulator import SimulationResult
from npu_mlir.support.diagnostics import printable
from npu_mlir.support.node_names import parts
from npu_mlir.validation.intermediates import IntermediateCheck

NAME_WIDTH = 24
"""Longer names of nodes are cut in tables (not in JSON)."""

ROWS = 12
"""Rows of tables that show the most expensive of something."""

ENTRIES = 400
"""Entries of each kernel that a timeline on the terminal shows."""

CATEGORIES = ("busy", "fill", "flag", "waiting", "starved", "barrier", "done", "launch")


def print_report(report: Report, explain: bool = False, waterfall: bool = False) -> None:
    """Print a report on standard output; with `explain`, also where the time went, with `waterfall` the way from ideal
    cycles to cycles."""
    console = PlainConsole()
    console.print(_title(report))
    work = HostWork(report.host_calls, report.host_nodes, report.host_macs, report.host_mac_share)
    if work.nodes:
        console.print(summary(work))
    if report.kernels:
        console.print(_kernel_table(report))
    if report.bounds is not None:
        b = report.bounds
        console.print(
            f"Lower bounds: {b.serial:,} launch by launch, "
            + (f"{b.linked:,} as linked, " if b.linked != b.serial else "")
            + f"{b.prefetched:,} with weights ahead, {b.overlapped:,} of the busiest pipe"
        )
    if report.memory is not None and report.memory.l2 != "off":
        console.print(_memory_line(report.memory))
    if report.formulas:
        console.print(f"Fast formulas: {'; '.join(report.formulas)}")
    if waterfall and report.waterfall is not None:
        console.print(_waterfall_table(report.waterfall))
        if waiting := _waiting(report.waterfall):
            console.print(f"What fill and left come from, on the critical paths: {waiting}")
        console.print(_losses_table(report.waterfall))
    if explain and report.critical:
        if any(row.bound is not None for row in report.kernels):
            console.print(_bound_table(report))
        for table in (_pipe_table(report), _cause_table(report), _site_table(report)):
            console.print(table)
        if report.memory is not None and report.memory.l2 != "off":
            console.print(_heat_table(report))
        console.print("\n".join(report.assumptions))
    if report.outputs:
        console.print(_output_table(report))
    if report.agrees is not None:
        verdict = "agree with" if report.agrees else "DIFFER from"
        console.print(f"The outputs {verdict} the reference (a ratio of at most 1 agrees).")
        for row in report.outputs:
            if row.nans:
                console.print(
                    f"Note: {row.nans:,} of the {prod(row.shape):,} elements of '{row.name}' are NaN, so they "
                    "say little: other inputs may help (--input)."
                )


def _memory_line(memory: MemoryRow) -> str:
    parts = [f"{_megabytes(memory.hits)} from L2, {_megabytes(memory.misses)} from HBM"]
    if memory.prefetches:
        parts.append(f"{_megabytes(memory.prefetched)} prefetched")
    return f"Loaded: {', '.join(parts)}; {100 * memory.hit_share:.0f} % hits"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def _heat_table(report: Report) -> Table:
    """The operands of which most had to come from HBM, and why."""
    table = Table("kernel", "graph ops", "operand", title="What was not in L2")
    for column in ("from HBM", "from L2", "because"):
        table.add_column(column, justify="left" if column == "because" else "right", no_wrap=True)
    rows = [(o.misses, run, i, o) for run in report.launches for i, o in enumerate(run.operands) if o.misses]
    rows.sort(key=lambda row: -row[0])
    for misses, run, number, operand in rows[:ROWS]:
        nodes = " + ".join(map(_short, run.graph_ops.split("+")))
        sizes = (_megabytes(misses), _megabytes(operand.hits))
        table.add_row(run.kernel, nodes, str(number), *sizes, operand.reason.removeprefix("cold: "))
    return table


def _waterfall_table(waterfall: Waterfall) -> Table:
    """The steps from ideal cycles to cycles, and what of each is proven."""
    table = Table("step", title="From ideal cycles to cycles")
    for column in ("cycles", "%", "at least"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("what it is")
    total = sum(step.cycles for step in waterfall.steps)
    shown = [step for step in waterfall.steps if step.cycles or step.proven]
    for step in shown:
        proven = f"{step.proven:,}" if step.proven else ""
        table.add_row(
            _step(step.name), f"{step.cycles:,}", f"{100 * step.cycles / total:.1f}", proven, STEPS[step.name]
        )
    table.add_section()
    table.add_row("cycles", f"{total:,}", "", f"{sum(step.proven for step in shown):,}", "")
    return table


def _waiting(waterfall: Waterfall) -> str:
    """The most of what is on the critical paths beside the work of each kernel's busiest pipe."""
    causes = Counter[str]()
    for kernel in waterfall.kernels:
        causes.update(kernel.beside)
    return ", ".join(f"{cause} {cycles:,}" for cause, cycles in causes.most_common(5))


def _step(name: str) -> str:
    """The name of a step for people."""
    return name.replace("_", " ").replace("hbm", "HBM").replace("l2", "L2")


def _losses_table(waterfall: Waterfall) -> Table:
    """The kernels that are the farthest from ideal, and why."""
    table = Table("kernel", title="The kernels farthest from ideal")
    for column in ("cycles", "ideal"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("most of the rest")
    table.add_column("busiest", no_wrap=True)
    losses = [
        (sum(step.cycles for step in kernel.steps), kernel.steps[0].cycles, kernel)
        for kernel in waterfall.kernels
    ]
    losses.sort(key=lambda row: row[1] - row[0])
    for cycles, ideal, kernel in losses[:ROWS]:
        steps = sorted(kernel.steps[1:], key=lambda step: -step.cycles)
        most = ", ".join(
            f"{step.name.replace('_', ' ')} {step.cycles:,}" for step in steps[:3] if step.cycles
        )
        table.add_row(kernel.kernel, f"{cycles:,}", f"{ideal:,}", most, kernel.busiest)
    return table


def print_timelines(result: SimulationResult) -> None:
    """Print when each entry of each kernel held its pipe, in the order of issue: a line each."""
    for stats in result.kernels:
        recording, attribution = stats.recording, stats.attribution
        if recording is None or attribution is None:
            continue
        count = f", the first {ENTRIES:,} of {len(recording):,} entries" if len(recording) > ENTRIES else ""
        print(f"{printable(stats.name)}: {attribution.cycles:,} cycles{count}")
        entries = zip(recording.site, recording.start, recording.end, strict=True)
        for number, start, end in islice(entries, ENTRIES):
            site = attribution.sites[number]
            text = _CUT.split(site.text, maxsplit=1)[0].removeprefix("npu_isa.")
            print(f"  {site.pipe:4} {start:8} {end:8}  {printable(text)}")


def print_checks(checks: Sequence[IntermediateCheck]) -> None:
    """Print how the values in memory compare with those of the model, the first that deviates in full."""
    console = PlainConsole()
    parts_of_nodes = sum(check.is_part for check in checks)
    checks = [check for check in checks if not check.is_part]
    wrong = [check for check in checks if check.deviates]
    table = Table("kernel", "is the value of", title="Values in memory")
    for column in ("max |a-b|", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    for check in checks:
        figures = (f"{check.comparison.largest_error:.3g}", f"{check.comparison.worst_ratio:.3g}")
        table.add_row(check.result.kernel, _short(check.node), *figures)
    console.print(table)
    if parts_of_nodes:
        what = "values are parts of nodes" if parts_of_nodes > 1 else "value is a part of a node"
        console.print(
            f"{parts_of_nodes} further {what} that later kernels complete: nothing to compare with."
        )
    if not wrong:
        console.print(f"All {len(checks)} values in memory agree with the reference.")
        return
    first = wrong[0]
    console.print(
        f"{len(wrong)} of {len(checks)} values in memory deviate. The first is that of {first.result.kernel}, "
        f"which computes {' + '.join(first.result.nodes)}: the largest error is {first.comparison.largest_error:.3g}, "
        f"{first.comparison.worst_ratio:.3g} times what is tolerated."
    )


_CUT = re.compile(r" map | : ")


def _kernel_table(report: Report) -> Table:
    table = Table()
    table.add_column("kernel", min_width=10)
    table.add_column("graph ops", min_width=10, overflow="fold")
    for column in ("runs", "instr.", "cycles", "MAC util.", "of bound"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in report.kernels:
        figures = _figures(row.launches, row.instructions, row.cycles, row.mac_utilisation, row.efficiency)
        table.add_row(row.name, " + ".join(map(_short, parts(row.graph_ops))), *figures)
    table.add_section()
    launches = sum(row.launches for row in report.kernels)
    totals = _figures(
        launches,
        report.instructions or 0,
        report.cycles or 0,
        report.mac_utilisation or 0.0,
        report.efficiency,
    )
    table.add_row("total", "", *totals)
    return table


def _bound_table(report: Report) -> Table:
    """What the kernels can't be faster than; what their busiest pipe has to do, and has under the best blocking."""
    table = Table("kernel", title="What limits the kernels, in cycles")
    for column in ("cycles", "bound", "of it", "busiest", "at least", "best blocking"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in sorted(report.kernels, key=lambda row: -row.cycles)[:ROWS]:
        bound = "" if row.bound is None else f"{row.bound:,}"
        share = "" if row.efficiency is None else f"{100 * row.efficiency:.0f} %"
        least = f"{row.launches * row.pipe_bounds[row.limit]:,}" if row.limit else ""
        blocking = "" if row.best_blocking is None else f"{row.launches * row.best_blocking:,}"
        table.add_row(row.name, f"{row.cycles:,}", bound, share, row.limit or "", least, blocking)
    return table


def _output_table(report: Report) -> Table:
    table = Table("output", "shape")
    for column in ("max |a-b|", "max |a-b|/(atol+rtol|b|)") if report.agrees is not None else ():
        table.add_column(column, justify="right", no_wrap=True)
    for row in report.outputs:
        errors = [f"{x:.3g}" for x in (row.largest_error, row.worst_ratio) if x is not None]
        table.add_row(row.name, f"{'x'.join(map(str, row.shape))} {row.dtype}", *errors)
    return table


def _pipe_table(report: Report) -> Table:
    """What each pipe did, over all launches."""
    totals: dict[str, Counter[str]] = {}
    for kernel in report.kernels:
        for pipe, counts in _pipe_times(kernel).items():
            totals.setdefault(pipe, Counter()).update(counts)
    names = ("busy", "transfer", "hbm", "prefetch", *CATEGORIES[1:])
    names = [name for name in names if any(counts[name] for counts in totals.values())]
    table = Table(title="What the pipes did, in % of all cycles")
    table.add_column("pipe", no_wrap=True, min_width=4)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for pipe, counts in totals.items():
        table.add_row(pipe, *[_percent(counts[name], report.cycles or 0) for name in names])
    return table


def _pipe_times(kernel: KernelRow) -> dict[str, Counter[str]]:
    result: dict[str, Counter[str]] = {}
    for launches, attribution in kernel.explained():
        for pipe, time in attribution.pipes.items():
            counts = result.setdefault(pipe, Counter[str]())
            for name in (*CATEGORIES, "transfer", "hbm", "prefetch"):
                cycles = sum(time.starved.values()) if name == "starved" else getattr(time, name)
                counts[name] += launches * cycles
    return result


def _cause_table(report: Report) -> Table:
    table = Table("cause", title="The critical path by cause")
    for column in ("cycles", "share"):
        table.add_column(column, justify="right", no_wrap=True)
    for cause, cycles in list(report.critical.items())[:ROWS]:
        table.add_row(cause, f"{cycles:,}", _percent(cycles, report.cycles or 0))
    return table


def _site_table(report: Report) -> Table:
    """The instructions that are most of the critical path, and what they mostly wait for."""
    table = Table("kernel", "instruction", title="The instructions on the critical path")
    for column in ("times", "cycles", "share"):
        table.add_column(column, justify="right", no_wrap=True)
    cycles = Counter[tuple[str, int]]()
    counts = Counter[tuple[str, int]]()
    texts: dict[tuple[str, int], str] = {}
    for kernel in report.kernels:
        for launches, attribution in kernel.explained():
            for site in attribution.sites:
                key = (kernel.name, site.number)
                cycles[key] += launches * sum(site.critical.values())
                counts[key] += launches * site.count
                texts[key] = site.text.split(" map ")[0].removeprefix("npu_isa.")
    for key, own in sorted(cycles.items(), key=lambda entry: -entry[1])[:ROWS]:
        share = _percent(own, report.cycles or 0)
        table.add_row(key[0], texts[key], f"{counts[key]:,}", f"{own:,}", share)
    return table


def _short(name: str) -> str:
    """The end of a node's name: frameworks put the path of modules in front."""
    return name if len(name) <= NAME_WIDTH else f"…{name[1 - NAME_WIDTH :]}"


def _title(report: Report) -> str:
    parts = [f"level {report.level}", report.precision]
    if report.cycles is not None:
        parts = [f"target {report.target}", report.precision, f"{report.cores} core"]
        if report.memory is not None:
            parts.append(f"L2 {report.memory.l2}")
    return ", ".join(parts)


def _figures(
    launches: int, instructions: int, cycles: int, utilisation: float, efficiency: float | None
) -> list[str]:
    share = f"{100 * utilisation:.1f} %" if utilisation else ""
    bound = f"{100 * efficiency:.0f} %" if efficiency is not None else ""
    return [f"{launches:,}", f"{instructions:,}", f"{cycles:,}", share, bound]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if part and whole else ""
