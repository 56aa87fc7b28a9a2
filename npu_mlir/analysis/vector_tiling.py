"""Tile sizes of a kernel for the vector unit: shrink the largest loop nest until every nest is within a budget.

What is shrunk first keeps rows long: outer parallel classes, last those along which rows of an operand lie (of one that
is transposed), then long reductions (accumulated in chunks), then the
innermost parallel class down to the width of the vector unit, then whatever is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npu_mlir.analysis.tiling import ceil_div

SHORT_REDUCTION = 64
"""Extent from which a reduction is worth being cut before the innermost parallel class is."""


@dataclass(frozen=True)
class VectorLoops:
    """The classes that the loops of an operation go over, outermost first, by what may be done to them.

    `row` is the innermost parallel class, None if there is none; `operand_rows` those that are innermost in an operand.
    """

    classes: tuple[int, ...]
    parallel: tuple[int, ...]
    reduced: tuple[int, ...]
    row: int | None
    operand_rows: frozenset[int] = frozenset()


def shrink(
    nests: Sequence[VectorLoops], extents: Mapping[int, int], budget: int, lanes: int
) -> dict[int, int]:
    """A size for every class such that no nest has more than `budget` elements, as far as its classes can be cut.

    `lanes` is the number of elements of a row that fills the vector unit. A class is cut into parts of equal size.

    >>> shrink([VectorLoops((0, 1), (0, 1), (), 1)], {0: 100, 1: 64}, 2048, 64)
    {0: 25, 1: 64}
    >>> shrink([VectorLoops((0, 1, 2), (0, 1, 2), (), 2, frozenset({0}))], {0: 64, 1: 56, 2: 56}, 50176, 64)
    {0: 64, 1: 14, 2: 56}
    """
    sizes = dict(extents)
    parts = dict.fromkeys(extents, 1)
    while True:
        largest = max(nests, key=lambda nest: _elements(nest, sizes))
        if _elements(largest, sizes) <= budget:
            return sizes
        c = _next_cut(largest, sizes, lanes)
        if c is None:
            return sizes
        size = sizes[c]
        while sizes[c] == size:
            parts[c] += 1
            sizes[c] = ceil_div(extents[c], parts[c])


def _elements(nest: VectorLoops, sizes: Mapping[int, int]) -> int:
    return math.prod(sizes[c] for c in nest.classes)


def _next_cut(nest: VectorLoops, sizes: Mapping[int, int], lanes: int) -> int | None:
    """The class to cut next; None when all are of size one or must stay whole."""
    outer = [c for c in nest.parallel if c != nest.row and sizes[c] > 1]
    if outer:
        plain = next((c for c in outer if c not in nest.operand_rows), None)
        if plain is not None:
            return plain
        # Rows of the operand or of the result: tiles that are about square have long runs on both sides.
        longest = max((*outer, *(() if nest.row is None else (nest.row,))), key=sizes.__getitem__)
        return longest if sizes[longest] > lanes else outer[0]
    reduced = max((c for c in nest.reduced if sizes[c] > 1), key=sizes.__getitem__, default=None)
    if reduced is not None and sizes[reduced] > SHORT_REDUCTION:
        return reduced
    if nest.row is not None and sizes[nest.row] > lanes:
        return nest.row
    if reduced is not None:
        return reduced
    return nest.row if nest.row is not None and sizes[nest.row] > 1 else None
