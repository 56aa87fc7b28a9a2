"""Discrete Fourier transforms against double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_mlir
from npu_mlir.support.diagnostics import UserError
from operators import check, model, node

RNG = np.random.default_rng(17)


def parts(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Complex numbers as pairs along a last dim, in f32."""
    return np.stack([x.real, x.imag], -1).astype(np.float32)


def signal(*shape: int) -> np.ndarray[Any, Any]:
    """Random numbers in f32."""
    return RNG.standard_normal(shape).astype(np.float32)


def whole(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The complex (or real) numbers that a tensor stands for, in double precision."""
    wide = x.astype(np.float64)
    return wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize(("axis", "length"), [(0, None), (1, 13), (-2, 5)])
def test_transforms(axis: int, length: int | None, inverse: int, count: int):
    """Of real and of complex numbers, of as many as there are, more and fewer."""
    x = signal(3, 11, 7, count)
    weights = {"a": np.int64(axis)} | ({} if length is None else {"n": np.int64(length)})
    transform = np.fft.ifft if inverse else np.fft.fft
    along = axis if axis >= 0 else axis + 4
    expected = [parts(transform(whole(x), n=length, axis=along))]
    inputs = "x a".replace(" ", " _ " if length is None else " n ")
    dft = node("DFT", inputs, inverse=inverse)
    check(model([dft], {"x": x}, opset=20, **weights), {"x": x}, expected=expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("length", [8, 9])
def test_half_spectra(length: int):
    """There and back; an axis as an attribute, before opset 20."""
    x = signal(2, length, 3, 1)
    spectrum = parts(np.fft.rfft(whole(x), axis=1))
    there = node("DFT", "x", axis=1, onesided=1)
    check(model([there], {"x": x}, opset=19), {"x": x}, expected=[spectrum], rtol=1e-4, atol=2e-5)
    back = model(
        [node("DFT", "s n a", inverse=1, onesided=1)],
        {"s": spectrum},
        opset=20,
        n=np.int64(length),
        a=np.int64(1),
    )
    check(back, {"s": spectrum}, expected=[x], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("onesided", "count"), [(1, 1), (0, 1), (0, 2)])
@pytest.mark.parametrize("windowed", [False, True])
def test_transforms_of_frames(onesided: int, count: int, windowed: bool):
    """The window comes at run time."""
    inputs = {"x": signal(2, 53, count)} | ({"w": signal(10)} if windowed else {})
    frames = np.stack([whole(inputs["x"])[:, at : at + 10] for at in range(0, 44, 4)], 1)
    if windowed:
        frames = frames * inputs["w"].astype(np.float64)
    expected = [parts(np.fft.rfft(frames) if onesided else np.fft.fft(frames))]
    stft = node("STFT", "x step w" if windowed else "x step _ n", onesided=onesided)
    weights = {"step": np.int64(4)} | ({} if windowed else {"n": np.int64(10)})
    check(model([stft], inputs, opset=17, **weights), inputs, expected=expected, rtol=1e-4, atol=2e-5)


def test_half_a_spectrum_of_complex_numbers():
    x = {"x": signal(2, 8, 2)}
    with pytest.raises(UserError) as caught:
        npu_mlir.compile(model([node("DFT", "x", onesided=1)], x, opset=20))
    assert "the transform along axis 1 of a tensor of shape (2, 8, 2)" in caught.value.notes[0].message
