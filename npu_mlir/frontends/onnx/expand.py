"""Replacing calls of functions, the model's own and those that define standard operators, by their bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
import onnx.inliner

from npu_mlir.frontends.onnx.converters import CONVERTERS

DEEPEST = 4
"""How often bodies that consist of functions again are expanded."""


def is_default(domain: str) -> bool:
    """Whether this is the domain of standard operators."""
    return domain in ("", "ai.onnx")


def expand_functions(model: onnx.ModelProto, frozen: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    """The model without calls of its own functions and without standard operators that are defined by a function
    and that have no converter. What the inliner cannot expand stays, and is reported by the importer."""
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    failed: set[str] = set()
    for _ in range(DEEPEST):
        names = _expandable(model) - failed
        for name in sorted(names):
            try:
                model = _expand(model, name, frozen)
            except (RuntimeError, onnx.shape_inference.InferenceError):
                failed.add(name)
        if not names:
            break
    return model


def _expand(model: onnx.ModelProto, name: str, frozen: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    """The model with the bodies of all nodes of one operator in their place."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        for dim, extent in zip(value.type.tensor_type.shape.dim, frozen.get(value.name, ()), strict=False):
            dim.dim_value = extent
    schema = _schema(name, _version(model))
    for node in copy.graph.node:
        if node.op_type == name and is_default(node.domain):
            _add_defaults(node, schema)
    # Bodies may depend on types and ranks, which the inliner takes from the value infos.
    typed = onnx.shape_inference.infer_shapes(copy)
    return onnx.inliner.inline_selected_functions(typed, [("", name)], inline_schema_functions=True)


def _add_defaults(node: onnx.NodeProto, schema: Any) -> None:
    """Write out the default attributes: the inliner leaves them out of the bodies."""
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            node.attribute.append(attribute.default_value)


def _version(model: onnx.ModelProto) -> int:
    return next((entry.version for entry in model.opset_import if is_default(entry.domain)), 0)


def _expandable(model: onnx.ModelProto) -> set[str]:
    version = _version(model)
    names = {node.op_type for node in model.graph.node if is_default(node.domain)} - CONVERTERS.keys()
    return {name for name in names if _has_body(_schema(name, version))}


def _has_body(schema: Any) -> bool:
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def _schema(name: str, version: int) -> Any:
    try:
        return onnx.defs.get_schema(name, version, "")
    except onnx.defs.SchemaError:
        return None
