"""What instructions say about themselves: the memory that they touch and the work that they are."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import AffineMapAttr, FloatAttr, MemRefType, NoneAttr, f16, f32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from cubes import square
from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa import CubeWork, Extent, MoveWork, VectorWork, base
from npu_mlir.dialects.tile import Space, SpaceAttr
from npu_mlir.simulator.program import extents
from npu_mlir.simulator.program.extents import overlap


def addr(space: Space) -> SSAValue:
    return npu_isa.BufferOp(SpaceAttr(space), 0, 32).result


UB, L1, L0A, L0B, L0C = (addr(s) for s in (Space.UB, Space.L1, Space.L0A, Space.L0B, Space.L0C))


@pytest.mark.parametrize("module", [base, extents], ids=lambda module: module.__name__)
def test_doctests(module: ModuleType):
    assert doctest.testmod(module).failed == 0


def touched(op: npu_isa.Instruction) -> list[tuple[SSAValue, bool, Extent | None]]:
    return [(a.operand, a.write, a.extent) for a in op.accesses(square(16))]


# ---- accesses --------------------------------------------------------------------------------------------------------


def test_a_load_writes_its_whole_destination():
    x = AnyOp(result_types=[MemRefType(f16, (60, 50), NoneAttr(), SpaceAttr(Space.GM))]).results[0]
    map_ = AffineMapAttr(AffineMap.from_callable(lambda a, b: (a, b)))
    op = npu_isa.LoadL1Op(x, [], L1, map_, (16, 60), (64, 1), FloatAttr(0.0, f16))
    assert touched(op) == [(x, False, None), (L1, True, Extent(((16, 128),), 120))]


def test_l0_loads_write_padded_matrices():
    op = npu_isa.LoadL0AOp(L1, L0A, (5, 20), (32, 1), 1, f16)
    assert touched(op)[1] == (L0A, True, Extent((), 16 * 32 * 2))
    assert [a.extent for a in op.accesses(square(4))][1] == Extent((), 8 * 20 * 2)


def test_mmad_reads_its_accumulator_unless_it_starts_from_zero():
    init = AnyOp(result_types=[npu_isa.cube.i1]).results[0]
    c = (L0C, True, Extent((), 16 * 16 * 4))
    for kwargs, reads in (({}, True), ({"init": init}, True), ({"zero": npu_isa.cube.UnitAttr()}, False)):
        op = npu_isa.MmadOp(L0C, L0A, L0B, (3, 4, 5), f16, f32, **kwargs)  # type: ignore[arg-type]
        assert (c in touched(op)) and ((c[0], False, c[2]) in touched(op)) == reads


def test_reductions_read_their_destination():
    op = npu_isa.VReduceOp("sum", UB, [UB], (4, 8), [(1, 0), (8, 1)], [f32, f32])
    assert touched(op)[1:] == [(UB, False, Extent((), 16)), (UB, True, Extent((), 16))]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), max_size=4),
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), max_size=4),
    st.integers(0, 40),
)
def test_extents_and_their_overlap_are_exact(
    a: list[tuple[int, int]], a_start: int, b: list[tuple[int, int]], b_start: int
):
    def of(dims: list[tuple[int, int]]) -> tuple[Extent, set[int]]:
        extent = base.strided_extent([n for n, _ in dims], [s for _, s in dims], 16)
        elements = np.zeros(1, int)
        for count, stride in dims:
            elements = (elements[:, None] + np.arange(count) * stride).ravel()
        return extent, {2 * int(e) + i for e in elements for i in (0, 1)}

    (a_extent, a_bytes), (b_extent, b_bytes) = of(a), of(b)
    runs = extents.run_starts(a_extent)
    assert {int(r) + i for r in runs for i in range(a_extent.run)} == a_bytes
    assert a_extent.end == max(a_bytes) + 1
    shared = {a_start + x for x in a_bytes} & {b_start + x for x in b_bytes}
    assert overlap(a_start, a_extent, b_start, b_extent) == bool(shared)


# ---- work ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strides", "moved"),
    [((256, 1), 16384), ((1, 256), 16384), ((256, 2), 128 * 64 * 32)],
    ids=["along columns", "along rows", "neither"],
)
def test_work_of_l0_loads(strides: tuple[int, int], moved: int):
    op = npu_isa.LoadL0BOp(L1, L0B, (128, 64), strides, 1, f16)
    assert op.work() == MoveWork("l1_l0b", moved)


@pytest.mark.parametrize(
    ("gm", "shape", "function", "strides", "moved"),
    [
        ((60, 50), (60, 50), lambda a, b: (a, b), (50, 1), 6016),
        ((60, 50), (60, 50), lambda a, b: (a, b), (64, 1), 60 * 128),
        ((60, 50), (60, 25), lambda a, b: (a, b * 2), (25, 1), 60 * 25 * 32),
        ((50, 60), (60, 50), lambda a, b: (b, a), (64, 1), 50 * 60 * 32),
        ((50, 60), (60, 50), lambda a, b: (b, a), (1, 60), 6016),
    ],
    ids=["one run", "rows", "every other", "transposed", "transposed twice"],
)
def test_work_of_loads(
    gm: tuple[int, int],
    shape: tuple[int, int],
    function: Callable[..., Any],
    strides: tuple[int, int],
    moved: int,
):
    map_ = AffineMapAttr(AffineMap.from_callable(function))
    x = AnyOp(result_types=[MemRefType(f16, gm, NoneAttr(), SpaceAttr(Space.GM))]).results[0]
    assert npu_isa.LoadL1Op(x, [], L1, map_, shape, strides).work() == MoveWork("gm_l1", moved)


def test_work_of_the_cube():
    op = npu_isa.MmadOp(L0C, L0A, L0B, (3, 4, 5), f32, f32)
    assert op.work() == CubeWork(3, 4, 5, "f32")


@pytest.mark.parametrize(
    ("strides", "rows", "row_bytes", "strided"),
    [
        ([(8, 1), (8, 1)], 1, 32 * 4, ()),
        ([(16, 1), (8, 1)], 4, 8 * 4, ((1, 4),)),
        ([(8, 1), (0, 1)], 4, 8 * 4, ((1, 4),)),
        ([(12, 1), (8, 1)], 4, 8 * 4, ()),
        ([(8, 1), (1, 4)], 4, 8 * 32, ()),
        ([(8, 1), (1, 0)], 4, 8 * 4, ()),
    ],
    ids=["collapsed", "rows", "broadcast rows", "rows between blocks", "strided", "broadcast elements"],
)
def test_work_of_vector_instructions(
    strides: list[tuple[int, int]], rows: int, row_bytes: int, strided: tuple[tuple[int, int], ...]
):
    op = npu_isa.VUnaryOp("exp", UB, [UB], (4, 8), strides, [f32, f32])
    assert op.work() == VectorWork("exp", rows, row_bytes, strided)


def test_kinds_of_vector_cost():
    def kind(op: npu_isa.VectorInstruction) -> str:
        return op.work().kind

    one, zero = (1,), (0,)
    imm = FloatAttr(1.0, f32)
    assert kind(npu_isa.VBinaryOp("add", UB, [UB, UB], (8,), [one] * 3, [f32] * 3)) == "add"
    assert kind(npu_isa.VBinaryOp("add", UB, [UB], (8,), [one] * 2, [f32] * 2, imm, 1)) == "scalar"
    assert kind(npu_isa.VBinaryOp("div", UB, [UB], (8,), [one] * 2, [f32] * 2, imm, 1)) == "div"
    assert kind(npu_isa.VReduceOp("sum", UB, [UB], (8,), [zero, one], [f32] * 2)) == "reduce"
    assert kind(npu_isa.VReduceOp("sum", UB, [UB], (8,), [one, one], [f32] * 2)) == "add"
    assert kind(npu_isa.VCastOp("ucast", UB, [UB], (8,), [one, one], [f32] * 2)) == "cast"
