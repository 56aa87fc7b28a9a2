"""Kernels give the same numbers before the lowering to instructions (interpreted) and after it (simulated, with all
checks on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f16, f32, i1, i8, i32

from cubes import square
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.tile import Space, buffer_type, tile_bytes
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import verify
from npu_mlir.passes.npu_isa.cleanup import Cleanup
from npu_mlir.passes.npu_isa.convert_tile_to_npu_isa import ConvertTileToNpuIsa
from npu_mlir.passes.npu_isa.insert_sync import InsertSync
from npu_mlir.simulator import simulate

ELEMENTS = {"f32": f32, "f16": f16, "i32": i32, "i8": i8, "i1": i1}
DTYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8, "i1": np.bool_}


@dataclass(frozen=True)
class Body:
    """The body of a generic: `%a`, `%b`, `%c` are the inputs, `%o` the output, `%r` the result."""

    text: str
    inputs: tuple[str, ...] = ("f32",)
    output: str = "f32"
    start: str | None = None
    """What the output holds before, for bodies that accumulate."""


ELEMENTWISE = {
    "copy": Body(""),
    "exp": Body("%r = math.exp %a : f32"),
    "sqrt": Body("%r = math.sqrt %a : f32"),
    "abs": Body("%r = math.absf %a : f32"),
    "neg": Body("%r = arith.negf %a : f32"),
    "add": Body("%r = arith.addf %a, %b : f32", ("f32", "f32")),
    "add f16": Body("%r = arith.addf %a, %b : f16", ("f16", "f16"), "f16"),
    "add i32": Body("%r = arith.addi %a, %b : i32", ("i32", "i32"), "i32"),
    "sub from constant": Body("%k = arith.constant 2.0 : f32\n%r = arith.subf %k, %a : f32"),
    "sub constant": Body("%k = arith.constant 2.0 : f32\n%r = arith.subf %a, %k : f32"),
    "divide": Body("%r = arith.divf %a, %b : f32", ("f32", "f32")),
    "square": Body("%r = arith.mulf %a, %a : f32"),
    "max": Body("%r = arith.maximumf %a, %b : f32", ("f32", "f32")),
    "relu": Body("%k = arith.constant 0.0 : f32\n%r = arith.maximumf %k, %a : f32"),
    "min i32": Body("%r = arith.minsi %a, %b : i32", ("i32", "i32"), "i32"),
    "less": Body("%r = arith.cmpf olt, %a, %b : f32", ("f32", "f32"), "i1"),
    "greater constant": Body(
        "%k = arith.constant 1.0 : f32\n%r = arith.cmpf ogt, %a, %k : f32", ("f32",), "i1"
    ),
    "equal i32": Body("%r = arith.cmpi eq, %a, %b : i32", ("i32", "i32"), "i1"),
    "select": Body("%r = arith.select %a, %b, %c : f32", ("i1", "f32", "f32")),
    "select constant": Body(
        "%k = arith.constant 7.0 : f32\n%r = arith.select %a, %b, %k : f32", ("i1", "f32")
    ),
    "select constants": Body(
        "%k = arith.constant 7.0 : f32\n%j = arith.constant 9.0 : f32\n%r = arith.select %a, %j, %k : f32",
        ("i1",),
    ),
    "not": Body("%k = arith.constant true\n%r = arith.xori %a, %k : i1", ("i1",), "i1"),
    "and": Body("%r = arith.andi %a, %b : i1", ("i1", "i1"), "i1"),
    "extend": Body("%r = arith.extf %a : f16 to f32", ("f16",)),
    "truncate": Body("%r = arith.truncf %a : f32 to f16", ("f32",), "f16"),
    "to float": Body("%r = arith.sitofp %a : i32 to f32", ("i32",)),
    "to int": Body("%r = arith.fptosi %a : f32 to i32", ("f32",), "i32"),
    "mask to float": Body("%r = arith.uitofp %a : i1 to f32", ("i1",)),
    "widen": Body("%r = arith.extsi %a : i8 to i32", ("i8",), "i32"),
    "constant": Body("%r = arith.constant 3.0 : f32", ()),
    "accumulate": Body("%r = arith.addf %o, %a : f32", ("f32",), "f32", "1.0"),
}

ACCUMULATING = {
    "sum": Body("%r = arith.addf %o, %a : f32", ("f32",), "f32", "0.0"),
    "sum i32": Body("%r = arith.addi %a, %o : i32", ("i32",), "i32", "0"),
    "product": Body("%r = arith.mulf %o, %a : f32", ("f32",), "f32", "1.0"),
    "maximum": Body("%r = arith.maximumf %a, %o : f32", ("f32",), "f32", "-1000.0"),
    "minimum f16": Body("%r = arith.minimumf %o, %a : f16", ("f16",), "f16", "1000.0"),
    "madd": Body("%p = arith.mulf %a, %b : f32\n%r = arith.addf %o, %p : f32", ("f32", "f32"), "f32", "0.0"),
    "madd wide": Body(
        "%x = arith.extf %a : f16 to f32\n%y = arith.extf %b : f16 to f32\n"
        "%p = arith.mulf %x, %y : f32\n%r = arith.addf %p, %o : f32",
        ("f16", "f16"),
        "f32",
        "0.0",
    ),
}


@dataclass(frozen=True)
class Generic:
    """A generic on the vector unit; each operand's map has coefficients and a constant per coordinate."""

    body: Body
    extents: tuple[int, ...]
    reduced: frozenset[int]
    maps: tuple[tuple[tuple[tuple[int, ...], int], ...], ...]

    def shape(self, operand: int) -> tuple[int, ...]:
        """The extents that an operand needs."""
        return tuple(
            1 + constant + sum(c * (n - 1) for c, n in zip(coefficients, self.extents, strict=True))
            for coefficients, constant in self.maps[operand]
        )


def memref(shape: tuple[int, ...], element: str, space: str) -> str:
    return f"memref<{''.join(f'{n}x' for n in shape)}{element}, #tile.space<{space}>>"


def buffer_bytes(shape: tuple[int, ...], element: str) -> int:
    return tile_bytes(buffer_type(shape, ELEMENTS[element], Space.UB), 1, square(16))


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def affine(rank: int, exprs: Any) -> str:
    dims = [f"d{i}" for i in range(rank)]
    results = [
        " + ".join([*[f"{d} * {c}" for d, c in zip(dims, cs, strict=True) if c], str(k)]) for cs, k in exprs
    ]
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"


def identity(rank: int) -> str:
    return affine(rank, [(tuple(int(i == d) for i in range(rank)), 0) for d in range(rank)])


def module_text(generic: Generic) -> str:
    """A module whose kernel loads all operands, runs the generic on the vector unit, and stores the result."""
    body, rank = generic.body, len(generic.extents)
    elements = [*body.inputs, body.output]
    shapes = [generic.shape(i) for i in range(len(elements))]
    names = [*"abc"[: len(body.inputs)], "o"]
    lines: list[str] = []
    address = 0
    for name, shape, element in zip(names, shapes, elements, strict=True):
        lines.append(f"%u{name} = tile.alloc {{address = {address}}} : {memref(shape, element, 'ub')}")
        address += buffer_bytes(shape, element)
    for name, shape, element in list(zip(names, shapes, elements, strict=True))[:-1]:
        types = f"{memref(shape, element, 'gm')}, {memref(shape, element, 'ub')}"
        lines.append(f"tile.load %g{name}[] into %u{name} map {identity(len(shape))} : {types}")
    out = memref(shapes[-1], body.output, "ub")
    if body.start is not None:
        lines.append(f"%start = arith.constant {body.start} : {body.output}")
        lines.append(f"linalg.fill ins(%start : {body.output}) outs(%uo : {out})")
    # The iteration space is given by an operand of the full shape that only has a shape.
    lines.append(f"%space = memref.alloc() : memref<{'x'.join(map(str, generic.extents))}xf32>")
    maps = [affine(rank, m) for m in generic.maps]
    maps.insert(-1, identity(rank))
    iterators = ", ".join('"reduction"' if d in generic.reduced else '"parallel"' for d in range(rank))
    ins = [(f"%u{n}", memref(s, e, "ub")) for n, s, e in zip(names, shapes, body.inputs, strict=False)]
    ins.append(("%space", f"memref<{'x'.join(map(str, generic.extents))}xf32>"))
    lines.append(
        f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}} "
        f"ins({', '.join(v for v, _ in ins)} : {', '.join(t for _, t in ins)}) outs(%uo : {out}) {{"
    )
    arguments = [f"%{n}: {e}" for n, e in zip(names, elements, strict=True)]
    arguments.insert(-1, "%unused: f32")
    result = "%r" if body.text else "%a"
    scope = f"^bb0({', '.join(arguments)}):\n{body.text}\nlinalg.yield {result} : {body.output}\n}}"
    lines.append(scope)
    lines.append(
        f"tile.store %uo, %go[] map {identity(len(shapes[-1]))} : {out}, {memref(shapes[-1], body.output, 'gm')}"
    )
    kernel = [f"%g{n}: {memref(s, e, 'gm')}" for n, s, e in zip(names, shapes, elements, strict=True)]
    inputs = [(f"%{n}", tensor(s, e)) for n, s, e in zip(names[:-1], shapes, body.inputs, strict=False)]
    result_type = tensor(shapes[-1], body.output)
    return f"""
builtin.module attributes {{npu.target = "ascend-910"}} {{
  func.func @main({", ".join(f"{v}: {t}" for v, t in inputs)}) -> {result_type} {{
    %y = tile.launch @k({", ".join(v for v, _ in inputs)}) : ({", ".join(t for _, t in inputs)}) -> {result_type}
    func.return %y : {result_type}
  }}
  tile.kernel @k({", ".join(kernel)}) {{
    {"    ".join(line + chr(10) for line in lines)}
    tile.return
  }}
}}"""


def random_inputs(generic: Generic) -> list[np.ndarray]:
    """Small integers, whose sums and products are exact; never zero, so that they can divide."""
    rng = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for i, element in enumerate(generic.body.inputs):
        low = 0 if element == "i1" else 1
        arrays.append(rng.integers(low, 3, generic.shape(i)).astype(DTYPES[element]))
    return arrays


def check(text: str, inputs: list[np.ndarray]) -> None:
    """The outputs of the module before and after the lowering agree."""
    ctx = make_context()
    module = parse_module(ctx, text, "test.mlir")
    verify(module)
    expected = run_function(module, "main", inputs)
    for pass_ in (ConvertTileToNpuIsa(), InsertSync(), Cleanup()):
        pass_.apply(ctx, module)
        verify(module)
    found = simulate(module, inputs, check=True).outputs
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-6)


@st.composite
def generics(draw: Any, bodies: dict[str, Body], reducing: bool) -> Generic:
    """A generic with random extents, and maps with permuted, missing, scaled and added-up dims."""
    body = bodies[draw(st.sampled_from(sorted(bodies)))]
    extents = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=6)))
    rank = len(extents)
    reduced = frozenset(draw(st.sets(st.integers(0, rank - 1)))) if reducing else frozenset[int]()
    maps: list[Any] = []
    for _ in body.inputs:
        exprs: list[Any] = []
        for d in draw(st.permutations(range(rank))):
            kind = draw(st.sampled_from(["plain", "plain", "plain", "absent", "scaled", "window"]))
            coefficients = [0] * rank
            if kind == "absent":
                continue
            coefficients[d] = 1 if kind == "plain" else draw(st.integers(1, 3))
            if kind == "window":
                coefficients[draw(st.integers(0, rank - 1))] += 1
            constant = 0 if kind == "plain" else draw(st.integers(0, 1))
            exprs.append((tuple(coefficients), constant))
        maps.append(tuple(exprs))
    kept = [d for d in draw(st.permutations(range(rank))) if d not in reduced]
    maps.append(tuple((tuple(int(i == d) for i in range(rank)), 0) for d in kept))
    generic = Generic(body, extents, reduced, tuple(maps))
    elements = [*body.inputs, body.output]
    assume(sum(buffer_bytes(generic.shape(i), e) for i, e in enumerate(elements)) <= 65536)
    return generic


@settings(max_examples=60, deadline=None)
@given(generics(ELEMENTWISE, reducing=False))
def test_elementwise_generics(generic: Generic) -> None:
    check(module_text(generic), random_inputs(generic))


@settings(max_examples=60, deadline=None)
@given(generics(ACCUMULATING, reducing=True))
def test_accumulating_generics(generic: Generic) -> None:
    check(module_text(generic), random_inputs(generic))


@pytest.mark.parametrize("name", [*ELEMENTWISE, *ACCUMULATING])
def test_every_body(name: str) -> None:
    body = (ELEMENTWISE | ACCUMULATING)[name]
    dims = (((1, 0, 0), 0), ((0, 1, 0), 0), ((0, 0, 1), 0))
    reduced = frozenset({1}) if name in ACCUMULATING else frozenset[int]()
    out = tuple(e for d, e in enumerate(dims) if d not in reduced)
    generic = Generic(body, (3, 4, 10), reduced, (*[dims] * len(body.inputs), out))
    check(module_text(generic), random_inputs(generic))


@st.composite
def moves(draw: Any) -> tuple[str, list[np.ndarray]]:
    """A kernel that loads tiles of permuted, strided, halo'd boxes in a loop, copies them on chip, and stores them."""
    rank = draw(st.integers(1, 6))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    order = draw(st.permutations(range(rank)))
    gm = [draw(st.integers(1, 9)) for _ in range(rank)]
    coordinates: list[str] = []
    for j, d in enumerate(order):
        step, start = draw(st.integers(1, 2)), draw(st.integers(-2, 2))
        index = draw(st.sampled_from(["", " + i0", " + i0 * 2"]))
        fixed = draw(st.integers(0, 4)) == 0
        coordinates.append(f"{'i1' if fixed else f'd{d} * {step}'} + {start}{index}")
        gm[j] = max(gm[j], 1)
    dims = ", ".join(["i0", "i1", *[f"d{d}" for d in range(rank)]])
    load_map = f"affine_map<({dims}) -> ({', '.join(coordinates)})>"
    swap = draw(st.permutations(range(rank)))
    swapped = tuple(shape[d] for d in swap)
    # Element (e0, e1, ...) of the copy is element (d0, d1, ...) of the tile with d[swap[i]] = e[i].
    back = ", ".join(f"d{swap.index(d)}" for d in range(rank))
    copy_map = f"affine_map<({', '.join(f'd{d}' for d in range(rank))}) -> ({back})>"
    out = (4 * swapped[0] - draw(st.integers(0, 1)), *swapped[1:])
    store_results = [f"i0 * {swapped[0]} + d0", *[f"d{d}" for d in range(1, rank)]]
    store_map = (
        f"affine_map<({', '.join(['i0', *[f'd{d}' for d in range(rank)]])}) -> ({', '.join(store_results)})>"
    )
    source = tuple(gm)
    text = f"""
builtin.module attributes {{npu.target = "ascend-910"}} {{
  func.func @main(%x: {tensor(source, "f32")}) -> {tensor(out, "f32")} {{
    %y = tile.launch @k(%x) : ({tensor(source, "f32")}) -> {tensor(out, "f32")}
    func.return %y : {tensor(out, "f32")}
  }}
  tile.kernel @k(%A: {memref(source, "f32", "gm")}, %Y: {memref(out, "f32", "gm")}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %xs = tile.alloc {{address = 0, slots = 2}} : {memref(shape, "f32", "ub")}
    %zs = tile.alloc {{address = {2 * buffer_bytes(shape, "f32")}}} : {memref(swapped, "f32", "ub")}
    scf.for %i = %c0 to %c4 step %c1 {{
      %t = tile.slot %xs[%i] : {memref(shape, "f32", "ub")}
      tile.load %A[%i, %c1] into %t map {load_map} pad 7.0 : f32
        : {memref(source, "f32", "gm")}, {memref(shape, "f32", "ub")}
      tile.load %t[] into %zs map {copy_map} : {memref(shape, "f32", "ub")}, {memref(swapped, "f32", "ub")}
      tile.store %zs, %Y[%i] map {store_map} : {memref(swapped, "f32", "ub")}, {memref(out, "f32", "gm")}
    }}
    tile.return
  }}
}}"""
    return text, [np.arange(int(np.prod(source)), dtype=np.float32).reshape(source)]


@settings(max_examples=60, deadline=None)
@given(moves())
def test_loads_copies_and_stores(case: tuple[str, list[np.ndarray]]) -> None:
    check(*case)


CONVOLUTION = """
#l1 = #tile.space<l1>
#ub = #tile.space<ub>
builtin.module attributes {npu.target = "ascend-910"} {
  func.func @main(%x: tensor<9x11x5xf16>, %w: tensor<3x2x5x20xf16>) -> tensor<4x5x20xf32> {
    %y = tile.launch @k(%x, %w) : (tensor<9x11x5xf16>, tensor<3x2x5x20xf16>) -> tensor<4x5x20xf32>
    func.return %y : tensor<4x5x20xf32>
  }
  tile.kernel @k(%X: memref<9x11x5xf16, #tile.space<gm>>, %W: memref<3x2x5x20xf16, #tile.space<gm>>,
                 %Y: memref<4x5x20xf32, #tile.space<gm>>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %xs = tile.alloc {address = 0, slots = 2} : memref<5x11x5xf16, #l1>
    %ws = tile.alloc {address = 8192} : memref<3x2x5x20xf16, #l1>
    %as = tile.alloc {address = 0, rows = 2, slots = 2} : memref<2x5x2x5xf16, #tile.space<l0a>>
    %bs = tile.alloc {address = 0, rows = 2, slots = 2} : memref<2x5x20xf16, #tile.space<l0b>>
    %accs = tile.alloc {address = 0, rows = 2, slots = 2} : memref<2x5x20xf32, #tile.space<l0c>>
    %us = tile.alloc {address = 0, slots = 2} : memref<1x5x20xf32, #ub>
    tile.load %W[] into %ws map affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
      : memref<3x2x5x20xf16, #tile.space<gm>>, memref<3x2x5x20xf16, #l1>
    scf.for %h = %c0 to %c4 step %c2 {
      %n = arith.divui %h, %c2 : index
      %x = tile.slot %xs[%n] : memref<5x11x5xf16, #l1>
      tile.load %X[%h] into %x map affine_map<(i0, d0, d1, d2) -> (i0 * 2 + d0 - 1, d1 - 1, d2)> pad 0.0 : f16
        : memref<9x11x5xf16, #tile.space<gm>>, memref<5x11x5xf16, #l1>
      %acc = tile.slot %accs[%n] : memref<2x5x20xf32, #tile.space<l0c>>
      linalg.fill ins(%zero : f32) outs(%acc : memref<2x5x20xf32, #tile.space<l0c>>)
      scf.for %kh = %c0 to %c3 step %c1 {
        %n3 = arith.muli %n, %c3 : index
        %k = arith.addi %n3, %kh : index
        %a = tile.slot %as[%k] : memref<2x5x2x5xf16, #tile.space<l0a>>
        tile.load %x[%kh] into %a map affine_map<(i0, d0, d1, d2, d3) -> (d0 * 2 + i0, d1 * 2 + d2, d3)>
          : memref<5x11x5xf16, #l1>, memref<2x5x2x5xf16, #tile.space<l0a>>
        %b = tile.slot %bs[%k] : memref<2x5x20xf16, #tile.space<l0b>>
        tile.load %ws[%kh] into %b map affine_map<(i0, d0, d1, d2) -> (i0, d0, d1, d2)>
          : memref<3x2x5x20xf16, #l1>, memref<2x5x20xf16, #tile.space<l0b>>
        linalg.generic {
          indexing_maps = [affine_map<(h, w, n, j, c) -> (h, w, j, c)>, affine_map<(h, w, n, j, c) -> (j, c, n)>,
                           affine_map<(h, w, n, j, c) -> (h, w, n)>],
          iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
          ins(%a, %b : memref<2x5x2x5xf16, #tile.space<l0a>>, memref<2x5x20xf16, #tile.space<l0b>>)
          outs(%acc : memref<2x5x20xf32, #tile.space<l0c>>) {
        ^bb0(%p: f16, %q: f16, %o: f32):
          %p1 = arith.extf %p : f16 to f32
          %q1 = arith.extf %q : f16 to f32
          %m = arith.mulf %p1, %q1 : f32
          %s = arith.addf %o, %m : f32
          linalg.yield %s : f32
        }
      }
      scf.for %r = %c0 to %c2 step %c1 {
        %row = arith.addi %h, %r : index
        %u = tile.slot %us[%row] : memref<1x5x20xf32, #ub>
        tile.load %acc[%r] into %u map affine_map<(i0, d0, d1, d2) -> (i0 + d0, d1, d2)>
          : memref<2x5x20xf32, #tile.space<l0c>>, memref<1x5x20xf32, #ub>
        linalg.generic {
          indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
          iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%u : memref<1x5x20xf32, #ub>) outs(%u : memref<1x5x20xf32, #ub>) {
        ^bb0(%p: f32, %o: f32):
          %two = arith.constant 2.0 : f32
          %t = arith.mulf %p, %two : f32
          linalg.yield %t : f32
        }
        tile.store %u, %Y[%row] map affine_map<(i0, d0, d1, d2) -> (i0 + d0, d1, d2)>
          : memref<1x5x20xf32, #ub>, memref<4x5x20xf32, #tile.space<gm>>
      }
    }
    tile.return
  }
}"""


def convolution_inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, shape).astype(np.float16) for shape in ((9, 11, 5), (3, 2, 5, 20))]


def test_a_convolution_by_im2col_with_its_epilogue() -> None:
    check(CONVOLUTION, convolution_inputs())


def test_the_accumulator_can_be_stored_from_l0c() -> None:
    """As on cores whose cube results leave through GM: cast on the way out."""
    start = CONVOLUTION.index("      scf.for %r = ")
    end = CONVOLUTION.index("    tile.return")
    store = """      tile.store %acc, %Y[%h] map affine_map<(i0, d0, d1, d2) -> (i0 + d0, d1, d2)>
        : memref<2x5x20xf32, #tile.space<l0c>>, memref<4x5x20xf16, #tile.space<gm>>
    }
"""
    text = (CONVOLUTION[:start] + store + CONVOLUTION[end:]).replace("4x5x20xf32", "4x5x20xf16")
    check(text.replace("ascend-910", "ascend-910b"), convolution_inputs())
