"""Generators of what has graphs inside: If, functions of the model, Loop, Scan, sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from fuzz.graphs import GENERATORS, Body, Builder, Spec, Value, generates
from fuzz.reference import LOCAL, Array, value_info

DEEPEST = 2
"""Graphs inside each other."""

SIMPLE = ("Add", "Sub", "Mul", "Max", "Min", "Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Identity", "Transpose")
"""Continuous operators for what is done several times."""


def captured(g: Builder, count: int) -> list[Value]:
    """Some of the last values."""
    return g.random.sample(g.values[-6:], min(count, len(g.values[-6:])))


def declared(name: str, array: Array, *, with_shape: bool = True) -> onnx.ValueInfoProto:
    if with_shape:
        return value_info(name, array)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), None)


def as_graph(
    g: Builder, body: Body, outputs: Sequence[Value], inputs: Sequence[onnx.ValueInfoProto] = ()
) -> Any:
    """A body as the graph of an attribute. It may be that nothing computes an output but the graph around it."""
    names = list[str]()
    for value in outputs:
        name = value.name
        if name in body.given or name in names:
            name = f"{body.prefix}out{len(names)}"
            body.nodes.append(helper.make_node("Identity", [value.name], [name]))
        names.append(name)
    shaped = g.chance(0.5)
    infos = [declared(name, v.array, with_shape=shaped) for name, v in zip(names, outputs, strict=True)]
    weights = [numpy_helper.from_array(value.array, value.name) for value in body.weights]
    return helper.make_graph(body.nodes, f"body{len(g.nodes)}", [*inputs], infos, weights)


# ---- If


@generates("If")
def if_(g: Builder, operator: str) -> bool:
    """A branch that computes something, and one that would give the same shape."""
    if g.depth >= DEEPEST or not g.values:
        return False
    seen = captured(g, 3)
    taken = Body(g, seen)
    taken.grow(sorted(GENERATORS), g.random.randint(1, 3))
    results = [v for v in taken.made if not v.is_known and v.name not in taken.used][:2]
    if not results:
        return False
    right = g.chance(0.5)
    other = Body(g, seen)
    # Names of the one branch stand for other things in the other.
    names = [value.name for value in results]
    filled: list[Value] = []
    for name, value in zip(g.random.sample(names, len(names)), results, strict=True):
        tensor = numpy_helper.from_array(g.data(value.shape, value.array.dtype))
        other.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        filled.append(replace(value, name=name))
    if g.chance(0.15):
        condition = g.input(np.asarray(right))
    else:
        condition = g.constant(np.asarray(right))
    branches = [as_graph(g, taken, results), as_graph(g, other, filled)]
    then, else_ = branches if right else reversed(branches)
    outputs = [f"{g.prefix}{len(g.nodes)}_if{i}" for i in range(len(results))]
    node = helper.make_node("If", [condition.name], outputs, then_branch=then, else_branch=else_)
    values = [condition, *seen]
    return append_checked(
        g, node, values, [replace(v, name=n) for v, n in zip(results, outputs, strict=True)]
    )


def append_checked(
    g: Builder, node: onnx.NodeProto, values: Sequence[Value], results: Sequence[Value]
) -> bool:
    """Add a node whose results are known, if onnxruntime agrees that this is what it computes."""
    found = g.evaluate([node], {value.name: value for value in values})
    if found is None:
        return False
    for value, result in zip(found, results, strict=True):
        if value.shape != result.shape or value.array.dtype != result.array.dtype:
            return False
    g.append([node], values, results)
    return True


# ---- functions


@generates("Function")
def function(g: Builder, operator: str) -> bool:
    """A new function of the model, called once or twice, with other operands of the same shapes."""
    if g.depth >= DEEPEST or not g.values or len(g.functions) > 3:
        return False
    actual = captured(g, g.random.randint(1, 2))
    # Names in a function have nothing to do with those around it.
    formal = [replace(v, name=f"in{len(actual) - 1 - i}", is_known=False) for i, v in enumerate(actual)]
    body = Body(g, formal, in_function=True)
    count = len(g.functions)
    body.grow(sorted(GENERATORS), g.random.randint(1, 3))
    results = [v for v in body.made if v.name not in body.used and not v.is_known][:2]
    if not results or len(g.functions) != count or any(node.op_type == "If" for node in body.nodes):
        return False
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in body.nodes]
    attributes = parameters(g, nodes)
    name = f"function{len(g.functions)}"
    opsets = [helper.make_opsetid("", g.opset)]
    made = helper.make_function(
        LOCAL, name, [v.name for v in formal], [v.name for v in results], nodes, opsets, list(attributes)
    )
    g.functions.append(made)
    if not call(g, name, attributes, actual, results):
        g.functions.pop()
        return False
    others = [
        g.pick(lambda v, like=v: v.shape == like.shape and v.array.dtype == like.array.dtype) for v in actual
    ]
    if g.chance(0.6):
        again = [other or value for other, value in zip(others, actual, strict=True)]
        call_again(g, name, attributes, body, again, [v.name for v in results])
    return True


def parameters(g: Builder, nodes: Sequence[onnx.NodeProto]) -> dict[str, Any]:
    """Turn a few attributes of nodes into those of the function."""
    found: dict[str, Any] = {}
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INTS) and g.chance(0.4):
                name = f"p{len(found)}" if g.chance(0.5) or attribute.name in found else attribute.name
                found[name] = helper.get_attribute_value(attribute)
                kept, kind = attribute.name, attribute.type
                attribute.Clear()
                attribute.name, attribute.type, attribute.ref_attr_name = kept, kind, name
    return found


def call(
    g: Builder, name: str, attributes: dict[str, Any], operands: Sequence[Value], results: Sequence[Value]
) -> bool:
    outputs = [f"{g.prefix}{len(g.nodes)}_call{i}" for i in range(len(results))]
    node = helper.make_node(name, [v.name for v in operands], outputs, domain=LOCAL)
    for key, given in attributes.items():
        kind = onnx.AttributeProto.INTS if given == [] else None
        node.attribute.append(helper.make_attribute(key, given, attr_type=kind))
    known = all(value.is_known for value in operands)
    named = [replace(v, name=n, is_known=known) for v, n in zip(results, outputs, strict=True)]
    return append_checked(g, node, operands, named)


def call_again(
    g: Builder,
    name: str,
    attributes: dict[str, Any],
    body: Body,
    operands: Sequence[Value],
    results: Sequence[str],
) -> None:
    """Call a function with other operands: its nodes are run one by one, to know how far off values are."""
    formal = [f"in{len(operands) - 1 - i}" for i in range(len(operands))]
    known = {f: replace(v, name=f) for f, v in zip(formal, operands, strict=True)}
    for node in body.nodes:
        if node.op_type == "Constant":
            array = numpy_helper.to_array(node.attribute[0].t)
            known[node.output[0]] = Value(node.output[0], array, g.rounding(array), is_known=True)
            continue
        found = g.evaluate([node], {name: known[name] for name in node.input if name})
        if found is None:
            return
        known.update((value.name, value) for value in found)
    call(g, name, attributes, operands, [known[result] for result in results])


# ---- loops


def continued(body: Body, like: Value) -> Value:
    """A value of the body with the type of another."""
    fits = [v for v in body.values if v.shape == like.shape and v.array.dtype == like.array.dtype]
    return body.random.choice(fits[-3:])


@generates("Loop")
def loop(g: Builder, operator: str) -> Spec | None:
    """A loop with a count that is known, one value that is carried on, and one of each iteration."""
    # ONNX's reference, which is asked where there is nothing in an array, stacks in another way.
    start = g.pick(lambda v: v.array.dtype == np.float32 and v.rank <= 4 and v.array.size > 0)
    if start is None or g.depth >= DEEPEST:
        return None
    seen = [v for v in captured(g, 2) if v is not start and v.array.size]
    state = replace(start, name="state", is_known=False)
    number = Value("i", np.asarray(1, np.int64), None)
    body = Body(g, [*seen, state])
    if g.chance(0.3):
        step = Value("step", np.asarray(1, np.float32), None)
        body.nodes.append(helper.make_node("Cast", ["i"], ["step"], to=1))
        body.values.append(step)
    body.grow(SIMPLE, g.random.randint(1, 3))
    following = continued(body, start)
    collected = body.made[-1:] if g.chance(0.7) else []
    limit = g.random.randint(0, 4)
    going = Value("going", np.asarray(True), None)
    if g.chance(0.4):
        last = body.constant(np.asarray(g.random.randint(0, 3), np.int64))
        body.nodes.append(helper.make_node("Less", ["i", last.name], ["going"]))
    else:
        body.nodes.append(helper.make_node("Identity", ["on"], ["going"]))
    inputs = [
        declared(number.name, number.array),
        declared("on", going.array),
        declared("state", start.array),
    ]
    graph = as_graph(g, body, [going, following, *collected], inputs)
    condition = g.constant(np.asarray(g.chance(0.9))) if g.chance(0.5) else None
    outputs = 1 + len(collected)
    operands = [g.constant(np.asarray(limit, np.int64)), condition, start]
    return Spec("Loop", operands, {"body": graph}, outputs, captured=seen, rounded=True)


@generates("Scan")
def scan(g: Builder, operator: str) -> Spec | None:
    """A scan over an axis of a value, with or without a state."""
    value = g.pick(lambda v: v.array.dtype == np.float32 and 1 <= v.rank <= 4)
    if value is None or g.depth >= DEEPEST or g.opset < 9:
        return None
    axis = g.axis(value.rank) if g.opset >= 11 else g.random.randrange(value.rank)
    if not value.array.size or value.shape[axis] > 8:
        return None
    seen = [v for v in captured(g, 1) if v.array.size]
    error = None if value.error is None else np.take(value.error, 0, axis)
    part = Value("part", np.asarray(np.take(value.array, 0, axis)), error)
    start = g.new(part.shape, np.float32) if g.chance(0.7) else None
    state = [] if start is None else [replace(start, name="state", is_known=False)]
    body = Body(g, [*seen, *state, part])
    body.grow(SIMPLE, g.random.randint(1, 3))
    following = [] if start is None else [continued(body, start)]
    collected = [v for v in body.made if v.rank < 6][-1:] or [part]
    inputs = [declared(v.name, v.array) for v in (*state, part)]
    graph = as_graph(g, body, [*following, *collected], inputs)
    attributes: dict[str, Any] = {"body": graph, "num_scan_inputs": 1, "scan_input_axes": [axis]}
    if g.chance(0.4):
        attributes["scan_input_directions"] = [1]
    if g.chance(0.3):
        attributes["scan_output_directions"] = [1]
    if g.chance(0.3):
        attributes["scan_output_axes"] = [g.random.randint(0, collected[0].rank)]
    operands = [*([start] if start else []), value]
    return Spec("Scan", operands, attributes, len(following) + 1, captured=seen, rounded=True)


# ---- sequences


@generates("Sequence")
def sequence(g: Builder, operator: str) -> bool:
    """A value taken apart into a sequence, and something of it."""
    if g.opset < 11:
        return False
    value = g.pick(lambda v: v.rank >= 1 and v.array.dtype.kind in "fi" and v.array.size > 0)
    if value is None:
        return False
    axis = g.axis(value.rank)
    extent = value.shape[axis]
    name = f"{g.prefix}{len(g.nodes)}"
    sizes = g.random.choice((None, 1, 2, (extent - extent // 2, extent // 2)))
    by = [] if sizes is None else [g.indices(sizes)]
    keep: dict[str, Any] = {"keepdims": 1} if sizes is None or g.chance(0.5) else {}
    split = helper.make_node(
        "SplitToSequence", [value.name, *(v.name for v in by)], [f"{name}_parts"], axis=axis, **keep
    )
    nodes, parts, operands = [split], f"{name}_parts", [value, *by]
    if g.chance(0.3):
        at = g.indices(0)
        operands.append(at)
        nodes.append(helper.make_node("SequenceErase", [parts, at.name], [f"{name}_fewer"]))
        parts = f"{name}_fewer"
    if g.chance(0.5):
        new = g.chance(0.3)
        nodes.append(
            helper.make_node(
                "ConcatFromSequence", [parts], [name], axis=0 if new else axis, new_axis=int(new)
            )
        )
    else:
        place = g.indices(g.random.choice((0, -1)))
        operands.append(place)
        nodes.append(helper.make_node("SequenceAt", [parts, place.name], [name]))
    return g.add_nodes(nodes, operands)
