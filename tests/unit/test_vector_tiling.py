"""What is cut first when the loop nests of a vector kernel are too large: cases worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_mlir.analysis.vector_tiling import VectorLoops, shrink

LANES = 64

ROWS = VectorLoops((0, 1), (0, 1), (), 1)
"""Two parallel classes."""
SUM = VectorLoops((0, 1), (0,), (1,), 0)
"""A parallel class, and one that is reduced."""


@pytest.mark.parametrize(
    ("nest", "extents", "budget", "expected"),
    [
        pytest.param(ROWS, (10, 64), 640, (10, 64), id="what fits stays whole"),
        pytest.param(ROWS, (10, 64), 639, (5, 64), id="one element too many"),
        # Parts of 50, 34, 25 rows.
        pytest.param(ROWS, (100, 64), 2048, (25, 64), id="outer classes first"),
        pytest.param(ROWS, (2, 64), 64, (1, 64), id="an outer class of two"),
        # 2 and 3 parts are 3 and 2, 4 parts are 2 again, 5 parts are 1.
        pytest.param(ROWS, (5, 64), 64, (1, 64), id="parts of the same size are passed over"),
        pytest.param(ROWS, (4, 300), 128, (1, 100), id="then rows wider than the lanes"),
        pytest.param(ROWS, (1, 50), 20, (1, 17), id="rows within the lanes last"),
        pytest.param(ROWS, (1, 2), 1, (1, 1), id="a row of two"),
        # 500, 334, 250: 128 * 250 = 32000.
        pytest.param(SUM, (128, 1000), 32768, (128, 250), id="a long reduction before rows"),
        pytest.param(SUM, (256, 65), 8448, (256, 33), id="65 is long"),
        pytest.param(SUM, (256, 64), 8192, (128, 64), id="64 is short: rows before it"),
        pytest.param(SUM, (65, 64), 3000, (33, 64), id="65 rows are wider than the lanes"),
        pytest.param(SUM, (64, 64), 2048, (64, 32), id="a short reduction before rows within the lanes"),
        pytest.param(SUM, (1, 2), 1, (1, 1), id="a reduction of two"),
        pytest.param(SUM, (2, 1), 1, (1, 1), id="a reduction of one is left alone"),
        pytest.param(
            VectorLoops((0, 1), (), (0, 1), None), (100, 300), 20000, (100, 150), id="the longest reduction"
        ),
        pytest.param(
            VectorLoops((0, 1), (), (0, 1), None), (300, 100), 20000, (150, 100), id="wherever it is"
        ),
        pytest.param(
            VectorLoops((0, 1), (), (), None), (100, 300), 20, (100, 300), id="what must stay whole"
        ),
        pytest.param(VectorLoops((0, 1), (1,), (), 1), (100, 300), 20, (100, 1), id="what is cut beside it"),
    ],
)
def test_what_is_cut(nest: VectorLoops, extents: tuple[int, int], budget: int, expected: tuple[int, int]):
    assert shrink([nest], dict(enumerate(extents)), budget, LANES) == dict(enumerate(expected))


def test_the_largest_nest_decides():
    # 40 * 64 is the larger one; the other one is within the budget all the time.
    nests = [VectorLoops((0,), (0,), (), 0), VectorLoops((1, 2), (1, 2), (), 2)]
    assert shrink(nests, {0: 1000, 1: 40, 2: 64}, 1280, LANES) == {0: 1000, 1: 20, 2: 64}


@given(st.lists(st.integers(1, 200), min_size=1, max_size=3), st.integers(1, 5000), st.sampled_from([8, 64]))
def test_parallel_nests_come_within_the_budget(extents: list[int], budget: int, lanes: int):
    classes = tuple(range(len(extents)))
    nest = VectorLoops(classes, classes, (), classes[-1])
    sizes = shrink([nest], dict(enumerate(extents)), budget, lanes)
    assert math.prod(sizes.values()) <= budget
    assert all(1 <= sizes[c] <= extent for c, extent in enumerate(extents))
