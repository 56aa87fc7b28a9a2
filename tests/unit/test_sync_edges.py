"""Which edges imply others of their kind, and what becomes of two that are merged."""

from __future__ import annotations

import pytest

from npu_mlir.analysis.sync_edges import Edge, merge, undominated

SLOT = (7, 2)


def edge(
    start: int, end: int, back: bool = False, dst: str = "M", slot: tuple[int, int] | None = None
) -> Edge:
    return Edge("V", dst, start, end, back, slot, 1 if slot is None else slot[1])


def test_points():
    # Behind item 3, before item 5: the gap between items 3 and 4 is point 8.
    assert (edge(3, 5).set_point, edge(3, 5).wait_point) == (7, 10)
    assert edge(3, 4).set_point < edge(3, 4).wait_point
    assert edge(3, 5).pair == ("V", "M")


@pytest.mark.parametrize(
    ("one", "other", "cost", "ends"),
    [
        pytest.param(edge(1, 6), edge(4, 8), 5, (4, 6), id="three items later, two earlier"),
        pytest.param(edge(4, 8), edge(1, 6), 5, (4, 6), id="the other way round"),
        pytest.param(edge(1, 8), edge(4, 6), 5, (4, 6), id="one implies the other"),
        pytest.param(edge(1, 6, slot=SLOT), edge(4, 8, slot=SLOT), 5, (4, 6), id="of a slot"),
        pytest.param(edge(6, 1, True), edge(8, 4, True), 5, (8, 1), id="back"),
        pytest.param(edge(1, 4), edge(3, 6), 4, (3, 4), id="just behind each other"),
    ],
)
def test_merged(one: Edge, other: Edge, cost: int, ends: tuple[int, int]):
    ((found, merged),) = merge(one, other)
    assert found == cost
    assert merged == one._replace(set_item=ends[0], wait_item=ends[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(edge(1, 3), edge(3, 6), id="the second starts where the first is waited for"),
        pytest.param(edge(1, 2), edge(4, 6), id="one behind the other"),
        pytest.param(edge(1, 6), edge(1, 6, True), id="forward and back"),
        pytest.param(edge(1, 6), edge(4, 8, dst="FIX"), id="other pipes"),
        pytest.param(edge(1, 6), edge(4, 8, slot=SLOT), id="with and without slots"),
    ],
)
def test_not_merged(one: Edge, other: Edge):
    assert not list(merge(one, other))


def test_a_later_set_and_an_earlier_wait_imply_an_edge():
    assert undominated([edge(1, 6), edge(2, 5)]) == [edge(2, 5)]
    assert undominated([edge(2, 5), edge(1, 6)]) == [edge(2, 5)]
    assert undominated([edge(1, 5), edge(2, 5)]) == [edge(2, 5)]
    assert undominated([edge(2, 6), edge(2, 5)]) == [edge(2, 5)]


def test_others_stay_by_their_waits():
    assert undominated([edge(2, 6), edge(1, 5)]) == [edge(1, 5), edge(2, 6)]
    assert undominated([edge(3, 7), edge(2, 6), edge(1, 5)]) == [edge(1, 5), edge(2, 6), edge(3, 7)]
    kinds = [edge(1, 6), edge(2, 5, True), edge(2, 5, dst="FIX"), edge(2, 5, slot=SLOT)]
    assert set(undominated(kinds)) == set(kinds)
