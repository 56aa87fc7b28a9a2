"""Models of operator sets before 7 as models of set 7, in which operators broadcast as in NumPy.

    y = Add(x, b)  broadcast = 1, axis = 1      opset 6
  becomes
    b' = Unsqueeze(b)  axes = [1]; y = Add(x, b')      opset 7, for an x of rank 3 and a b of rank 1

onnx's own version converter does it, but for operands that lie along inner dims: it takes no slopes of PRelu, and not
all axes. It has no rules for nodes of the graphs inside a node, so a model with those is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import shape_inference, version_converter

from npu_mlir.frontends.onnx.check import check_model, graphs_of
from npu_mlir.frontends.onnx.load import opset_of
from npu_mlir.support.diagnostics import UserError

OLDEST_OPSET = 7
"""The oldest version of the standard operators that the converters know."""


def upgraded(
    model: onnx.ModelProto, weights: Mapping[int, np.ndarray], name: str
) -> tuple[onnx.ModelProto, Mapping[int, np.ndarray]]:
    """A model of opset 7 or newer with the same meaning, and its weights by their new numbers.

    A model of an older opset that cannot be upgraded is a `UserError`.
    """
    version = opset_of(model)
    if not 0 < version < OLDEST_OPSET:
        return model, weights
    apart = {model.graph.initializer[number].name: array for number, array in weights.items()}
    try:
        new = version_converter.convert_version(_with_trailing_dims(model), OLDEST_OPSET)
    except (RuntimeError, ValueError, TypeError, version_converter.ConvertError) as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"'{name}' uses opset {version}, which cannot be upgraded to {OLDEST_OPSET}: {reason}",
            notes=[f"export it for opset {OLDEST_OPSET} or newer"],
        ) from error
    check_model(new, f"{name}, upgraded to opset {OLDEST_OPSET}")
    numbers = {tensor.name: number for number, tensor in enumerate(new.graph.initializer)}
    return new, {numbers[key]: array for key, array in apart.items() if key in numbers}


def _with_trailing_dims(model: onnx.ModelProto) -> onnx.ModelProto:
    """Operands that broadcast from an axis get the dims behind it, of size 1. Raises `ValueError` where it can't."""
    new = shape_inference.infer_shapes(model)
    shapes = _known_shapes(new.graph)
    nodes: list[onnx.NodeProto] = []
    for number, node in enumerate(new.graph.node):
        where = f"node '{node.name or node.output[0]}' ({node.op_type})"
        if any(True for _ in graphs_of(node)):
            raise ValueError(f"{where} has graphs inside")
        axis = _axis(node, shapes)
        if axis is not None:
            if not all(name in shapes for name in node.input[:2]):
                raise ValueError(f"the shapes of {where} are not known")
            rank, own = len(shapes[node.input[0]]), len(shapes[node.input[1]])
            behind = list(range(own, rank - (axis if axis >= 0 else axis + rank)))
            if behind:
                operand = f"{node.input[1]}/aligned/{number}"
                nodes.append(onnx.helper.make_node("Unsqueeze", [node.input[1]], [operand], axes=behind))
                node.input[1] = operand
        nodes.append(node)
    del new.graph.node[:]
    new.graph.node.extend(nodes)
    return new


def _known_shapes(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """Shapes by name; a dim that is open is 0."""
    values = (*graph.value_info, *graph.input, *graph.output)
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in values
        if value.type.tensor_type.HasField("shape")
    }
    return shapes | {tensor.name: list(tensor.dims) for tensor in graph.initializer}


def _axis(node: onnx.NodeProto, shapes: Mapping[str, list[int]]) -> int | None:
    """The dim of the first operand that is the first one of the second, where a node says so; it says so no more.

    The slopes of PRelu, unless there is only one, count channels, which are dim 1.
    """
    if node.op_type == "PRelu":
        return None if shapes.get(node.input[1]) == [1] else 1
    for attribute in node.attribute:
        if attribute.name == "axis" and node.op_type in _BROADCASTING:
            axis = attribute.i
            node.attribute.remove(attribute)
            return axis
    return None


_BROADCASTING = {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater"}
