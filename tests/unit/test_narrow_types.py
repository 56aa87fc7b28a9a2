"""Floats of 8 and 4 bits and integers of 4 and 2 at every level: casts, movement, constants, files."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_mlir
from npu_mlir.support.levels import LEVELS

FLOATS8 = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")
FLOATS = (*FLOATS8, "FLOAT4E2M1")
INTEGERS = ("INT4", "UINT4", "INT2", "UINT2")

Array = np.ndarray[Any, Any]


def dtype_of(name: str) -> np.dtype[Any]:
    return helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))


def all_values(name: str) -> Array:
    """Every bit pattern of a type."""
    dtype = dtype_of(name)
    bits = (ml_dtypes.iinfo if name in INTEGERS else ml_dtypes.finfo)(dtype).bits
    codes = np.arange(1 << bits, dtype=np.uint8)
    return codes.astype(dtype) if name in INTEGERS else codes.view(dtype)


def model(
    nodes: list[onnx.NodeProto], source: str, target: str, shape: Any, **weights: Array
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    x = helper.make_tensor_value_info("x", getattr(TensorProto, source), shape)
    y = helper.make_tensor_value_info("y", getattr(TensorProto, target), None)
    graph = helper.make_graph(nodes, "narrow", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


def same(actual: Array, expected: Array) -> None:
    """Equal in type, shape and bits, NaN aside."""
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual.astype(np.float32), expected.astype(np.float32))
    if expected.dtype.kind in "fV" and expected.dtype.name.startswith("float"):
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(actual)[zeros], np.signbit(expected)[zeros])


def check(source: onnx.ModelProto, x: Array, expected: Array, levels: tuple[str, ...] = LEVELS) -> None:
    for level in levels:
        same(npu_mlir.compile(source, emit=level).run({"x": x})["y"], expected)


def cast(source: str, target: str, shape: Any, **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node("Cast", ["x"], ["y"], to=getattr(TensorProto, target), **attributes)
    return model([node], source, target, shape)


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("target", ["FLOAT", "FLOAT16"])
def test_every_value_becomes_a_float(source: str, target: str):
    values = all_values(source)
    check(cast(source, target, values.shape), values, values.astype(dtype_of(target)))


TIES = [0.0, -0.0, 0.26, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -5, 7, 1e-9, 2**-10, 3 * 2**-11, -(2**-17)]
LARGE = [447, 464, 1e6, np.inf, -np.inf, np.nan, 240, 247, 57344, 61440, -1e6]
ROUNDED = np.array([*TIES, *LARGE], np.float32)


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("saturate", [0, 1])
def test_floats_round_to_nearest_even_and_saturate(target: str, saturate: int):
    dtype = dtype_of(target)
    limits = ml_dtypes.finfo(dtype)
    inside = np.clip(ROUNDED, float(limits.min), float(limits.max)) if saturate else ROUNDED
    check(cast("FLOAT", target, ROUNDED.shape, saturate=saturate), ROUNDED, inside.astype(dtype))


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_numbers_become_powers_of_2(mode: str, saturate: int):
    x = np.array(
        [1, 1.25, 1.5, 1.75, 2, -3, 3.4e38, 0, 1e-38, 5e-39, 5.9e-39, 6e-39, np.inf, np.nan], np.float32
    )
    expected = numpy_helper.to_float8e8m0(x, bool(saturate), mode)
    check(cast("FLOAT", "FLOAT8E8M0", x.shape, saturate=saturate, round_mode=mode), x, expected)
    check(
        cast("FLOAT8E8M0", "FLOAT", (255,)),
        all_values("FLOAT8E8M0")[:255],
        np.exp2(np.arange(-127.0, 128)).astype("f"),
    )


@pytest.mark.parametrize(
    ("source", "target"), list(product(["FLOAT", "FLOAT16", "INT32", "UINT8", "BOOL"], INTEGERS))
)
def test_integers_wrap(source: str, target: str):
    """Floats as well, which ml_dtypes itself wraps in some releases only."""
    values = (
        np.arange(-40, 40).astype(dtype_of(source)) if source != "UINT8" else np.arange(256, dtype=np.uint8)
    )
    check(
        cast(source, target, values.shape),
        values,
        values.astype(np.int64).astype(dtype_of(target)),
        ("graph", "linalg", "isa"),
    )


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_elements_move_and_stand_in_constants(name: str, tmp_path: Path):
    """A large constant goes to the weight file, a small one into the text."""
    x, large = all_values(name)[:4].reshape(1, 4), np.tile(all_values(name)[-4:], 8).reshape(8, 4)
    small = np.ascontiguousarray(large[:2, ::-1])
    nodes = [
        helper.make_node("Concat", ["x", "large", "small"], ["all"], axis=0),
        helper.make_node("Transpose", ["all"], ["y"], perm=[1, 0]),
    ]
    source = model(nodes, name, name, x.shape, large=large, small=small)
    expected = np.concatenate([x, large, small]).T
    check(source, x, expected)
    npu_mlir.compile(source, emit="linalg").save(tmp_path / "narrow.mlir")
    check(tmp_path / "narrow.mlir", x, expected, ("isa",))  # pyright: ignore[reportArgumentType]
