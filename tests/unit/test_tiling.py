"""Tile sizes: helpers, what `tilings` offers for random contractions, and that schedules fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, StringAttr, f16, f32
from xdsl.ir import Block
from xdsl.ir.affine import AffineExpr

from cubes import BITS, square
from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.tiling import (
    Dim,
    Product,
    balanced,
    ceil_div,
    divisor,
    fill,
    fill_divisors,
    panel_bytes,
)
from npu_mlir.analysis.tiling_search import NAMES, Tiling, tilings
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.passes import load_pass
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.passes.tile.kernel import read_kernel
from npu_mlir.passes.tile.kernel_sizes import kernel_sizes
from npu_mlir.pipeline import phases_between
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target, get_target
from random_linalg import LARGE, Program, make_program, multiply_add, programs

TARGETS = ("ascend-910", "ascend-910b", "toy")
EXTENT = st.integers(1, 300)
EXTENTS = st.lists(st.integers(1, 40), max_size=4)


@given(EXTENT, st.integers(1, 200), st.sampled_from([1, 4, 16]))
def test_balanced(extent: int, most: int, multiple: int):
    size = balanced(extent, most, multiple)
    assert 1 <= size <= max(most, 1)
    assert ceil_div(extent, size) <= ceil_div(extent, most)


@given(EXTENT, st.integers(-2, 400))
def test_divisor(extent: int, most: int):
    size = divisor(extent, most)
    assert extent % size == 0 and 1 <= size <= max(1, most)
    assert not any(extent % larger == 0 for larger in range(size + 1, min(extent, most) + 1))


@given(EXTENTS, st.integers(1, 5000), st.sampled_from([1, 16]))
def test_fill(extents: list[int], most: int, multiple: int):
    sizes = fill(extents, most, multiple)
    assert len(sizes) == len(extents) and all(1 <= s <= e for s, e in zip(sizes, extents, strict=True))
    assert math.prod(sizes) <= most
    if math.prod(extents) <= most:
        assert list(sizes) == extents


@pytest.mark.parametrize(
    ("extents", "most", "multiple", "sizes"),
    [
        ((1, 56, 56), 128, 1, (1, 2, 56)),
        # Two tiles of 50, which 64 may round up to 64, 63 may not.
        ((100,), 64, 16, (64,)),
        ((100,), 63, 16, (50,)),
        ((3, 100, 1), 64, 16, (1, 64, 1)),
        # Two tiles of 5: only the innermost dim is rounded.
        ((9, 4), 24, 16, (5, 4)),
        ((9, 4), 24, 2, (5, 4)),
        ((7, 9, 4), 40, 1, (1, 9, 4)),
        ((7, 9, 4), 72, 1, (2, 9, 4)),
    ],
)
def test_fill_by_hand(extents: tuple[int, ...], most: int, multiple: int, sizes: tuple[int, ...]):
    assert fill(extents, most, multiple) == sizes


@given(EXTENTS, st.integers(1, 5000))
def test_fill_divisors(extents: list[int], most: int):
    sizes = fill_divisors(extents, most)
    assert all(e % s == 0 for s, e in zip(sizes, extents, strict=True))
    assert math.prod(sizes) <= most


# ---- tilings --------------------------------------------------------------------------------------------------------


def linear(count: int, terms: dict[int, int]) -> Linear:
    return Linear(tuple(terms.get(d, 0) for d in range(count)), 0)


@st.composite
def products(draw: st.DrawFn) -> Product:
    """Products of up to two dims of each role; perhaps a convolution, whose rows are windows."""
    counts = [draw(st.integers(0, 1)), *(draw(st.integers(1, 2)) for _ in range(3))]
    roles: list[tuple[int, ...]] = []
    for count in counts:
        start = sum(map(len, roles))
        roles.append(tuple(range(start, start + count)))
    batch, m, n, k = roles
    total = sum(counts)
    windowed = k[0] if draw(st.booleans()) else None
    dims = [
        Dim(
            draw(st.integers(1, 5 if d == windowed else 200)),
            exact=d == windowed or (d in k and draw(st.booleans())),
        )
        for d in range(total)
    ]
    window = {m[0]: draw(st.integers(1, 2)), windowed: 1} if windowed is not None else None
    rows = [{d: 1} for d in (*batch, *m, *k) if window is None or d not in window]
    if window is not None:
        rows.insert(0, window)
    columns = [{d: 1} for d in (*batch, *k, *n)]
    maps = tuple(
        tuple(linear(total, terms) for terms in draw(st.permutations(side))) for side in (rows, columns)
    )
    element = draw(st.sampled_from(["f16", "f32"]))
    factors = (element, BITS[element])
    return Product(tuple(dims), batch, m, n, k, (maps[0], maps[1]), *factors, draw(st.integers(0, 40)), 4, 4)


def check_fits(p: Product, t: Tiling, target: Target) -> None:
    """The tile fits each memory, with two slots in L1, L0A and L0B."""
    for dim, size, inner in zip(p.dims, t.tile, t.inner, strict=True):
        assert 1 <= inner <= size and size % inner == 0
        assert not dim.exact or dim.extent % size == 0
    assert all(t.tile[d] == 1 for d in p.batch)
    looped = [d for d in (*p.batch, *p.m, *p.n) if t.tile[d] < p.dims[d].extent]
    assert sorted(t.order) == looped
    step = target.cube.tile(p.element)
    m, n = (
        round_up(math.prod(t.tile[d] for d in dims), side) for dims, side in ((p.m, step.m), (p.n, step.n))
    )
    k0 = round_up(math.prod(t.inner[d] for d in p.k), step.k)
    assert 4 * m * n * t.l0c_slots <= target.l0c
    assert 2 * p.bits * m * k0 <= 8 * target.l0a
    assert 2 * p.bits * n * k0 <= 8 * target.l0b
    panels = [panel_bytes(map_, t.tile, p.bits) for map_ in p.maps]
    chunked = any(t.tile[d] < p.dims[d].extent for d in p.k)
    slots = [
        1 if name in t.keep or not chunked else count for name, count in zip(NAMES, t.l1_slots, strict=True)
    ]
    assert sum(size * count for size, count in zip(panels, slots, strict=True)) <= target.l1
    for size, piece in zip(t.tile, t.piece, strict=True):
        assert size % piece == 0


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None)
@given(product=products())
def test_tilings_fit(name: str, product: Product):
    target = get_target(name)
    found = tilings(product, target)
    assert found, "every product has a tiling"
    for tiling in found:
        check_fits(product, tiling, target)
    assert [t.cycles for t in found] == sorted(t.cycles for t in found)


# ---- schedules as planned -------------------------------------------------------------------------------------------


@st.composite
def convolutions(draw: st.DrawFn) -> Program:
    """A convolution along one dim or, with one tap, a product."""
    element = draw(st.sampled_from([f16, f32]))
    size, stride = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    rows, c, n = (draw(st.integers(1, 150)) for _ in range(3))
    b, block = Builder(), Block()
    x = block.insert_arg(tensor_type(element, ((rows - 1) * stride + size, c)), 0)
    w = block.insert_arg(tensor_type(element, (size, c, n)), 1)
    window: Map = [AffineExpr.dimension(0) * stride + AffineExpr.dimension(2), 3]
    product = b.generic(
        [x, w], b.fill(0.0, (rows, n), f32), [window, [2, 3, 1], [0, 1]], 4, [2, 3], multiply_add
    )
    return make_program(b, block, [product])


PASSES = [name for phase in phases_between("linalg", "tile-memref") for name in phase.passes]
CHOSEN = PASSES.index("tile-choose-schedule") + 1


def run(module: ModuleOp, passes: Sequence[str]) -> list[tile.KernelOp]:
    """The kernels after the passes."""
    for name in passes:
        load_pass(name)().apply(make_context(), module)
    return [op for op in module.ops if isinstance(op, tile.KernelOp)]


def expected_panels(op: tile.KernelOp) -> list[int]:
    """The bytes of the panels of a kernel's contraction by its schedule."""
    kernel = read_kernel(op)
    assert op.schedule is not None
    sizes = kernel_sizes(kernel, op.schedule).tile
    panels: list[int] = []
    for compute in kernel.computes.values():
        if compute.contraction:
            of = kernel.classes.class_of[compute.key]
            tile_ = [sizes[c] for c in of]
            bits = tile.element_bits(compute.key.inputs[0].type.element_type)  # type: ignore[attr-defined]
            panels += [panel_bytes(map_, tile_, bits) for map_ in compute.maps[:2]]
    return sorted(panels)


@pytest.mark.parametrize("target", TARGETS)
def test_panels_take_the_bytes_expected(target: str):
    """`panel_bytes` of the chosen tile is what the buffers in L1 take, one by one."""

    @settings(max_examples=15, deadline=None)
    @given(convolutions())
    def check(program: Program) -> None:
        module = program.module
        module.attributes["npu.target"] = StringAttr(target)
        expected = [expected_panels(kernel) for kernel in run(module, PASSES[:CHOSEN])]
        for kernel, panels in zip(run(module, PASSES[CHOSEN:]), expected, strict=True):
            buffers = [op for op in kernel.walk() if isinstance(op, tile.AllocOp)]
            assert (
                sorted(a.slot_bytes(square(1)) for a in buffers if space_of(a.buffer.type) is Space.L1)
                == panels
            )

    check()


@pytest.mark.parametrize("target", TARGETS)
def test_chosen_schedules_fit(target: str):
    """Memory planning never fails on a schedule of `tile-choose-schedule`, and every class has a size."""

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs(most=2, sizes=LARGE))
    def check(program: Program) -> None:
        module = program.module
        module.attributes["npu.target"] = StringAttr(target)
        for kernel in run(module, PASSES[:CHOSEN]):
            assert kernel.schedule is not None
            count = len(read_kernel(kernel).classes.classes)
            assert len(kernel_sizes(read_kernel(kernel), kernel.schedule).tile) == count
            for level in tile.SIZE_LEVELS:
                assert len(kernel.schedule.sizes(level)) in (0, count)
        for kernel in run(module, PASSES[CHOSEN:]):
            assert all(op.address is not None for op in kernel.walk() if isinstance(op, tile.AllocOp))

    check()
