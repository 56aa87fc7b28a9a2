"""Resize and Upsample against onnxruntime, and against ONNX's reference where onnxruntime does something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_mlir.dialects.graph import ConcatOp, WhereOp
from npu_mlir.frontends.onnx import import_model
from operators import check, model, node, onnx_reference

RNG = np.random.default_rng(3)
TRANSFORMATIONS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
SIZES = [(9, 4), (14, 21), (3, 30), (1, 7)]


def image(*shape: int) -> dict[str, np.ndarray[Any, Any]]:
    return {"x": RNG.standard_normal(shape).astype(np.float32)}


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_nearest(rounding: str, transformation: str):
    """Elements are moved, whatever they are. (onnxruntime rounds coordinates to f32 before it takes the floor.)"""
    x = image(2, 3, 7, 10)
    x["x"][0, 0, 3] = np.inf
    x["x"][1, 2, 0, 0] = np.nan
    for size in SIZES[:3]:
        attributes: dict[str, Any] = {
            "coordinate_transformation_mode": transformation,
            "nearest_mode": rounding,
        }
        graph = model([node("Resize", "x _ _ s", **attributes)], x, 19, s=np.array([2, 3, *size]))
        numbers = np.arange(x["x"].size, dtype=np.float32).reshape(x["x"].shape)
        (moved,) = onnx_reference(graph, {"x": numbers})
        check(graph, x, expected=[x["x"].reshape(-1)[moved.astype(int)]])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_interpolation(mode: str, transformation: str):
    x = image(1, 3, 7, 10)
    for size in SIZES[:3]:
        attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transformation}
        graph = model([node("Resize", "x _ _ s", **attributes)], x, 19, s=np.array([1, 3, *size]))
        check(graph, x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_antialias(mode: str, exclude: int):
    """onnxruntime leaves out what lies outside in any case, so ONNX's reference is meant."""
    x = image(1, 2, 19, 10)
    attributes: dict[str, Any] = {"mode": mode, "antialias": 1, "exclude_outside": exclude}
    for size in SIZES:
        graph = model([node("Resize", "x _ _ s", **attributes)], x, 19, s=np.array([1, 2, *size]))
        check(graph, x, expected=onnx_reference(graph, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_a_crop_that_reaches_outside(mode: str):
    x = image(1, 2, 8, 9)
    attributes: dict[str, Any] = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 7.5,
        "mode": mode,
    }
    roi = np.array([0, 0, 0.3, -0.2, 1, 1, 0.9, 1.3], np.float32)
    graph = model([node("Resize", "x r _ s", **attributes)], x, 19, r=roi, s=np.array([1, 2, 5, 6]))
    check(graph, x, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_aspect_ratio(policy: str):
    x = image(1, 2, 8, 12)
    attributes: dict[str, Any] = {"axes": [3, 2], "keep_aspect_ratio_policy": policy, "mode": "linear"}
    graph = model([node("Resize", "x _ _ s", **attributes)], x, 19, s=np.array([9, 7]))
    check(graph, x, expected=onnx_reference(graph, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("operator", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_old_operators(operator: str, opset: int, mode: str):
    x = image(1, 2, 4, 5)
    graph = model([node(operator, "x s", mode=mode)], x, opset, s=np.array([1, 1, 3, 1.5], np.float32))
    check(graph, x, rtol=1e-4, atol=1e-5)


def test_enlarging_by_whole_factors_moves_lines_only():
    """Neither pieces one by one nor selections."""
    x = image(1, 2, 100, 50)
    attributes: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    graph = model([node("Resize", "x _ f", **attributes)], x, f=np.array([1, 1, 2, 3], np.float32))
    assert not [op for op in import_model(graph).walk() if isinstance(op, ConcatOp | WhereOp)]
