"""Evaluating a node whose inputs are all known, which is what removes shape arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from npu_mlir.frontends.onnx.node import Constant, Unsupported, Value
from npu_mlir.frontends.onnx.tensors import array_of, dense_of

NOT_PURE = {
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
}

DOUBTFUL = {"BatchNormalization", "Dropout", "Softmax", "LogSoftmax", "Hardmax", "LRN"}
"""Operators whose reference implementation is wrong, for old opsets or (LRN) for more than five channels: left to the
converters."""


class CannotEvaluate(Exception):
    """The node is to be converted instead."""


def evaluate(
    proto: onnx.NodeProto, inputs: Sequence[Value | None], opsets: Mapping[str, int]
) -> list[Constant]:
    """The outputs of a node on arrays."""
    if proto.op_type in NOT_PURE | DOUBTFUL or any(attribute.HasField("g") for attribute in proto.attribute):
        raise CannotEvaluate
    if proto.op_type == "Constant":
        return [_constant(proto)]
    elements = _elements(proto.op_type, inputs)
    if elements > LARGEST_FOLDED:
        raise Unsupported(f"its result has {elements} elements")
    feeds = {name: value for name, value in zip(proto.input, inputs, strict=True) if name}
    graph = onnx.helper.make_graph(
        [proto],
        "node",
        [onnx.helper.make_empty_tensor_value_info(name) for name in feeds],
        [onnx.helper.make_empty_tensor_value_info(name) for name in proto.output if name],
    )
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = onnx.helper.make_model(graph, opset_imports=imports)
    try:
        with np.errstate(all="ignore"):
            results: Any = iter(ReferenceEvaluator(model).run(None, feeds))
    except Exception as error:
        raise CannotEvaluate from error
    outputs = [next(results) if name else None for name in proto.output]
    if not all(value is None or isinstance(value, np.ndarray | np.generic) for value in outputs):
        raise CannotEvaluate
    return [np.asarray(value) for value in outputs]


LARGEST_FOLDED = 1 << 31
"""Elements of a result that is made now."""


def _elements(operator: str, inputs: Sequence[Value | None]) -> int:
    """About how many elements the result has, for operators whose operands say it by their values."""
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    if len(arrays) < (1 if operator == "ConstantOfShape" else 2):
        return 0
    first, *rest = arrays
    try:
        match operator:
            case "ConstantOfShape":
                return prod(int(extent) for extent in first.flat)
            case "Expand":
                return prod(max(1, int(extent)) for extent in rest[0].flat)
            case "Tile":
                return first.size * prod(int(count) for count in rest[0].flat)
            case "Pad":
                return first.size + sum(abs(int(extent)) for extent in rest[0].flat)
            case "Range":
                return int(abs((rest[0] - first) / rest[1]).item())
            case _:
                return 0
    except (ArithmeticError, ValueError, IndexError):
        return 0


def _constant(proto: onnx.NodeProto) -> Constant:
    if len(proto.attribute) != 1:
        raise CannotEvaluate
    attribute = proto.attribute[0]
    value: Any = onnx.helper.get_attribute_value(attribute)
    if attribute.name == "value":
        return array_of(value)
    if attribute.name == "sparse_value":
        return dense_of(value)
    if attribute.name in ("value_int", "value_ints"):
        return np.asarray(value, np.int64)
    if attribute.name in ("value_float", "value_floats"):
        return np.asarray(value, np.float32)
    raise CannotEvaluate
