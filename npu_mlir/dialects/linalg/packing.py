"""linalg.pack and linalg.unpack: tensors in blocks.

Dim `inner_dims_pos[i]` of the unpacked tensor is cut into tiles of `inner_tiles[i]`. Of a packed tensor, the first dims
say which tile, in the order `outer_dims_perm`, and the last ones where in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Packing:
    """How a tensor is cut into tiles."""

    shape: Shape
    """The unpacked tensor."""
    dims: Shape
    """Its dims that are cut, and the size of a tile along each."""
    tiles: Shape
    order: Shape
    """Its dims in the order in which the tiles are counted."""

    @property
    def counts(self) -> Shape:
        """How many tiles there are along each dim of the unpacked tensor."""
        tiles = dict(zip(self.dims, self.tiles, strict=True))
        return tuple(-(-n // tiles.get(d, 1)) for d, n in enumerate(self.shape))

    @property
    def packed(self) -> Shape:
        """The shape of the packed tensor."""
        return (*(self.counts[d] for d in self.order), *self.tiles)

    @property
    def padded(self) -> Shape:
        """The unpacked tensor, extended to whole tiles."""
        tiles = dict(zip(self.dims, self.tiles, strict=True))
        return tuple(n * tiles.get(d, 1) for d, n in enumerate(self.counts))

    @property
    def split(self) -> Shape:
        """The same with each dim that is cut as two: which tile, and where in it."""
        tiles = dict(zip(self.dims, self.tiles, strict=True))
        return tuple(m for d, n in enumerate(self.counts) for m in ((n, tiles[d]) if d in tiles else (n,)))

    @property
    def permutation(self) -> Shape:
        """The dims of `split` in the order of the packed tensor."""
        place = {d: d + sum(other < d for other in self.dims) for d in range(len(self.shape))}
        return (*(place[d] for d in self.order), *(place[d] + 1 for d in self.dims))


def _static(op: Blocked, unpacked: SSAValue) -> Packing:
    shape = cast("TensorType[Attribute]", unpacked.type).get_shape()
    order = range(len(shape)) if op.outer_dims_perm is None else _numbers(op.outer_dims_perm)
    return Packing(shape, _numbers(op.inner_dims_pos), _numbers(op.static_inner_tiles), tuple(order))


def _numbers(attr: DenseArrayBase[Any]) -> Shape:
    return tuple(int(n) for n in attr.get_values())


def _verify(op: Blocked, packing: Packing, packed: SSAValue, unpacked: SSAValue) -> None:
    rank, types = len(packing.shape), [cast("TensorType[Attribute]", v.type) for v in (packed, unpacked)]
    if op.sizes or any(tile <= 0 for tile in packing.tiles):
        raise VerifyException("expected tiles of static size")
    if len(set(packing.dims)) != len(packing.dims) or any(not 0 <= d < rank for d in packing.dims):
        raise VerifyException(f"inner_dims_pos: expected different dimensions below {rank}")
    if len(packing.dims) != len(packing.tiles):
        raise VerifyException("expected a tile for each of inner_dims_pos")
    if sorted(packing.order) != list(range(rank)):
        raise VerifyException(f"outer_dims_perm: expected a permutation of {rank} dimensions")
    if types[0].element_type != types[1].element_type:
        raise VerifyException("expected tensors of one element type")
    if (
        min((*packing.shape, *types[0].get_shape()), default=0) >= 0
        and types[0].get_shape() != packing.packed
    ):
        raise VerifyException(f"expected a packed tensor of shape {list(packing.packed)}, got {types[0]}")


class Blocked(IRDLOperation, ABC):
    """What `linalg.pack` and `linalg.unpack` share: one of source and destination is a tensor in tiles.

    Each op repeats its operands, since xDSL puts those of a base behind its own.
    """

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    outer_dims_perm = opt_prop_def(DenseArrayBase.constr(i64))
    inner_dims_pos = prop_def(DenseArrayBase.constr(i64))
    static_inner_tiles = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    @abstractmethod
    def packing(self) -> Packing:
        """How the tensor that is not in tiles is cut."""

    @property
    @abstractmethod
    def sizes(self) -> Sequence[SSAValue]:
        """The sizes of tiles that are computed."""

    @classmethod
    def _parse_more(cls, parser: Parser) -> list[list[SSAValue]]:
        """The operands behind source and destination, but for sizes of tiles."""
        return []

    def _print_more(self, printer: Printer) -> None:
        """Print the operands behind source and destination, but for sizes of tiles."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        more = cls._parse_more(parser)
        properties = _parse_tiles(parser)
        dest = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        source_type, dest_type = _parse_types(parser)
        operands = [parser.resolve_operand(source, source_type), parser.resolve_operand(dest, dest_type)]
        return cls.build(
            operands=[*operands, *more, []],
            result_types=[dest_type],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        self._print_more(printer)
        _print_rest(self, printer)


@irdl_op_definition
class PackOp(Blocked):
    """A tensor in tiles; the last tile along a dim is filled up with the padding value.

    %0 = linalg.pack %x padding_value(%p : f32) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 16]
        into %y : tensor<20x30xf32> -> tensor<2x3x8x16xf32>
    """

    name = "linalg.pack"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    padding_value = opt_operand_def()
    inner_tiles = var_operand_def()

    @property
    def packing(self) -> Packing:
        """How the source is cut."""
        return _static(self, self.source)

    @property
    def sizes(self) -> Sequence[SSAValue]:
        return self.inner_tiles

    @classmethod
    def _parse_more(cls, parser: Parser) -> list[list[SSAValue]]:
        if not parser.parse_optional_keyword("padding_value"):
            return [[]]
        with parser.in_parens():
            value = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return [[parser.resolve_operand(value, parser.parse_type())]]

    def _print_more(self, printer: Printer) -> None:
        if self.padding_value is not None:
            printer.print_string(" padding_value(")
            printer.print_ssa_value(self.padding_value)
            printer.print_string(" : ")
            printer.print_attribute(self.padding_value.type)
            printer.print_string(")")

    def verify_(self) -> None:
        packing = self.packing
        _verify(self, packing, self.dest, self.source)
        if self.padding_value is None and packing.padded != packing.shape and min(packing.shape) >= 0:
            raise VerifyException("expected a padding value, as the tiles do not divide the tensor")


@irdl_op_definition
class UnPackOp(Blocked):
    """The tensor that consists of tiles, without what fills up the last ones.

    %0 = linalg.unpack %x inner_dims_pos = [0, 1] inner_tiles = [8, 16]
        into %y : tensor<3x2x8x16xf32> -> tensor<20x30xf32>
    """

    name = "linalg.unpack"
    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    inner_tiles = var_operand_def()

    @property
    def packing(self) -> Packing:
        """How the result is cut."""
        return _static(self, self.dest)

    @property
    def sizes(self) -> Sequence[SSAValue]:
        return self.inner_tiles

    def verify_(self) -> None:
        _verify(self, self.packing, self.source, self.dest)


def _parse_tiles(parser: Parser) -> dict[str, Attribute]:
    """`outer_dims_perm = [...] inner_dims_pos = [...] inner_tiles = [...] into`"""
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("outer_dims_perm"):
        properties["outer_dims_perm"] = _parse_numbers(parser)
    parser.parse_keyword("inner_dims_pos")
    properties["inner_dims_pos"] = _parse_numbers(parser)
    parser.parse_keyword("inner_tiles")
    properties["static_inner_tiles"] = _parse_numbers(parser)
    parser.parse_keyword("into")
    return properties


def _parse_numbers(parser: Parser) -> DenseArrayBase[Any]:
    parser.parse_punctuation("=")
    values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, values)


def _parse_types(parser: Parser) -> tuple[Attribute, Attribute]:
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_punctuation("->")
    return source, parser.parse_type()


def _print_rest(op: Blocked, printer: Printer) -> None:
    def write(name: str, values: Sequence[int]) -> None:
        printer.print_string(f" {name} = [{', '.join(map(str, values))}]")

    if op.outer_dims_perm is not None:
        write("outer_dims_perm", _numbers(op.outer_dims_perm))
    write("inner_dims_pos", _numbers(op.inner_dims_pos))
    write("inner_tiles", _numbers(op.static_inner_tiles))
    printer.print_string(" into ")
    printer.print_ssa_value(op.dest)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(op.source.type)
    printer.print_string(" -> ")
    printer.print_attribute(op.dest.type)
