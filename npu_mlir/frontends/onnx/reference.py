"""onnxruntime as the reference of ONNX models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import onnx

from npu_mlir.frontends.onnx.inputs import baked_inputs, model_inputs
from npu_mlir.frontends.onnx.load import load_model
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.onnx_session import session


class OnnxRuntime:
    """An ONNX file, run node by node as it stands (see `onnx_session`)."""

    frontends: ClassVar[tuple[str, ...]] = ("ONNX",)

    def __init__(self, model: str) -> None:
        self.model = model

    def outputs(self, inputs: Mapping[str, np.ndarray | float]) -> dict[str, np.ndarray]:
        """The outputs of the model by name."""
        return _run(self.model, self._arrays(inputs))

    def intermediates(self, inputs: Mapping[str, np.ndarray | float]) -> dict[str, list[np.ndarray]]:
        """The values of every node by its name, or that of its first output."""
        proto = load_model(self.model)
        known = {output.name for output in proto.graph.output}
        for node in proto.graph.node:
            proto.graph.output.extend(
                onnx.ValueInfoProto(name=name) for name in node.output if name and name not in known
            )
        found = _run(proto.SerializeToString(), self._arrays(inputs))
        values: dict[str, list[np.ndarray]] = {}
        for node in proto.graph.node:
            own = [found[name] for name in node.output if name in found]
            values.setdefault(node.name or next(iter(node.output), ""), []).extend(own)
        return values

    def _arrays(self, inputs: Mapping[str, np.ndarray | float]) -> dict[str, np.ndarray]:
        """The inputs with numbers in the types that the model declares."""
        numbers = {name: value for name, value in inputs.items() if not isinstance(value, np.ndarray)}
        arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
        if numbers:
            arrays |= baked_inputs(model_inputs(load_model(self.model).graph), numbers)
        return arrays


def _run(model: str | bytes, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    try:
        made = session(model)
        wanted = {entry.name for entry in made.get_inputs()}
        values = made.run(None, {name: array for name, array in inputs.items() if name in wanted})
    except ImportError as error:
        message = "--compare onnxruntime needs onnxruntime: pip install 'npu-mlir[compare]'"
        raise UserError(message) from error
    except Exception as error:
        raise UserError(f"onnxruntime cannot run the model: {' '.join(str(error).split())}") from error
    return {entry.name: np.asarray(value) for entry, value in zip(made.get_outputs(), values)}
