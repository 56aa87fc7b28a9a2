"""May two accesses to an array touch the same element, in whatever iterations of the loops around them?

    for i:                                        rows 128 i .. 128 i + 63
      store y[128 i ..]       64 rows
      load  y[128 i + 64 ..]  64 rows             rows 128 j + 64 .. 128 j + 127: never the same, for any i and j

A box covers `count` elements at a distance of `step` along each coordinate, from a start that is linear in the numbers
of iterations. Two boxes share an element if along every coordinate `start_a + step_a * k = start_b + step_b * l` for
some iterations and places k, l: a linear equation whose unknowns have bounds. That it has no solution is shown by a
bound on the sum (Banerjee's inequality) together with the greatest common divisor of a part of the coefficients
(U. Banerjee, Dependence Analysis for Supercomputing, 1988): the part is a multiple of the divisor, and the rest, which
is bounded, has to be its negative.

The answer no is certain; yes may be wrong where several coordinates depend on one loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, inf
from typing import Literal, NamedTuple


class Term(NamedTuple):
    """What a loop adds to a start: `coefficient` times the number of the iteration."""

    loop: Hashable
    coefficient: int
    trips: int | None
    """How many iterations there are, None if that is not known."""


@dataclass(frozen=True)
class Coordinate:
    """The elements `constant + terms + step * k` for k from 0 to `count - 1`, of `extent` that there are from 0 on."""

    constant: int
    terms: tuple[Term, ...]
    count: int
    step: int
    extent: int


Box = tuple[Coordinate | None, ...]
"""The coordinates of the elements that an access touches; None for one of which nothing is known."""

Relation = Literal["equal", "before", "after"]
"""How the iteration of the first access lies to that of the second."""


class _Part(NamedTuple):
    """Multiples of `unit` from `low` to `high`."""

    unit: int
    low: float
    high: float


def may_overlap(one: Box, other: Box, distinct: Sequence[Hashable] | None = None) -> bool:
    """Whether two boxes of one array may share an element.

    With `distinct`, the loops around both from the outermost on: in different iterations of these.
    """
    if distinct is None:
        return _may_meet(one, other, {})
    for i, loop in enumerate(distinct):
        equal: dict[Hashable, Relation] = dict.fromkeys(distinct[:i], "equal")
        if _may_meet(one, other, {**equal, loop: "before"}) or _may_meet(
            one, other, {**equal, loop: "after"}
        ):
            return True
    return False


def _may_meet(one: Box, other: Box, relations: Mapping[Hashable, Relation]) -> bool:
    known = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return all(_may_be_equal(a, b, relations) for a, b in known) and _inside(one) and _inside(other)


def _inside(box: Box) -> bool:
    """Whether any element may lie within the array."""
    known = [c for c in box if c is not None]
    return all(_has_zero(c.constant, [*_parts(c), _Part(1, 1 - c.extent, 0)]) for c in known)


def _parts(c: Coordinate) -> Iterator[_Part]:
    """What is added to the constant of a coordinate, in any iterations."""
    yield _part(c.step, 0, c.count - 1)
    for term in c.terms:
        yield _part(term.coefficient, 0, _last(term.trips))


def _may_be_equal(a: Coordinate, b: Coordinate, relations: Mapping[Hashable, Relation]) -> bool:
    here, there = ({t.loop: t for t in c.terms} for c in (a, b))
    parts = [_part(a.step, 0, a.count - 1), _part(-b.step, 0, b.count - 1)]
    for loop in here.keys() | there.keys():
        x, y = (terms.get(loop) for terms in (here, there))
        trips = next(t.trips for t in (x, y) if t is not None)
        found = _difference(
            0 if x is None else x.coefficient, 0 if y is None else y.coefficient, trips, relations.get(loop)
        )
        if found is None:
            return False
        parts += found
    return _has_zero(a.constant - b.constant, parts)


def _difference(c: int, d: int, trips: int | None, relation: Relation | None) -> list[_Part] | None:
    """The values of `c * i - d * j` for iterations i and j of a loop; None if there are no such iterations."""
    last = _last(trips)
    match relation:
        case None:
            return [_part(c, 0, last), _part(-d, 0, last)]
        case "equal":
            return [_part(c - d, 0, last)]
        case "after":
            return _difference(-d, -c, trips, "before")
        case "before":
            # The bounds of a linear function are at the corners of the triangle 0 <= i < j <= last.
            if last < 1:
                return None
            corners = [-d, _times(-d, last), _times(c - d, last - 1) - d]
            return [_Part(gcd(c, d), min(corners), max(corners))]


def _last(trips: int | None) -> float:
    """The number of the last iteration; loops that do not run are not worth a case of their own."""
    return inf if trips is None else max(trips - 1, 0)


def _part(coefficient: int, low: int, high: float) -> _Part:
    ends = _times(coefficient, low), _times(coefficient, high)
    return _Part(abs(coefficient), min(ends), max(ends))


def _times(a: int, b: float) -> float:
    return a * b if a else 0


def _has_zero(constant: int, parts: Iterable[_Part]) -> bool:
    """Whether the sum of a constant and one value of each part may be zero.

    No if, for the parts with the largest units, no multiple of their common divisor lies where the others need one.
    """
    left = sorted(parts, key=lambda part: part.unit)
    unit, low, high = 0, 0.0, 0.0
    while True:
        rest_low = constant + sum(part.low for part in left)
        rest_high = constant + sum(part.high for part in left)
        if not _has_multiple(unit, max(low, -rest_high), min(high, -rest_low)):
            return False
        if not left:
            return True
        part = left.pop()
        unit, low, high = gcd(unit, part.unit), low + part.low, high + part.high


def _has_multiple(unit: int, low: float, high: float) -> bool:
    """Whether a multiple of `unit` lies from `low` to `high`; of 0, there is 0 only."""
    if low > high:
        return False
    if unit == 0:
        return low <= 0 <= high
    if low == -inf or high == inf:
        return True
    return -(-low // unit) * unit <= high
