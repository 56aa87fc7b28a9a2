"""Networks and layers on the machine: cycles, the share of their bounds, and where the rest goes.

    python benchmarks/networks.py                               the tables, on the terminal
    python benchmarks/networks.py -k gemm                       rows with this in their names
    python benchmarks/networks.py --page benchmarks/README.md   between the marks of a page
    python benchmarks/networks.py --link                        with launches linked into programs; --no-link
    python benchmarks/networks.py --compare                     values too, against onnxruntime: minutes

Time alone: one core, batch 1, from an empty L2, in one process. `FIRST` are the figures of this project when the goals
were set, with GM as a flat memory; `PEERS` those of other compilers and analyses on machines with the same ratio of
multiply-accumulates to bytes.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

from workloads import WORKLOADS, macs_of, workload  # noqa: E402

import npu_mlir  # noqa: E402
from fetch_model import fetch  # noqa: E402
from npu_mlir.report.report import LaunchRow, Report, report_of  # noqa: E402
from npu_mlir.support.node_names import parts  # noqa: E402
from npu_mlir.targets.target import get_target  # noqa: E402

ZIGZAG = "ZigZag, analytic, the same hardware numbers"
TPU_MLIR = "tpu-mlir, BM1688 F16, measured"
PEERS = f"""\
{ZIGZAG}: GEMM 512 35,679 cycles (91.8 % of peak), conv 3x3 33,426 (84.4 %), ResNet-18 53.3 %.
{TPU_MLIR}: GEMM 512 68.7 %, conv 3x3 80.7 %, ResNet-18 73.8 %, ResNet-50 69.3 %, MobileNetV2 30.5 %."""


@dataclass(frozen=True)
class Row:
    """A line of the table: what is measured, and what it was, has to be and should be. Shares are in percent."""

    name: str
    workload: str
    first: float
    required: float
    goal: float
    unit: str = "cycles"
    """`cycles`, `MACs` for the share of the cube's peak, `bound` for that of the bound launch by launch."""
    peers: str = ""
    precision: str = "f16"
    target: str = "ascend-910"
    nodes: str = ""
    """The end of the names of the nodes that are measured, on average; empty for the whole model."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


def _cycles(
    name: str, workload: str, first: float, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> Row:
    """A network that has to take 0.6 of its first cycles, and should take 0.4."""
    return Row(name, workload, first, 0.6 * first, 0.4 * first, shapes=shapes or {})


OCR = {"x": (1, 3, 48, 320)}
ROWS = (
    Row("ResNet-50", "resnet50", 48.7, 72, 80, "MACs", "69.3 %"),
    Row("ResNet-18", "resnet18", 50.1, 72, 80, "MACs", "73.8 %; 53.3 % analytic"),
    Row("MobileNetV2", "mobilenet-v2", 4.5, 14, 25, "MACs", "30.5 %"),
    Row("GEMM 512, f16 tensors", "gemm512-f16", 42_710, 37_500, 36_000, peers="35,679 analytic"),
    Row("GEMM 1024", "gemm1024", 90, 96, 96, "bound"),
    Row("GEMM 2048", "gemm2048", 95, 98, 98, "bound"),
    Row("GEMM 4096", "gemm4096", 97, 98.5, 98.5, "bound"),
    Row("GEMM 1024, f16 tensors", "gemm1024-f16", 0, 96, 96, "bound"),
    Row("GEMM 2048, f16 tensors", "gemm2048-f16", 0, 98, 98, "bound"),
    Row("GEMM 4096, f16 tensors", "gemm4096-f16", 0, 98.5, 98.5, "bound"),
    Row(
        "conv 3x3 of ResNet-50",
        "resnet50",
        32_999,
        31_000,
        30_300,
        peers="33,426 analytic",
        nodes="stage1_block*_conv3x3",
    ),
    Row("conv 3x3 alone, NCHW", "conv3x3-f16", 89_798, 48_000, 48_000),
    _cycles("DenseNet-121", "densenet121", 5.4e6),
    _cycles("ShuffleNetV2", "shufflenet-v2", 1.23e6),
    _cycles("RegNetY-400MF", "regnet-y-400mf", 1.21e6),
    _cycles("GoogLeNet", "googlenet", 1.28e6),
    _cycles("PP-OCRv4 rec", "ppocr-rec", 3.1e6, shapes=OCR),
    Row("ResNet-50 on ascend-910b", "resnet50", 29.6, 42, 52, "MACs", target="ascend-910b"),
    Row("GEMM 1024 on ascend-910b", "gemm1024", 73.8, 88, 95, "bound", target="ascend-910b"),
    Row("ResNet-50 in f32", "resnet50", 74.4, 80, 85, "MACs", precision="f32"),
)


@dataclass(frozen=True)
class Measured:
    """A row and what came of it: in its unit, whether that is enough, and the report."""

    row: Row
    now: float
    enough: bool
    report: Report
    launches: list[LaunchRow]
    """Of the nodes that are measured."""


def path_of(row: Row) -> Path:
    """The file of a row's model."""
    return workload(row.workload) if row.workload in WORKLOADS else fetch(row.workload)


def report_for(row: Row, link: bool | None = None) -> Report:
    """Compile a row's model and explain its time."""
    program = npu_mlir.compile(
        path_of(row), target=row.target, precision=row.precision, shapes=dict(row.shapes), link=link
    )
    return report_of(program, {}, program.simulate(check=False, explain=True), [])


def measure(row: Row, report: Report) -> Measured:
    """What a row says about a report."""
    first, _, last = row.nodes.partition("*")
    launches = [
        run
        for run in report.launches
        if not row.nodes or any(n.startswith(first) and n.endswith(last) for n in parts(run.graph_ops))
    ]
    cycles = sum(run.cycles for run in launches) / (len(launches) if row.nodes else 1)
    match row.unit:
        case "MACs":
            peak = get_target(row.target).peak_macs(row.precision)
            # The model's own: a kernel may multiply by zeros that are not in it.
            now = 100 * macs_of(path_of(row)) / (cycles * peak)
        case "bound":
            now = 100 * report.bounds.serial / cycles if report.bounds is not None else 0
        case _:
            now = cycles
    return Measured(
        row, now, now <= row.required if row.unit == "cycles" else now >= row.required, report, launches
    )


# ---- tables ----------------------------------------------------------------------------------------------------------


def _value(row: Row, value: float) -> str:
    if not value:
        return ""
    return f"{value:,.0f}" if row.unit == "cycles" else f"{value:.1f} %"


UNITS = {"cycles": "cycles", "MACs": "of peak MACs", "bound": "of B1"}


def networks_table(measured: list[Measured]) -> str:
    """What is asked for, and what there is."""
    lines = [
        "| | unit | first | required | goal | now | | cycles | of B1 | of B2 | of B3 | peers |",
        "|" + "---|" * 12,
    ]
    for m in measured:
        row, bounds = m.row, m.report.bounds
        total = sum(run.cycles for run in m.launches)
        cells = [row.name, UNITS[row.unit]]
        cells += [_value(row, v) for v in (row.first, row.required, row.goal, m.now)]
        cells += ["yes" if m.enough else "no", f"{m.report.cycles:,}" if not row.nodes else f"{m.now:,.0f}"]
        if row.nodes:
            least = [run.bound for run in m.launches if run.bound is not None]
            cells += [f"{100 * sum(least) / total:.0f} %" if least else "", "", ""]
        elif bounds is None:
            cells += ["", "", ""]
        else:
            several = (bounds.serial, bounds.prefetched, bounds.overlapped)
            cells += [f"{100 * bound / (m.report.cycles or 1):.0f} %" for bound in several]
        lines.append("| " + " | ".join([*cells, row.peers]) + " |")
    return "\n".join(lines)


def steps_table(measured: list[Measured]) -> str:
    """The steps from ideal cycles to cycles of whole models, in percent of their cycles."""
    lines: list[str] = []
    for m in measured:
        if m.row.nodes or m.report.waterfall is None:
            continue
        steps = m.report.waterfall.steps
        if not lines:
            names = [step.name.replace("_", " ").replace("hbm", "HBM").replace("l2", "L2") for step in steps]
            lines = ["| | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
        shares = [100 * step.cycles / (m.report.cycles or 1) for step in steps]
        cells = [f"{share:.1f}" if step.cycles else "" for share, step in zip(shares, steps, strict=True)]
        lines.append(f"| {m.row.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reasons(measured: list[Measured]) -> str:
    """Of rows that fall short, the kernels that are the farthest from ideal, and their largest steps."""
    lines: list[str] = []
    for m in measured:
        if m.enough or m.row.nodes or m.report.waterfall is None:
            continue
        total, kernels = m.report.cycles or 1, m.report.waterfall.kernels
        losses = {id(k): sum(step.cycles for step in k.steps[1:]) for k in kernels}
        names: list[str] = []
        for kernel in sorted(kernels, key=lambda k: -losses[id(k)])[:3]:
            most = max(kernel.steps[1:], key=lambda step: step.cycles)
            share = f"{100 * losses[id(kernel)] / total:.1f} %"
            names.append(f"`{kernel.kernel}` {share} (mostly {most.name.replace('_', ' ')})")
        lines.append(f"- {m.row.name}: {', '.join(names)}")
    return "\n".join(lines)


def page_text(measured: list[Measured]) -> str:
    """What stands between the marks of the page."""
    return "\n\n".join(
        [
            networks_table(measured),
            PEERS.replace("\n", "\n\n"),
            "The way from ideal cycles to cycles, in percent of them ([what the steps are]"
            "(../docs/report.md#from-ideal-cycles-to-cycles)):",
            steps_table(measured),
            "What falls short, by the kernels that are the farthest from ideal, in percent of all cycles:",
            reasons(measured) or "- nothing",
        ]
    )


MARKS = ("<!-- networks -->", "<!-- end of networks -->")


def _write_page(path: Path, text: str) -> None:
    page = path.read_text()
    before, after = page.partition(MARKS[0])[0], page.partition(MARKS[1])[2]
    path.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def compare(row: Row) -> bool:
    """Run a model with values and all checks; whether its outputs agree with onnxruntime's."""
    tool = str(Path(sys.executable).with_name("npu-run"))
    command = [tool, str(path_of(row)), "--precision", row.precision, "--target", row.target]
    for name, shape in row.shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    done = subprocess.run([*command, "--compare", "onnxruntime"], capture_output=True, text=True)
    last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-4:]
    print(row.name, "agrees" if not done.returncode else "DIFFERS", *last, sep="\n  ", flush=True)
    return not done.returncode


def main() -> int:
    """Measure, print, and write the page if one is named; with --compare, values alone."""
    parser = argparse.ArgumentParser(description="Measure networks and layers on the machine.")
    parser.add_argument("-k", metavar="PART", default="", help="only rows with this in their names")
    parser.add_argument("--page", metavar="FILE.md", type=Path, help="write the tables between marks of it")
    parser.add_argument(
        "--link", action=argparse.BooleanOptionalAction, help="link launches into programs, or not"
    )
    parser.add_argument("--compare", action="store_true", help="compare values with onnxruntime's instead")
    args = parser.parse_args()
    rows = [row for row in ROWS if args.k.lower() in row.name.lower()]
    if args.compare:
        kinds = {(row.workload, row.precision, row.target): row for row in rows}
        failed = sum(not compare(row) for row in kinds.values())
        return int(failed > 0)
    measured: list[Measured] = []
    known: dict[tuple[str, str, str], Report] = {}
    gc.disable()
    for row in rows:
        key = (row.workload, row.precision, row.target)
        if key not in known:
            known[key] = report_for(row, args.link)
            gc.collect()
        measured.append(measure(row, known[key]))
        print(f"{row.name}: {_value(row, measured[-1].now)}", file=sys.stderr, flush=True)
    print(page_text(measured))
    if args.page is not None:
        _write_page(args.page, page_text(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
