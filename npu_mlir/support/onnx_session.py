"""Sessions of onnxruntime that compute what a model says, on any machine.

One thread, so that sums do not depend on the machine, and no optimisations of the graph, some of which compute other
values (they fuse DequantizeLinear with MatMul, and Transpose with MatMul).

Products of unsigned bytes by signed ones are exact in ONNX, but not in onnxruntime on x86 without VNNI: its kernels add
pairs of products in 16 bits, and 255 * 127 + 255 * 127 stays at 32,767. Products of two unsigned operands are exact
everywhere. So the signed operand becomes an unsigned one: each element and the zero point plus 128, which is the same
product.

    before:  MatMulInteger(a: u8, b: s8, za, zb)
    after:   MatMulInteger(a: u8, b + 128: u8, za, zb + 128)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPERANDS: Mapping[tuple[str, str], tuple[tuple[int, int], tuple[int, int]]] = {
    ("", "MatMulInteger"): ((0, 2), (1, 3)),
    ("", "ConvInteger"): ((0, 2), (1, 3)),
    ("", "QLinearMatMul"): ((0, 2), (3, 5)),
    ("", "QLinearConv"): ((0, 2), (3, 5)),
    ("com.microsoft", "MatMulIntegerToFloat"): ((0, 4), (1, 5)),
}
"""Which inputs an operator multiplies, each with its zero point; one that is absent is 0."""

WEIGHTS: Mapping[tuple[str, str], tuple[tuple[int, int], ...]] = {
    ("com.microsoft", "DynamicQuantizeLSTM"): ((1, 9), (2, 11)),
    ("com.microsoft", "DynamicQuantizeMatMul"): ((1, 3),),
}
"""The same of operators that quantize the other operand themselves, to unsigned bytes."""


def session(model: str | bytes, severity: int = 3) -> Any:
    """An `onnxruntime.InferenceSession` of a file or a serialized model.

    `ImportError` without onnxruntime, and whatever onnxruntime raises for a model that it cannot run.
    """
    import onnxruntime as ort

    options: Any = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = severity
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(_exact(model), options, providers=["CPUExecutionProvider"])


def _exact(model: str | bytes) -> str | bytes:
    """The model, in memory if it has to be another one."""
    try:
        if isinstance(model, bytes):
            proto = onnx.load_model_from_string(model)
        else:
            proto = onnx.load(model, load_external_data=False)
        if not any(_key(node) in {*OPERANDS, *WEIGHTS} for node in _nodes(proto.graph)):
            return model
        if isinstance(model, str):
            onnx.load_external_data_for_model(proto, str(Path(model).parent))
        return proto.SerializeToString() if make_exact(proto) else model
    except Exception:
        # A damaged model, or one too large to be a message: onnxruntime says what it thinks of it.
        return model


def make_exact(model: onnx.ModelProto) -> bool:
    """Make signed operands of products by unsigned ones unsigned, in place; whether there were any."""
    types = dict(_types(onnx.shape_inference.infer_shapes(model).graph))
    return _make_graph_exact(model.graph, types)


def _make_graph_exact(graph: onnx.GraphProto, types: Mapping[str, int]) -> bool:
    nodes: list[onnx.NodeProto] = []
    made: dict[str, str] = {}
    changed = False
    constants = {tensor.name: tensor for tensor in graph.initializer}

    def unsigned(name: str) -> str:
        if name not in made:
            made[name] = f"{name or 'zero'} as unsigned"
            array = numpy_helper.to_array(constants[name]) if name in constants else None
            if not name:
                array = np.zeros((), np.int8)
            if array is None:
                nodes.extend(_shift(name, made[name]))
            else:
                shifted = (array.astype(np.int16) + 128).astype(np.uint8)
                graph.initializer.append(numpy_helper.from_array(shifted, made[name]))
        return made[name]

    for node in graph.node:
        for inner in _subgraphs(node):
            changed |= _make_graph_exact(inner, types)
        for pair in _signed(node, types):
            _extend(node.input, max(pair) + 1)
            for index in pair:
                node.input[index] = unsigned(node.input[index])
            changed = True
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    return changed


def _signed(node: onnx.NodeProto, types: Mapping[str, int]) -> list[tuple[int, int]]:
    """The operands that are to be unsigned."""

    def type_of(pair: tuple[int, int]) -> int | None:
        return types.get(node.input[pair[0]])

    key = _key(node)
    if key in WEIGHTS:
        return [pair for pair in WEIGHTS[key] if type_of(pair) == TensorProto.INT8]
    if key not in OPERANDS or {type_of(pair) for pair in OPERANDS[key]} != {
        TensorProto.INT8,
        TensorProto.UINT8,
    }:
        return []
    return [pair for pair in OPERANDS[key] if type_of(pair) == TensorProto.INT8]


def _shift(name: str, result: str) -> Sequence[onnx.NodeProto]:
    """Nodes that add 128 to signed bytes that are not known yet."""
    steps = [f"{result}.{i}" for i in range(3)]
    by = numpy_helper.from_array(np.array(128, np.int32), "by")
    return [
        helper.make_node("Cast", [name], [steps[0]], to=TensorProto.INT32),
        helper.make_node("Constant", [], [steps[1]], value=by),
        helper.make_node("Add", steps[:2], [steps[2]]),
        helper.make_node("Cast", [steps[2]], [result], to=TensorProto.UINT8),
    ]


def _extend(names: MutableSequence[str], length: int) -> None:
    while len(names) < length:
        names.append("")


def _key(node: onnx.NodeProto) -> tuple[str, str]:
    return ("" if node.domain == "ai.onnx" else node.domain), node.op_type


def _types(graph: onnx.GraphProto) -> Iterator[tuple[str, int]]:
    """The element types of the values of a graph, and of those within it."""
    for tensor in graph.initializer:
        yield tensor.name, tensor.data_type
    for value in (*graph.input, *graph.value_info, *graph.output):
        yield value.name, value.type.tensor_type.elem_type
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                yield node.output[0], attribute.t.data_type
        for inner in _subgraphs(node):
            yield from _types(inner)


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in _subgraphs(node):
            yield from _nodes(inner)
