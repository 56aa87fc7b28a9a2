"""Whether a model says one thing only: what is wrong with it is reported by name before anything is translated.

Checked are names (each has one definition, and one that comes before its uses), the inputs and attributes of standard
operators against their definitions, and declared types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import onnx
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects.graph import element_of, shape_of
from npu_mlir.frontends.onnx.functions import opsets_of, schema_of
from npu_mlir.frontends.onnx.node import is_default
from npu_mlir.ir.constants import element_type
from npu_mlir.support.diagnostics import Note, UserError
from npu_mlir.support.dtypes import numpy_dtype

_TYPES: Mapping[int, str] = {number: name for name, number in onnx.AttributeProto.AttributeType.items()}


def check_model(model: onnx.ModelProto, name: str) -> None:
    """Raise a `UserError` that lists what is wrong with a model."""
    for text in chain(_names(model.graph), *map(_names, model.functions)):
        # What is not UTF-8 comes as bytes.
        if not isinstance(text, str):
            raise UserError(f"'{name}' has a name that is not UTF-8: {text!r}")
    opsets = opsets_of(model.opset_import)
    own = {(function.domain, function.name) for function in model.functions}
    problems = list(_graph_problems(model.graph, set(), opsets, own))
    for function in model.functions:
        inner = {**opsets_of(function.opset_import), **opsets}
        where = f"function '{function.name}': "
        problems += (where + text for text in _body_problems(function, inner, own))
    if problems:
        notes: list[str | Note] = list(problems[1:10])
        raise UserError(f"'{name}' is not a valid model: {problems[0]}", notes=notes)


def check_declared(value: onnx.ValueInfoProto, element: Attribute) -> None:
    """Raise unless an output is of the type that it is declared with, if it is."""
    declared = value.type.tensor_type.elem_type
    if not declared:
        return
    if element_type_of(declared) != element:
        name = type_name(declared)
        raise UserError(f"output '{value.name}' is declared as {name}, but the model computes {element}")


_DATA_TYPES = set(onnx.TensorProto.DataType.values())


def type_name(number: int) -> str:
    """What ONNX calls a data type."""
    return onnx.TensorProto.DataType.Name(number) if number in _DATA_TYPES else str(number)  # pyright: ignore


def element_type_of(number: int) -> Attribute | None:
    """The IR's element type for one of ONNX, None if there is none."""
    try:
        return element_type(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (TypeError, KeyError):
        return None


def _names(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[Any]:
    """All names in a graph or function."""
    if isinstance(graph, onnx.FunctionProto):
        yield from (*graph.input, *graph.output, graph.name, graph.domain)
    else:
        for value in chain(graph.input, graph.output, graph.initializer):
            yield value.name
        for value in graph.input:
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
        for inner in graphs_of(node):
            yield from _names(inner)


def _graph_problems(
    graph: onnx.GraphProto,
    outer: set[str],
    opsets: Mapping[str, int],
    own: set[tuple[str, str]],
    *,
    in_function: bool = False,
) -> Iterator[str]:
    weights = [tensor.name for tensor in graph.initializer]
    weights += [sparse.values.name for sparse in graph.sparse_initializer]
    inputs = [value.name for value in graph.input]
    for names, what in ((weights, "weight"), (inputs, "input")):
        for name, count in Counter(names).items():
            if count > 1:
                yield f"it has {count} {what}s named '{name}'"
    defined = {*weights, *inputs}
    yield from _node_problems(graph.node, defined, outer, opsets, own, in_function=in_function)
    for value in graph.output:
        if value.name not in defined | outer:
            yield f"nothing computes the output '{value.name}'"


def _body_problems(
    function: onnx.FunctionProto, opsets: Mapping[str, int], own: set[tuple[str, str]]
) -> Iterator[str]:
    defined = set(function.input)
    yield from _node_problems(function.node, defined, set(), opsets, own, in_function=True)
    for name in function.output:
        if name not in defined:
            yield f"nothing computes the output '{name}'"


def _node_problems(
    nodes: Sequence[onnx.NodeProto],
    defined: set[str],
    outer: set[str],
    opsets: Mapping[str, int],
    own: set[tuple[str, str]],
    *,
    in_function: bool,
) -> Iterator[str]:
    """What is wrong with nodes in order; adds the names of their results to `defined`."""
    for number, node in enumerate(nodes):
        where = f"node '{node.name or f'{node.op_type}_{number}'}' ({node.op_type}): "
        for name in node.input:
            if name and name not in defined and name not in outer:
                yield f"{where}nothing before it computes its input '{name}'"
        if (node.domain, node.op_type) not in own:
            yield from (where + text for text in _schema_problems(node, opsets))
        for attribute in node.attribute:
            if attribute.ref_attr_name and not in_function:
                yield f"{where}attribute {attribute.name} is that of a function, in which the node is not"
        for graph in graphs_of(node):
            inner = _graph_problems(graph, defined | outer, opsets, own, in_function=in_function)
            yield from (where + text for text in inner)
        for name in filter(None, node.output):
            if name in defined:
                yield f"{where}its output '{name}' is defined before"
            defined.add(name)


def problem_of(
    node: onnx.NodeProto, inputs: Sequence[SSAValue | np.ndarray | None], opset: int
) -> str | None:
    """What ONNX's own rules for shapes and types say against a node with these inputs, None if nothing."""
    known: dict[str, onnx.TypeProto] = {}
    for name, value in zip(node.input, inputs, strict=False):
        if value is not None:
            is_array = isinstance(value, np.ndarray)
            dtype = value.dtype if is_array else numpy_dtype(element_of(value))
            shape = value.shape if is_array else shape_of(value)
            number = onnx.helper.np_dtype_to_tensor_dtype(dtype)
            known[name] = onnx.helper.make_tensor_type_proto(number, shape)
    imports = [onnx.helper.make_opsetid("", opset)]
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
        onnx.shape_inference.infer_node_outputs(schema, node, known, opset_imports=imports)
    except onnx.defs.SchemaError:
        return None
    except onnx.shape_inference.InferenceError as error:
        return " ".join(str(error).removeprefix("[ShapeInferenceError] ").split())
    return None


def graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs inside a node."""
    for attribute in node.attribute:
        yield from chain([attribute.g] if attribute.HasField("g") else [], attribute.graphs)


def _schema_problems(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Iterator[str]:
    """What a node says against the definition of its operator. Unknown attributes are left to the converters."""
    if is_default(node.domain) and "" not in opsets:
        yield "the model does not say which version of the standard operators it uses (opset_import)"
        return
    schema = schema_of(node, opsets)
    if schema is None:
        return
    if not schema.min_input <= len(node.input) <= schema.max_input:
        yield f"it has {len(node.input)} inputs, the operator takes {_range(schema.min_input, schema.max_input)}"
    if len(node.output) > schema.max_output:
        yield f"it has {len(node.output)} outputs, the operator has at most {schema.max_output}"
    given = {attribute.name: attribute for attribute in node.attribute}
    for name, definition in schema.attributes.items():
        if name not in given:
            if definition.required:
                yield f"attribute {name} is missing"
        elif not _has_type(given[name], definition):
            yield f"attribute {name} is {_TYPES[given[name].type]}, the operator takes {definition.type.name}"


def _has_type(attribute: onnx.AttributeProto, definition: Any) -> bool:
    return bool(attribute.ref_attr_name) or _TYPES.get(attribute.type) == definition.type.name


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}" if high < 1 << 20 else f"at least {low}"
