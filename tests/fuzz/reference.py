"""onnxruntime as the judge of random graphs: what a model computes, and whether it is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from npu_mlir.support.onnx_session import session

Array = np.ndarray[Any, Any]

IR_VERSION = 10

LOCAL = "local"
"""The domain of functions that models define."""


class Refused(Exception):
    """onnxruntime doesn't run the model."""


class Session:
    """A model in onnxruntime: one thread, no optimisations of the graph, exact products of bytes."""

    def __init__(self, model: onnx.ModelProto) -> None:
        try:
            self.session: Any = session(model.SerializeToString(), severity=4)
        except Exception as error:
            raise Refused(str(error)) from error

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name."""
        wanted = {entry.name for entry in self.session.get_inputs()}
        try:
            values = self.session.run(None, {name: inputs[name] for name in wanted})
        except Exception as error:
            raise Refused(str(error)) from error
        return {e.name: np.asarray(v) for e, v in zip(self.session.get_outputs(), values, strict=True)}


def value_info(name: str, array: Array) -> onnx.ValueInfoProto:
    """The declaration of a value that is like an array."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def make_model(
    graph: onnx.GraphProto, opset: int, functions: Sequence[onnx.FunctionProto] = ()
) -> onnx.ModelProto:
    """A model of a graph in the default domain, with functions of its own."""
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(LOCAL, 1)] * bool(functions)
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, functions=functions)


class Evaluator:
    """A model in ONNX's reference implementation."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.names = [value.name for value in model.graph.output]
        try:
            self.evaluator: Any = ReferenceEvaluator(model)
        except Exception as error:
            raise Refused(str(error)) from error

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name."""
        try:
            values = self.evaluator.run(None, dict(inputs))
        except Exception as error:
            raise Refused(str(error)) from error
        return {name: np.asarray(value) for name, value in zip(self.names, values, strict=True)}


def node_session(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    opset: int,
    functions: Sequence[onnx.FunctionProto] = (),
) -> Session | Evaluator:
    """A session that runs a few nodes, up to what the last one computes.

    Without elements onnxruntime is apt to end the process: see `Evaluator`.
    """
    outputs = [helper.make_empty_tensor_value_info(name) for name in nodes[-1].output if name]
    declared = [value_info(name, array) for name, array in inputs.items()]
    model = make_model(helper.make_graph(nodes, "node", declared, outputs), opset, functions)
    is_empty = any(array.size == 0 and array.ndim > 1 for array in inputs.values())
    return Evaluator(model) if is_empty else Session(model)


def names_of(nodes: Sequence[onnx.NodeProto]) -> set[str]:
    """What nodes read, with what is read by graphs inside them."""
    names: set[str] = set()
    for node in nodes:
        names.update(filter(None, node.input))
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= names_of(attribute.g.node) | {value.name for value in attribute.g.output}
    return names
