"""GridSample, AffineGrid, RoiAlign and DeformConv against onnxruntime, or ONNX's reference where that has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_mlir.support.diagnostics import UserError
from operators import check, model, node, onnx_reference

RNG = np.random.default_rng(5)
CLOSE: dict[str, Any] = {"rtol": 1e-3, "atol": 2e-5}


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("mode", "padding", "align"),
    [
        ("nearest", "zeros", 0),
        ("nearest", "border", 1),
        ("nearest", "reflection", 0),
        ("linear", "zeros", 1),
        ("linear", "border", 0),
        ("linear", "reflection", 1),
        ("cubic", "zeros", 0),
        ("cubic", "border", 0),
        ("cubic", "reflection", 0),
        ("cubic", "reflection", 1),
    ],
)
def test_grid_sample(mode: str, padding: str, align: int):
    """Positions far outside as well, and those exactly between two elements."""
    grid = RNG.uniform(-2.5, 2.5, (2, 5, 4, 2)).astype(np.float32)
    grid[0, 0] = [[-1, 1], [1, -1], [0, 0], [0.5, -0.5]]
    inputs = {"x": normal(2, 3, 6, 4), "g": grid}
    attributes: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": align}
    check(model([node("GridSample", "x g", **attributes)], inputs, 20), inputs, **CLOSE)


@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_grid_sample_of_volumes(mode: str, padding: str):
    inputs = {"x": normal(1, 2, 3, 4, 5), "g": RNG.uniform(-1.3, 1.3, (1, 2, 3, 4, 3)).astype(np.float32)}
    graph = model([node("GridSample", "x g", mode=mode, padding_mode=padding)], inputs, 20)
    check(graph, inputs, expected=onnx_reference(graph, inputs), **CLOSE)


@pytest.mark.parametrize(("shape", "size"), [((3, 2, 3), [3, 4, 5, 6]), ((1, 3, 4), [1, 2, 3, 4, 5])])
def test_affine_grid(shape: tuple[int, ...], size: list[int]):
    inputs = {"t": normal(*shape)}
    check(model([node("AffineGrid", "t s", align_corners=1)], inputs, 20, s=np.array(size)), inputs, **CLOSE)


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("mode", ["half_pixel", "output_half_pixel"])
def test_roi_align(mode: str, kind: str):
    inputs = {
        "x": normal(2, 3, 9, 11),
        "r": np.array([[0, 0, 10, 8], [3.2, 1.5, 3.4, 6], [-9, 2, 30, 4]], np.float32),
        "b": np.array([1, 0, 1]),
    }
    attributes: dict[str, Any] = {
        "output_height": 3,
        "output_width": 4,
        "sampling_ratio": 3,
        "spatial_scale": 0.75,
    }
    attributes["mode"] = kind
    graph = model([node("RoiAlign", "x r b", coordinate_transformation_mode=mode, **attributes)], inputs, 16)
    check(graph, inputs, **CLOSE)


def test_roi_align_needs_the_number_of_samples():
    inputs = {"x": normal(1, 1, 4, 4), "r": normal(1, 4), "b": np.array([0])}
    with pytest.raises(UserError) as caught:
        check(model([node("RoiAlign", "x r b")], inputs, 16), inputs)
    assert "sampling_ratio = 0" in caught.value.notes[0].message


@pytest.mark.parametrize(
    ("group", "parts", "stride", "dilation", "mask"),
    [(1, 1, 1, 1, False), (2, 2, 2, 1, True), (1, 4, 1, 2, True)],
)
def test_deform_conv(group: int, parts: int, stride: int, dilation: int, mask: bool):
    height, width = ((n + 2 - dilation * (k - 1) - 1) // stride + 1 for n, k in ((7, 3), (6, 2)))
    inputs = {"x": normal(1, 4, 7, 6), "o": 2 * normal(1, parts * 12, height, width)}
    names = "x w o b"
    if mask:
        inputs["m"] = normal(1, parts * 6, height, width)
        names += " m"
    attributes: dict[str, Any] = {"group": group, "offset_group": parts, "pads": [1] * 4}
    attributes |= {"strides": [stride] * 2, "dilations": [dilation] * 2}
    weights = {"w": normal(2, 4 // group, 3, 2), "b": normal(2)}
    graph = model([node("DeformConv", names, **attributes)], inputs, 19, **weights)
    check(graph, inputs, expected=onnx_reference(graph, inputs), **CLOSE)
