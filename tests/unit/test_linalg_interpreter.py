"""The evaluator of structured operations against scalar loops."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from npu_mlir.interpreters import run_function
from npu_mlir.interpreters.structured import contraction, evaluate
from npu_mlir.support.diagnostics import UserError


def parse(text: str) -> ModuleOp:
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


Row = tuple[tuple[int, ...], int]
"""One result of a map: coefficients and constant."""


@dataclass(frozen=True)
class Case:
    """A generic with `inputs` and one output; row lists are maps."""

    extents: tuple[int, ...]
    reduced: tuple[int, ...]
    inputs: tuple[tuple[Row, ...], ...]
    output: tuple[int, ...]
    body: str
    memref: bool

    def shape(self, rows: tuple[Row, ...]) -> tuple[int, ...]:
        return tuple(
            sum(c * (n - 1) for c, n in zip(coeffs, self.extents, strict=True)) + k + 1 for coeffs, k in rows
        )

    def text(self) -> str:
        dims = ", ".join(f"d{i}" for i in range(len(self.extents)))
        kind = "memref" if self.memref else "tensor"
        maps = [f"affine_map<({dims}) -> ({', '.join(map(_row, rows))})>" for rows in self.inputs]
        maps.append(f"affine_map<({dims}) -> ({', '.join(f'd{d}' for d in self.output)})>")
        types = [_type(kind, self.shape(rows)) for rows in self.inputs]
        out = _type(kind, [self.extents[d] for d in self.output])
        args = [f"%a{i}" for i in range(len(types))]
        iterators = [
            f'"{"reduction" if d in self.reduced else "parallel"}"' for d in range(len(self.extents))
        ]
        signature = ", ".join(f"{a}: {t}" for a, t in zip([*args, "%o"], [*types, out], strict=True))
        block = ", ".join(f"%x{i}: f32" for i in range(len(types))) + ", %acc: f32"
        generic = (
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{', '.join(iterators)}]}} "
            f"ins({', '.join(args)} : {', '.join(types)}) outs(%o : {out}) {{ ^bb0({block}): {self.body} }}"
        )
        if self.memref:
            return f"func.func @main({signature}) {{ {generic} \n func.return }}"
        return (
            f"func.func @main({signature}) -> {out} {{ %r = {generic} -> {out} \n func.return %r : {out} }}"
        )


def _row(row: Row) -> str:
    terms = [f"d{d} * {c}" if c != 1 else f"d{d}" for d, c in enumerate(row[0]) if c]
    return " + ".join([*terms, *([str(row[1])] if row[1] or not terms else [])])


def _type(kind: str, shape: Any) -> str:
    return f"{kind}<{''.join(f'{n}x' for n in shape)}f32>"


BODIES = {
    "sum of products": (
        "%p = arith.mulf %x0, %x1 : f32 %s = arith.addf %acc, %p : f32 linalg.yield %s : f32",
        lambda x, y, acc: acc + x * y,
    ),
    "maximum": (
        "%p = arith.subf %x0, %x1 : f32 %s = arith.maximumf %p, %acc : f32 linalg.yield %s : f32",
        lambda x, y, acc: max(acc, x - y),
    ),
    "last one wins": (
        "%c = arith.cmpf ogt, %x0, %x1 : f32 %s = arith.select %c, %x0, %acc : f32 linalg.yield %s : f32",
        lambda x, y, acc: x if x > y else acc,
    ),
}


def brute_force(case: Case, arrays: list[np.ndarray], init: np.ndarray, meaning: Any) -> np.ndarray:
    out = init.copy()
    for point in itertools.product(*map(range, case.extents)):
        values = [
            array[tuple(sum(c * i for c, i in zip(coeffs, point, strict=True)) + k for coeffs, k in rows)]
            for array, rows in zip(arrays, case.inputs, strict=True)
        ]
        index = tuple(point[d] for d in case.output)
        out[index] = meaning(*values, out[index])
    return out


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, Any]:
    rank = draw(st.integers(1, 4))
    extents = tuple(draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    reduced = tuple(d for d in range(rank) if draw(st.booleans()))
    parallel = [d for d in range(rank) if d not in reduced]
    output = tuple(draw(st.permutations(parallel)))
    plain = st.integers(0, rank - 1).map(lambda d: (tuple(int(i == d) for i in range(rank)), 0))
    general = st.tuples(st.tuples(*[st.integers(0, 2)] * rank), st.integers(0, 1))
    inputs = [draw(st.lists(plain | general, max_size=3)) for _ in range(2)]
    known = {
        d
        for rows in inputs
        for row in rows
        if sum(row[0]) == 1 and not row[1]
        for d in range(rank)
        if row[0][d]
    }
    for d in reduced:
        if d not in known:
            inputs[draw(st.integers(0, 1))].append((tuple(int(i == d) for i in range(rank)), 0))
    body, meaning = BODIES[draw(st.sampled_from(sorted(BODIES)))]
    case = Case(extents, reduced, tuple(map(tuple, inputs)), output, body, draw(st.booleans()))
    return case, meaning


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(0, 2**16))
def test_against_scalar_loops(drawn: tuple[Case, Any], seed: int) -> None:
    case, meaning = drawn
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-4, 5, case.shape(rows)).astype(np.float32) for rows in case.inputs]
    init = rng.integers(-4, 5, [case.extents[d] for d in case.output]).astype(np.float32)
    expected = brute_force(case, arrays, init, meaning)
    module, out = parse(case.text()), init.copy()
    results = run_function(module, "main", [*arrays, out])
    np.testing.assert_array_equal(out if case.memref else results[0], expected)
    if not case.memref:
        np.testing.assert_array_equal(out, init)


CONV = """
func.func @main(%x: tensor<2x9x11x3xf16>, %w: tensor<5x2x3x3xf16>, %o: tensor<2x5x4x5xf32>) -> tensor<2x5x4x5xf32> {
  %r = linalg.generic {indexing_maps = [
      affine_map<(n, h, w, o, r, s, c) -> (n, h * 2 + r, w * 2 + s, c)>,
      affine_map<(n, h, w, o, r, s, c) -> (o, r, s, c)>,
      affine_map<(n, h, w, o, r, s, c) -> (n, o, h, w)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : tensor<2x9x11x3xf16>, tensor<5x2x3x3xf16>) outs(%o : tensor<2x5x4x5xf32>) {
  ^bb0(%a: f16, %b: f16, %acc: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %p = arith.mulf %a32, %b32 : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<2x5x4x5xf32>
  func.return %r : tensor<2x5x4x5xf32>
}"""


def convolve(x: np.ndarray, w: np.ndarray, o: np.ndarray) -> np.ndarray:
    out = o.astype(np.float64)
    for h, v, r, s in itertools.product(range(4), range(5), range(2), range(3)):
        out[:, :, h, v] += x[:, 2 * h + r, 2 * v + s].astype(np.float64) @ w[:, r, s].astype(np.float64).T
    return out


@pytest.mark.parametrize("largest", [1 << 25, 200])
def test_convolution_whole_and_in_pieces(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "LARGEST_UNFOLDED", largest)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 9, 11, 3)).astype(np.float16)
    w = rng.standard_normal((5, 2, 3, 3)).astype(np.float16)
    o = rng.standard_normal((2, 5, 4, 5)).astype(np.float32)
    (result,) = run_function(parse(CONV), "main", [x, w, o])
    np.testing.assert_allclose(result, convolve(x, w, o), rtol=1e-5, atol=1e-5)


def test_large_reduction_is_iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "LARGEST_SPACE", 10)
    case = Case(
        (4, 3, 5),
        (1, 2),
        ((((1, 0, 0), 0), ((0, 1, 0), 0)), (((0, 0, 1), 0),)),
        (0,),
        BODIES["maximum"][0],
        False,
    )
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(case.shape(rows)).astype(np.float32) for rows in case.inputs]
    init = np.full(4, -1, np.float32)
    (result,) = run_function(parse(case.text()), "main", [*arrays, init])
    np.testing.assert_array_equal(result, brute_force(case, arrays, init, BODIES["maximum"][1]))


def test_sum_of_f16_is_kept_in_f32() -> None:
    module = parse("""
    func.func @main(%x: tensor<4096xf16>, %o: tensor<f16>) -> tensor<f16> {
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
        iterator_types = ["reduction"]} ins(%x : tensor<4096xf16>) outs(%o : tensor<f16>) {
      ^bb0(%a: f16, %acc: f16):
        %s = arith.addf %a, %acc : f16
        linalg.yield %s : f16
      } -> tensor<f16>
      func.return %r : tensor<f16>
    }""")
    (result,) = run_function(module, "main", [np.ones(4096, np.float16), np.float16(1).reshape(())])
    assert result.dtype == np.float16 and result == np.float16(4097)


@pytest.mark.parametrize(
    ("narrow", "extension"), [("i8", "extsi"), ("i8", "extui"), ("i1", "extsi"), ("i32", "extsi")]
)
def test_integer_products_are_exact(narrow: str, extension: str) -> None:
    module = parse(f"""
    func.func @main(%x: tensor<3x50x{narrow}>, %y: tensor<50x2x{narrow}>, %o: tensor<3x2xi64>) -> tensor<3x2xi64> {{
      %r = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
          affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%x, %y : tensor<3x50x{narrow}>, tensor<50x2x{narrow}>) outs(%o : tensor<3x2xi64>) {{
      ^bb0(%a: {narrow}, %b: {narrow}, %acc: i64):
        %c = arith.{extension} %a : {narrow} to i64
        %d = arith.{extension} %b : {narrow} to i64
        %p = arith.muli %c, %d : i64
        %s = arith.addi %acc, %p : i64
        linalg.yield %s : i64
      }} -> tensor<3x2xi64>
      func.return %r : tensor<3x2xi64>
    }}""")
    rng = np.random.default_rng(4)
    dtype = {"i1": np.bool_, "i8": np.int8, "i32": np.int32}[narrow]
    limit = 2 if narrow == "i1" else np.iinfo(dtype).max
    x, y = (rng.integers(-limit, limit, shape).astype(dtype) for shape in ((3, 50), (50, 2)))
    o = rng.integers(-9, 9, (3, 2))
    (result,) = run_function(module, "main", [x, y, o])
    wide = [a.view(np.uint8) if extension == "extui" else -1 * a if narrow == "i1" else a for a in (x, y)]
    np.testing.assert_array_equal(result, wide[0].astype(np.int64) @ wide[1].astype(np.int64) + o)


def test_index_capture_and_gather() -> None:
    module = parse("""
    func.func @main(%x: tensor<5x3xf32>, %i: tensor<4xi64>, %k: index) -> tensor<4x3xf32> {
      %e = tensor.empty() : tensor<4x3xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4x3xf32>) {
      ^bb0(%a: i64, %o: f32):
        %row = arith.index_cast %a : i64 to index
        %column = linalg.index 1 : index
        %moved = arith.subi %k, %column : index
        %v = tensor.extract %x[%row, %moved] : tensor<5x3xf32>
        linalg.yield %v : f32
      } -> tensor<4x3xf32>
      func.return %r : tensor<4x3xf32>
    }""")
    x, i = np.arange(15, dtype=np.float32).reshape(5, 3), np.array([4, 0, 2, 2])
    (result,) = run_function(module, "main", [x, i, np.int64(2)])
    np.testing.assert_array_equal(result, x[i][:, ::-1])


def test_an_argmax_with_two_outputs() -> None:
    module = parse("""
    func.func @main(%x: tensor<3x7xf32>, %v: tensor<3xf32>, %i: tensor<3xi64>) -> (tensor<3xf32>, tensor<3xi64>) {
      %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
          affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<3x7xf32>) outs(%v, %i : tensor<3xf32>, tensor<3xi64>) {
      ^bb0(%a: f32, %best: f32, %at: i64):
        %j = linalg.index 1 : index
        %j64 = arith.index_cast %j : index to i64
        %c = arith.cmpf ogt, %a, %best : f32
        %b2 = arith.select %c, %a, %best : f32
        %a2 = arith.select %c, %j64, %at : i64
        linalg.yield %b2, %a2 : f32, i64
      } -> tensor<3xf32>, tensor<3xi64>
      func.return %r#0, %r#1 : tensor<3xf32>, tensor<3xi64>
    }""")
    x = np.random.default_rng(2).standard_normal((3, 7)).astype(np.float32)
    best, at = run_function(module, "main", [x, np.full(3, -np.inf, np.float32), np.zeros(3, np.int64)])
    np.testing.assert_array_equal(best, x.max(1))
    np.testing.assert_array_equal(at, x.argmax(1))


def test_named_operations_and_fill() -> None:
    module = parse("""
    func.func @main(%x: tensor<3x4xf32>, %y: tensor<4x2xf32>, %m: memref<2x2xf32>) -> tensor<3x2xf32> {
      %zero = arith.constant 1.0 : f32
      %e = tensor.empty() : tensor<3x2xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x2xf32>) -> tensor<3x2xf32>
      linalg.fill ins(%zero : f32) outs(%m : memref<2x2xf32>)
      %r = linalg.matmul ins(%x, %y : tensor<3x4xf32>, tensor<4x2xf32>) outs(%f : tensor<3x2xf32>) -> tensor<3x2xf32>
      func.return %r : tensor<3x2xf32>
    }""")
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((3, 4)).astype(np.float32), rng.standard_normal((4, 2)).astype(np.float32)
    m = np.zeros((2, 2), np.float32)
    (result,) = run_function(module, "main", [x, y, m])
    np.testing.assert_allclose(result, x @ y + 1, rtol=1e-6)
    assert (m == 1).all()


def test_a_map_that_is_not_linear_is_refused() -> None:
    module = parse("""
    func.func @main(%x: tensor<4xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 floordiv 2)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<8xf32>) {
      ^bb0(%a: f32, %acc: f32): linalg.yield %a : f32
      } -> tensor<8xf32>
      func.return %r : tensor<8xf32>
    }""")
    with pytest.raises(UserError, match="not linear"):
        run_function(module, "main", [np.zeros(4, np.float32), np.zeros(8, np.float32)])
