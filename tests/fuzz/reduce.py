"""Cutting a failing model down: the same failure with fewer outputs, nodes and inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import onnx
from onnx import numpy_helper

from fuzz.graphs import GraphCase
from fuzz.reference import names_of, value_info

STEPS = 200
"""Smaller cases that are tried."""


def reduce_graph(case: GraphCase, fails: Callable[[GraphCase], bool]) -> GraphCase:
    """The smallest case found for which `fails` holds."""
    steps, smaller = 0, True
    while smaller and steps < STEPS:
        smaller = False
        for candidate in _smaller(case):
            steps += 1
            if fails(candidate):
                case, smaller = candidate, True
                break
    return case


def _smaller(case: GraphCase) -> Iterator[GraphCase]:
    """Smaller cases: the largest steps first."""
    graph = case.model.graph
    if len(graph.output) > 1:
        for value in graph.output:
            yield from _with(case, outputs=[value.name])
    ends = {value.name for value in graph.output}
    for node in graph.node:
        # What a node computes comes as an input, and what was only for that goes.
        if node.op_type != "Constant":
            yield from _with(case, given=[name for name in node.output if name])
    for node in reversed(graph.node):
        # The graph ends with a node.
        if node.op_type != "Constant" and node.output[0] not in ends:
            yield from _with(case, outputs=[node.output[0]])


def _with(case: GraphCase, outputs: Sequence[str] = (), given: Sequence[str] = ()) -> Iterator[GraphCase]:
    """The case with other outputs, or with some values as inputs."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    ends = [name for name in (outputs or [value.name for value in graph.output]) if name not in given]
    wanted, needed = set(ends), list[onnx.NodeProto]()
    for node in reversed(graph.node):
        if any(name in wanted for name in node.output) and not any(name in given for name in node.output):
            needed.insert(0, node)
            wanted |= names_of([node])
    if not needed or not ends:
        return
    inputs = [value.name for value in graph.input if value.name in wanted]
    inputs += [name for name in given if name in wanted]
    weights = [_copied(tensor) for tensor in graph.initializer if tensor.name in wanted]
    needed = [_copied(node) for node in needed]
    graph.Clear()
    graph.name = "reduced"
    graph.node.extend(needed)
    graph.initializer.extend(weights)
    graph.input.extend(value_info(name, case.values[name]) for name in inputs)
    graph.output.extend(value_info(name, case.values[name]) for name in ends)
    yield replace(case, model=model)


def _copied(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def printed(case: GraphCase) -> str:
    """The case as text: its graph, and the inputs if they are short."""
    lines = [f"seed {case.seed}, target {case.target}, precision {case.precision}"]
    lines.append(re.sub(r"\{([-+.,e\d ]{80})[-+.,e\d ]*\}", r"{\1…}", onnx.printer.to_text(case.model)))
    for name, array in case.inputs.items():
        lines.append(f"{name} = {array.tolist() if array.size <= 64 else array.shape}")
    for tensor in case.model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.size <= 64:
            lines.append(f"{tensor.name} = {array.tolist()}")
    return "\n".join(lines)
