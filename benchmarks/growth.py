"""How the compiler grows: CPU time on chains, transformers and ResNet-50, and the memory that it needs for weights.

    python benchmarks/growth.py                                 the table of `make bench`
    python benchmarks/growth.py chain 1000 5000 | equal 128 | unequal 32 | resnet50 f16 [--rounds=3] [--profile]

Each kind of model is compiled in a process of its own, which first compiles a small one, so that start-up does not
count. Before and after every compile it does a fixed piece of work in pure Python: what it takes says how fast the
machine is at that time. Models that are compared are compiled in turn in one process, in several rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "examples"))

CHAIN = ("Abs", "Neg", "Relu", "Sigmoid", "Tanh")


def chain(length: int) -> ModelProto:
    """`length` elementwise nodes, each of which reads the one before."""
    nodes = [
        helper.make_node(CHAIN[i % len(CHAIN)], [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(length)
    ]
    return _model(nodes, [4, 64], f"v{length}", [])


def transformer(
    layers: int, *, equal: bool = True, hidden: int = 64, length: int = 32, heads: int = 4
) -> ModelProto:
    """Layers as BERT has them, on a `length` x `hidden` tensor; unless `equal`, each has a width of its own."""
    builder = _Layers(hidden, length, heads)
    value = "v0"
    for i in range(layers):
        value = builder.layer(value, f"l{i}", 2 * hidden + (0 if equal else 8 * i))
    return _model(builder.nodes, [length, hidden], value, builder.weights)


class _Layers:
    """Nodes and weights of transformer layers."""

    def __init__(self, hidden: int, length: int, heads: int):
        self.nodes: list[object] = []
        self.weights: list[TensorProto] = []
        self._hidden, self._length, self._heads = hidden, length, heads
        self._random = np.random.default_rng(0)
        side = hidden // heads
        self._constant("to_heads", np.array([length, heads, side], np.int64))
        self._constant("from_heads", np.array([length, hidden], np.int64))
        self._constant("scale", np.array(side**-0.5, np.float32))

    def layer(self, value: str, name: str, width: int) -> str:
        """Attention and two products, each with its shortcut and norm; `width` is that between the products."""
        hidden = self._hidden
        query, key, values = (
            self._heads_of(self._linear(value, f"{name}.{part}", hidden, hidden)) for part in "qkv"
        )
        keys = self._node("Transpose", [key], perm=[0, 2, 1])
        scores = self._node("Mul", [self._node("MatMul", [query, keys]), "scale"])
        mixed = self._node("MatMul", [self._node("Softmax", [scores], axis=-1), values])
        joined = self._node("Reshape", [self._node("Transpose", [mixed], perm=[1, 0, 2]), "from_heads"])
        attended = self._norm(
            self._node("Add", [self._linear(joined, f"{name}.out", hidden, hidden), value]), f"{name}.norm1"
        )
        wide = self._node("Relu", [self._linear(attended, f"{name}.up", hidden, width)])
        return self._norm(
            self._node("Add", [self._linear(wide, f"{name}.down", width, hidden), attended]), f"{name}.norm2"
        )

    def _heads_of(self, value: str) -> str:
        return self._node("Transpose", [self._node("Reshape", [value, "to_heads"])], perm=[1, 0, 2])

    def _linear(self, value: str, name: str, rows: int, columns: int) -> str:
        weight = self._random.standard_normal((rows, columns), np.float32) * rows**-0.5
        product = self._node("MatMul", [value, self._constant(f"{name}.w", weight)])
        return self._node("Add", [product, self._constant(f"{name}.b", np.full(columns, 0.5, np.float32))])

    def _norm(self, value: str, name: str) -> str:
        hidden = self._hidden
        scale = self._constant(f"{name}.s", self._random.uniform(0.5, 1.5, hidden).astype(np.float32))
        bias = self._constant(f"{name}.b", np.linspace(-1, 1, hidden, dtype=np.float32))
        return self._node("LayerNormalization", [value, scale, bias], axis=-1)

    def _node(self, kind: str, inputs: list[str], **attributes: object) -> str:
        result = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [result], name=result, **attributes))
        return result

    def _constant(self, name: str, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(value, name))
        return name


def _model(nodes: list[object], shape: list[int], output: str, weights: list[TensorProto]) -> ModelProto:
    described = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("v0", output)]
    graph = helper.make_graph(nodes, "growth", described[:1], described[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def fixed_work() -> None:
    """What the figures are compared with: objects made, kept in dicts and lists, and found again."""
    found: dict[tuple[int, str], list[int]] = {}
    for i in range(400_000):
        found.setdefault((i % 5000, str(i % 7)), []).append(i)
    assert len(found) == 35_000


def cpu_of(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def machine_now() -> float:
    """CPU seconds of the fixed work at this time, the median of three."""
    return statistics.median(cpu_of(fixed_work) for _ in range(3))


def compare(kind: str, arguments: Sequence[str], rounds: int = 1, profile: bool = False) -> list[Round]:
    """Compile models in this process, in turn, as often as there are rounds: CPU seconds of each, and those of the
    fixed work beside, which is the mean of before and after.

    Chains and transformers are compiled as the tools do it, without the garbage collector.
    """
    import npu_mlir
    from npu_mlir.tools.common import collector_off

    npu_mlir.compile(chain(6))
    npu_mlir.compile(transformer(1))
    precision = "f32"
    models: dict[str, object] = {}
    for argument in arguments:
        if kind == "resnet50":
            from fetch_model import fetch

            models[argument], precision = fetch("resnet50"), argument
        elif kind == "chain":
            models[argument] = chain(int(argument))
        else:
            models[argument] = transformer(int(argument), equal=kind == "equal")
    if profile:
        import cProfile
        import pstats

        with cProfile.Profile() as profiler:
            npu_mlir.compile(models[arguments[0]], precision=precision)
        for order in ("cumulative", "tottime"):
            pstats.Stats(profiler).strip_dirs().sort_stats(order).print_stats(60)
    found: list[Round] = []
    for _ in range(rounds):
        costs: Round = {}
        for argument, model in models.items():
            before = machine_now()
            with nullcontext() if kind == "resnet50" else collector_off():
                seconds = cpu_of(partial(npu_mlir.compile, model, precision=precision))
            gc.collect()
            costs[argument] = {"seconds": seconds, "work": (before + machine_now()) / 2}
        found.append(costs)
    return found


Round = dict[str, dict[str, float]]
"""The CPU seconds of each model once, and of the fixed work beside it."""


def measured(kind: str, *arguments: str, rounds: int = 2) -> list[Round]:
    """`compare` in a process of its own."""
    command = [sys.executable, __file__, kind, *arguments, f"--rounds={rounds}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def over_work(cost: dict[str, float]) -> float:
    """The CPU time of a compile in units of the fixed work."""
    return cost["seconds"] / cost["work"]


def cpu_rows() -> list[list[str]]:
    """CPU time of each compile, the best, and its median relative to the fixed work beside it.

    Lengths of chains are compared within one process, round by round."""
    rows: list[list[str]] = []

    def add(name: str, rounds: list[Round], argument: str, goal: str = "") -> None:
        seconds = min(costs[argument]["seconds"] for costs in rounds)
        ratio = statistics.median(over_work(costs[argument]) for costs in rounds)
        rows.append([name, f"{seconds:.1f} s", f"{ratio:.0f}", goal])

    chains = measured("chain", "200", "1000", "5000", rounds=3)
    growth = statistics.median(over_work(costs["5000"]) / over_work(costs["1000"]) for costs in chains)
    add("chain of 200 nodes", chains, "200")
    add("chain of 1,000 nodes", chains, "1000")
    add("chain of 5,000 nodes", chains, "5000", f"{growth:.1f} times that of 1,000 (goal: at most 6)")
    add("128 equal transformer layers", measured("equal", "128"), "128")
    add("32 unequal transformer layers", measured("unequal", "32"), "32")
    add("ResNet-50 f16, collector on", measured("resnet50", "f16"), "f16")
    return rows


def memory_rows() -> list[list[str]]:
    """Peak memory of `npu-compile` on ResNet-50, without that of `--help`, relative to the model's file."""
    from run import run, tool

    from fetch_model import fetch

    path = fetch("resnet50")
    size = path.stat().st_size / 2**20
    start = run(tool("npu-compile"), "--help").megabytes
    rows: list[list[str]] = []
    for precision in ("f32", "f16"):
        with tempfile.TemporaryDirectory() as directory:
            out = f"{directory}/out.mlir"
            peak = run(tool("npu-compile"), str(path), "--precision", precision, "-o", out).megabytes
        rows.append(
            [f"ResNet-50 {precision}", f"{peak:.0f} MB", f"{start:.0f} MB", f"{(peak - start) / size:.2f}"]
        )
    return rows


def main() -> None:
    """Print the tables."""
    from run import table

    print(table(("compile", "CPU", "over fixed work", ""), cpu_rows()))
    header = ("compile", "peak memory", "of --help", "difference over the model's size (goal: at most 2.5)")
    print("\n" + table(header, memory_rows()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", nargs="?", choices=("chain", "equal", "unequal", "resnet50"))
    parser.add_argument("arguments", nargs="*", help="numbers of nodes or layers, or the precision")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if options.kind:
        print(json.dumps(compare(options.kind, options.arguments, options.rounds, options.profile)))
    else:
        main()
