"""Rewrites of strided loop nests visit the same elements: checked against all points of the iteration space."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.strides import (
    Lanes,
    StridedLoops,
    StrideError,
    check_extents,
    collapse,
    cost,
    drop_unit_dims,
    element_strides,
    order,
    simplify,
    split,
    widen,
)

F32 = Lanes(256, (4, 4))


def visits(nest: StridedLoops) -> Counter[tuple[int, ...]]:
    """How often each tuple of element offsets (one per operand) is visited."""
    points = product(*map(range, nest.extents))
    return Counter(tuple(int(np.dot(row, p)) if p else 0 for row in nest.strides) for p in points)


@st.composite
def nests(draw: Any) -> StridedLoops:
    """Some loops of a row-major walk, others with arbitrary strides."""
    extents = tuple(draw(st.lists(st.integers(1, 4), max_size=5)))
    rows: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(1, 3))):
        contiguous: list[int] = []
        step = draw(st.sampled_from([0, 1, 2]))
        for extent in reversed(extents):
            contiguous.insert(0, step)
            step *= extent
            if draw(st.integers(0, 3)) == 0:
                step = draw(st.sampled_from([0, 1, 3, 16, step + 2]))
        rows.append(tuple(contiguous))
    permutation = draw(st.permutations(range(len(extents))))
    return StridedLoops(extents, tuple(rows)).select(permutation)


@given(nests())
def test_every_rewrite_visits_the_same_elements(nest: StridedLoops) -> None:
    expected = visits(nest)
    assert visits(drop_unit_dims(nest)) == expected
    assert visits(collapse(nest)) == expected
    assert visits(order(nest, Lanes(256, (4,) * len(nest.strides)))) == expected


@given(nests(), st.integers(1, 4))
def test_split_nests_visit_the_same_elements(nest: StridedLoops, rank: int) -> None:
    outside, inside = split(nest, rank)
    assert inside.rank <= max(rank, 1) and outside.rank + inside.rank == nest.rank
    total: Counter[tuple[int, ...]] = Counter()
    for base, times in visits(outside).items():
        for point, more in visits(inside).items():
            total[tuple(a + b for a, b in zip(base, point, strict=True))] += times * more
    assert total == visits(nest)


@given(nests())
def test_collapsed_nests_cannot_be_collapsed_further(nest: StridedLoops) -> None:
    short = collapse(drop_unit_dims(nest))
    for outer, inner in product(range(short.rank), repeat=2):
        steps = [(row[outer], row[inner] * short.extents[inner]) for row in short.strides]
        assert outer == inner or any(a != b for a, b in steps)


@given(nests(), st.sampled_from([32, 256]), st.sampled_from([1, 4]))
def test_the_innermost_loop_costs_least(nest: StridedLoops, width: int, folding: int) -> None:
    lanes = Lanes(width, (4,) * len(nest.strides), 32, 1, folding)
    if nest.rank:
        ordered = order(nest, lanes)
        best = min(lanes.cost(nest, d) for d in range(nest.rank))
        assert lanes.cost(ordered, ordered.rank - 1) == best


@given(nests(), st.integers(1, 3), st.sampled_from([32, 256]))
def test_widening_pays_or_is_not_done(nest: StridedLoops, more: int, width: int) -> None:
    lanes = Lanes(width, (4,) * len(nest.strides))
    for dim in range(nest.rank):
        wider = widen(nest, dim, nest.extents[dim] + more, lanes)
        assert wider == nest or cost(wider, lanes) <= cost(nest, lanes)


def test_rows_with_padding_become_one_run() -> None:
    rows = StridedLoops((32, 20), ((24, 1), (24, 1)))
    assert simplify(widen(rows, 1, 24, F32), F32) == StridedLoops((768,), ((1,), (1,)))


def test_a_column_sum_runs_along_the_rows_of_memory() -> None:
    by_columns = StridedLoops((100, 3), ((1, 0), (1, 128)))
    assert order(by_columns, F32) == StridedLoops((3, 100), ((0, 1), (128, 1)))


def test_a_transpose_keeps_both_dims() -> None:
    transpose = collapse(StridedLoops((4, 8), ((1, 4), (8, 1))))
    assert transpose.rank == 2


def test_a_strided_long_loop_beats_a_contiguous_short_one() -> None:
    """An element off its neighbours takes a block of 32 bytes: 8 a step, more than a row of 3 has."""
    channels_last = StridedLoops((3, 2464), ((1, 16), (2464, 1)))
    assert order(channels_last, F32).extents == (3, 2464)


def test_short_rows_are_summed_across() -> None:
    """Folding lanes into one element is slow: with few columns, the lanes run over the rows instead."""
    lanes = Lanes(256, (4, 4), 32, cycles=2, folding_cycles=7)
    sums = {columns: StridedLoops((64, columns), ((1, 0), (columns, 1))) for columns in (3, 64)}
    assert order(sums[3], lanes).extents == (3, 64)
    assert order(sums[64], lanes) == sums[64]


@st.composite
def accesses(draw: Any) -> tuple[tuple[int, ...], list[list[Linear]], list[tuple[int, ...]]]:
    """Extents, and maps with the shapes of operands just large enough for them."""
    extents = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    rank = len(extents)
    identity = [Linear(tuple(int(d == i) for d in range(rank)), 0) for i in range(rank)]
    maps = [identity]
    for _ in range(draw(st.integers(0, 2))):
        exprs = st.builds(
            Linear,
            st.tuples(*[st.integers(0, 3)] * rank),
            st.integers(0, 2),
        )
        maps.append(draw(st.lists(exprs, max_size=3)))
    shapes: list[tuple[int, ...]] = []
    for map_ in maps:
        last = [
            e.constant + sum(c * (n - 1) for c, n in zip(e.coefficients, extents, strict=True)) for e in map_
        ]
        # A plain dim gives its extent exactly; other results need at least the room that they reach.
        shapes.append(
            tuple(
                end + 1 + (0 if e.dim() is not None else draw(st.integers(0, 2)))
                for e, end in zip(map_, last, strict=True)
            )
        )
    return extents, maps, shapes


@given(accesses())
def test_maps_become_strides(case: tuple[tuple[int, ...], list[list[Linear]], list[tuple[int, ...]]]) -> None:
    extents, maps, shapes = case
    check_extents(maps, shapes, extents)
    for map_, shape in zip(maps, shapes, strict=True):
        data = np.arange(int(np.prod(shape, initial=1))).reshape(shape)
        memory = [s // data.itemsize for s in data.strides]
        strides = element_strides([e.coefficients for e in map_], memory, len(extents))
        start = sum(e.constant * m for e, m in zip(map_, memory, strict=True))
        for point in product(*map(range, extents)):
            index = tuple(e.constant + int(np.dot(e.coefficients, point)) for e in map_)
            assert data[index] == start + int(np.dot(strides, point))


def test_operands_that_disagree_are_an_error() -> None:
    plain = [Linear((1,), 0)]
    with pytest.raises(StrideError, match="dimension 0 has extents 4 and 5"):
        check_extents([plain, plain], [(4,), (5,)], (4,))


def test_coordinates_outside_of_an_operand_are_an_error() -> None:
    with pytest.raises(StrideError, match="coordinates from 1 to 4 leave a dimension of 4"):
        check_extents([[Linear((1,), 0)], [Linear((1,), 1)]], [(4,), (4,)], (4,))


@pytest.mark.parametrize(
    ("coordinate", "size", "low", "high"),
    [
        # The loops run to 4 and to 3.
        (Linear((1, 1), 0), 6, 0, 5),
        (Linear((2, 0), 1), 8, 1, 7),
        (Linear((-1, 0), 3), 4, 0, 3),
        (Linear((-1, 0), 2), 4, -1, 2),
        (Linear((-1, -2), 7), 8, 0, 7),
        (Linear((2, -3), 6), 13, 0, 12),
        (Linear((2, -3), 5), 13, -1, 11),
        (Linear((0, 0), 5), 6, 5, 5),
    ],
)
def test_bounds_of_coordinates(coordinate: Linear, size: int, low: int, high: int) -> None:
    loops = [Linear((1, 0), 0), Linear((0, 1), 0)]

    def check(size: int) -> None:
        # Whichever coordinate of an operand it is.
        check_extents([loops, [Linear((0, 0), 0), coordinate]], [(4, 3), (1, size)], (4, 3))

    if low < 0:
        with pytest.raises(
            StrideError, match=f"coordinates from {low} to {high} leave a dimension of {size}"
        ):
            check(size)
        return
    check(size)
    check(high + 1)
    with pytest.raises(StrideError, match=f"coordinates from {low} to {high} leave a dimension of {high}"):
        check(high)


def test_without_iterations_there_are_no_coordinates() -> None:
    loops = [Linear((1, 0), 0), Linear((0, 1), 0)]
    check_extents([loops, [Linear((1, 1), 9)]], [(0, 3), (1,)], (0, 3))


@pytest.mark.parametrize(
    ("nest", "innermost", "lanes", "cycles"),
    [
        # 64 f32 are 256 B: a step for each row.
        pytest.param(StridedLoops((3, 64), ((64, 1), (64, 1))), 1, F32, 3, id="rows of one step"),
        pytest.param(StridedLoops((3, 65), ((65, 1), (65, 1))), 1, F32, 6, id="one element more"),
        # Elements that lie apart take 32 B each, 8 to a step.
        pytest.param(StridedLoops((3, 64), ((64, 1), (64, 1))), 0, F32, 64, id="columns of three"),
        pytest.param(StridedLoops((64, 3), ((1, 64), (1, 64))), 0, F32, 3, id="columns that lie together"),
        pytest.param(StridedLoops((16,), ((1,), (2,))), 0, F32, 2, id="every other element"),
        pytest.param(StridedLoops((64,), ((1,), (0,))), 0, F32, 1, id="one element for all"),
        pytest.param(
            StridedLoops((64,), ((1,), (1,))), 0, Lanes(256, (4, 2)), 1, id="the wider operand counts"
        ),
        pytest.param(StridedLoops((128,), ((1,), (1,))), 0, Lanes(256, (2, 2)), 1, id="twice as many halves"),
        pytest.param(
            StridedLoops((64, 3), ((1, 0), (1, 64))),
            1,
            Lanes(256, (4, 4), 32, 2, 7),
            448,
            id="sums are folded",
        ),
        pytest.param(
            StridedLoops((64, 3), ((1, 0), (1, 64))),
            0,
            Lanes(256, (4, 4), 32, 2, 7),
            6,
            id="or added in lanes",
        ),
    ],
)
def test_cycles_by_hand(nest: StridedLoops, innermost: int, lanes: Lanes, cycles: int) -> None:
    assert lanes.cost(nest, innermost) == cycles


def test_outer_loops_go_by_falling_strides() -> None:
    nest = StridedLoops((2, 3, 4, 64), ((256, 64, 1024, 1), (64, 128, 4096, 1)))
    assert order(nest, F32).extents == (4, 2, 3, 64)
    # Strides of the written operand first, of the read one where those are equal.
    assert order(StridedLoops((2, 3, 64), ((0, 0, 1), (64, 128, 1))), F32).extents == (3, 2, 64)


def test_of_loops_that_cost_the_same_the_one_of_smallest_strides_is_innermost() -> None:
    assert order(StridedLoops((8, 8), ((8, 1), (1, 8))), F32).extents == (8, 8)
    assert order(StridedLoops((8, 8), ((8, 1), (1, 8))), F32).strides == ((8, 1), (1, 8))
    assert order(StridedLoops((8, 8), ((1, 8), (8, 1))), F32).strides == ((8, 1), (1, 8))


def test_the_shortest_loops_go_out_in_their_order() -> None:
    nest = StridedLoops((3, 8, 2, 64), ((64, 256, 0, 1),))
    outside, inside = split(nest, 2)
    assert outside == StridedLoops((3, 2), ((64, 0),)) and inside == StridedLoops((8, 64), ((256, 1),))
    # The innermost stays, however short.
    assert split(StridedLoops((8, 2), ((2, 1),)), 1) == (
        StridedLoops((8,), ((2,),)),
        StridedLoops((2,), ((1,),)),
    )
    assert split(nest, 4) == (StridedLoops((), ((),)), nest)


def test_blocks_of_a_step_may_lie_along_another_loop() -> None:
    halves = Lanes(256, (2, 2))
    # 56 rows of 24 f16 take two blocks each: 8 of them are a step.
    assert cost(StridedLoops((56, 24), ((32, 1), (64, 1))), halves) == 2 * 7
    # A row that is no multiple of blocks away, a widening operation, and an accumulator that all rows share.
    assert cost(StridedLoops((56, 24), ((32, 1), (40, 1))), halves) == 56
    assert cost(StridedLoops((56, 24), ((32, 1), (64, 1))), Lanes(256, (4, 2))) == 56
    assert cost(StridedLoops((56, 24), ((0, 1), (64, 1))), halves) == 56
    # A row that all share.
    assert cost(StridedLoops((56, 24), ((32, 1), (0, 1))), halves) == 2 * 7


def test_what_is_widened() -> None:
    wide = widen(StridedLoops((32, 22, 2), ((48, 2, 1), (48, 2, 1))), 1, 24, F32)
    assert wide.extents == (32, 24, 2)
    assert cost(StridedLoops((), ((), ())), F32) == 1
    # 20 rows of 3 with a pitch of 4: 20 steps, or 80 elements in two steps.
    assert widen(StridedLoops((20, 3), ((4, 1), (4, 1))), 1, 4, F32).extents == (20, 4)
    assert widen(StridedLoops((20, 3), ((3, 1), (4, 1))), 1, 4, F32).extents == (20, 3)
