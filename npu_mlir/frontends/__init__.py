"""Frontends: the kinds of models that the compiler reads, and the references that their results are compared with.

A registry line is data and imported on use. A frontend is found by the suffix of a file, or by the class of a model
that is an object; several lines may name one `Frontend`. Modules of ours (`.mlir`) are no models: they have a level.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from npu_mlir.frontends.frontend import Frontend, Reference
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.support.registry import table

_ONNX = "npu_mlir.frontends.onnx:ONNX"

FRONTENDS = table("frontend", {".onnx": _ONNX, "onnx.onnx_ml_pb2.ModelProto": _ONNX})
"""`Frontend`s by the suffix of their files or the class of their objects, those of plugins included."""

REFERENCES = table("reference", {"onnxruntime": "npu_mlir.frontends.onnx.reference:OnnxRuntime"})
"""Classes that are a `Reference`, those of plugins included."""

MODULE_SUFFIX = ".mlir"


def is_module_file(path: str) -> bool:
    """Whether a path stands for a module of ours, not for a model: a `.mlir` file, or standard input."""
    return path == "-" or path.endswith(MODULE_SUFFIX)


def frontend_of(model: object) -> Frontend:
    """The frontend for a file or an object.

    A file whose suffix nobody knows is taken for ONNX: such files tell by their contents.
    """
    found = _line_of(model)
    if found is None:
        from npu_mlir.support.plugins import load_installed_plugins

        load_installed_plugins()
        found = _line_of(model)
    if found is None and not isinstance(model, str | Path):
        raise UserError(f"a {type(model).__qualname__} is not a model, nor the path of one")
    return _load(found or _ONNX)


def check_reference(name: str, option: str) -> None:
    """A `UserError` that names `option` unless there is a reference of this name."""
    if name not in REFERENCES:
        from npu_mlir.support.plugins import load_installed_plugins

        load_installed_plugins()
    if name not in REFERENCES:
        names = [*REFERENCES, "none"]
        raise UserError(f"{option}: expected one of {', '.join(names)}{closest(name, names)}")


def reference_for(model: str, name: str | None) -> Reference:
    """The reference called `name` for the model in a file; None: the one that its frontend names."""
    frontend = frontend_of(model)
    name = name or frontend.reference
    if name is None:
        raise UserError(f"there is no reference for '{model}': nothing else runs {frontend.name} models")
    reference = _load(REFERENCES[name])
    if frontend.name not in reference.frontends:
        hint = "" if frontend.reference is None else f"; '{frontend.reference}' does"
        raise UserError(f"the reference '{name}' does not run {frontend.name} models{hint}")
    return reference(model)


def _line_of(model: object) -> str | None:
    """The line of the table for a model: that of the longest suffix, or of the most derived class."""
    if isinstance(model, str | Path):
        suffixes = [key for key in FRONTENDS if key.startswith(".") and str(model).endswith(key)]
        return FRONTENDS[max(suffixes, key=len)] if suffixes else None
    names = [f"{base.__module__}.{base.__qualname__}" for base in type(model).__mro__]
    return next((FRONTENDS[name] for name in names if name in FRONTENDS), None)


def _load(line: str) -> Any:
    module, _, attribute = line.partition(":")
    return getattr(import_module(module), attribute)
