"""Normalisations with statistics as outputs, losses and rotations whose bodies read at indices: on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators import check, model, node

RNG = np.random.default_rng(23)


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Random numbers around 0.5."""
    return (RNG.standard_normal(shape) + 0.5).astype(dtype)


@pytest.mark.parametrize("axis", [-1, 1, -3])
@pytest.mark.parametrize("outputs", ["y mean inverse", "y _ inverse"])
def test_layer_normalization_with_its_statistics(axis: int, outputs: str):
    inputs = {"x": normal(3, 5, 34), "scale": normal(*(3, 5, 34)[axis:]), "bias": normal(*(3, 5, 34)[axis:])}
    names = outputs.replace("_", "unused")
    layer = node("LayerNormalization", "x scale bias", names, axis=axis, epsilon=1e-3)
    check(model([layer], inputs), inputs, rtol=2e-5, atol=2e-6)


def test_statistics_of_narrow_floats_are_wide():
    inputs = {"x": normal(3, 70, dtype=np.float16), "scale": normal(70, dtype=np.float16)}
    x = inputs["x"].astype(np.float64)
    mean = x.mean(1, keepdims=True)
    inverse = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    y = ((x - mean) * inverse * inputs["scale"]).astype(np.float16)
    expected = [y, mean.astype(np.float32), inverse.astype(np.float32)]
    layer = node("LayerNormalization", "x scale", "y mean inverse")
    check(model([layer], inputs), inputs, expected=expected, rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 3, 4, 33), (1, 2, 2, 3, 5)])
def test_instance_normalization(shape: tuple[int, ...]):
    inputs = {"x": normal(*shape), "scale": normal(shape[1]), "bias": normal(shape[1])}
    instance = node("InstanceNormalization", "x scale bias", epsilon=1e-2)
    check(model([instance], inputs), inputs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("shape", "momentum"), [((4, 3), 0.9), ((2, 5, 9), 0.25), ((3, 2, 4, 11), 1.0)])
def test_batch_normalization_in_training_mode(shape: tuple[int, ...], momentum: float):
    """onnxruntime has it in builds for training alone: against the definition."""
    count = shape[1]
    inputs = {"x": normal(*shape), **{name: normal(count) for name in ("scale", "bias", "m")}}
    inputs["v"] = np.abs(normal(count))
    axes, along = tuple(d for d in range(len(shape)) if d != 1), (-1, *[1] * (len(shape) - 2))
    x, scale, bias, m, v = (array.astype(np.float64) for array in inputs.values())
    mean, variance = x.mean(axes), x.var(axes)
    y = (x - mean.reshape(along)) / np.sqrt(variance.reshape(along) + 1e-3)
    y = y * scale.reshape(along) + bias.reshape(along)
    running = [m * momentum + mean * (1 - momentum), v * momentum + variance * (1 - momentum)]
    batch = node(
        "BatchNormalization", "x scale bias m v", "y rm rv", training_mode=1, epsilon=1e-3, momentum=momentum
    )
    expected = [array.astype(np.float32) for array in (y, *running)]
    check(model([batch], inputs), inputs, expected=expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses_with_weights_of_classes(operator: str, reduction: str):
    """The function gathers the weights at the targets, which come at run time."""
    inputs = {"x": normal(3, 5, 7), "t": RNG.integers(0, 5, (3, 7)), "w": np.abs(normal(5))}
    inputs["t"][0, 3] = inputs["t"][2, 0] = -1
    loss = node(operator, "x t w", reduction=reduction, ignore_index=-1)
    x, target, weights = (inputs[name] for name in ("x", "t", "w"))
    x = x.astype(np.float64)
    if operator == "SoftmaxCrossEntropyLoss":
        x = x - x.max(1, keepdims=True)
        x = x - np.log(np.exp(x).sum(1, keepdims=True))
    valid = np.where(target < 0, 0, target)
    factor = np.where(target < 0, 0, weights.astype(np.float64)[valid])
    y = -np.take_along_axis(x, valid[:, None], 1)[:, 0] * factor
    wanted = {"none": y, "sum": y.sum(), "mean": y.sum() / factor.sum()}[reduction]
    expected = [np.asarray(wanted, np.float32)]
    check(model([loss], inputs), inputs, expected=expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("interleaved", "dim"), [(0, 0), (1, 0), (0, 6)])
def test_rotary_embedding_at_positions_of_the_run(interleaved: int, dim: int):
    inputs = {"x": normal(2, 3, 5, 10), "c": normal(9, (dim or 10) // 2), "s": normal(9, (dim or 10) // 2)}
    inputs["p"] = RNG.integers(0, 9, (2, 5))
    rotary = node("RotaryEmbedding", "x c s p", interleaved=interleaved, rotary_embedding_dim=dim)
    check(model([rotary], inputs, opset=23), inputs, rtol=1e-6, atol=1e-6)


def test_a_constant_cast_like_a_value_stays_one():
    """A padding value has to be known: the cast of a constant to the type of another value is."""
    inputs = {"x": normal(3, 4, dtype=np.float16)}
    nodes = [node("CastLike", "c x", "value"), node("Pad", "x pads value")]
    check(model(nodes, inputs, c=np.float32(1.5), pads=np.array([0, 1, 2, 0])), inputs)
