"""Operators that read or write at indices, and those that find them, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npu_mlir
from npu_mlir.support.diagnostics import UserError
from operators import check, model, node

RNG = np.random.default_rng(9)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    """Random numbers among which are infinities, a NaN and zeros of both signs: movement keeps all of them."""
    x = RNG.standard_normal(shape).astype(np.float32)
    x.flat[:: max(1, x.size // 3)] = np.inf
    x.flat[1 :: max(1, x.size // 3)] = -0.0
    x.flat[x.size // 2] = np.nan
    return x


def tied(*shape: int) -> np.ndarray[Any, Any]:
    """Random whole numbers, most of which occur several times along an axis."""
    return RNG.integers(-2, 3, shape).astype(np.float32)


def below(extent: int, *shape: int) -> np.ndarray[Any, Any]:
    """Random indices from -extent to extent."""
    return RNG.integers(-extent, extent, shape)


@pytest.mark.parametrize(
    ("axis", "indices"),
    [
        (0, np.int64(-1)),
        (1, np.array([1, 2, 3])),
        (1, np.array([6, 4, 2, 0])),
        (-1, np.array([[0, 0, 0], [2, 4, -1]])),
        (0, RNG.permutation(41)),
        (2, np.zeros(0, np.int64)),
    ],
)
def test_gather_at_known_indices(axis: int, indices: np.ndarray[Any, Any]):
    """One slice, several, a repeated element, a reversal, a permutation of many."""
    x = {"x": floats(41, 7, 5)}
    check(model([node("Gather", "x i", axis=axis)], x, i=indices), x)


def test_a_slice_backwards():
    x = {"x": floats(3, 37)}
    ends: dict[str, Any] = {
        "s": np.array([-2]),
        "e": np.array([-38]),
        "a": np.array([1]),
        "t": np.array([-2]),
    }
    check(model([node("Slice", "x s e a t")], x, **ends), x)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(axis: int, known: bool):
    """The indices may have smaller extents than the data."""
    x, i = floats(6, 5, 7), below(5, 4, 5, 3)
    weights: dict[str, Any]
    inputs, weights = ({"x": x}, {"i": i}) if known else ({"x": x, "i": i}, {})
    check(model([node("GatherElements", "x i", axis=axis)], inputs, **weights), inputs)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("batch", "indices"), [(0, (3, 2, 2)), (0, (4, 1)), (1, (4, 3, 1)), (2, (4, 3, 2, 1)), (0, (2, 4))]
)
def test_gather_nd(batch: int, indices: tuple[int, ...], known: bool):
    x, i = floats(4, 3, 5, 3), below(3, *indices)
    weights: dict[str, Any]
    inputs, weights = ({"x": x}, {"i": i}) if known else ({"x": x, "i": i}, {})
    check(model([node("GatherND", "x i", batch_dims=batch)], inputs, **weights), inputs)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_elements(reduction: str, known: bool):
    """Several updates may meet one element; without a reduction the last stays."""
    x, u, i = tied(4, 6), tied(3, 5), below(6, 3, 5)
    weights: dict[str, Any]
    inputs, weights = ({"x": x, "u": u}, {"i": i}) if known else ({"x": x, "u": u, "i": i}, {})
    check(model([node("ScatterElements", "x i u", axis=1, reduction=reduction)], inputs, **weights), inputs)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_nd(reduction: str, known: bool):
    x, u, i = tied(5, 4, 3), tied(2, 3, 3), below(4, 2, 3, 2)
    weights: dict[str, Any]
    inputs, weights = ({"x": x, "u": u}, {"i": i}) if known else ({"x": x, "u": u, "i": i}, {})
    check(model([node("ScatterND", "x i u", reduction=reduction)], inputs, **weights), inputs)


def test_scatter_keeps_what_is_no_number():
    x, u, i = floats(5, 9), floats(2, 9), np.array([[3], [0]])
    inputs = {"x": x, "u": u, "i": i}
    check(model([node("ScatterND", "x i u")], inputs), inputs)


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize(("axis", "keepdims"), [(0, 1), (1, 0), (-1, 1)])
def test_arg_reductions(operator: str, last: int, axis: int, keepdims: int):
    inputs = {"x": tied(6, 37, 5)}
    attributes: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "select_last_index": last}
    check(model([node(operator, "x", **attributes)], inputs), inputs)


def test_arg_max_of_nan_and_infinities():
    """The first NaN, as NumPy has it; of -inf alone, the first."""
    x = np.array([[1, np.nan, np.inf, np.nan], [-np.inf] * 4, [2, -1, 5, 5]], np.float32)
    inputs = {"x": x}
    graph = model([node("ArgMax", "x", axis=1, keepdims=0)], inputs)
    check(graph, inputs, expected=[np.argmax(x, 1)])


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int8])
def test_arg_min_of_integers(dtype: Any):
    inputs = {"x": RNG.integers(0, 9, (4, 33)).astype(dtype)}
    check(model([node("ArgMin", "x", axis=1)], inputs), inputs)


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax(opset: int):
    inputs = {"x": tied(3, 5, 7)}
    check(model([node("Hardmax", "x", axis=1)], inputs, opset), inputs)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("axis", "k"), [(0, 3), (1, 33), (-1, 1)])
def test_top_k(largest: int, axis: int, k: int):
    inputs = {"x": tied(5, 33, 4)}
    check(model([node("TopK", "x k", "v i", axis=axis, largest=largest)], inputs, k=np.array([k])), inputs)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32])
def test_one_hot(dtype: Any):
    """Negative indices count from the end; those out of range leave all off."""
    inputs = {"i": np.array([[0, -1, 5], [-7, 6, 100]]).astype(dtype), "v": np.array([2.5, -1], np.float32)}
    position = np.arange(7).reshape(1, 7, 1)
    i = inputs["i"][:, None]
    expected = np.where((i == position) | (i + 7 == position), inputs["v"][1], inputs["v"][0])
    check(model([node("OneHot", "i d v", axis=1)], inputs, d=np.int64(7)), inputs, expected=[expected])


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_reverse_sequence(time: int, batch: int):
    inputs = {"x": floats(5, 5, 3), "n": np.array([5, 1, 3, 0, 2])}
    check(model([node("ReverseSequence", "x n", time_axis=time, batch_axis=batch)], inputs), inputs)


@pytest.mark.parametrize("axis", [None, 1])
def test_compress_by_a_known_condition(axis: int | None):
    inputs = {"x": floats(3, 6)}
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    condition = np.array([True, False, False, True, True])
    check(model([node("Compress", "x c", **attributes)], inputs, c=condition), inputs)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-9, -2, 0, 3])
def test_triangles(upper: int, k: int):
    inputs = {"x": floats(2, 5, 8)}
    check(model([node("Trilu", "x k", upper=upper)], inputs, k=np.int64(k)), inputs)


def test_ones_on_a_diagonal():
    inputs = {"x": floats(4, 6)}
    nodes = [node("EyeLike", "x", "e", k=1, dtype=1), node("Add", "x e")]
    check(model(nodes, inputs), inputs)


@pytest.mark.parametrize("repeats", [(2, 1, 3), (1, 1, 1), (1, 4, 1)])
def test_tile(repeats: tuple[int, ...]):
    inputs = {"x": floats(2, 3, 5)}
    check(model([node("Tile", "x r")], inputs, r=np.array(repeats)), inputs)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("extent", [1, 9, 100])
def test_cumulative_sums(extent: int, exclusive: int, reverse: int):
    """Infinities stay in the sums to which they belong."""
    x = tied(3, extent, 2)
    x[0, extent // 2, 0] = np.inf
    inputs = {"x": x}
    attributes: dict[str, Any] = {"exclusive": exclusive, "reverse": reverse}
    check(model([node("CumSum", "x a", **attributes)], inputs, a=np.int64(1)), inputs, rtol=1e-6)


def test_cumulative_sums_of_integers():
    inputs = {"x": RNG.integers(-99, 99, (4, 70)).astype(np.int32)}
    check(model([node("CumSum", "x a")], inputs, a=np.int64(-1)), inputs)


@pytest.mark.parametrize(
    ("operator", "inputs", "weights"),
    [
        ("Gather", "x i", {"i": np.array([3])}),
        ("GatherElements", "x i", {"i": np.array([[-4]])}),
        ("GatherND", "x i", {"i": np.array([[0, 5]])}),
        ("ScatterND", "x i u", {"i": np.array([[7]]), "u": np.zeros((1, 5), np.float32)}),
        ("TopK", "x k", {"k": np.array([6])}),
    ],
)
def test_a_known_index_out_of_range(operator: str, inputs: str, weights: dict[str, Any]):
    """The node is named, at compile time."""
    x = {"x": np.zeros((3, 5), np.float32)}
    outputs = "v i2" if operator == "TopK" else "y"
    graph = model([helper_named(node(operator, inputs, outputs))], x, **weights)
    with pytest.raises(UserError) as caught:
        npu_mlir.compile(graph)
    assert f"node 'pick' ({operator}): " in caught.value.notes[0].message


def helper_named(proto: Any) -> Any:
    """The node with the name `pick`."""
    proto.name = "pick"
    return proto


@settings(deadline=None)
@given(
    st.integers(1, 40).flatmap(
        lambda extent: st.tuples(
            st.just(extent),
            st.one_of(
                st.lists(st.integers(-extent, extent - 1), max_size=30),
                # Pieces of arithmetic progressions, forwards, backwards and of one element.
                st.lists(
                    st.tuples(st.integers(0, extent - 1), st.integers(-3, 3), st.integers(1, 12)), max_size=5
                ).map(
                    lambda pieces: [first + step * n for first, step, count in pieces for n in range(count)]
                ),
            ),
        )
    )
)
def test_any_known_indices(case: tuple[int, list[int]]):
    """However they are cut into slices, patterns and selections."""
    extent, indices = case
    picked = np.array([index % extent for index in indices], np.int64)
    x = {"x": np.arange(2 * extent * 3, dtype=np.float32).reshape(2, extent, 3)}
    program = npu_mlir.compile(model([node("Gather", "x i", axis=1)], x, i=picked), emit="graph")
    np.testing.assert_array_equal(program.run(x)["y"], x["x"][:, picked])
