"""Contractions to be tiled, as plain data, and the arithmetic of tile sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from npu_mlir.analysis.affine_maps import Linear, dense_rows
from npu_mlir.dialects.tile import storage_bytes
from npu_mlir.support.arithmetic import round_up

ACCUMULATOR = 4
"""Bytes of an accumulator, f32 or i32."""


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def balanced(extent: int, most: int, multiple: int = 1) -> int:
    """The smallest size that needs no more tiles than `most` does, rounded up to `multiple` where `most` allows it.

    >>> balanced(197, 128), balanced(197, 128, 16), balanced(7, 128, 16)
    (99, 112, 7)
    """
    most = min(extent, most)
    size = ceil_div(extent, ceil_div(extent, most))
    rounded = round_up(size, multiple)
    return rounded if rounded <= most else size


def divisor(extent: int, most: int) -> int:
    """The largest divisor of `extent` that is at most `most` (at least 1).

    >>> divisor(28, 10), divisor(13, 4)
    (7, 1)
    """
    return next(d for d in range(max(1, min(extent, most)), 0, -1) if extent % d == 0)


def fill(extents: Sequence[int], most: int, multiple: int = 1) -> tuple[int, ...]:
    """Tile sizes with a product of at most `most`: innermost dims whole, the first that does not fit balanced.

    >>> fill((1, 56, 56), 128)
    (1, 2, 56)
    """
    sizes: list[int] = []
    for extent in reversed(extents):
        size = balanced(extent, max(1, most), multiple if not sizes or math.prod(sizes) == 1 else 1)
        sizes.append(size)
        most //= size
    return tuple(reversed(sizes))


def fill_divisors(extents: Sequence[int], most: int) -> tuple[int, ...]:
    """As `fill`, with sizes that divide the extents."""
    sizes: list[int] = []
    for extent in reversed(extents):
        sizes.append(divisor(extent, max(1, most)))
        most //= sizes[-1]
    return tuple(reversed(sizes))


@dataclass(frozen=True)
class Dim:
    """A loop dim of a contraction: its extent, and whether it has to be whole in a tile, or divided exactly."""

    extent: int
    whole: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Product:
    """A contraction to be tiled. `dims` by number; the operands' maps are over these numbers, that of rows first.

    Per element of the result, in bytes: `epilogue` is what the vector unit works through, times the cycles of a step,
    `loaded` what is read beside the result, `stored` what is written, `passing` what the fixpipe leaves in UB.
    """

    dims: tuple[Dim, ...]
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    maps: tuple[tuple[Linear, ...], tuple[Linear, ...]]
    element: str
    """The type of the factors, as `Target.cube_steps` has it."""
    bits: int
    """Bits of one of them."""
    epilogue: int
    loaded: int
    stored: int
    passing: int = ACCUMULATOR
    starts_from_row: bool = False
    """Accumulators start from a row that is loaded, not from a constant."""
    by_rows: tuple[tuple[int, int], ...] = ()
    """What of the epilogue goes row by row, so that lanes behind the end of a row are lost: bytes per element and
    cycles of a step of each operation that reduces."""


def panel_bytes(map_: Sequence[Linear], tile: Sequence[int], bits: int) -> int:
    """Bytes in L1 of the box that an operand's map takes over a tile, `bits` an element; rows are padded to 32 B."""
    box = [
        1 + sum(abs(c) * (tile[d] - 1) for d, c in enumerate(e.coefficients) if c) for e in dense_rows(map_)
    ]
    row = round_up(storage_bytes(box[-1], bits), 32) if box else storage_bytes(1, bits)
    return math.prod(box[:-1]) * row
