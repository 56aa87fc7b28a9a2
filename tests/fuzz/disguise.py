"""The same graph in other clothes: strange names, open dimensions, a text on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import onnx

from fuzz.graphs import GraphCase
from npu_mlir.support.levels import LEVELS

NAMES: tuple[str, ...] = (
    "é", "名前", "a b", "a.b", "a_b", "a/b", "/layer.0/out:0", "%0", "0", "1", "main", "in0", "v0", "c0",
    "x\ty", "x\ny",
    "\x1b[31mred", "<b>", "&amp;", '"quoted"', "back\\slash", "\u202eright", "😀", "e\u0301", "\x7f", "arg0",
    "func.func",
    "constant", "@main", "#map", "!type", "a" * 300, "a" * 299 + "b", "CON", ".", "..", "-o", "name=1", "{}",
    "\u2028", "nul\x01",
)  # fmt: skip
"""What names may be: none is more than a name."""


def disguised(case: GraphCase, choice: random.Random) -> GraphCase:
    """The case with other names, open dimensions and a level whose text it goes through, now and then."""
    if choice.random() < 0.15:
        case = renamed(case, choice)
    if choice.random() < 0.15:
        case = opened(case, choice)
    if choice.random() < 0.2:
        case = replace(case, level=choice.choice(LEVELS[:-1]))
    return case


def renamed(case: GraphCase, choice: random.Random) -> GraphCase:
    """Values and nodes with strange names."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    taken = sorted(set(names_in(model.graph)))
    strange = choice.sample(NAMES, len(NAMES))
    chosen = [name for name in taken if choice.random() < 0.7][: len(strange)]
    new = dict(zip(chosen, strange, strict=False))
    # A name that is given away may be that of another value: that one moves on.
    for name in taken:
        if name not in new and name in new.values():
            new[name] = f"{name}'"
    rename(model.graph, new, choice)
    return replace(
        case,
        model=model,
        values={new.get(name, name): array for name, array in case.values.items()},
        errors={new.get(name, name): error for name, error in case.errors.items()},
    )


def names_in(graph: onnx.GraphProto) -> Iterator[str]:
    """All names of values in a graph and those inside it."""
    yield from (value.name for value in (*graph.input, *graph.output, *graph.initializer))
    for node in graph.node:
        yield from (name for name in (*node.input, *node.output) if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from names_in(attribute.g)


def rename(graph: onnx.GraphProto, new: dict[str, str], choice: random.Random) -> None:
    """Give values their new names, and some nodes one."""
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = new.get(value.name, value.name)
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new.get(name, name) for name in names]
        if choice.random() < 0.5:
            node.name = choice.choice(("", *NAMES))
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, new, choice)
    if choice.random() < 0.3:
        graph.name = choice.choice(NAMES)


def opened(case: GraphCase, choice: random.Random) -> GraphCase:
    """Inputs with dimensions that are known only to who compiles: equal names where extents are equal, or not."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    dims: dict[str, int] = {}
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if choice.random() < 0.5:
                extent = dim.dim_value
                name = (
                    f"n{extent}"
                    if choice.random() < 0.7
                    else choice.choice(("N", "batch", "seq len", "é", "2*n"))
                )
                if dims.setdefault(name, extent) == extent:
                    dim.dim_param = name
    for value in model.graph.output:
        # What is computed of them is not declared.
        if dims:
            value.type.tensor_type.ClearField("shape")
    return replace(case, model=model, dims=dims)
