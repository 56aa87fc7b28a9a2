"""Replacing calls of functions, the model's own and those that define standard operators, by their bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
import onnx.inliner

from npu_mlir.frontends.onnx.converters import CONVERTERS


def is_default(domain: str) -> bool:
    """Whether this is the domain of standard operators."""
    return domain in ("", "ai.onnx")


def expand_functions(model: onnx.ModelProto, frozen: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    """The model without calls of its own functions and without standard operators that are defined by a function
    and that have no converter. The model is left alone where nothing is to be done."""
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    for _ in range(4):
        names = _expandable(model)
        if not names:
            break
        # Bodies may depend on types and ranks, which the inliner takes from the value infos.
        typed = onnx.shape_inference.infer_shapes(_with_shapes(model, frozen))
        model = onnx.inliner.inline_selected_functions(
            typed, [("", name) for name in sorted(names)], exclude=False, inline_schema_functions=True
        )
    return model


def _with_shapes(model: onnx.ModelProto, frozen: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        for dim, extent in zip(value.type.tensor_type.shape.dim, frozen.get(value.name, ()), strict=False):
            dim.dim_value = extent
    return copy


def _expandable(model: onnx.ModelProto) -> set[str]:
    versions = {entry.domain: entry.version for entry in model.opset_import}
    version = versions.get("", versions.get("ai.onnx", 0))
    names = {node.op_type for node in model.graph.node if is_default(node.domain)} - CONVERTERS.keys()
    return {name for name in names if _has_body(name, version)}


def _has_body(name: str, version: int) -> bool:
    try:
        schema: Any = onnx.defs.get_schema(name, version, "")
    except onnx.defs.SchemaError:
        return False
    return schema.has_function or schema.has_context_dependent_function
