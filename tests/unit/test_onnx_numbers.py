"""Operators on single numbers, against onnxruntime or NumPy at the edges of their types."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.support.diagnostics import UserError

EDGES = (0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e-30, -3.0, np.inf, -np.inf, np.nan)
SHIFTS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def result(operator: str, *inputs: np.ndarray, **attributes: Any) -> np.ndarray:
    names = [f"x{number}" for number in range(len(inputs))]
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", values, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    return run_function(import_model(model), "main", list(inputs))[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_edges_of_floats(dtype: Any):
    x = np.array(EDGES, dtype)
    np.testing.assert_array_equal(result("Sign", x), np.sign(x))
    np.testing.assert_array_equal(result("Round", x), np.rint(x))
    np.testing.assert_array_equal(result("IsNaN", x), np.isnan(x))
    np.testing.assert_array_equal(result("IsInf", x), np.isinf(x))
    np.testing.assert_array_equal(result("IsInf", x, detect_negative=0), np.isposinf(x))
    np.testing.assert_array_equal(result("IsInf", x, detect_positive=0), np.isneginf(x))
    assert not result("IsInf", x, detect_positive=0, detect_negative=0).any()


@pytest.mark.parametrize("kind", SHIFTS)
def test_edges_of_integers(kind: str):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x = np.array([0, 1, 5, high, low, high - 1, low + 1], kind)
    np.testing.assert_array_equal(result("Sign", x), np.sign(x))
    np.testing.assert_array_equal(result("BitwiseNot", x), ~x)
    y = np.array([3, 7, 2, 5, 3, 7, 2], kind)
    np.testing.assert_array_equal(result("Mod", x, y), np.mod(x, y))
    np.testing.assert_array_equal(result("Mod", x, y, fmod=1), np.fmod(x, y))
    if kind[0] == "i":
        np.testing.assert_array_equal(result("Mod", x, -y), np.mod(x, -y))
        np.testing.assert_array_equal(result("Mod", x, -y, fmod=1), np.fmod(x, -y))


@pytest.mark.parametrize("kind", SHIFTS)
def test_shifts_by_every_distance(kind: str):
    bits = 8 * np.dtype(kind).itemsize
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x = np.array([0, 1, 5, high, low, high - 1, low + 1], kind)[:, None]
    distances = np.arange(bits + 3, dtype=kind)[None]
    inside = distances < bits
    safe = np.where(inside, distances, 0).astype(kind)
    sign_alone = np.where(x < 0, -1, 0).astype(kind) if kind[0] == "i" else np.zeros_like(x)
    left = np.where(inside, np.left_shift(x, safe), 0).astype(kind)
    right = np.where(inside, np.right_shift(x, safe), sign_alone).astype(kind)
    np.testing.assert_array_equal(result("BitShift", x, distances, direction="LEFT"), left)
    np.testing.assert_array_equal(result("BitShift", x, distances, direction="RIGHT"), right)
    if kind[0] == "i":
        np.testing.assert_array_equal(
            result("BitShift", x, np.array([-1], kind), direction="RIGHT"), sign_alone
        )


def test_a_remainder_of_floats_is_refused():
    x = np.ones(3, np.float32)
    with pytest.raises(UserError) as info:
        result("Mod", x, x, fmod=1)
    assert "remainders of floats are not supported" in info.value.notes[0].message
