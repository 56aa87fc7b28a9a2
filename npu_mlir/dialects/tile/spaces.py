"""Memory spaces, and how a tile lies in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    NoneAttr,
    TensorType,
)
from xdsl.ir import (
    Attribute,
    Data,
)
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer

TileType = TensorType[Attribute] | MemRefType[Attribute]


class Space(StrEnum):
    """A memory of the NPU core, or global memory."""

    GM = "gm"
    L1 = "l1"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    UB = "ub"


@irdl_attr_definition
class SpaceAttr(Data[Space]):
    """A memory space: `#tile.space<ub>`. It is a memref's memory space and a tensor's encoding."""

    name = "tile.space"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Space:
        with parser.in_angle_brackets():
            word = parser.parse_identifier()
        if word not in set(Space):
            parser.raise_error(f"unknown memory space '{word}', expected one of {', '.join(Space)}")
        return Space(word)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


def space_of(type_: Attribute) -> Space | None:
    """The memory space of a tile's type; None for a tensor that has not been placed."""
    if isinstance(type_, MemRefType):
        attr = cast("MemRefType[Attribute]", type_).memory_space
    elif isinstance(type_, TensorType):
        attr = cast("TensorType[Attribute]", type_).encoding
    else:
        return None
    return attr.data if isinstance(attr, SpaceAttr) else None


def place(shape: Sequence[int], element_type: Attribute, space: Space) -> TensorType[Attribute]:
    """The type of an on-chip tile as a tensor value."""
    return TensorType(element_type, shape, SpaceAttr(space))


def buffer_type(shape: Sequence[int], element_type: Attribute, space: Space) -> MemRefType[Attribute]:
    """The type of an on-chip tile as a buffer."""
    return MemRefType(element_type, shape, NoneAttr(), SpaceAttr(space))


def element_bytes(element_type: Attribute) -> int:
    """Bytes that one element takes in memory; an i1 takes a whole byte."""
    width = getattr(element_type, "bitwidth", None)
    if isinstance(element_type, IndexType):
        return 8
    if width is None:
        raise ValueError(f"{element_type} has no size in memory")
    return max(1, cast("int", width) // 8)


ROW_ALIGNMENT = 32
"""Bytes to which the rows of a tile in L1 and UB are padded (Ascend 910: UB and L1 blocks of 32 B)."""


def tile_strides(shape: Sequence[int], element_size: int) -> tuple[int, ...]:
    """Element strides of a tile in L1 or UB: row-major, the innermost dimension padded to 32 B.

    >>> tile_strides((4, 10), 4)
    (16, 1)
    """
    if not shape:
        return ()
    strides = [1]
    block = max(1, ROW_ALIGNMENT // element_size)
    pitch = -(-shape[-1] // block) * block if len(shape) > 1 else shape[-1]
    for extent in reversed(shape[1:]):
        strides.append(pitch if len(strides) == 1 else strides[-1] * extent)
    return tuple(reversed(strides))


def matrix_strides(shape: Sequence[int], row_dims: int, fractal: int) -> tuple[int, ...]:
    """Element strides of a matrix tile in L0C: rows are the first `row_dims` dimensions, flattened, columns the rest;
    the columns are padded to a multiple of `fractal`, the side of a step of the cube.

    >>> matrix_strides((2, 3, 20), 2, 16)
    (96, 32, 1)
    """
    columns = 1
    strides: list[int] = []
    for extent in reversed(shape[row_dims:]):
        strides.append(columns)
        columns *= extent
    pitch = -(-columns // fractal) * fractal
    for extent in reversed(shape[:row_dims]):
        strides.append(pitch)
        pitch *= extent
    return tuple(reversed(strides))


def tile_bytes(type_: Attribute, row_dims: int, fractal: int) -> int:
    """Bytes that one copy of a tile takes in its space, padding included, a multiple of the space's alignment.

    In L0A, L0B and L0C a tile is a matrix whose rows are its first `row_dims` dimensions; both sides are padded to
    `fractal`, the side of a step of the cube.
    """
    tile = cast("TileType", type_)
    shape, size = tile.get_shape(), element_bytes(tile.get_element_type())
    space = space_of(tile)
    if space in (Space.L0A, Space.L0B, Space.L0C):
        rows, columns = 1, 1
        for extent in shape[:row_dims]:
            rows *= extent
        for extent in shape[row_dims:]:
            columns *= extent
        padded = -(-rows // fractal) * fractal * (-(-columns // fractal) * fractal)
        return -(-padded * size // ROW_ALIGNMENT) * ROW_ALIGNMENT
    strides = tile_strides(shape, size)
    elements = strides[0] * shape[0] if shape else 1
    return -(-elements * size // ROW_ALIGNMENT) * ROW_ALIGNMENT
