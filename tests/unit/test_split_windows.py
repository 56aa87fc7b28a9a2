"""Reductions over windows, axis after axis, against onnxruntime and level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_mlir
from npu_mlir.validation.equivalence import EquivalenceChecker
from operators import model, node, reference

POOLS: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("MaxPool", (1, 3, 11, 13), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ("MaxPool", (2, 20, 9, 9), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("MaxPool", (1, 5, 12, 9), {"kernel_shape": [3, 2], "dilations": [2, 3]}),
    ("MaxPool", (1, 4, 9, 8), {"kernel_shape": [5, 4], "pads": [2, 1, 2, 2]}),
    ("MaxPool", (1, 4, 20), {"kernel_shape": [4], "strides": [3]}),
    ("MaxPool", (1, 2, 6, 7, 8), {"kernel_shape": [2, 3, 3], "strides": [1, 2, 1]}),
    ("AveragePool", (1, 6, 9, 10), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    ("AveragePool", (1, 6, 9, 10), {"kernel_shape": [4, 2], "strides": [1, 2]}),
]


@pytest.mark.parametrize("target", ["toy", "ascend-910"])
@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize(("operator", "shape", "attributes"), POOLS)
def test_pools(
    target: str, precision: str, operator: str, shape: tuple[int, ...], attributes: dict[str, Any]
):
    rng = np.random.default_rng(sum(shape))
    inputs = {"x": rng.standard_normal(shape).astype(np.float32)}
    source = model([node(operator, "x", "y", **attributes)], inputs)
    program = npu_mlir.compile(source, target=target, precision=precision, instruments=[EquivalenceChecker()])
    (wanted,) = reference(source, inputs)
    tolerance = 1e-6 if precision == "f32" else 2e-3
    np.testing.assert_allclose(program.run(inputs)["y"], wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("element", [np.int8, np.uint8])
def test_bytes(element: Any):
    rng = np.random.default_rng(3)
    limits = np.iinfo(element)
    inputs = {"x": rng.integers(limits.min, limits.max + 1, (1, 7, 9, 10)).astype(element)}
    source = model(
        [node("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 1], pads=[1, 0, 1, 0])], inputs
    )
    program = npu_mlir.compile(source, target="toy", instruments=[EquivalenceChecker()])
    (wanted,) = reference(source, inputs)
    np.testing.assert_array_equal(program.run(inputs)["y"], wanted)


def test_not_a_number_wins():
    x = np.full((1, 1, 5, 5), -np.inf, np.float32)
    x[0, 0, 2, 2] = np.nan
    source = model([node("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2])], {"x": x})
    assert np.isnan(npu_mlir.compile(source, target="toy").run({"x": x})["y"]).all()


def test_a_maximum_of_windows_fills_nothing_and_combines_whole_rows():
    x = np.zeros((1, 64, 18, 18), np.float32)
    source = model([node("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2])], {"x": x})
    program = npu_mlir.compile(source, target="ascend-910", precision="f16")
    names = [op.name for op in program.module.walk()]
    assert "npu_isa.vdup" not in names
    assert names.count("npu_isa.vbinary") == names.count("npu_isa.vreduce") == 2
