"""What loads, stores and launches mean, element by element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.support.diagnostics import UserError

GM, UB = "#tile.space<gm>", "#tile.space<ub>"


def run(body: str, x: np.ndarray, result: Sequence[int], outputs: int = 1) -> np.ndarray:
    """Launch a kernel on `%x` that writes `%y`, both f32."""
    source, dest = ("x".join([*map(str, shape), "f32"]) for shape in (x.shape, result))
    text = f"""
    func.func @main(%x: tensor<{source}>) -> tensor<{dest}> {{
      %y = tile.launch @k(%x) : (tensor<{source}>) -> tensor<{dest}>
      func.return %y : tensor<{dest}>
    }}
    tile.kernel @k(%x: memref<{source}, {GM}>, %y: memref<{dest}, {GM}>) {{
      {body.replace("X", f"memref<{source}, {GM}>").replace("Y", f"memref<{dest}, {GM}>")}
      tile.return
    }}"""
    (found,) = run_function(parse_module(make_context(), text, "kernel.mlir"), "main", [x])
    return found


def image(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_what_is_not_written_is_not_a_number():
    tile = f"tensor<2xf32, {UB}>"
    found = run(
        f"""%t = tile.load %x[] map affine_map<(d) -> (d)> : X -> {tile}
        tile.store %t, %y[] map affine_map<(d) -> (d)> : {tile}, Y""",
        image(4),
        (3,),
    )
    np.testing.assert_array_equal(found, [0, 1, np.nan])


def test_a_load_beyond_the_memory_without_padding_is_not_a_number():
    tile = f"tensor<3xf32, {UB}>"
    found = run(
        f"""%c2 = arith.constant 2 : index
        %t = tile.load %x[%c2] map affine_map<(i, d) -> (i + d)> : X -> {tile}
        tile.store %t, %y[] map affine_map<(d) -> (d)> : {tile}, Y""",
        image(4),
        (3,),
    )
    np.testing.assert_array_equal(found, [2, 3, np.nan])


def test_a_store_clips():
    tile = f"tensor<4xf32, {UB}>"
    found = run(
        f"""%c1 = arith.constant -1 : index
        %t = tile.load %x[] map affine_map<(d) -> (d)> : X -> {tile}
        tile.store %t, %y[%c1] map affine_map<(i, d) -> (i + d)> : {tile}, Y""",
        image(4),
        (2,),
    )
    np.testing.assert_array_equal(found, [1, 2])


def test_a_store_to_one_place_twice_is_an_error():
    tile = f"tensor<2x2xf32, {UB}>"
    with pytest.raises(UserError, match="takes two elements to one place"):
        run(
            f"""%t = tile.load %x[] map affine_map<(d, e) -> (d, e)> : X -> {tile}
            tile.store %t, %y[] map affine_map<(d, e) -> (d + e)> : {tile}, Y""",
            image(2, 2),
            (3,),
        )


def test_slots_are_copies():
    buffer = f"memref<f32, {UB}>"
    found = run(
        f"""%b = tile.alloc {{slots = 2}} : {buffer}
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %s0 = tile.slot %b[%c0] : {buffer}
        %s1 = tile.slot %b[%c1] : {buffer}
        %s2 = tile.slot %b[%c2] : {buffer}
        tile.load %x[%c0] into %s0 map affine_map<(i) -> (i)> : X, {buffer}
        tile.load %x[%c1] into %s1 map affine_map<(i) -> (i)> : X, {buffer}
        tile.store %s0, %y[%c0] map affine_map<(i) -> (i)> : {buffer}, Y
        tile.load %x[%c2] into %s2 map affine_map<(i) -> (i)> : X, {buffer}
        tile.store %s0, %y[%c1] map affine_map<(i) -> (i)> : {buffer}, Y
        tile.store %s1, %y[%c2] map affine_map<(i) -> (i)> : {buffer}, Y""",
        image(3),
        (3,),
    )
    np.testing.assert_array_equal(found, [0, 2, 1])


def test_a_launch_of_something_else_is_an_error():
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = tile.launch @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    with pytest.raises(UserError, match="no symbol '@missing'"):
        run_function(parse_module(make_context(), text, "kernel.mlir"), "main", [image(4)])


# ---- any map --------------------------------------------------------------------------------------------------------


@st.composite
def boxes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], AffineMap]:
    """(shape of the memory, shape of the tile, a linear map from tile dims to coordinates)."""
    memory = tuple(draw(st.integers(1, 6)) for _ in range(draw(st.integers(0, 3))))
    tile = tuple(draw(st.integers(1, 4)) for _ in range(draw(st.integers(0, 3))))
    results: list[AffineExpr] = []
    for _ in memory:
        expr: AffineExpr = AffineConstantExpr(draw(st.integers(-3, 4)))
        for d in range(len(tile)):
            factor = draw(st.sampled_from([0, 0, 1, 1, 2, 3]))
            if factor:
                expr = expr + AffineDimExpr(d) * factor
        results.append(expr)
    return memory, tile, AffineMap(len(tile), 0, tuple(results))


@settings(max_examples=60, deadline=None)
@given(boxes())
def test_a_load_reads_element_by_element(box: tuple[tuple[int, ...], tuple[int, ...], AffineMap]):
    memory, shape, map_ = box
    x = image(*memory)
    expected = np.full(shape, -1, np.float32)
    for point in np.ndindex(shape):
        where = map_.eval(point, [])
        if all(0 <= c < n for c, n in zip(where, memory, strict=True)):
            expected[point] = x[tuple(where)]
    tile = "x".join([*map(str, shape), "f32"])
    dims = ", ".join(f"d{d}" for d in range(len(shape)))
    found = run(
        f"""%t = tile.load %x[] map affine_map<{map_}> pad -1.0 : f32 : X -> tensor<{tile}, {UB}>
        tile.store %t, %y[] map affine_map<({dims}) -> ({dims})> : tensor<{tile}, {UB}>, Y""",
        x,
        shape,
    )
    np.testing.assert_array_equal(found, expected)
