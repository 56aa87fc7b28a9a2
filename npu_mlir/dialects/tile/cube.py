"""The step of the cube, which the matrices in L0A, L0B and L0C are padded to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import NamedTuple, cast

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute

from npu_mlir.dialects.tile.spaces import (
    ROW_ALIGNMENT,
    Space,
    TileType,
    element_bits,
    matrix_strides,
    space_of,
    storage_bytes,
    tile_strides,
)
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError


class CubeTile(NamedTuple):
    """One step of the cube: a product of `m x k` and `k x n` elements."""

    m: int
    k: int
    n: int


@dataclass(frozen=True)
class Cube:
    """What a machine's cube multiplies in one step.

    The sides `m` and `n` are those of all element types: accumulators don't tell what they were made of.
    """

    machine: str
    m: int
    n: int
    k: Mapping[str, int]
    """The side k by element type, as `cube_type` spells it; other types are not multiplied."""

    @property
    def k_bytes(self) -> int:
        """Bytes along k of a step, the most of all types."""
        return max((storage_bytes(k, type_bits(name)) for name, k in self.k.items()), default=0)

    def tile(self, element: Attribute | str) -> CubeTile:
        """The step for factors of an element type, or of its `cube_type`. A `UserError` if the cube has none."""
        name = element if isinstance(element, str) else cube_type(element)
        if name not in self.k:
            raise UserError(f"the cube of '{self.machine}' multiplies {', '.join(self.k)}, not {name}")
        return CubeTile(self.m, self.k[name], self.n)

    def padding(self, space: Space, element: Attribute) -> tuple[int, int]:
        """What the rows and the columns of a matrix in L0A, L0B or L0C are padded to multiples of."""
        if space is Space.L0C:
            return self.m, self.n
        m, k, n = self.tile(element)
        return (m, k) if space is Space.L0A else (k, n)

    def padded(self, space: Space, sides: Sequence[int], element: Attribute) -> tuple[int, int]:
        """The rows and columns that a matrix takes in L0A, L0B or L0C."""
        rows, columns = (
            -(-side // unit) * unit for side, unit in zip(sides, self.padding(space, element), strict=True)
        )
        return rows, columns


@cache
def cube_type(element: Attribute) -> str:
    """The name of an element type in a machine's table of steps: `f16`, `i8`; signs don't matter to the cube."""
    return f"i{element.width.data}" if isinstance(element, IntegerType) else str(element)


def type_bits(name: str) -> int:
    """Bits of an element in memory of the type that `cube_type` calls so.

    >>> type_bits("bf16"), type_bits("i4"), type_bits("f8E4M3FN")
    (16, 4, 8)
    """
    digits = re.search(r"\d+", name)
    assert digits is not None, f"'{name}' is not a type"
    return int(digits[0])


def may_multiply(element: Attribute) -> bool:
    """Whether there are cubes for an element type: floats of at most 32 bits and integers of at most 8, whose products
    sum up in 32 bits. Products of other types are work for the vector unit, on every machine."""
    if isinstance(element, IntegerType):
        return 1 < element.width.data <= 8
    return isinstance(element, AnyFloat) and element.bitwidth <= 32


def sides(shape: Sequence[int], row_dims: int) -> tuple[int, int]:
    """Rows and columns of a matrix tile: its first `row_dims` dims, flattened, and the rest.

    >>> sides((2, 3, 20), 2)
    (6, 20)
    """
    return prod(shape[:row_dims]), prod(shape[row_dims:])


def layout(type_: Attribute, row_dims: int, cube: Cube) -> tuple[int, ...]:
    """Element strides of a tile on chip; in L0A, L0B and L0C its first `row_dims` dims are the rows of a matrix."""
    tile = cast("TileType", type_)
    shape, element, space = tile.get_shape(), tile.get_element_type(), space_of(tile)
    if space is not None and space in MATRIX_SPACES:
        return matrix_strides(shape, row_dims, cube.padding(space, element)[1])
    return tile_strides(shape, element_bits(element))


def tile_bytes(type_: Attribute, row_dims: int, cube: Cube) -> int:
    """Bytes that one copy of a tile takes on chip, padding included, a multiple of blocks of 32 B.

    In L0A, L0B and L0C a tile is a matrix whose rows are its first `row_dims` dimensions.
    """
    tile = cast("TileType", type_)
    shape, element, space = tile.get_shape(), tile.get_element_type(), space_of(tile)
    bits = element_bits(element)
    if space is not None and space in MATRIX_SPACES:
        elements = prod(cube.padded(space, sides(shape, row_dims), element))
    else:
        elements = tile_strides(shape, bits)[0] * shape[0] if shape else 1
    return round_up(storage_bytes(elements, bits), ROW_ALIGNMENT)


MATRIX_SPACES = (Space.L0A, Space.L0B, Space.L0C)
"""The memories whose tiles are matrices."""
