"""f16 numbers by arithmetic on bits: the same bits as NumPy's casts give, for every number and around every tie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.simulator.execution import halves
from npu_mlir.targets.target import get_target

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]
ORDERED = FINITE[EVERY[np.isfinite(EVERY)] >= 0]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    bits = {2: np.uint16, 4: np.uint32}[a.dtype.itemsize]
    return a.dtype == b.dtype and np.array_equal(a.view(bits), b.view(bits))


@pytest.mark.parametrize("numbers", [EVERY, FINITE, FINITE[:100], EVERY.reshape(256, 256)[:, ::2]])
def test_f16_as_f32(numbers: np.ndarray):
    wide = np.empty(numbers.shape, np.float32)
    halves.widening(wide, numbers)()
    assert same(wide, numbers.astype(np.float32))


def singles() -> dict[str, np.ndarray]:
    middles = ((ORDERED[:-1].astype(np.float64) + ORDERED[1:]) / 2).astype(np.float32)
    ties = [middles, np.nextafter(middles, np.float32(0)), np.nextafter(middles, np.float32(np.inf))]
    around = np.concatenate([*ties, *(-t for t in ties)])
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, np.uint32)
    finite = bits.view(np.float32)[np.abs(bits.view(np.float32)) < 65520]
    largest = np.full(halves.SMALL, np.nextafter(np.float32(65520), np.float32(0)))
    return {
        "ties": around,
        "any": finite,
        "f16": FINITE.astype(np.float32),
        "few": around[:50],
        "largest": largest,
        "infinite": np.append(around, np.float32(65520)),
        "nan": np.append(around, np.float32(np.nan)),
    }


@pytest.mark.parametrize("what", singles())
@pytest.mark.parametrize("relu", [False, True])
def test_f32_as_f16(what: str, relu: bool):
    core, numbers = Core(get_target("ascend-910")), singles()[what]
    half = np.empty(numbers.shape, np.float16)
    halves.narrowing(core, half, numbers, relu)()
    with np.errstate(over="ignore"):
        expected = (np.maximum(numbers, np.float32(0)) if relu else numbers).astype(np.float16)
    assert same(half, expected)


@pytest.mark.parametrize("numbers", [EVERY, FINITE, FINITE[FINITE < 0]])
@pytest.mark.parametrize("limit", [0.0, 6.0, 6e-8, 65504.0])
@pytest.mark.parametrize(
    ("make", "ufunc"), [(halves.at_least, np.maximum), (halves.at_most, np.minimum)], ids=["max", "min"]
)
def test_limits(make: Callable[..., halves.Thunk | None], ufunc: np.ufunc, numbers: np.ndarray, limit: float):
    half = np.empty_like(numbers)
    run = make(half, numbers, np.array(limit, np.float16))
    assert (run is None) == (limit == 0 and ufunc is np.minimum)
    if run is not None:
        run()
        expected = np.empty_like(numbers)
        ufunc(numbers, np.float32(limit), out=expected, dtype=np.float32, casting="unsafe")
        assert same(half, expected)


@pytest.mark.parametrize("limit", [-1.0, -0.0, np.inf, np.nan])
def test_other_limits_are_left_to_numpy(limit: float):
    for make in (halves.at_least, halves.at_most):
        assert make(np.empty_like(EVERY), EVERY, np.array(limit, np.float16)) is None
