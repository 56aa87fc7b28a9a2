"""What onnxruntime's optimizer fuses, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import npu_mlir
from npu_mlir.support.diagnostics import UserError
from operators import check, model, node

RNG = np.random.default_rng(31)


def fused(operator: str, shapes: dict[str, tuple[int, ...]], outputs: str = "y", **attributes: Any) -> Any:
    """A model of one operator, with `_` among the names for an input that is left out, and its operands."""
    inputs = {
        name: RNG.standard_normal(shape).astype(np.float32)
        for name, shape in shapes.items()
        if name[0] != "_"
    }
    names = " ".join("_" if name[0] == "_" else name for name in shapes)
    proto = node(operator, names, outputs, domain="com.microsoft", **attributes)
    result = model([proto], inputs)
    result.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for output, name in zip(result.graph.output, outputs.split(), strict=True):
        output.CopyFrom(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return result, inputs


X = (2, 5, 12)


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes"),
    [
        ("Gelu", {"x": X}, {}),
        ("BiasGelu", {"x": X, "b": (12,)}, {}),
        ("FastGelu", {"x": X}, {}),
        ("FastGelu", {"x": X, "b": (12,)}, {}),
        ("QuickGelu", {"x": X}, {"alpha": 1.5}),
        ("SkipLayerNormalization", {"x": X, "s": X, "g": (12,), "o": (12,), "b": (12,)}, {"epsilon": 1e-3}),
        ("SkipLayerNormalization", {"x": X, "s": X, "g": (12,)}, {}),
        ("SkipSimplifiedLayerNormalization", {"x": X, "s": X, "g": (12,), "b": (12,)}, {"epsilon": 1e-3}),
        ("FusedMatMul", {"x": X, "w": (2, 7, 12)}, {"transB": 1, "alpha": 0.25}),
        ("FusedMatMul", {"x": (3, 4, 5), "w": (4, 6)}, {"transA": 1}),
    ],
)
def test_fused_operators(operator: str, shapes: dict[str, tuple[int, ...]], attributes: dict[str, Any]):
    source, inputs = fused(operator, shapes, **attributes)
    check(source, inputs, rtol=2e-5, atol=2e-6)


def test_the_sum_in_front_of_a_normalization():
    shapes: dict[str, tuple[int, ...]] = {"x": X, "s": X, "g": (12,), "_o": (), "b": (12,)}
    source, inputs = fused("SkipLayerNormalization", shapes, "y mean inverse sum")
    total = inputs["x"].astype(np.float64) + inputs["s"] + inputs["b"]
    mean, inverse = total.mean(-1, keepdims=True), 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-12)
    wanted = [(total - mean) * inverse * inputs["g"], mean, inverse, total]
    check(source, inputs, expected=[w.astype(np.float32) for w in wanted], rtol=2e-5, atol=2e-6)


def test_what_the_product_does_not_have():
    source, _ = fused("FusedMatMul", {"x": X, "w": (2, 12, 3)}, transBatchA=1)
    with pytest.raises(UserError) as caught:
        npu_mlir.compile(source)
    assert "(FusedMatMul): attribute transBatchA = 1 is not supported" in caught.value.notes[0].message
