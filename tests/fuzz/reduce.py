"""Cutting down what fails: the same with fewer outputs, nodes and inputs, or with fewer bytes, lines or fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
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
    if any(name not in case.values for name in (*given, *outputs)):
        # Inside what is tried as a whole.
        return
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


# ---- damaged inputs


def reduce_data(data: Any, fails: Callable[[Any], bool], steps: int = STEPS) -> Any:
    """The smallest data found for which `fails` holds: bytes, a text, a list of arguments or a protobuf message."""
    tries = count(1)

    def bounded(candidate: Any) -> bool:
        return next(tries) <= steps and fails(candidate)

    match data:
        case bytes():
            return bytes(_cut(data, lambda part: bounded(bytes(part))))
        case str():
            for separator in (r"(?<=\n)", r"(\s+|[\w.%@-]+|[^\w\s])"):
                pieces = [piece for piece in re.split(separator, data) if piece]
                data = "".join(_cut(pieces, lambda part: bounded("".join(part))))
            return data
        case list():
            return _cut(data, bounded)
        case _:
            return _fewer_fields(data, bounded)


def _cut(items: Any, fails: Callable[[Any], bool]) -> Any:
    """The items without all parts that `fails` holds without: from halves down to single ones."""
    size = max(1, len(items) // 2)
    while size:
        place = 0
        while place < len(items):
            fewer = items[:place] + items[place + size :]
            if fails(fewer):
                items = fewer
            else:
                place += size
        size //= 2
    return items


def _fewer_fields(message: Any, fails: Callable[[Any], bool]) -> Any:
    """The message without the fields, and entries of fields, that `fails` holds without."""
    place = 0
    while True:
        smaller = _copied(message)
        if not _take_out(smaller, place):
            return message
        if fails(smaller):
            message = smaller
        else:
            place += 1


def _take_out(message: Any, place: int) -> bool:
    """Take out a field, or an entry of one, by its number among all; whether there was one."""
    numbers = count()

    def search(inner: Any) -> bool:
        fields: list[tuple[Any, Any]] = inner.ListFields()
        for field, value in fields:
            repeated = hasattr(value, "__len__") and not isinstance(value, str | bytes)
            entries: Any = value if repeated else ()
            for index in reversed(range(len(entries))):
                if next(numbers) == place:
                    del entries[index]
                    return True
            if not repeated and next(numbers) == place:
                inner.ClearField(field.name)
                return True
            if field.type == field.TYPE_MESSAGE and any(map(search, value if repeated else [value])):
                return True
        return False

    return search(message)


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
