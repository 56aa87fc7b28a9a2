"""`make bench`: speed and size, beside onnxruntime and xdsl-opt on the same machine in the same run.

Writes the tables of `benchmarks/README.md`, which is kept in the repository: its changes show in a review what a
change costs. Times are the best of a few runs; each measurement is a process of its own, so that it includes start-up
and its peak memory is that of one job.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

from fetch_model import fetch  # noqa: E402

BINARIES = Path(sys.executable).parent
TEN_LINES = HERE / "ten_lines.mlir"
README = HERE / "README.md"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


@dataclass(frozen=True)
class Model:
    """A model, with the options that fix its shapes."""

    name: str
    options: tuple[str, ...] = ()


MODELS = (
    Model("rnet", ("--dim", "N=1")),
    Model("pnet", ("--shape", "input_1=1x48x48x3")),
    Model("onet", ("--dim", "N=1")),
    Model("magika", ("--dim", "unk__214=1")),
    Model("ppocr-cls", ("--shape", "x=1x3x48x192")),
    Model("resnet50"),
)
PRECISIONS = ("f32", "f16")


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    megabytes: float
    status: int
    errors: str


def run(*command: str, times: int = 1) -> Cost:
    """Run a command, several times if asked; the best time and the largest memory."""
    costs = [_run_once(command) for _ in range(times)]
    return Cost(
        min(cost.seconds for cost in costs),
        max(cost.megabytes for cost in costs),
        costs[-1].status,
        costs[-1].errors,
    )


def _run_once(command: tuple[str, ...]) -> Cost:
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return Cost(seconds, usage.ru_maxrss / 1024, process.returncode, errors.read().decode())


def tool(name: str) -> str:
    return str(BINARIES / name)


def start_up() -> list[list[str]]:
    """The time of npu-opt and xdsl-opt on a file of ten lines, and to print their help; the two take turns."""
    rows: list[list[str]] = []
    for what, argument in (("ten lines", str(TEN_LINES)), ("--help", "--help")):
        times: dict[str, list[float]] = {"npu-opt": [], "xdsl-opt": []}
        for _ in range(10):
            for name, found in times.items():
                found.append(run(tool(name), argument).seconds)
        ours, theirs = (min(found) for found in times.values())
        rows.append([what, f"{ours:.2f} s", f"{theirs:.2f} s", f"{ours / theirs:.2f}"])
    return rows


def onnxruntime_seconds(model: Model) -> str:
    """The time of one inference with onnxruntime on one thread, without loading."""
    code = (
        "import sys, time, numpy as np, onnxruntime as ort\n"
        "options = ort.SessionOptions(); options.intra_op_num_threads = 1; options.log_severity_level = 3\n"
        "session = ort.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])\n"
        "inputs = dict(np.load(sys.argv[2]))\n"
        "session.run(None, inputs); start = time.perf_counter(); session.run(None, inputs)\n"
        "print(time.perf_counter() - start)\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        inputs = f"{directory}/inputs.npz"
        make = (
            "import sys, numpy as np\nfrom npu_mlir import api\nfrom npu_mlir.tools import model_options\n"
            "from npu_mlir.tools.common import ArgumentParser\n"
            "parser = ArgumentParser('bench', ''); model_options.add_model_options(parser)\n"
            "args = parser.parse(sys.argv[3:])\n"
            "program = api.compile(sys.argv[1], emit='graph', dims=model_options.dims_of(args),"
            " shapes=model_options.shapes_of(args))\n"
            "np.savez(sys.argv[2], **program.random_inputs())\n"
        )
        path = str(fetch(model.name))
        subprocess.run([sys.executable, "-c", make, path, inputs, *model.options], check=True)
        result = subprocess.run(
            [sys.executable, "-c", code, path, inputs], check=True, capture_output=True, text=True
        )
        return f"{float(result.stdout):.4f} s"


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def measure(model: Model, precision: str, directory: Path) -> list[str]:
    """Compile and simulate a model; one row of the table."""
    source, out, report = str(fetch(model.name)), directory / "model.mlir", directory / "report.json"
    options = [*model.options, "--precision", precision]
    compiled = run(tool("npu-compile"), source, *options, "-o", str(out))
    if compiled.status:
        return [model.name, precision, *["-"] * 7, last_line(compiled.errors)]
    comparison = ["--compare", "onnxruntime", "--reference", source]
    simulated = run(tool("npu-run"), str(out), *comparison, "--report", str(report))
    if not report.exists():
        return [
            model.name,
            precision,
            f"{compiled.seconds:.1f} s",
            *["-"] * 6,
            last_line(simulated.errors),
        ]
    found = json.loads(report.read_text())
    ratio = max(output["worst_ratio"] for output in found["outputs"])
    return [
        model.name,
        precision,
        f"{compiled.seconds:.1f} s",
        f"{compiled.megabytes:,.0f} MB",
        f"{simulated.seconds:.1f} s",
        f"{simulated.megabytes:,.0f} MB",
        f"{out.stat().st_size / 1000:,.0f} kB",
        f"{found['cycles']:,}",
        f"{100 * found['mac_utilisation']:.1f} %",
        f"{ratio:.2g}",
    ]


HEADER = (
    "model",
    "precision",
    "npu-compile",
    "memory",
    "npu-run",
    "memory",
    "isa text",
    "cycles",
    "MAC util.",
    "error / tolerance",
)


def table(header: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def main() -> None:
    selected = [model for model in MODELS if model.name in sys.argv[1:] or len(sys.argv) == 1]
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as directory:
        for model in selected:
            for precision in PRECISIONS:
                rows.append(measure(model, precision, Path(directory)))
                print("  ".join(rows[-1]), flush=True)
                for leftover in Path(directory).iterdir():
                    leftover.unlink()
    reference = [[model.name, onnxruntime_seconds(model)] for model in selected]
    starts = start_up()
    simulator = subprocess.run(
        [sys.executable, str(HERE / "simulator.py")], check=True, capture_output=True, text=True
    )
    growth = subprocess.run(
        [sys.executable, str(HERE / "growth.py")], check=True, capture_output=True, text=True
    )
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    results = "\n\n".join(
        [
            f"Machine: {machine}. Target ascend-910, one core.",
            table(HEADER, rows),
            "Cycles are behind L2, from a cold start, with prefetches of weights;\n"
            "[memory-system.md](../docs/memory-system.md) has those of the flat memory of before.\n"
            "npu-run includes start-up, parsing, simulation with values and checks, and the comparison with\n"
            "onnxruntime. For scale, one inference on this CPU with onnxruntime (f32, one thread):",
            table(("model", "onnxruntime"), reference),
            "Start-up:",
            table(("", "npu-opt", "xdsl-opt", "ratio"), starts),
            simulator.stdout.strip(),
            "Growth of compile time, without start-up, beside a fixed piece of work in Python in the same process:",
            growth.stdout.strip(),
        ]
    )
    print(results)
    if len(sys.argv) == 1:
        text = README.read_text()
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        README.write_text(f"{before}{BEGIN}\n\n{results}\n\n{END}{after}")


if __name__ == "__main__":
    main()
