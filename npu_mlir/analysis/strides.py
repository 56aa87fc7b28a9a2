"""From affine maps to strided loop nests: the arithmetic behind the instructions' `shape` and `strides`.

A statically shaped `linalg.generic` with linear maps is a nest of loops in which each operand walks its buffer with one
stride per loop. Rewriting that nest is all there is to finding its cheapest instruction:

    out[d0, d1] = f(in[d1], ...)      maps to strides     extents (16, 1, 64)   out (64, 64, 1)   in (0, 0, 1)
    a unit dim does nothing           drop_unit_dims      extents (16, 64)      out (64, 1)       in (0, 1)
    two dims contiguous everywhere    collapse            (4, 8) x (8, 1)   ->  (32) x (1)
    cheapest loop over the lanes      order               it becomes the innermost one
    more dims than an instruction has split               the dims of scalar loops, and the rest

Plain numbers only; strides are in elements, the first operand of a nest is the one that is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.dialects.npu_isa.base import strided_rows


class StrideError(ValueError):
    """Operands whose shapes and maps don't describe one iteration space."""


@dataclass(frozen=True)
class StridedLoops:
    """Loops of `extents` in which operand `i` moves by `strides[i][d]` elements per step of loop `d`."""

    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def rank(self) -> int:
        """The number of loops."""
        return len(self.extents)

    def select(self, dims: Sequence[int]) -> StridedLoops:
        """The nest with the loops `dims` only, in that order."""
        return StridedLoops(
            tuple(self.extents[d] for d in dims), tuple(tuple(row[d] for d in dims) for row in self.strides)
        )

    def column(self, dim: int) -> tuple[int, ...]:
        """The stride of each operand along one loop."""
        return tuple(row[dim] for row in self.strides)


def check_extents(
    maps: Sequence[Sequence[Linear]], shapes: Sequence[Sequence[int]], extents: tuple[int, ...]
) -> None:
    """Raise a `StrideError` unless loops of these extents read all operands within their shapes, and a dim that one
    loop indexes by itself has as many elements as the loop has iterations."""
    for map_, shape in zip(maps, shapes, strict=True):
        for expr, size in zip(map_, shape, strict=True):
            dim = expr.dim()
            if dim is not None and extents[dim] != size:
                raise StrideError(f"dimension {dim} has extents {extents[dim]} and {size}")
            spans = [c * (n - 1) for c, n in zip(expr.coefficients, extents, strict=True)]
            low = expr.constant + sum(min(s, 0) for s in spans)
            high = expr.constant + sum(max(s, 0) for s in spans)
            if prod(extents) and not (low >= 0 and high < size):
                raise StrideError(f"coordinates from {low} to {high} leave a dimension of {size}")


def element_strides(
    coefficients: Sequence[Sequence[int]], memory_strides: Sequence[int], num_dims: int
) -> tuple[int, ...]:
    """The stride of every dim, from each coordinate's coefficients and each coordinate's stride in memory.

    >>> element_strides([(1, 0, 1), (0, 1, 0)], (64, 1), 3)
    (64, 1, 64)
    """
    pairs = list(zip(coefficients, memory_strides, strict=True))
    return tuple(sum(row[d] * stride for row, stride in pairs) for d in range(num_dims))


def drop_unit_dims(nest: StridedLoops) -> StridedLoops:
    """The nest without loops of one iteration."""
    return nest.select([d for d, extent in enumerate(nest.extents) if extent != 1])


def collapse(nest: StridedLoops) -> StridedLoops:
    """Merge loops that every operand walks as if they were one.

    >>> collapse(StridedLoops((4, 8, 3), ((24, 3, 1), (8, 1, 0))))
    StridedLoops(extents=(32, 3), strides=((3, 1), (1, 0)))
    """
    merged = True
    while merged:
        merged = False
        for outer in range(nest.rank):
            for inner in range(nest.rank):
                if outer != inner and _contiguous(nest, outer, inner):
                    nest, merged = _merge(nest, outer, inner), True
                    break
            if merged:
                break
    return nest


def _contiguous(nest: StridedLoops, outer: int, inner: int) -> bool:
    return all(row[outer] == row[inner] * nest.extents[inner] for row in nest.strides)


def _merge(nest: StridedLoops, outer: int, inner: int) -> StridedLoops:
    extents = list(nest.extents)
    extents[inner] *= extents[outer]
    return StridedLoops(tuple(extents), nest.strides).select([d for d in range(nest.rank) if d != outer])


@dataclass(frozen=True)
class Lanes:
    """What a step of the vector unit covers: `width` bytes of the innermost loop.

    Elements of operand `i` that are neighbours, or all the same one, take `sizes[i]` bytes each; elements further apart
    take a block. The blocks of a step may lie along another loop, whole blocks apart. A step costs `cycles`, or
    `folding_cycles` when the lanes are folded into one element of the destination.
    """

    width: int
    sizes: tuple[int, ...]
    block: int = 32
    cycles: int = 1
    folding_cycles: int = 1

    def cost(self, nest: StridedLoops, innermost: int) -> int:
        """The cycles that the nest takes when loop `innermost` runs over the lanes."""
        column = nest.column(innermost)
        size = max(n if s in (0, 1) else self.block for n, s in zip(self.sizes, column, strict=True))
        extent = nest.extents[innermost]
        steps = -(-extent * size // self.width) * (prod(nest.extents) // extent)
        outer = [d for d in range(nest.rank) if d != innermost]
        strides = [[row[d] for d in (*outer, innermost)] for row in nest.strides]
        along = strided_rows([nest.extents[d] for d in (*outer, innermost)], strides, self.sizes)
        blocks = self.width // self.block
        steps = min([steps, *(rows * -(-count // blocks) for rows, count in along if blocks)])
        return steps * (self.folding_cycles if column[0] == 0 else self.cycles)


def order(nest: StridedLoops, lanes: Lanes) -> StridedLoops:
    """Sort the loops: the one that costs least over the lanes innermost, the others by falling strides.

    >>> lanes = Lanes(256, (4, 4))
    >>> order(StridedLoops((100, 3), ((1, 0), (1, 128))), lanes)  # a sum over the rows, column by column
    StridedLoops(extents=(3, 100), strides=((0, 1), (128, 1)))
    """
    if nest.rank < 2 or not prod(nest.extents):
        return nest
    dims = range(nest.rank)
    best = min(dims, key=lambda d: (lanes.cost(nest, d), [abs(s) for s in nest.column(d)], -d))
    rest = sorted((d for d in dims if d != best), key=lambda d: [-abs(s) for s in nest.column(d)])
    return nest.select([*rest, best])


def simplify(nest: StridedLoops, lanes: Lanes) -> StridedLoops:
    """As few loops as can be, in the order of `order`."""
    return order(collapse(drop_unit_dims(nest)), lanes)


def cost(nest: StridedLoops, lanes: Lanes) -> int:
    """What the simplified nest costs."""
    short = simplify(nest, lanes)
    return lanes.cost(short, short.rank - 1) if short.rank else 1


def transposed(nest: StridedLoops, size: int, pieces: int, block: int = 32) -> StridedLoops | None:
    """The nest with two loops innermost that a transpose of blocks takes: the last contiguous in the destination, the
    other in the source, all other strides multiples of `block` bytes. None if there are no two such.

    A block is `pieces` elements of the last loop by `block` bytes of the other; elements have `size` bytes.

    >>> transposed(StridedLoops((64, 56), ((1, 64), (64, 1))), 2, 16)
    StridedLoops(extents=(56, 64), strides=((64, 1), (1, 64)))
    """
    short = collapse(drop_unit_dims(nest))
    if len(short.strides) != 2:
        return None
    dest, source = short.strides
    found = [
        (row, column)
        for row in range(short.rank)
        for column in range(short.rank)
        if row != column and source[row] == 1 == dest[column]
    ]
    for row, column in found:
        others = [d for d in range(short.rank) if d not in (row, column)]
        steps = [dest[row], source[column], *(s for d in others for s in (dest[d], source[d]))]
        if all(step > 0 and step * size % block == 0 for step in steps):
            return short.select([*sorted(others, key=lambda d: -dest[d]), row, column])
    return None


def transposed_blocks(nest: StridedLoops, size: int, pieces: int, block: int = 32) -> int:
    """How many blocks a nest in the order of `transposed` takes.

    >>> transposed_blocks(StridedLoops((2, 56, 20), ((0, 64, 1), (0, 1, 64))), 2, 16)
    16
    """
    *outer, row, column = nest.extents
    return prod(outer) * -(-row * size // block) * -(-column // pieces)


def widen(nest: StridedLoops, dim: int, extent: int, lanes: Lanes) -> StridedLoops:
    """The nest with loop `dim` made longer, if that makes runs so long that it costs less, or fewer for the same cost.

    >>> lanes = Lanes(256, (4, 4))
    >>> widen(StridedLoops((32, 20), ((24, 1), (24, 1))), 1, 24, lanes).extents  # rows of 20, pitch 24: one run
    (32, 24)
    >>> widen(StridedLoops((32, 20), ((24, 1), (0, 1))), 1, 24, lanes).extents
    (32, 20)
    """
    longer = StridedLoops((*nest.extents[:dim], extent, *nest.extents[dim + 1 :]), nest.strides)
    before, after = cost(nest, lanes), cost(longer, lanes)
    shorter = simplify(longer, lanes).rank < simplify(nest, lanes).rank
    return longer if after < before or (after == before and shorter) else nest


def split(nest: StridedLoops, rank: int) -> tuple[StridedLoops, StridedLoops]:
    """Scalar loops, and at most `rank` loops for one instruction; the shortest go out, never the innermost.

    >>> split(StridedLoops((3, 8, 2, 64), ((64, 256, 0, 1),)), 2)
    (StridedLoops(extents=(3, 2), strides=((64, 0),)), StridedLoops(extents=(8, 64), strides=((256, 1),)))
    """
    surplus = max(0, nest.rank - rank)
    by_extent = sorted(range(nest.rank - 1), key=lambda d: nest.extents[d])
    outside = sorted(by_extent[:surplus])
    inside = [d for d in range(nest.rank) if d not in outside]
    return nest.select(outside), nest.select(inside)
