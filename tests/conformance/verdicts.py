"""What becomes of a conformance case: compiled to instructions, simulated with all checks, and compared.

    verdict = judge(case)        Verdict("device")

First all inputs come at run time. What is then refused is tried again with the inputs in `parameters.py` as constants:
shapes, axes, counts. The classes:

| class | what computes the outputs | counts |
| --- | --- | --- |
| device | kernels | yes |
| device+host | kernels, and host nodes that are in `host_operators.txt` | yes |
| views | nothing: an input under another shape, at no cost | yes |
| folded | the compiler: only shapes, axes and the like were constants | yes |
| folded-data | the compiler, since data (a condition) was constant as well | no |
| host | the host alone, or host nodes that are not in the list | no |
| refused | nothing: the compiler says what it doesn't support | no |
| wrong | something, but the result differs, or the compiler or the machine fails | never |
"""

from __future__ import annotations

import re
import signal
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

import npu_mlir.api
from conformance.exact import EXACT, outputs_of
from conformance.parameters import CONDITIONS, parameters_of
from conformance.suite import Arrays, Case, case_named
from npu_mlir.dialects import tile
from npu_mlir.frontends.onnx.check import graphs_of
from npu_mlir.frontends.onnx.inputs import model_inputs
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import closest_node

CLASSES = ("device", "views", "folded", "device+host", "folded-data", "host", "refused", "wrong")
"""From best to worst."""

GOOD = ("device", "views", "folded", "device+host")
"""The classes that count."""

EXACTLY = "compared with exact values"
"""How the reason begins for a case of `exact.py`, whose outputs are not compared with those of the suite."""

SECONDS = 300
"""CPU time after which a case has failed: none should take a tenth of it, but for the largest networks."""

ANYWHERE = re.compile(r"0x[0-9a-f]+|(?<!\S)/\S+")
"""What is different on each machine and in each run."""


@dataclass(frozen=True)
class Verdict:
    """The class of a case, and what there is to say about it."""

    kind: str
    reason: str = ""

    @property
    def rank(self) -> int:
        """How bad it is; the first three classes are as good as each other."""
        return max(0, CLASSES.index(self.kind) - 2)


class Mismatch(Exception):
    """Outputs are not what they should be."""


def judge(case: Case) -> Verdict:
    """The verdict on a case."""
    try:
        with _time_limit():
            verdict = _judge(case)
        if case.name in EXACT and verdict.kind in GOOD:
            return replace(verdict, reason=f"{EXACTLY} {verdict.reason}".rstrip())
        return verdict
    except TimeoutError:
        return Verdict("wrong", f"not done after {SECONDS} s")
    except Mismatch as error:
        return Verdict("wrong", str(error))
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        return Verdict("wrong", _short(f"{type(error).__name__}: {text}"))


def _judge(case: Case) -> Verdict:
    model, data = case.load()
    data = [(inputs, outputs_of(case.name, inputs, outputs)) for inputs, outputs in data]
    runtime = _prepared(model)
    try:
        return _run(case, runtime, data, ())
    except UserError as error:
        refused = _reason(error)
    base = case_named(case.base) if case.base is not None else None
    slots = parameters_of((base.load()[0] if base is not None else model).graph)
    names = [value.name for value in model_inputs(model.graph)]
    baked = [name for name in names[: len(data[0][0])] if name in slots]
    if not baked:
        return Verdict("refused", refused)
    verdicts: list[Verdict] = []
    for inputs, outputs in data:
        constants = {name: array for name, array in zip(names, inputs, strict=False) if name in baked}
        rest = [array for name, array in zip(names, inputs, strict=False) if name not in baked]
        try:
            verdicts.append(_run(case, _baked(runtime, constants), [(rest, outputs)], baked))
        except UserError as error:
            return Verdict("refused", _reason(error))
    verdict = max(verdicts, key=lambda verdict: verdict.rank)
    if verdict.kind == "folded" and any(slots[name] in CONDITIONS for name in baked):
        return Verdict("folded-data", f"constant: {', '.join(baked)}")
    return verdict


def _prepared(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose nodes all have names, so that each host call says which operator it stands for."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for number, node in enumerate(_nodes(copy.graph)):
        node.name = node.name or f"{node.op_type}_{number}"
    return copy


def _nodes(graph: onnx.GraphProto) -> Generator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in graphs_of(node):
            yield from _nodes(inner)


def _baked(model: onnx.ModelProto, constants: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The model with some inputs as constants."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [value for value in copy.graph.input if value.name not in constants]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    copy.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return copy


# ---- compiling and running -------------------------------------------------------------------------------------------


def _run(
    case: Case, model: onnx.ModelProto, data: Sequence[tuple[Arrays, Arrays]], baked: Sequence[str]
) -> Verdict:
    """Compile the model and compare its outputs: as imported, behind the passes at graph level, and as instructions."""
    values = model_inputs(model.graph)
    shapes = {
        value.name: array.shape
        for value, array in zip(values, data[0][0], strict=False)
        if _is_open(value) and array.size
    }
    source = npu_mlir.api.read(model, target="ascend-910", shapes=shapes)
    program = source.program
    # The networks are compared at graph level by tests of their own.
    stages = ("isa",) if case.kind == "real" else ("", "graph", "isa")
    for stage in stages:
        if stage == "isa":
            program.lower(stage)
        elif stage:
            source.lower(stage)
        for inputs, outputs in data:
            _compare(case, stage, _outputs(program, stage, inputs), outputs)
    return _class_of(program.module, {node.name: node.op_type for node in _nodes(model.graph)}, baked)


def _is_open(value: onnx.ValueInfoProto) -> bool:
    declared = value.type.tensor_type
    return not declared.HasField("shape") or any(not dim.HasField("dim_value") for dim in declared.shape.dim)


def _outputs(program: npu_mlir.api.Program, stage: str, inputs: Arrays) -> Arrays:
    values = {entry.name: array for entry, array in zip(program.inputs, inputs, strict=True)}
    if stage == "isa":
        return list(program.simulate(values, check=True).outputs)
    return list(program.run(values).values())


def _compare(case: Case, stage: str, actual: Arrays, expected: Arrays) -> None:
    where = {"": "as imported", "graph": "behind the passes at graph level", "isa": "as instructions"}[stage]
    if len(actual) != len(expected):
        raise Mismatch(f"{len(actual)} outputs instead of {len(expected)} {where}")
    for number, (value, right) in enumerate(zip(actual, expected, strict=True)):
        problem = _difference(value, right, case.rtol, case.atol)
        if problem:
            raise Mismatch(f"output {number} {problem} {where}")


def _difference(value: np.ndarray, right: np.ndarray, rtol: float, atol: float) -> str | None:
    """What is wrong with a value. Integers have to be equal; bfloat16 may differ by two units, as in the suite."""
    if value.shape != right.shape:
        return f"has the shape {value.shape} instead of {right.shape}"
    if value.dtype != right.dtype:
        return f"is {value.dtype} instead of {right.dtype}"
    if right.dtype.kind in "biu":
        return None if np.array_equal(value, right) else "differs"
    if right.dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)
    wide = np.complex128 if right.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        close = np.allclose(value.astype(wide), right.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    return None if close else "differs"


# ---- classes ---------------------------------------------------------------------------------------------------------


def _class_of(module: ModuleOp, operators: Mapping[str, str], baked: Sequence[str]) -> Verdict:
    """The class of a case with the right outputs, of its module of instructions."""
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    launches = sum(isinstance(op, tile.LaunchOp) for op in main.walk())
    hosts = [_operators_of(op, operators) for op in main.walk() if isinstance(op, tile.HostOp)]
    unlisted = [names for names in hosts if not any(name in host_operators() for name in names)]
    if unlisted:
        return Verdict("host", f"on the host, but not in the list: {', '.join(sorted(unlisted[0]))}")
    if hosts:
        names = ", ".join(sorted({name for names in hosts for name in names}))
        return Verdict("device+host" if launches else "host", names)
    if launches:
        return Verdict("device")
    return Verdict("views" if _reads_arguments(main.body.block) else "folded", ", ".join(baked))


def _operators_of(op: Operation, operators: Mapping[str, str]) -> set[str]:
    """The ONNX operators that a host call stands for."""
    inner = [closest_node(part) for part in op.walk() if part is not op] + [closest_node(op)]
    names = [name for node in inner if node is not None for name in node.split("+")]
    return {operators.get(name, name) for name in names}


def _reads_arguments(block: Block) -> bool:
    """Whether a result of a function depends on its arguments."""
    seen: set[SSAValue] = set()
    waiting: list[SSAValue] = list(block.last_op.operands) if block.last_op is not None else []
    while waiting:
        value = waiting.pop()
        if value in block.args:
            return True
        if value not in seen:
            seen.add(value)
            waiting += value.owner.operands if isinstance(value.owner, Operation) else []
    return False


@cache
def host_operators() -> frozenset[str]:
    """The operators that may run on the host: what they compute has an extent, or reads places, that depend on data."""
    lines = (Path(__file__).parent / "host_operators.txt").read_text().splitlines()
    return frozenset(line.split("#")[0].strip() for line in lines) - {""}


# ---- reasons ---------------------------------------------------------------------------------------------------------


def _reason(error: UserError) -> str:
    """Why a case is refused, without the name of the node."""
    text = error.notes[0].message if "cannot be imported" in error.message and error.notes else error.message
    found = re.match(r"node '[^']*' \((\w+)\): (.*)", text, re.DOTALL)
    return _short(f"{found[1]}: {found[2]}" if found else text)


def _short(text: str) -> str:
    text = ANYWHERE.sub("…", " ".join(text.split()))
    return text if len(text) <= 150 else text[:149] + "…"


@contextmanager
def _time_limit() -> Generator[None]:
    """Raise a `TimeoutError` in what takes too long. Only in the main thread of a process."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
