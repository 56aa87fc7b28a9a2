"""How fast the simulator is: `python benchmarks/simulator.py`; `make bench` puts it into the README beside this file.

The goals: 2,000,000 instructions in loops timed in a second, and in 0.1 s with extrapolation; ResNet-50 in f16 with
values in at most 20 times the time that onnxruntime takes for it on one thread; hazard checks add at most half.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "unit"), str(ROOT / "examples")]

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


def loops() -> list[list[str]]:
    """Two million instructions in loops, timed."""
    module = parse(gemm(8192, 2304, 2048, tile=(64, 64, 64), k0=16))

    def run(**options: Any) -> Callable[[], Any]:
        return lambda: simulate(module, values=False, check=False, **options)

    instructions = run()().kernels[0].instructions
    plain, skipped = best(run(extrapolate=False), 1), best(run())
    rows = [("every iteration", plain), ("with extrapolation", skipped)]
    return [[f"{instructions:,} instructions, {what}", _rate(instructions, s)] for what, s in rows]


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
    reference = best(lambda: session.run(None, inputs))
    plain = best(lambda: program.simulate(inputs, check=False), 2)
    checked = best(lambda: program.simulate(inputs), 2)
    explained = best(lambda: program.simulate(explain=True, check=False), 2)
    return [
        ["ResNet-50 f16, values", f"{plain:.2f} s, {plain / reference:.1f} times onnxruntime"],
        ["ResNet-50 f16, values and checks", f"{checked:.2f} s, {checked / plain:.2f} times without"],
        ["ResNet-50 f16, time explained, no values", f"{explained:.2f} s"],
    ]


def _rate(count: int, seconds: float) -> str:
    return f"{seconds:.3f} s, {count / seconds / 1e6:.2f} million a second"


def main() -> None:
    print("| simulator | time |\n|---|---|")
    for row in (*loops(), *resnet50()):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
