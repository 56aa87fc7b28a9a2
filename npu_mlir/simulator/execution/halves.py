"""f16 numbers without NumPy's casts, which take one element at a time: arithmetic on the bits of whole arrays.

An f16 number, moved to where f32 has its exponent and fraction, is the number but for the bias of the exponent, which
one exact multiplication adds:

    f16         seeeee ffffffffff
    f32   s 000eeeee ffffffffff0000000000000        * 2**112

An f32 number is rounded to the digits of an f16 one by an addition whose result has just these: of 2**(e + 13) to
numbers with the exponent e, but of 2**-1 at least, below which f16 has no more digits. Then the same way back.

Numbers with a sign are smaller than 0 as integers, too. Infinite numbers and NaN are left to NumPy, and so are small
arrays, for which the calls would take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from npu_mlir.interpreters.npu_isa.core import Core

Thunk = Callable[[], Any]

HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)

SMALL = 4096
"""Elements from which on it pays."""

_SIGN_AND_NUMBER = np.int32(-0x70002000)
"""0x8fffe000: where sign, exponent and fraction of an f16 number are after a shift by 13 with its sign."""
_BIAS = np.float32(2.0**112)
_INFINITE, _SQUARE = np.float32(65536), np.float32(2.0**31)
_UNBIAS = np.float32(2.0**-112)
_ZERO = np.float32(0)
_SIGN = np.int32(-0x8000)
_TOO_LARGE = np.float32(65520)
"""What is at least as large is rounded to infinity."""
_EXPONENT, _DIGITS = np.int32(0x7F800000), np.int32(13 << 23)
_LEAST = np.float32(0.5).view(np.int32)
_INF_BITS, _MINUS_INF_BITS = 0x7C00, 0xFC00


def widening(dest: np.ndarray, source: np.ndarray) -> Thunk:
    """What copies f16 numbers to an f32 array of the same shape."""
    if source.size < SMALL:
        return partial(np.copyto, dest, source)
    moved, halves = dest.view(np.int32), source.view(np.int16)
    contiguous = dest.flags.c_contiguous
    numbers = dest.reshape(-1) if contiguous else dest
    bits = numbers.view(np.int32)

    def run() -> None:
        np.copyto(moved, halves)
        np.left_shift(bits, 13, out=bits)
        np.bitwise_and(bits, _SIGN_AND_NUMBER, out=bits)
        np.multiply(numbers, _BIAS, out=numbers)
        # Where the sum of all squares is small, no number is large.
        if contiguous and np.dot(numbers, numbers) < _SQUARE:
            return
        if numbers.max() >= _INFINITE or numbers.min() <= -_INFINITE:
            np.copyto(dest, source)

    return run


def narrowing(core: Core, dest: np.ndarray, source: np.ndarray, relu: bool = False) -> Thunk:
    """What rounds f32 numbers to an f16 array of the same shape; with `relu`, negative ones to 0."""
    size, shape = source.size, source.shape
    flat, addend, total = (core.scratch(number, size) for number in (0, 1, 2))
    given, shaped = flat.view(np.int32), flat.reshape(shape)
    sums, bits = addend.view(np.int32), total.view(np.int32)
    result, out = bits.reshape(shape), dest.view(np.int16)

    def run() -> None:
        if relu:
            np.maximum(source, _ZERO, out=shaped)
            numbers = flat
        else:
            np.copyto(shaped, source)
            numbers = np.absolute(flat, out=total)
        if not numbers.max() < _TOO_LARGE:
            np.copyto(dest, shaped, casting="unsafe")
            return
        np.bitwise_and(given, _EXPONENT, out=sums)
        np.add(sums, _DIGITS, out=sums)
        np.maximum(sums, _LEAST, out=sums)
        np.add(numbers, addend, out=total)
        np.subtract(total, addend, out=total)
        np.multiply(total, _UNBIAS, out=total)
        np.right_shift(bits, 13, out=bits)
        if not relu:
            np.right_shift(given, 16, out=sums)
            np.bitwise_and(sums, _SIGN, out=sums)
            np.bitwise_or(bits, sums, out=bits)
        np.copyto(out, result, casting="unsafe")

    # Zeros between other numbers are what NumPy takes the longest for.
    if size >= (SMALL if relu else 4 * SMALL):
        return run
    if not relu:
        return partial(np.copyto, dest, source, casting="unsafe")
    return partial(np.maximum, source, _ZERO, out=dest, casting="unsafe")


def at_least(dest: np.ndarray, source: np.ndarray, least: np.ndarray) -> Thunk | None:
    """What takes the larger of f16 numbers and a number that is not negative; None for other numbers."""
    if source.size < SMALL or not 0 <= least < np.inf or np.signbit(least):
        return None
    bits, signed, out = source.view(np.uint16), source.view(np.int16), dest.view(np.int16)
    limit, other = least.view(np.int16)[()], partial(_in_f32, np.maximum, dest, source, least)
    # A NaN with a sign would be smaller, too.
    return lambda: np.maximum(signed, limit, out=out) if bits.max() <= _MINUS_INF_BITS else other()


def at_most(dest: np.ndarray, source: np.ndarray, most: np.ndarray) -> Thunk | None:
    """What takes the smaller of f16 numbers and a positive number; None for other numbers."""
    if source.size < SMALL or not 0 < most < np.inf:
        return None
    signed, out = source.view(np.int16), dest.view(np.int16)
    limit, other = most.view(np.int16)[()], partial(_in_f32, np.minimum, dest, source, most)
    return lambda: np.minimum(signed, limit, out=out) if signed.max() <= _INF_BITS else other()


def _in_f32(ufunc: np.ufunc, dest: np.ndarray, source: np.ndarray, limit: np.ndarray) -> None:
    ufunc(source, limit.astype(SINGLE), out=dest, dtype=SINGLE, casting="unsafe")
