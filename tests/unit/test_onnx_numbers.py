"""Operators on single numbers, against onnxruntime or NumPy at the edges of their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from npu_mlir.frontends.onnx import import_model
from npu_mlir.interpreters import run_function
from npu_mlir.support.diagnostics import UserError

EDGES = (0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e-30, -3.0, np.inf, -np.inf, np.nan)
SHIFTS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def result(
    operator: str,
    *inputs: np.ndarray,
    constants: Mapping[str, np.ndarray] | None = None,
    order: Sequence[str] | None = None,
    opset: int = 20,
    **attributes: Any,
) -> np.ndarray:
    """The result of one node, whose operands are the inputs and then the constants, or in an order by name."""
    weights = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    names = [f"x{number}" for number in range(len(inputs))]
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(operator, order or [*names, *(constants or {})], ["y"], **attributes)
    graph = helper.make_graph([node], "g", values, [onnx.ValueInfoProto(name="y")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return run_function(import_model(model), "main", list(inputs))[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_edges_of_floats(dtype: Any):
    x = np.array(EDGES, dtype)
    np.testing.assert_array_equal(result("Sign", x), np.sign(x))
    np.testing.assert_array_equal(result("Round", x), np.rint(x))
    np.testing.assert_array_equal(result("IsNaN", x), np.isnan(x))
    np.testing.assert_array_equal(result("IsInf", x), np.isinf(x))
    np.testing.assert_array_equal(result("IsInf", x, detect_negative=0), np.isposinf(x))
    np.testing.assert_array_equal(result("IsInf", x, detect_positive=0), np.isneginf(x))
    assert not result("IsInf", x, detect_positive=0, detect_negative=0).any()


@pytest.mark.parametrize("kind", SHIFTS)
def test_edges_of_integers(kind: str):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x = np.array([0, 1, 5, high, low, high - 1, low + 1], kind)
    np.testing.assert_array_equal(result("Sign", x), np.sign(x))
    np.testing.assert_array_equal(result("BitwiseNot", x), ~x)
    y = np.array([3, 7, 2, 5, 3, 7, 2], kind)
    np.testing.assert_array_equal(result("Mod", x, y), np.mod(x, y))
    np.testing.assert_array_equal(result("Mod", x, y, fmod=1), np.fmod(x, y))
    if kind[0] == "i":
        np.testing.assert_array_equal(result("Mod", x, -y), np.mod(x, -y))
        np.testing.assert_array_equal(result("Mod", x, -y, fmod=1), np.fmod(x, -y))


@pytest.mark.parametrize("kind", SHIFTS)
def test_shifts_by_every_distance(kind: str):
    bits = 8 * np.dtype(kind).itemsize
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    x = np.array([0, 1, 5, high, low, high - 1, low + 1], kind)[:, None]
    distances = np.arange(bits + 3, dtype=kind)[None]
    inside = distances < bits
    safe = np.where(inside, distances, 0).astype(kind)
    sign_alone = np.where(x < 0, -1, 0).astype(kind) if kind[0] == "i" else np.zeros_like(x)
    left = np.where(inside, np.left_shift(x, safe), 0).astype(kind)
    right = np.where(inside, np.right_shift(x, safe), sign_alone).astype(kind)
    np.testing.assert_array_equal(result("BitShift", x, distances, direction="LEFT"), left)
    np.testing.assert_array_equal(result("BitShift", x, distances, direction="RIGHT"), right)
    if kind[0] == "i":
        np.testing.assert_array_equal(
            result("BitShift", x, np.array([-1], kind), direction="RIGHT"), sign_alone
        )


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Dividends and divisors of all sizes, and the edges of both."""
    generator, info = np.random.default_rng(0), ml_dtypes.finfo(dtype)
    exponents = generator.uniform(float(info.minexp), float(info.maxexp) - 1, (2, 4000))
    x, y = (generator.uniform(-1, 1, exponents.shape) * 2.0**exponents).astype(dtype)
    edges = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.0, np.inf, -np.inf, np.nan], dtype)
    left, right = np.meshgrid(edges, edges)
    with np.errstate(over="ignore"):
        close = (y * dtype(3)).astype(dtype)
    return np.concatenate([x, close, left.ravel()]), np.concatenate([y, y, right.ravel()])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_of_floats_are_exact(dtype: Any, fmod: int):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y) if fmod else python_modulo(x, y)
        actual = result("Mod", x, y, fmod=fmod)
    np.testing.assert_array_equal(actual, expected)
    same = ~np.isnan(expected) & ~((x == 0) & np.signbit(x) & (fmod == 1))
    np.testing.assert_array_equal(np.signbit(actual[same]), np.signbit(expected[same]))


def python_modulo(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The remainder with the sign of the divisor, in f64, in which it is exact here."""
    rest = np.fmod(x.astype(np.float64), y.astype(np.float64))
    moved = np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)
    return np.where(rest == 0, np.copysign(0, y), moved).astype(x.dtype)


def test_a_remainder_of_doubles_is_refused():
    x = np.ones(3)
    with pytest.raises(UserError) as info:
        result("Mod", x, x, fmod=1)
    assert "remainders of f64 are not supported" in str(info.value.notes[0].message)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_powers_of_integers(dtype: Any):
    base = np.array([0, 1, -1, 2, -2, 3, 7], dtype)[:, None]
    exponent = np.arange(0, 11, dtype=dtype)[None]
    np.testing.assert_array_equal(result("Pow", base, exponent), base**exponent)
    large = np.array([63, 64, 65, 100, 101, 2**31 - 1], dtype)[None]
    np.testing.assert_array_equal(
        result("Pow", base[:3], large), np.array([0, 1, -1])[:, None] ** (large % 2 + 2)
    )
    negative = np.array([-1, -2, -3], dtype)[None]
    np.testing.assert_array_equal(
        result("Pow", base[1:], negative), np.trunc(base[1:].astype(float) ** negative).astype(dtype)
    )
    wrapped, powers = np.array([46341, 3, -3], dtype), np.array([3, 40, 41], dtype)
    np.testing.assert_array_equal(result("Pow", wrapped, powers), wrapped**powers)


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 62])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_powers_of_integers_by_constants(exponent: int, shape: tuple[int, ...]):
    x = np.array([[0, 1, -1, 2, -2, 3]], np.int64)
    power = np.full(shape, exponent, np.float32)
    found = result("Pow", x, constants={"e": power})
    np.testing.assert_array_equal(found, np.broadcast_to(x**exponent, found.shape))
    assert found.shape == np.broadcast_shapes(x.shape, shape)


def test_an_integer_raised_to_a_float_is_refused():
    with pytest.raises(UserError) as info:
        result("Pow", np.ones(3, np.int32), np.ones(3, np.float32))
    assert "i32 raised to f32 is not supported" in str(info.value.notes[0].message)


@pytest.mark.parametrize("pads", [[0, 1, 2, 0], [-1, 1, 0, -1], [0, 0, 0, 0], [-1, 0, 0, 0]])
def test_a_padding_value_that_is_computed(pads: list[int]):
    x, number = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([np.inf], np.float32)
    widths = list(zip(pads[:2], pads[2:], strict=True))
    inner = x[tuple(slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, widths, strict=True))]
    expected = np.pad(inner, np.maximum(widths, 0), constant_values=np.inf)
    found = result("Pad", x, number, constants={"pads": np.array(pads)}, order=["x0", "pads", "x1"])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("old", "new"), [("f4", "i4"), ("i8", "f8"), ("u2", "i2"), ("f2", "u2"), ("?", "u1")]
)
def test_bits_as_another_type(old: str, new: str):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(old) * np.array(1, old)
    schema = result("BitCast", x, opset=26, to=helper.np_dtype_to_tensor_dtype(np.dtype(new)))
    np.testing.assert_array_equal(schema, x.view(new))
