"""Reductions of all kinds and types, against double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from operators import check, model, node

RNG = np.random.default_rng(29)
Array = np.ndarray[Any, Any]


def _log_sum_exp(x: Array, **options: Any) -> Array:
    peak = np.max(x, axis=options["axis"], keepdims=True, initial=-np.inf)
    peak = np.where(np.isinf(peak), 0, peak)
    total = np.sum(np.exp(x - peak), **options)
    return np.log(total) + peak.reshape(total.shape)


KINDS: dict[str, Callable[..., Any]] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSumSquare": lambda x, **options: np.sum(x * x, **options),
    "ReduceL1": lambda x, **options: np.sum(np.abs(x), **options),
    "ReduceL2": lambda x, **options: np.sqrt(np.sum(x * x, **options)),
    "ReduceLogSum": lambda x, **options: np.log(np.sum(x, **options)),
    "ReduceLogSumExp": _log_sum_exp,
}


def expected(operator: str, x: Array, axes: tuple[int, ...] | None, keepdims: bool) -> list[Array]:
    """What double precision gives, in the type of the operand; cut off if it is an integer."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.asarray(KINDS[operator](x.astype(np.float64), axis=axes, keepdims=keepdims))
        return [np.trunc(result).astype(x.dtype) if x.dtype.kind in "iu" else result.astype(x.dtype)]


FORMS: dict[str, tuple[dict[str, Any], Array | None, tuple[int, ...] | None]] = {
    "two-axes": ({"keepdims": 0}, np.array([-2, 0]), (0, 1)),
    "no-axes": ({"noop_with_empty_axes": 1}, np.zeros(0, np.int64), ()),
    "all-axes": ({}, None, None),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("operator", KINDS)
def test_reductions(operator: str, dtype: str, form: str):
    attributes, given, axes = FORMS[form]
    x = RNG.integers(1, 3, (3, 2, 4)) if dtype == "int32" else RNG.uniform(0.5, 1.5, (3, 2, 4))
    inputs = {"x": x.astype(dtype)}
    weights: dict[str, Any] = {} if given is None else {"a": given}
    reduction = node(operator, "x" if given is None else "x a", **attributes)
    wanted = expected(operator, inputs["x"], axes, bool(attributes.get("keepdims", 1)))
    tolerance = {"float32": 2e-6, "float16": 1e-3, "int32": 0}[dtype]
    check(model([reduction], inputs, **weights), inputs, expected=wanted, rtol=tolerance, atol=tolerance / 10)


def test_negative_integers_have_a_mean_nearer_to_zero():
    inputs = {"x": np.array([[-3, -4], [3, 4], [-1, 0]], np.int32)}
    mean = node("ReduceMean", "x a", keepdims=0)
    wanted = [np.array([-3, 3, 0], np.int32)]
    check(model([mean], inputs, a=np.array([1])), inputs, expected=wanted)


def test_logarithms_of_sums_of_large_exponentials():
    """The exponentials overflow, the result doesn't; infinities and nothing at all have results too."""
    inf = np.inf
    rows = [
        [1000, 999, -5],
        [-2000, -2001, -inf],
        [inf, 3, 4],
        [-inf, -inf, -inf],
        [inf, -inf, 0],
        [np.nan, 1, 2],
    ]
    inputs = {"x": np.array(rows, np.float32)}
    wanted = expected("ReduceLogSumExp", inputs["x"], (1,), True)
    assert np.array_equal(wanted[0][2:5, 0], [inf, -inf, inf])
    reduction = node("ReduceLogSumExp", "x a")
    check(model([reduction], inputs, a=np.array([1])), inputs, expected=wanted, rtol=1e-6)
    nothing = {"x": np.zeros((2, 0), np.float32)}
    wanted = [np.full((2, 1), -inf, np.float32)]
    check(model([reduction], nothing, a=np.array([1])), nothing, expected=wanted)


@pytest.mark.parametrize(("operator", "result"), [("ReduceL2", 600.0), ("ReduceLogSum", np.log(131072.0))])
def test_narrow_floats_do_not_overflow_on_the_way(operator: str, result: float):
    x = [360.0, 480.0] if operator == "ReduceL2" else [65504.0, 65504.0, 64.0]
    inputs = {"x": np.array(x, np.float16)}
    check(model([node(operator, "x", keepdims=0)], inputs), inputs, expected=[np.asarray(result, np.float16)])
