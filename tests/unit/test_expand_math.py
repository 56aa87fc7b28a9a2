"""Accuracy of the expansions, against double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.context import Context

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.passes.linalg.expand_math import ExpandMath

GRID = np.concatenate(
    [
        np.linspace(-12, 12, 20001),
        np.logspace(-30, 30, 2001),
        -np.logspace(-30, 30, 2001),
        [0, np.inf, -np.inf],
    ]
).astype(np.float32)


def expanded(line: str, x: np.ndarray, element: str = "f32") -> np.ndarray:
    """The values of `%y`, which the line computes from a scalar `%a`, after expansion."""
    type_ = f"tensor<{x.size}x{element}>"
    text = f"""
    func.func @main(%x: {type_}) -> {type_} {{
      %e = tensor.empty() : {type_}
      %r = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]}} ins(%x : {type_}) outs(%e : {type_}) {{
      ^bb0(%a: {element}, %o: {element}):
        {line}
        linalg.yield %y : {element}
      }} -> {type_}
      func.return %r : {type_}
    }}"""
    module = parse_module(make_context(), text, "math.mlir")
    ExpandMath().apply(Context(), module)
    module.verify()
    names = {op.name for op in module.walk() if op.name.startswith("math.")}
    assert names <= {"math.exp", "math.log", "math.sqrt", "math.absf"}
    (result,) = run_function(module, "main", [x])
    return result


def reference(function: object, x: np.ndarray) -> np.ndarray:
    return np.vectorize(function, otypes=[np.float64])(x.astype(np.float64))


def test_tanh() -> None:
    assert np.abs(expanded("%y = math.tanh %a : f32", GRID) - np.tanh(GRID.astype(np.float64))).max() < 3e-7


def test_erf() -> None:
    assert np.abs(expanded("%y = math.erf %a : f32", GRID) - reference(math.erf, GRID)).max() < 5e-7


def test_nan_stays_nan() -> None:
    nan = np.array([np.nan], np.float32)
    for name in ("tanh", "erf", "floor", "ceil"):
        assert np.isnan(expanded(f"%y = math.{name} %a : f32", nan)).all(), name


@pytest.mark.parametrize("name", ["floor", "ceil"])
def test_rounding_is_exact(name: str) -> None:
    x = np.concatenate([GRID, np.arange(-5, 5, 0.5)]).astype(np.float32)
    np.testing.assert_array_equal(expanded(f"%y = math.{name} %a : f32", x), getattr(np, name)(x))


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 7.0, 16.0, -1.0, -2.0, 0.5, 2.5, -0.5, 0.3, -1.7])
def test_powers(exponent: float) -> None:
    x = np.linspace(-4, 4, 999, dtype=np.float32)
    line = f"%c = arith.constant {exponent} : f32 %y = math.powf %a, %c : f32"
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), exponent)
    np.testing.assert_allclose(expanded(line, x), expected, rtol=3e-6, atol=1e-30)


def test_a_power_with_an_unknown_exponent_stays() -> None:
    with pytest.raises(AssertionError):
        expanded("%y = math.powf %a, %a : f32", GRID)


@pytest.mark.parametrize("name", ["log2", "log10", "log1p", "exp2", "expm1", "rsqrt"])
def test_others(name: str) -> None:
    x = np.linspace(0.01, 20, 999, dtype=np.float32)
    wide = x.astype(np.float64)
    expected = 1 / np.sqrt(wide) if name == "rsqrt" else getattr(np, name)(wide)
    np.testing.assert_allclose(expanded(f"%y = math.{name} %a : f32", x), expected, rtol=2e-6, atol=2e-7)


def test_narrow_floats_are_computed_in_f32() -> None:
    x = np.linspace(-6, 6, 999).astype(np.float16)
    expected = np.tanh(x.astype(np.float32)).astype(np.float16)
    np.testing.assert_allclose(expanded("%y = math.tanh %a : f16", x, "f16"), expected, rtol=1e-3, atol=1e-6)
