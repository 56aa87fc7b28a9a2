"""Evaluating a node whose inputs are all known, which is what removes shape arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import ml_dtypes
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

DOUBTFUL = {
    *("BatchNormalization", "Dropout", "Softmax", "LogSoftmax", "Hardmax"),
    *("AveragePool", "LpPool", "MaxPool", "GlobalMaxPool", "ConvTranspose", "InstanceNormalization", "LRN"),
    *("RNN", "GRU", "LSTM", "QLinearConv", "QLinearMatMul", "DynamicQuantizeLinear", "GridSample"),
}
"""Operators whose reference implementation is wrong for old opsets (first line), or for some shapes and attributes,
which recurrences ignore (lengths, limits) and quantized products round in another way, as does the scale of zeros:
left to the converters."""

HALVES = (np.float16, ml_dtypes.bfloat16)

SUMS = {
    *("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"),
    *("ReduceSumSquare", "MatMul", "Gemm", "Conv", "Einsum", "CumSum", "CumProd", "Sum", "Mean", "Attention"),
    *("GlobalAveragePool", "GlobalLpPool", "LayerNormalization", "RMSNormalization", "GroupNormalization"),
}
"""Operators that the reference rounds after each step, in the type of the operands: no way to sum halves."""


class CannotEvaluate(Exception):
    """The node is to be converted instead."""


def evaluate(
    proto: onnx.NodeProto, inputs: Sequence[Value | None], opsets: Mapping[str, int]
) -> list[Constant]:
    """The outputs of a node on arrays."""
    if proto.op_type in NOT_PURE | DOUBTFUL or any(attribute.HasField("g") for attribute in proto.attribute):
        raise CannotEvaluate
    halves = any(isinstance(value, np.ndarray) and value.dtype in HALVES for value in inputs)
    if halves and proto.op_type in SUMS:
        raise CannotEvaluate
    if proto.op_type == "Constant":
        return [_constant(proto)]
    if proto.op_type in OWN and proto.domain in ("", "ai.onnx"):
        arrays = [value if isinstance(value, np.ndarray) else None for value in inputs]
        return [OWN[proto.op_type](proto, arrays)]
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


def is_quantized(proto: onnx.NodeProto, inputs: Sequence[Value | None]) -> bool:
    """Whether a node makes numbers of integers that have one scale, or one for each element of an axis."""
    if proto.op_type != "DequantizeLinear" or not isinstance(inputs[0], np.ndarray):
        return False
    blocks = any(a.name == "block_size" and a.i for a in proto.attribute)
    return not blocks and inputs[0].dtype in (np.int8, np.uint8, np.int32)


def _parameters(
    proto: onnx.NodeProto, arrays: Sequence[Constant | None], *names: str
) -> list[list[int] | None]:
    """Lists of integers by name: inputs in that order behind the first one, or attributes in old opsets."""
    attributes = {attribute.name: list(attribute.ints) for attribute in proto.attribute}
    found: list[list[int] | None] = []
    for number, name in enumerate(names, 1):
        array = arrays[number] if number < len(arrays) else None
        found.append(attributes.get(name) if array is None else [int(entry) for entry in array.reshape(-1)])
    return found


def _unsqueezed(proto: onnx.NodeProto, arrays: Sequence[Constant | None]) -> Constant:
    """`Unsqueeze`: the reference inserts axes one by one in the order in which they are given."""
    (axes,) = _parameters(proto, arrays, "axes")
    if arrays[0] is None or axes is None:
        raise CannotEvaluate
    try:
        return np.expand_dims(arrays[0], tuple(axes))
    except ValueError as error:
        raise CannotEvaluate from error


def _sliced(proto: onnx.NodeProto, arrays: Sequence[Constant | None]) -> Constant:
    """`Slice`: the reference takes too little where a start is before the first element."""
    starts, ends, axes, steps = _parameters(proto, arrays, "starts", "ends", "axes", "steps")
    data = arrays[0]
    if data is None or starts is None or ends is None:
        raise CannotEvaluate
    ranges = [slice(None)] * data.ndim
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    try:
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            ranges[axis] = slice(*_limits(start, end, step, data.shape[axis]))
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise CannotEvaluate from error
    return data[tuple(ranges)]


def _limits(start: int, end: int, step: int, extent: int) -> tuple[int, int | None, int]:
    """A range as Python takes it, where -1 is the last element: both ends clamped as ONNX says."""
    if step == 0:
        raise ZeroDivisionError
    start, end = (place + extent if place < 0 else place for place in (start, end))
    if step > 0:
        return min(max(start, 0), extent), min(max(end, 0), extent), step
    end = min(max(end, -1), extent - 1)
    return min(max(start, 0), extent - 1), None if end < 0 else end, step


def _non_zero(proto: onnx.NodeProto, arrays: Sequence[Constant | None]) -> Constant:
    """`NonZero`: the reference gives no place for a scalar."""
    if arrays[0] is None:
        raise CannotEvaluate
    return np.stack(np.nonzero(np.atleast_1d(arrays[0]))).astype(np.int64)


OWN = {"Unsqueeze": _unsqueezed, "Slice": _sliced, "NonZero": _non_zero}
"""What is folded here, since the reference implementation is wrong for some parameters."""


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
