"""Memory planning: no two buffers that live together overlap, and no more is used than has to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_mlir.analysis.memory import Lifetime, plan


@st.composite
def lifetimes(draw: st.DrawFn) -> list[Lifetime]:
    buffers: list[Lifetime] = []
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(0, 10))
        buffers.append(Lifetime(32 * draw(st.integers(1, 20)), start, start + draw(st.integers(0, 6))))
    return buffers


def alive_together(a: Lifetime, b: Lifetime) -> bool:
    return a.start <= b.end and b.start <= a.end


def lower_bound(buffers: list[Lifetime]) -> int:
    """The most bytes that live at one time."""
    return max((sum(b.size for b in buffers if b.start <= t <= b.end) for t in range(20)), default=0)


@given(lifetimes(), st.none() | st.integers(0, 6000))
def test_what_lives_together_does_not_overlap(buffers: list[Lifetime], capacity: int | None):
    addresses, used = plan(buffers, capacity)
    assert len(addresses) == len(buffers)
    placed = list(zip(addresses, buffers, strict=True))
    for i, (a, x) in enumerate(placed):
        assert a >= 0 and a % 32 == 0
        for b, y in placed[:i]:
            assert not alive_together(x, y) or a + x.size <= b or b + y.size <= a
    assert used == max((a + b.size for a, b in placed), default=0)


@given(lifetimes())
def test_bytes_used(buffers: list[Lifetime]):
    _, used = plan(buffers)
    assert lower_bound(buffers) <= used <= sum(b.size for b in buffers)


@given(lifetimes())
def test_everything_side_by_side_where_it_fits(buffers: list[Lifetime]):
    """Reuse would order instructions that are independent otherwise."""
    total = sum(b.size for b in buffers)
    addresses, used = plan(buffers, capacity=total)
    assert used == total
    assert addresses == [sum(b.size for b in buffers[:i]) for i in range(len(buffers))]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12))
def test_one_after_the_other_takes_the_largest(sizes: list[int]):
    buffers = [Lifetime(32 * size, time, time) for time, size in enumerate(sizes)]
    addresses, used = plan(buffers)
    assert used == 32 * max(sizes) and not any(addresses)


def test_the_end_counts():
    """A buffer that is read at the time when another is written lives together with it."""
    assert plan([Lifetime(64, 0, 1), Lifetime(64, 1, 2)]) == ([0, 64], 128)
    assert plan([Lifetime(64, 0, 0), Lifetime(64, 1, 2)]) == ([0, 0], 64)
