"""Memory spaces, and how a tile lies in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import (
    IndexType,
    IntegerType,
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

from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError

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


def element_bits(element_type: Attribute) -> int:
    """Bits that one element takes in memory: integers of 2 and 4 are packed, all others take whole bytes, an i1 one.

    An element of a type without a width, like a vector's, is a `ValueError`.
    """
    if isinstance(element_type, IndexType):
        return 64
    width = getattr(element_type, "bitwidth", None)
    if width is None:
        raise ValueError(f"{element_type} has no size in memory")
    is_packed = isinstance(element_type, IntegerType) and width in _PACKED
    return cast("int", width) if is_packed else round_up(cast("int", width), 8)


_PACKED = (2, 4)
"""Widths of integers of which several elements share a byte."""


def element_bytes(element_type: Attribute) -> int:
    """Bytes that one element takes in memory, where each has an address: not those that share a byte (`UserError`)."""
    bits = element_bits(element_type)
    if bits % 8:
        raise UserError(f"an {element_type} takes {bits} bits: it has no address of its own")
    return bits // 8


def storage_bytes(elements: int, bits: int) -> int:
    """Bytes of a run of elements of `bits` each.

    >>> storage_bytes(7, 4), storage_bytes(7, 16)
    (4, 14)
    """
    return -(-elements * bits // 8)


ROW_ALIGNMENT = 32
"""Bytes to which the rows of a tile in L1 and UB are padded (Ascend 910: UB and L1 blocks of 32 B)."""


def tile_strides(shape: Sequence[int], bits: int) -> tuple[int, ...]:
    """Element strides of a tile of elements of `bits` in L1 or UB: row-major, the innermost dimension padded to 32 B.

    >>> tile_strides((4, 10), 32), tile_strides((4, 10), 4)
    ((16, 1), (64, 1))
    """
    if not shape:
        return ()
    strides = [1]
    pitch = round_up(shape[-1], max(1, 8 * ROW_ALIGNMENT // bits)) if len(shape) > 1 else shape[-1]
    for extent in reversed(shape[1:]):
        strides.append(pitch if len(strides) == 1 else strides[-1] * extent)
    return tuple(reversed(strides))


def matrix_strides(shape: Sequence[int], row_dims: int, pitch_unit: int) -> tuple[int, ...]:
    """Element strides of a matrix tile: rows are the first `row_dims` dimensions, flattened, columns the rest; the
    columns are padded to a multiple of `pitch_unit`, what `Cube.padding` says for them.

    >>> matrix_strides((2, 3, 20), 2, 16)
    (96, 32, 1)
    """
    columns = 1
    strides: list[int] = []
    for extent in reversed(shape[row_dims:]):
        strides.append(columns)
        columns *= extent
    pitch = round_up(columns, pitch_unit)
    for extent in reversed(shape[:row_dims]):
        strides.append(pitch)
        pitch *= extent
    return tuple(reversed(strides))
