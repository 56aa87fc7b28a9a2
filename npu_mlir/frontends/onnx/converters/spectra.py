"""Discrete Fourier transforms: products with constant matrices of cosines and sines.

    y[k] = sum over n of x[n] (cos(2 pi k n / N) - i sin(2 pi k n / N))

Complex numbers are pairs along the last dim. That takes N steps for each element, not the logarithm of it, but the cube
unit takes many of them at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npu_mlir.dialects import graph
from npu_mlir.dialects.graph import shape_of
from npu_mlir.frontends.onnx.converters.resize import contracted
from npu_mlir.frontends.onnx.converters.selection import box, reshaped, take
from npu_mlir.frontends.onnx.node import Node, Unsupported, converts, normalise

Matrix = np.ndarray[Any, np.dtype[np.complex128]]


@converts("DFT")
def dft(node: Node) -> SSAValue:
    """The transform along one axis of `dft_length` elements, of which missing ones are 0; its inverse; with `onesided`,
    half the spectrum of a real signal, or a real signal of half its spectrum. Length and axis have to be constants."""
    value = node.value(0)
    shape = shape_of(value)
    rank, parts = len(shape), shape[-1]
    if node.opset >= 20:
        axis = int(node.constant(2, "axis").reshape(-1)[0]) if node.has(2) else -2
    else:
        axis = node.integer("axis", 1)
    axis = normalise(axis, rank)
    inverse, onesided = bool(node.integer("inverse", 0)), bool(node.integer("onesided", 0))
    if axis == rank - 1 or parts not in (1, 2) or (onesided and parts != (2 if inverse else 1)):
        raise Unsupported(f"the transform along axis {axis} of a tensor of shape {shape}")
    length = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    if node.has(1):
        length = int(node.constant(1, "length").reshape(-1)[0])
    return transformed(node, value, axis, length, inverse=inverse, onesided=onesided)


@converts("STFT")
def stft(node: Node) -> SSAValue:
    """The transforms of frames of a signal, each times a window. Step and length of frames have to be constants."""
    value = node.value(0)
    batch, extent, parts = shape_of(value)
    step = int(node.constant(1, "frame step").reshape(-1)[0])
    length = extent
    if node.has(3):
        length = int(node.constant(3, "frame length").reshape(-1)[0])
    elif node.has(2):
        length = node.shape(2)[0]
    onesided = bool(node.integer("onesided", 1))
    if step < 1 or not 1 <= length <= extent or (onesided and parts != 1):
        raise Unsupported(f"frames of {length} with step {step} of a signal of shape {shape_of(value)}")
    if node.has(2) and node.shape(2) != (length,):
        raise Unsupported(f"a window of shape {node.shape(2)} for frames of {length}")
    count = (extent - length) // step + 1
    places = step * np.arange(count)[:, None] + np.arange(length)
    frames = reshaped(node, take(node, value, places.reshape(-1), 1), (batch, count, length, parts))
    if node.has(2):
        frames = node.add(graph.MulOp(frames, reshaped(node, node.value(2), (length, 1))))
    return transformed(node, frames, 2, length, inverse=False, onesided=onesided)


def transformed(
    node: Node, value: SSAValue, axis: int, length: int, *, inverse: bool, onesided: bool
) -> SSAValue:
    """The transform of a value whose last dim has the real and, if there is one, the imaginary part."""
    last = len(shape_of(value)) - 1
    known = min(shape_of(value)[axis], length // 2 + 1 if inverse and onesided else length)
    real = box(node, value, {axis: (0, known, 1), last: (0, 1, 1)})
    factors = factors_of(length, known, inverse=inverse, onesided=onesided)

    def product(part: SSAValue, matrix: np.ndarray[Any, Any], role: str) -> SSAValue:
        return contracted(node, part, axis, matrix, role)

    results = [product(real, factors.real, "cosines")]
    if not (inverse and onesided):
        results.append(product(real, factors.imag, "sines"))
    if shape_of(value)[-1] == 2:
        imaginary = box(node, value, {axis: (0, known, 1), last: (1, 1, 1)})
        turned = [product(imaginary, -factors.imag, "negative_sines")]
        if len(results) > 1:
            turned.append(product(imaginary, factors.real, "cosines"))
        results = [node.add(graph.AddOp(a, b)) for a, b in zip(results, turned, strict=True)]
    return node.add(graph.ConcatOp(results, last)) if len(results) > 1 else results[0]


def factors_of(length: int, known: int, *, inverse: bool, onesided: bool) -> Matrix:
    """The matrix of a transform of so many elements, of which the first are known and all others 0.

    The inverse of half a spectrum counts each of its elements twice, for the conjugate that is not there, except those
    that are their own conjugates.
    """
    rows = length // 2 + 1 if onesided and not inverse else length
    # Whole numbers of steps around the circle lose nothing.
    steps = (np.arange(rows)[:, None] * np.arange(known)) % length
    angles = 2 * np.pi / length * steps
    if not inverse:
        return np.exp(-1j * angles)
    own = (2 * np.arange(known)) % length == 0
    times = np.where(own, 1, 2) if onesided else 1
    return np.asarray(np.exp(1j * angles) * times / length, np.complex128)
