"""Models of one or a few ONNX nodes with seeded random operands, compared with onnxruntime at several levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import npu_mlir

LEVELS = ("graph", "isa")
Arrays = Mapping[str, np.ndarray[Any, Any]]


def node(operator: str, inputs: str, outputs: str = "y", **attributes: Any) -> onnx.NodeProto:
    """A node whose names are given in one text each; `_` is an input that is left out."""
    names = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), **attributes)


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Arrays, opset: int = 18, **weights: Any
) -> onnx.ModelProto:
    """A model whose outputs are those of its last node, with inputs like the arrays."""
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in nodes[-1].output if name]
    graph = helper.make_graph(list(nodes), "g", infos, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def reference(model: onnx.ModelProto, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """What onnxruntime computes without its optimisations."""
    import onnxruntime as ort

    options: Any = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session: Any = ort.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(result) for result in session.run(None, dict(inputs))]


def onnx_reference(model: onnx.ModelProto, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """What ONNX's reference implementation computes."""
    results: Any = ReferenceEvaluator(model).run(None, dict(inputs))
    return [np.asarray(result) for result in results]


def check(
    model: onnx.ModelProto,
    inputs: Arrays,
    *,
    expected: Sequence[np.ndarray[Any, Any]] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    on_device: bool = True,
) -> None:
    """All outputs are those of onnxruntime, or the expected ones, at each level; no work is left to the host."""
    expected = reference(model, inputs) if expected is None else expected
    for level in LEVELS:
        program = npu_mlir.compile(model, emit=level)
        if level == "isa" and on_device:
            assert not [op for op in program.module.walk() if op.name == "tile.host"]
        results = program.run(dict(inputs))
        for output, wanted in zip(model.graph.output, expected, strict=True):
            result = results[output.name]
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), level
            np.testing.assert_allclose(
                result.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol, err_msg=level
            )
