"""Accuracy of the expansions, against double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.numerics import quiet
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
    assert names <= {"math.exp", "math.log", "math.sqrt", "math.absf", "math.roundeven"}
    (result,) = run_function(module, "main", [x])
    return result


def ulps(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The distance from exact values, in units of the last place of f32 next to them."""
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.abs(np.spacing(exact.astype(np.float32))).astype(np.float64)
        distance = np.abs(actual.astype(np.float64) - exact) / unit
    return np.where(actual.astype(np.float64) == exact, 0, distance)


DENSE = np.concatenate([GRID, np.random.default_rng(0).uniform(-6, 6, 200_000).astype(np.float32)])

EXACT = {
    "tanh": (np.tanh, 4),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), 4),
    "expm1": (np.expm1, 5),
    "log1p": (np.log1p, 5),
    "exp": (np.exp, 4),
    "log": (np.log, 4),
}


@pytest.mark.parametrize("name", EXACT)
def test_accuracy_is_relative(name: str) -> None:
    function, bound = EXACT[name]
    with np.errstate(all="ignore"):
        exact = function(DENSE.astype(np.float64))
        inside = np.isfinite(exact) & (np.abs(exact) < np.finfo(np.float32).max)
        result = expanded(f"%y = math.{name} %a : f32", DENSE)
    assert ulps(result, exact)[inside].max() <= bound
    assert not np.isnan(result[~np.isnan(exact)]).any()


EVERYWHERE = np.arange(0, 0x7F800000, 4099, dtype=np.uint32).view(np.float32)
"""Numbers of every size, subnormal ones included: one in 4099."""


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_accuracy_is_relative_everywhere(name: str) -> None:
    """Signs of zeros included; where the polynomial ends, every number."""
    edge = np.float32(math.sqrt({"tanh": 0.33, "erf": 0.36}[name]))
    around = np.arange(-20_000, 20_000, dtype=np.int32) + edge.view(np.int32)
    x = np.concatenate([EVERYWHERE, around.view(np.float32)])
    x = np.concatenate([x, -x])
    exact = EXACT[name][0](x.astype(np.float64))
    result = expanded(f"%y = math.{name} %a : f32", x)
    assert ulps(result, exact).max() <= 4
    np.testing.assert_array_equal(np.signbit(result), np.signbit(x))


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_every_number_of_half_precision(name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    result = expanded(f"%y = math.{name} %a : f16", x, "f16")
    number = ~np.isnan(x)
    exact = EXACT[name][0](x[number].astype(np.float64))
    unit = np.spacing(np.abs(exact).astype(np.float16)).astype(np.float64)
    assert (np.abs(result[number].astype(np.float64) - exact) / unit).max() <= 1
    np.testing.assert_array_equal(np.signbit(result[number]), np.signbit(x[number]))
    assert np.isnan(result[~number]).all()


TURNS = np.concatenate(
    [
        np.random.default_rng(1).uniform(-1e5, 1e5, 400_000).astype(np.float32),
        (np.arange(-60_000, 60_000) * (np.pi / 2)).astype(np.float32),
        DENSE[np.abs(DENSE) < 1e5],
    ]
)
ARCS = np.concatenate([np.random.default_rng(2).uniform(-1, 1, 400_000).astype(np.float32), DENSE])

TRIGONOMETRY = {
    "sin": (np.sin, TURNS, 4),
    "cos": (np.cos, TURNS, 4),
    "tan": (np.tan, TURNS, 7),
    "asin": (np.arcsin, ARCS, 5),
    "acos": (np.arccos, ARCS, 5),
    "atan": (np.arctan, ARCS, 4),
    "sinh": (np.sinh, 8 * ARCS, 5),
    "cosh": (np.cosh, 8 * ARCS, 5),
    "asinh": (np.arcsinh, ARCS, 6),
    "acosh": (np.arccosh, 1 + np.abs(ARCS), 6),
    "atanh": (np.arctanh, ARCS, 6),
}


@pytest.mark.parametrize("name", TRIGONOMETRY)
def test_accuracy_of_trigonometry(name: str) -> None:
    function, x, bound = TRIGONOMETRY[name]
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.longdouble))
        inside = np.isfinite(exact) & (np.abs(exact) < np.finfo(np.float32).max)
        result = expanded(f"%y = math.{name} %a : f32", x)
        distance = ulps(result, exact)
    assert distance[inside].max() <= bound
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    np.testing.assert_array_equal(result[np.isinf(exact)], exact[np.isinf(exact)].astype(np.float32))


@pytest.mark.parametrize("name", TRIGONOMETRY)
def test_trigonometry_keeps_zeros_and_takes_what_is_no_number(name: str) -> None:
    x = np.array([-0.0, 0.0, np.inf, -np.inf, np.nan], np.float32)
    with np.errstate(all="ignore"):
        exact = TRIGONOMETRY[name][0](x)
        result = expanded(f"%y = math.{name} %a : f32", x)
    np.testing.assert_allclose(result, exact, rtol=1e-6)
    signed = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(result[signed]), np.signbit(exact[signed]))


@pytest.mark.parametrize("name", TRIGONOMETRY)
def test_trigonometry_of_double_precision(name: str) -> None:
    function, x, bound = TRIGONOMETRY[name]
    x = x[::50].astype(np.float64)
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.longdouble)).astype(np.float64)
        inside = np.isfinite(exact)
        result = expanded(f"%y = math.{name} %a : f64", x, "f64")
    np.testing.assert_allclose(result[inside], exact[inside], rtol=bound * 2.0**-48)


@pytest.mark.parametrize(("name", "bound"), [("tanh", 3e-7), ("erf", 5e-7), ("log1p", 5e-6), ("expm1", 5e-6)])
def test_fast_forms_are_close_next_to_one(name: str, bound: float) -> None:
    x = np.linspace(-0.9, 1, 999, dtype=np.float32)
    result = expanded(f"%y = math.{name} %a fastmath<afn> : f32", x)
    exact = EXACT[name][0](x.astype(np.float64))
    assert np.abs(result - exact).max() < bound
    assert ulps(result, exact).max() > 16


def test_an_attribute_asks_for_fast_forms() -> None:
    text = """
    func.func @f(%x: f32) -> f32 {
      %0 = math.tanh %x : f32
      func.return %0 : f32
    }"""
    counts: list[int] = []
    for accuracy in ("", '"fast"', '"full"'):
        module = parse_module(make_context(), text, "math.mlir")
        if accuracy:
            module.attributes["npu.accuracy"] = StringAttr(accuracy.strip('"'))
        ExpandMath().apply(Context(), module)
        counts.append(len(list(module.walk())))
    assert counts[1] < counts[0] == counts[2]


def test_tanh_of_double_precision() -> None:
    x = np.concatenate([np.linspace(-30, 30, 9999), np.logspace(-300, 2, 999)])
    exact = np.tanh(x)
    np.testing.assert_allclose(expanded("%y = math.tanh %a : f64", x, "f64"), exact, rtol=4e-15)
    erf = np.vectorize(math.erf, otypes=[np.float64])(x)
    np.testing.assert_allclose(expanded("%y = math.erf %a : f64", x, "f64"), erf, rtol=3e-8)


@pytest.mark.parametrize("name", ["trunc", "round", "roundeven"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_rounding_of_numbers_of_any_size(name: str, element: str) -> None:
    dtype = np.float32 if element == "f32" else np.float64
    sizes = np.array(
        [0.49999997, 0.5, 1.5, 2.5, 8388607.5, 8388609.5, 4503599627370497.5, 1e30, np.inf, 0.3, 7]
    )
    x = np.concatenate([sizes, -sizes]).astype(dtype)
    whole = np.trunc(np.abs(x))
    with np.errstate(invalid="ignore"):
        away = np.copysign(whole + (np.abs(x) - whole >= 0.5), x)
    expected = {"trunc": np.trunc(x), "round": away, "roundeven": np.rint(x)}[name]
    np.testing.assert_array_equal(expanded(f"%y = math.{name} %a : {element}", x, element), expected)


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


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_powers_with_exponents_that_vary(element: str) -> None:
    dtype = np.dtype(np.float32 if element == "f32" else np.float64)
    exponents = [0, 1, 2, 3, -1, -2, -3, 0.5, -0.5, 17, 18, 2.25, 1e10, np.inf, -np.inf, np.nan]
    bases = [0, 1, -1, 2, -2, 0.5, -0.5, 3.5, -3.5, 1.0001, np.inf, np.nan]
    x, y = (values.ravel().astype(dtype) for values in np.meshgrid(bases, exponents))
    text = f"""
    func.func @power(%x: {element}, %y: {element}) -> {element} {{
      %0 = math.powf %x, %y : {element}
      func.return %0 : {element}
    }}"""
    module = parse_module(make_context(), text, "math.mlir")
    ExpandMath().apply(Context(), module)
    module.verify()
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    interpreter = Interpreter(module)
    with quiet():
        results = [interpreter.call("power", pair)[0] for pair in zip(x, y, strict=True)]
    np.testing.assert_allclose(np.array(results), expected, rtol=2e-5)
