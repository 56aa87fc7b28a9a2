"""Damaged inputs of the tools: models, texts of all levels, machines, weights, command lines.

    outcome = Mutants(folder).judge(seed)

A damaged input is refused with a message, or gives what it means: a text of a level that is still good gives the same
at its level and as instructions. Anything else is a finding.
"""

from __future__ import annotations

import importlib.resources
import io
import math
import os
import random
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import npu_mlir.api
from fuzz.damage import JUNK, NUMBERS, damage_message, damaged_bytes, damaged_text
from fuzz.graphs import TARGETS, GraphCase, random_graph
from fuzz.judge import Outcome, Wrong, is_same, outcome_of
from fuzz.reduce import reduce_data
from npu_mlir.api import Program
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.levels import LEVELS
from npu_mlir.support.tolerance import Tolerance
from npu_mlir.validation.comparison import compare

BASES = 40
"""Models that are damaged."""

SMALL, ELEMENTS = 2, 400
"""Nodes and elements of inputs that these may have: a damaged one tells no more about itself for being large."""

CLOSE = Tolerance(5e-2, 5e-2)
"""How far values of a level may be from those of instructions: of inputs that nobody chose with care."""

LARGEST_INPUTS = 1 << 22
"""Elements of inputs beyond which programs are not run."""

STEPS = 1 << 16
"""Loops with more steps than that are not run: a program may well take its time."""


@dataclass(frozen=True)
class Mutant:
    """A damaged input, what is done with inputs like it, and how they are shown."""

    what: str
    data: bytes | str | list[str] | onnx.ModelProto
    use: Callable[[Any], None]
    show: Callable[[Any], str] = str


class Mutants:
    """Damaged inputs by their seeds; files are written to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models: dict[int, onnx.ModelProto] = {}
        self.texts: dict[tuple[int, str], str | None] = {}
        self.last: Mutant | None = None

    def judge(self, seed: int) -> Outcome:
        """How the tools take the input of a seed."""
        choice = random.Random(seed)
        kinds: tuple[Callable[[random.Random], Mutant], ...] = (
            self.bytes_of_a_model, self.fields_of_a_model, self.fields_of_a_model,
            self.text_of_a_level, self.text_of_a_level, self.text_of_a_level, self.text_of_a_level,
            self.machine, self.weights, self.command_line,
        )  # fmt: skip
        kind = choice.choice(kinds)
        self.last = None

        def run() -> None:
            self.last = kind(choice)
            self.last.use(self.last.data)

        with self.at_home():
            return outcome_of(run)

    def reduced(self, outcome: Outcome) -> str:
        """The last input as text: with as much taken out as the same finding allows."""
        mutant = self.last
        if mutant is None:
            return "nothing was damaged yet"

        def fails(data: Any) -> bool:
            return is_same(outcome_of(lambda: mutant.use(data)), outcome)

        with self.at_home():
            data = mutant.data if outcome.kind == "hang" else reduce_data(mutant.data, fails)
            return f"{mutant.what}\n{mutant.show(data)}"

    @contextmanager
    def at_home(self) -> Generator[None]:
        """In the folder, with standard streams of our own."""
        before, stdin = Path.cwd(), sys.stdin
        os.chdir(self.folder)
        sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")
        try:
            yield
        finally:
            os.chdir(before)
            sys.stdin = stdin

    # ---- what is damaged

    def bytes_of_a_model(self, choice: random.Random) -> Mutant:
        """The bytes of an ONNX file."""
        data = damaged_bytes(choice, self.model(choice.randrange(BASES)).SerializeToString())
        return Mutant("bytes", data, self.use_model, shown_model)

    def fields_of_a_model(self, choice: random.Random) -> Mutant:
        """The fields of an ONNX model."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model(choice.randrange(BASES)))
        damage_message(choice, model)
        return Mutant("fields", model, self.use_model, shown_model)

    def use_model(self, data: bytes | onnx.ModelProto) -> None:
        """Read a model and run it."""
        path = Path("damaged.onnx")
        path.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
        self.run(npu_mlir.api.read(path, target="toy").program)

    def text_of_a_level(self, choice: random.Random) -> Mutant:
        """The text of a level."""
        level = choice.choice(LEVELS)
        text = self.text(choice.randrange(BASES), level)
        if text is None:
            raise UserError("the model is not supported")
        return Mutant(f"text at {level}", damaged_text(choice, text), self.use_text)

    def use_text(self, text: str) -> None:
        """Read a text and run it."""
        path = Path("damaged.mlir")
        path.write_text(text, encoding="utf-8", errors="replace")
        self.run(npu_mlir.api.read(path).program)

    def machine(self, choice: random.Random) -> Mutant:
        """The TOML file of a target."""
        text = (
            importlib.resources.files("npu_mlir.targets")
            .joinpath(f"{choice.choice(TARGETS)}.toml")
            .read_text()
        )
        return Mutant("machine", damaged_text(choice, text), self.use_machine)

    def use_machine(self, text: str) -> None:
        """Compile a model for a machine."""
        Path("damaged.toml").write_text(text, encoding="utf-8", errors="replace")
        try:
            self.run(npu_mlir.api.read(self.dense, target="damaged.toml").program)
        except Wrong as error:
            # A machine that lacks a path is found out when it is needed.
            raise (error.__cause__ or error) from error

    def weights(self, choice: random.Random) -> Mutant:
        """The safetensors file beside a text."""
        path = Path("dense.mlir")
        if not path.exists():
            npu_mlir.compile(self.dense, emit="graph", target="toy").save(path)
            Path("dense.safetensors").rename("whole.bin")
        data = Path("whole.bin").read_bytes()
        if choice.random() < 0.5:
            size = 8 + int.from_bytes(data[:8], "little")
            header = damaged_text(choice, data[8:size].decode()).encode("utf-8", "replace")
            data = len(header).to_bytes(8, "little") + header + data[size:]
        else:
            data = damaged_bytes(choice, data)
        # A file of ours that is not the one of the text is refused at once: most go on to what is in it.
        foreign = choice.random() < 0.7
        text = path.read_text()
        Path("foreign.mlir").write_text(
            text.replace("npu.weights_hash", "unused").replace("dense.saf", "foreign.saf")
        )
        name = "foreign" if foreign else "dense"

        def use(data: bytes) -> None:
            Path(f"{name}.safetensors").write_bytes(data)
            self.run(npu_mlir.api.load(f"{name}.mlir"))

        return Mutant(f"weights of {name}.mlir", data, use, lambda data: repr(data[:1000]))

    def command_line(self, choice: random.Random) -> Mutant:
        """The arguments of a tool."""
        name, options = choice.choice((
            ("npu-compile", COMPILE), ("npu-run", RUN), ("npu-opt", OPT), ("npu-reduce", REDUCE),
        ))  # fmt: skip
        arguments = [choice.choice(("dense.onnx", "linalg.mlir"))] if choice.random() < 0.95 else []
        if name == "npu-reduce":
            arguments = ["linalg.mlir", "--lower-to=tile"]
        for _ in range(choice.randint(1, 3)):
            option = choice.choice(options)
            value = choice.choice((*VALUES, *JUNK, *map(str, NUMBERS)))
            known = ["", f"={value}", f"={choice.choice(GOOD)}"]
            arguments.append(option + choice.choice(known))
            if choice.random() < 0.3:
                arguments.append(value)
        arguments = [a.replace("\0", "") for a in arguments]
        return Mutant(name, arguments, lambda arguments: self.use_tool(name, arguments))

    def use_tool(self, name: str, arguments: list[str]) -> None:
        """Call a tool with arguments."""
        from npu_mlir.tools import npu_compile, npu_opt, npu_reduce, npu_run

        tools = {"npu-compile": npu_compile, "npu-run": npu_run, "npu-opt": npu_opt, "npu-reduce": npu_reduce}
        Path("dense.onnx").write_bytes(self.dense.SerializeToString())
        Path("linalg.mlir").write_text(self.dense_text)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            status = tools[name].main([*arguments])
        text = out_text(err)
        if status and "error" not in text and "agree" not in out_text(out):
            raise Wrong(f"status {status} without an error")
        if "unexpected" in text and "failed" in text:
            raise Wrong(f"a pass crashed: {text}")
        if status:
            raise UserError("command line")

    # ---- what is there

    def model(self, number: int) -> onnx.ModelProto:
        """A model to damage."""
        if number not in self.models:
            cases = (random_graph(10_000 + 100 * number + more) for more in range(100))
            fits = (case.model for case in cases if case and is_small(case))
            self.models[number] = self.dense if number % 4 == 0 else next(fits, self.dense)
        return self.models[number]

    @cached_property
    def dense(self) -> onnx.ModelProto:
        """relu(x @ w + b), then a softmax."""
        numbers = np.random.default_rng(0)
        weights = [numbers.standard_normal(shape).astype(np.float32) for shape in ((8, 12), (12,))]
        nodes = [
            helper.make_node("Gemm", ["x", "w", "b"], ["s"], name="dense"),
            helper.make_node("Relu", ["s"], ["r"], name="relu"),
            helper.make_node("Softmax", ["r"], ["y"], name="softmax", axis=1),
        ]
        x, y = (helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [4, 8]), ("y", [4, 12])))
        initializers = [numpy_helper.from_array(w, n) for w, n in zip(weights, "wb", strict=True)]
        graph = helper.make_graph(nodes, "dense", [x], [y], initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)

    @cached_property
    def dense_text(self) -> str:
        return str(npu_mlir.compile(self.dense, emit="linalg", target="toy").module)

    def text(self, number: int, level: str) -> str | None:
        """A model as text at a level; None if it isn't supported."""
        key = (number if number % 4 else 0, level)
        if key not in self.texts:
            try:
                program = npu_mlir.compile(self.model(number), emit=level, target="toy")
                program.save("base.mlir")
                self.texts[key] = Path("base.mlir").read_text()
            except Exception:
                self.texts[key] = None
        return self.texts[key]

    # ---- what is done with it

    def run(self, program: Program) -> None:
        """Run a program at its level and as instructions, on the same inputs."""
        level = program.level
        if loop_steps(program) > STEPS:
            raise UserError("it has a long loop")
        if sum(math.prod(entry.shape) for entry in program.inputs) > LARGEST_INPUTS:
            raise UserError("it has large inputs")
        inputs = program.random_inputs(0)
        expected = program.run(inputs)
        if level == "isa":
            return
        program.lower("isa")
        try:
            found = program.named(program.simulate(inputs, check=True).outputs)
        except SimulationError as error:
            if level == "graph":
                raise Wrong(f"SimulationError: {error.message}") from error
            raise
        for name, array in expected.items():
            result = compare(name, found[name], array, CLOSE)
            if not result.agrees:
                raise Wrong(
                    f"values of {level} differ from instructions: {found[name].ravel()[:8]}, {array.ravel()[:8]}"
                )


def is_small(case: GraphCase) -> bool:
    """Whether a case is one to damage."""
    elements = sum(array.size for array in case.inputs.values())
    return 0 < len(case.model.graph.node) <= SMALL and elements <= ELEMENTS and not case.dims


def shown_model(data: bytes | onnx.ModelProto) -> str:
    """A model as text for a report."""
    try:
        model = onnx.ModelProto.FromString(data) if isinstance(data, bytes) else data
        return onnx.printer.to_text(model)[:3000]
    except Exception:
        return repr(data)[:3000]


def out_text(stream: Any) -> str:
    """What was written to a stream."""
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")


def loop_steps(program: Program) -> int:
    """The most steps that nests of loops with constant bounds may take."""
    from xdsl.dialects.scf import ForOp

    most = 1
    for op in program.module.walk():
        if isinstance(op, ForOp):
            bounds = [getattr(v.owner, "value", None) for v in (op.lb, op.ub, op.step)]
            numbers = [int(getattr(getattr(b, "value", None), "data", 0)) for b in bounds]
            most = max(most, abs(numbers[1] - numbers[0]) // max(1, abs(numbers[2])))
    return most


MODEL = [
    "--target",
    "--set",
    "--dim",
    "--shape",
    "--precision",
    "--fallback",
    "--input",
    "--bake",
    "--load-pass-plugin",
]
COMPILE = [
    *MODEL,
    "-o",
    "--emit",
    "--list-ops",
    "--check-equivalence",
    "--debug",
    "--help",
    "--version",
    "-Rpass",
    "--canonicalize",
]
RUN = [
    *MODEL,
    "--emit",
    "--compare",
    "--reference",
    "--timing-only",
    "--attribution",
    "--html",
    "--trace",
    "--report",
    "--output-dir",
    "--diff",
    "--compare-all",
    "--dump-tensor",
    "--no-check",
    "--timeline",
    "--seed",
    "--rtol",
    "--atol",
    "--function",
    "--break",
]
OPT = [
    "--target",
    "--set",
    "--pass-pipeline",
    "--lower-to",
    "--check-equivalence",
    "-o",
    "--canonicalize",
    "--cse",
    "--verify-roundtrip",
    "--verify-diagnostics",
    "--split-input-file",
    "--print-ir-after-all",
    "--mlir-timing",
    "--linalg-fuse",
    "--mlir-print-op-generic",
    "--allow-unregistered-dialect",
    "--convert-graph-to-linalg",
    "--list-passes",
]
REDUCE = ["--check-equivalence", "--lower-to", "--pass-pipeline", "-o", "--seed", "--test", "--steps"]
VALUES = [
    "dense.onnx",
    "linalg.mlir",
    "missing.mlir",
    ".",
    "out.mlir",
    "toy",
    "x=1",
    "x=4x8",
    "x=missing.npy",
    "N=4",
    "l1=64KiB",
    "l1=-1",
    "gm_l1=0",
    "vector.exp=1,2",
    "builtin.module(cse)",
    "builtin.module(",
    "f16",
    "host",
]
GOOD = [
    "tile",
    "isa",
    "linalg",
    "graph",
    "toy",
    "f16",
    "onnxruntime",
    "dense.onnx",
    "out.json",
    "0",
    "1",
    "x=4x8",
    "l1=64KiB",
    "builtin.module(canonicalize,cse)",
    "host",
    "main",
    "relu",
]
