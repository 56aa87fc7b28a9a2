"""ConvTranspose, Col2Im, pads, pools and norms by p-norms, LRN and Einsum against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators import check, model, node

RNG = np.random.default_rng(4)
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("shape", "weight", "attributes"),
    [
        ((1, 3, 6, 5), (3, 4, 3, 2), {}),
        ((2, 3, 5, 6), (3, 2, 3, 3), {"strides": [2, 3], "pads": [1, 0, 0, 2]}),
        ((1, 4, 5, 5), (4, 3, 3, 3), {"group": 2, "strides": [2, 2], "output_padding": [1, 0]}),
        ((1, 2, 4, 4), (2, 3, 2, 2), {"strides": [3, 3], "dilations": [2, 1]}),
        ((1, 2, 5, 7), (2, 3, 4, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ((1, 2, 5, 7), (2, 3, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [3, 2]}),
        ((1, 2, 5, 4), (2, 3, 3, 3), {"output_shape": [11, 9], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((2, 3, 17), (3, 2, 4), {"strides": [2], "pads": [1, 1]}),
    ],
)
def test_conv_transpose(
    shape: tuple[int, ...], weight: tuple[int, ...], attributes: dict[str, Any], known: bool
):
    bias = normal(weight[1] * attributes.get("group", 1))
    x, w = {"x": normal(*shape)}, {"w": normal(*weight)}
    constants: dict[str, Any]
    inputs, constants = (x, {"b": bias, **w}) if known else ({**x, **w}, {"b": bias})
    check(model([node("ConvTranspose", "x w b", **attributes)], inputs, **constants), inputs, **CLOSE)


@pytest.mark.parametrize("known", [False, True])
def test_infinite_operands_of_conv_transpose(known: bool):
    """They meet no zeros that stand between the elements or around them."""
    x, weight = normal(1, 2, 5, 5), normal(2, 3, 3, 3)
    x[0, 0, 2, 1], weight[1, 2, 0, 1] = -np.inf, np.inf
    attributes: dict[str, Any] = {"strides": [2, 2], "pads": [1, 0, 1, 2], "dilations": [1, 2]}
    constants: dict[str, Any]
    inputs, constants = ({"x": x}, {"w": weight}) if known else ({"x": x, "w": weight}, {})
    check(model([node("ConvTranspose", "x w", **attributes)], inputs, **constants), inputs, **CLOSE)


def test_col2im():
    """Blocks that overlap, with strides, dilations and pads."""
    x = {"x": normal(2, 3 * 2 * 3, 16)}
    x["x"][1, 4, 5], x["x"][0, 2, 3] = np.inf, np.nan
    attributes: dict[str, Any] = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 2]}
    graph = model([node("Col2Im", "x i b", **attributes)], x, i=np.array([7, 6]), b=np.array([2, 3]))
    check(graph, x, **CLOSE)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [[0, 2, 1, 3], [0, 9, 0, 0], [-1, 1, 0, -2], [0, 30, 1, 25]])
def test_pads_of_elements(mode: str, pads: list[int]):
    x = normal(3, 40)
    x[1, 3] = np.inf
    x[2, 36] = np.nan
    inputs = {"x": x}
    expected = None
    if min(pads) < 0:
        expected = [np.pad(x[1:, :-2], [(0, 0), (1, 0)], mode=mode)]  # type: ignore[call-overload]
    check(model([node("Pad", "x p", mode=mode)], inputs, 19, p=np.array(pads)), inputs, expected=expected)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 3]},
    ],
)
def test_pools_by_p_norms(attributes: dict[str, Any], p: int):
    x = {"x": normal(1, 3, 8, 9)}
    graph = model([node("LpPool", "x", p=p, **attributes)], x, 18)
    check(graph, x, **CLOSE)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 3]},
    ],
)
def test_positions_of_maxima(attributes: dict[str, Any], order: int):
    """The first of equal elements."""
    x = {"x": RNG.integers(-3, 3, (2, 3, 8, 9)).astype(np.float32)}
    check(model([node("MaxPool", "x", "y i", storage_order=order, **attributes)], x), x)


@pytest.mark.parametrize("shape", [None, [2, 3, 9, 11]])
def test_max_unpool(shape: list[int] | None):
    """What MaxPool took stands where it stood; the larger shape has zeros at the ends."""
    x = normal(2, 3, 8, 10)
    windows = x.reshape(2, 3, 4, 2, 5, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 3, 4, 5, 4)
    numbers = np.arange(x.size).reshape(2, 3, 4, 2, 5, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 3, 4, 5, 4)
    best = windows.argmax(-1)[..., None]
    inputs = {
        "v": np.take_along_axis(windows, best, -1)[..., 0],
        "i": np.take_along_axis(numbers, best, -1)[..., 0],
    }
    names = "v i" if shape is None else "v i s"
    weights: dict[str, Any] = {} if shape is None else {"s": np.array(shape)}
    graph = model([node("MaxUnpool", names, kernel_shape=[2, 2], strides=[2, 2])], inputs, **weights)
    expected = np.zeros((2, 3, 8, 10), np.float32)
    expected.flat[inputs["i"].reshape(-1)] = inputs["v"].reshape(-1)
    if shape is not None:
        expected = np.pad(expected, [(0, 0), (0, 0), (0, 1), (0, 1)])
    check(graph, inputs, expected=[expected])


@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_pools_by_p_norms(p: int):
    x = {"x": normal(2, 3, 8, 9)}
    check(model([node("GlobalLpPool", "x", p=p)], x), x, **CLOSE)


@pytest.mark.parametrize("p", [1, 2])
def test_norms_of_lines(p: int):
    """A line of zeros stays one."""
    x = {"x": normal(3, 8, 5)}
    x["x"][1, :, 2] = 0
    check(model([node("LpNormalization", "x", axis=1, p=p)], x), x, **CLOSE)


@pytest.mark.parametrize("size", [1, 4, 5])
def test_local_response_normalization(size: int):
    x = {"x": normal(2, 9, 4, 3)}
    graph = model([node("LRN", "x", size=size, alpha=0.3, beta=0.6, bias=1.5)], x)
    squares = np.pad(x["x"] ** 2, [(0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)])
    mean = np.mean([squares[:, at : at + 9] for at in range(size)], 0)
    check(graph, x, expected=[x["x"] / (1.5 + 0.3 * mean) ** 0.6], **CLOSE)


def test_instance_normalization():
    x = {"x": normal(2, 3, 5, 7) * 4 + 1}
    graph = model([node("InstanceNormalization", "x s b", epsilon=1e-2)], x, s=normal(3), b=normal(3))
    check(graph, x, **CLOSE)


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_celu(alpha: float):
    x = {"x": normal(4, 33)}
    check(model([node("Celu", "x", alpha=alpha)], x), x, **CLOSE)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(5, 7), (7, 3)]),
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bij,bjk,bkl->lib", [(2, 3, 4), (2, 4, 5), (2, 5, 6)]),
        ("ij->ji", [(4, 6)]),
        ("ijk->j", [(4, 6, 2)]),
        ("bii->bi", [(3, 5, 5)]),
        ("ii,i->", [(5, 5), (5,)]),
        ("i,j->ij", [(5,), (6,)]),
        ("i,i", [(5,), (5,)]),
        ("...ij,...jk->...ik", [(2, 3, 4, 5), (3, 5, 2)]),
        ("ba,b->ab", [(3, 4), (3,)]),
        ("ijk,il", [(3, 4, 5), (3, 2)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]):
    inputs = {f"x{number}": normal(*shape) for number, shape in enumerate(shapes)}
    graph = model([node("Einsum", " ".join(inputs), equation=equation)], inputs)
    expected = [np.asarray(np.einsum(equation, *inputs.values()), np.float32)]
    check(graph, inputs, expected=expected, **CLOSE)
