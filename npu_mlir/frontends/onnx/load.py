"""Reading ONNX files, and what can be wrong with them before any operator is looked at."""

from __future__ import annotations

from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import external_data_helper

from npu_mlir.frontends.onnx.large_weights import read_weight, without_large_weights
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.files import note_input, read_bytes

IR_VERSION_TAG = b"\x08"
"""First byte of practically every ONNX file: the tag of the field `ir_version`."""


def load_apart(source: str | Path | onnx.ModelProto) -> tuple[onnx.ModelProto, dict[int, np.ndarray]]:
    """Like `load_model`, but large weights are arrays from the start: in the model they have no data, and come with it
    by the number of the initializer."""
    if isinstance(source, onnx.ModelProto):
        return load_model(source), {}
    path = Path(source)
    note_input(path)
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            contents, places = without_large_weights(data)
            model = onnx.ModelProto()
            model.ParseFromString(contents)
            initializers = model.graph.initializer
            arrays = {
                number: read_weight(file, place, initializers[number]) for number, place in places.items()
            }
    except (OSError, ValueError, IndexError, DecodeError):
        # Whatever it is, it cannot be mapped or is no model: read as a whole it says what is wrong.
        return load_model(source), {}
    _load_external(model, path)
    _check(model, str(source))
    return model, {number: array for number, array in arrays.items() if array is not None}


def load_model(source: str | Path | onnx.ModelProto) -> onnx.ModelProto:
    """The model of a file, weights in external files included; `UserError` unless it is a usable ONNX model."""
    if isinstance(source, onnx.ModelProto):
        model, name = source, source.graph.name or "model"
    else:
        model, name = _read(Path(source)), str(source)
    _check(model, name)
    return model


def _read(path: Path) -> onnx.ModelProto:
    data = read_bytes(str(path))
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        if data.startswith(IR_VERSION_TAG):
            raise UserError(f"'{path}' is a truncated or damaged ONNX file") from error
        raise UserError(f"'{path}' is not an ONNX file") from error
    _load_external(model, path)
    return model


def _load_external(model: onnx.ModelProto, path: Path) -> None:
    for tensor in model.graph.initializer:
        if external_data_helper.uses_external_data(tensor):
            note_input(path.parent / external_data_helper.ExternalDataInfo(tensor).location)
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise UserError(f"cannot read the external weights of '{path}': {error}") from error


def _check(model: onnx.ModelProto, name: str) -> None:
    if not model.HasField("graph") or not model.ir_version:
        raise UserError(f"'{name}' is not an ONNX file")
    if not model.opset_import or not (model.graph.node or model.graph.output):
        raise UserError(f"'{name}' is a truncated or damaged ONNX file")
    version = opset_of(model)
    newest = onnx.defs.onnx_opset_version()
    if version and not 1 <= version <= newest:
        raise UserError(f"'{name}' uses opset {version}; supported are 1 to {newest}")


def opset_of(model: onnx.ModelProto) -> int:
    """The version of the default operator set, 0 if the model does not use it."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
