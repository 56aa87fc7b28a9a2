"""How fast the simulator is: `python benchmarks/simulator.py`; `make bench` puts it into the README beside this file.

The goals: 2,000,000 instructions in loops timed in a second, and in 0.1 s with extrapolation; memory that does not
grow with the run while time is explained; ResNet-50 in f16 with values in at most 20 times the time that onnxruntime
takes for it on one thread; hazard checks add at most half. Each time is the best of a few; a loop of plain Python in
the same run tells how fast the machine was.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "unit"), str(ROOT / "examples")]

from xdsl.dialects.builtin import ModuleOp  # noqa: E402

from fetch_model import fetch  # noqa: E402
from isa_programs import gemm, parse  # noqa: E402
from npu_mlir import api  # noqa: E402
from npu_mlir.simulator import simulate  # noqa: E402


def best(function: Callable[[], Any], times: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    seconds: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def nest(rows: int) -> ModuleOp:
    """A matrix product as four nested loops, 16,164 instructions for each 64 rows."""
    return parse(gemm(rows, 2304, 2048, tile=(64, 64, 64), k0=16))


def loops() -> list[list[str]]:
    """Two million instructions in loops, timed."""
    module = nest(8192)

    def run(**options: Any) -> Callable[[], Any]:
        return lambda: simulate(module, values=False, check=False, **options)

    def python() -> None:
        total = 0
        for i in range(instructions):
            total += i

    instructions = run()().kernels[0].instructions
    rows = [
        ("every iteration", best(run(extrapolate=False))),
        ("with extrapolation", best(run())),
        ("time explained, with extrapolation", best(run(explain=True))),
        ("for scale: additions in a Python loop", best(python)),
    ]
    return [[f"{instructions:,} instructions, {what}", _rate(instructions, s)] for what, s in rows]


def memory() -> list[list[str]]:
    """The peak memory of explaining every iteration of a short and a long run, each a process of its own."""
    result: list[list[str]] = []
    for rows in (384, 4096):
        command = [sys.executable, __file__, "--explain", str(rows)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        instructions, megabytes = output.split()
        what = f"{int(instructions):,} instructions, every iteration explained: memory"
        result.append([what, f"{float(megabytes):.0f} MB"])
    return result


def explain(rows: int) -> None:
    """Explain every iteration; print how many instructions there were, and the peak memory in MB."""
    module = nest(rows)
    result = simulate(module, values=False, check=False, explain=True, extrapolate=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(result.kernels[0].instructions, peak)


def resnet50() -> list[list[str]]:
    """ResNet-50 with values, beside onnxruntime."""
    import onnxruntime as ort

    path = str(fetch("resnet50"))
    program = api.compile(path, precision="f16")
    inputs = program.random_inputs()
    options: Any = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session: Any = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    reference = best(lambda: session.run(None, inputs), 5)
    # Each alternately, so that both see the machine at its best.
    plain, checked = float("inf"), float("inf")
    for _ in range(4):
        plain = min(plain, best(lambda: program.simulate(inputs, check=False), 1))
        checked = min(checked, best(lambda: program.simulate(inputs), 1))
    explained = best(lambda: program.simulate(explain=True, check=False))
    return [
        ["ResNet-50 f16, values", f"{plain:.2f} s, {plain / reference:.1f} times onnxruntime"],
        ["ResNet-50 f16, values and checks", f"{checked:.2f} s, {checked / plain:.2f} times without"],
        ["ResNet-50 f16, time explained, no values", f"{explained:.2f} s"],
    ]


def _rate(count: int, seconds: float) -> str:
    return f"{seconds:.3f} s, {count / seconds / 1e6:.2f} million a second"


def main() -> None:
    if sys.argv[1:2] == ["--explain"]:
        explain(int(sys.argv[2]))
        return
    print("| simulator | time |\n|---|---|")
    for row in (*loops(), *memory(), *resnet50()):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
