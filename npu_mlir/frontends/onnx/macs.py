"""Multiply-accumulates of ONNX nodes that the host runs, for the share that reports name."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import onnx

Shape = tuple[int, ...]

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

CONVOLUTIONS = ("Conv", "ConvInteger", "QLinearConv", "FusedConv")
PRODUCTS = ("MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "MatMulIntegerToFloat")


def macs_of(node: onnx.NodeProto, shape_of: Callable[[str], Shape | None]) -> int:
    """The multiply-accumulates of a node, 0 where the operator has none or shapes are open. `shape_of` knows names."""
    shapes = [shape_of(name) if name else None for name in node.input]
    results = [shape_of(name) if name else None for name in node.output]
    try:
        return _macs(node, shapes, results)
    except (IndexError, TypeError):
        return 0


def _macs(node: onnx.NodeProto, shapes: list[Shape | None], results: list[Shape | None]) -> int:
    operator = node.op_type
    if operator in CONVOLUTIONS:
        kernel = shapes[3] if operator == "QLinearConv" else shapes[1]
        return prod(results[0] or ()) * prod((kernel or ())[1:]) if results[0] and kernel else 0
    if operator == "ConvTranspose":
        image, kernel = shapes[0], shapes[1]
        return prod(image) * prod(kernel[1:]) if image and kernel else 0
    if operator in PRODUCTS:
        lhs = shapes[0]
        return prod(results[0]) * lhs[-1] if results[0] is not None and lhs else 0
    if operator == "Gemm":
        lhs, transposed = shapes[0], any(a.name == "transA" and a.i for a in node.attribute)
        return prod(results[0]) * lhs[0 if transposed else 1] if results[0] and lhs else 0
    if operator in GATES:
        steps, weights, recurrent = shapes[0], shapes[1], shapes[2]
        if not steps or not weights or not recurrent:
            return 0
        return steps[0] * steps[1] * (prod(weights) + prod(recurrent))
    return 0
