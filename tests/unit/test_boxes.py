"""Boxes of arrays, moved by loops: compared with the elements that they cover, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_mlir.analysis.boxes import Box, Coordinate, Term, may_overlap

COMMON = ("outer", "inner")
LOOPS = (*COMMON, "first", "second")
"""Around both accesses, around the first, and around the second."""

Iterations = dict[str, int]


def elements(box: Box, at: Iterations) -> set[tuple[int, ...]]:
    """The elements that a box covers in certain iterations."""
    ranges: list[list[int]] = []
    for c in box:
        assert c is not None
        start = c.constant + sum(t.coefficient * at[str(t.loop)] for t in c.terms)
        ranges.append([e for k in range(c.count) if 0 <= (e := start + c.step * k) < c.extent])
    return set(itertools.product(*ranges))


def executions(trips: dict[str, int], loops: Sequence[str]) -> Iterator[Iterations]:
    for numbers in itertools.product(*(range(trips[loop]) for loop in loops)):
        yield dict(zip(loops, numbers, strict=True))


def overlap(one: Box, other: Box, trips: dict[str, int], distinct: bool) -> bool:
    """Whether they share an element, by looking at all."""
    return any(
        elements(one, here) & elements(other, there)
        for here in executions(trips, [*COMMON, "first"])
        for there in executions(trips, [*COMMON, "second"])
        if not distinct or any(here[loop] != there[loop] for loop in COMMON)
    )


@st.composite
def box_pairs(draw: Any) -> tuple[Box, Box, dict[str, int]]:
    """Two boxes of an array of rank 1 or 2, moved by the loops around them in any way."""
    extents = draw(st.lists(st.integers(1, 12), min_size=1, max_size=2))
    trips = {loop: draw(st.integers(1, 3)) for loop in LOOPS}
    known = {loop: draw(st.booleans()) for loop in LOOPS}

    def box(own: str) -> Box:
        coordinates: list[Coordinate] = []
        for extent in extents:
            loops = draw(st.lists(st.sampled_from([*COMMON, own]), max_size=2, unique=True))
            terms = [
                Term(loop, draw(st.integers(-6, 8)), trips[loop] if known[loop] else None) for loop in loops
            ]
            count, step = draw(st.integers(1, 4)), draw(st.sampled_from([1, 1, 2, 3]))
            coordinates.append(Coordinate(draw(st.integers(-3, 12)), tuple(terms), count, step, extent))
        return tuple(coordinates)

    return box("first"), box("second"), trips


@settings(max_examples=1500, deadline=None)
@given(box_pairs(), st.booleans())
def test_no_element_that_is_shared_is_missed(pair: tuple[Box, Box, dict[str, int]], distinct: bool):
    one, other, trips = pair
    if overlap(one, other, trips, distinct):
        assert may_overlap(one, other, COMMON if distinct else None)


@settings(max_examples=1000, deadline=None)
@given(st.data())
def test_boxes_that_do_not_move(data: st.DataObject):
    """The answer is exact for boxes of equal steps, at the border of the array as well."""
    draw = data.draw
    rank = draw(st.integers(0, 3))
    extents, steps = ([draw(st.integers(1, 6)) for _ in range(rank)] for _ in range(2))
    one, other = (
        tuple(
            Coordinate(draw(st.integers(-4, 8)), (), draw(st.integers(1, 4)), step, extent)
            for step, extent in zip(steps, extents, strict=True)
        )
        for _ in range(2)
    )
    assert may_overlap(one, other) == overlap(one, other, dict.fromkeys(LOOPS, 1), distinct=False)


@settings(max_examples=1000, deadline=None)
@given(st.data(), st.booleans())
def test_tiles_that_loops_move(data: st.DataObject, distinct: bool):
    """The answer is exact where each coordinate has a loop of its own, which moves both boxes by the same."""
    draw = data.draw
    trips = dict.fromkeys(LOOPS, 1) | {loop: draw(st.integers(2, 4)) for loop in COMMON}
    moves = [draw(st.integers(0, 8)) for _ in COMMON]
    one, other = (
        tuple(
            Coordinate(
                draw(st.integers(0, 8)), (Term(loop, move, trips[loop]),), draw(st.integers(1, 8)), 1, 100
            )
            for loop, move in zip(COMMON, moves, strict=True)
        )
        for _ in range(2)
    )
    expected = overlap(one, other, trips, distinct)
    assert may_overlap(one, other, COMMON if distinct else None) == expected


def rows(constant: int, count: int, *terms: Term) -> Box:
    return (Coordinate(constant, terms, count, 1, 4096),)


def test_halves():
    assert not may_overlap(rows(0, 64), rows(64, 64))
    assert may_overlap(rows(0, 65), rows(64, 64))


@pytest.mark.parametrize("trips", [8, None])
def test_even_and_odd_tiles(trips: int | None):
    """Their ranges overlap as a whole; that they never meet follows from the common divisor."""
    even, odd = rows(0, 64, Term("outer", 128, trips)), rows(64, 64, Term("outer", 128, trips))
    assert not may_overlap(even, odd)
    assert may_overlap(rows(0, 65, Term("outer", 128, trips)), odd)


def test_tiles_of_different_iterations():
    tile = rows(0, 64, Term("outer", 64, None))
    assert may_overlap(tile, tile)
    assert not may_overlap(tile, tile, ["outer"])
    assert may_overlap(rows(1, 64, Term("outer", 64, None)), tile, ["outer"])


def test_nothing_is_known_of_a_coordinate():
    known = Coordinate(0, (), 4, 1, 8)
    apart = Coordinate(4, (), 4, 1, 8)
    assert may_overlap((None, known), (apart, known))
    assert not may_overlap((None, known), (None, apart))


def test_a_loop_that_runs_once_has_no_other_iteration():
    tile = rows(0, 64, Term("outer", 0, 1))
    assert may_overlap(tile, tile)
    assert not may_overlap(tile, tile, ["outer"])
