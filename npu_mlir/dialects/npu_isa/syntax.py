"""Pieces of the assembly format that instructions share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from npu_mlir.dialects.npu_isa.base import AddrType, ints
from npu_mlir.dialects.syntax import parse_operand, print_indices
from npu_mlir.dialects.tile import Space, SpaceAttr

ADDRESS: dict[Space, AddrType] = {space: AddrType(SpaceAttr(space)) for space in Space}
"""The address type of each space."""


def parse_address(parser: Parser, space: Space) -> SSAValue:
    """An address in the memory that the instruction implies."""
    return parse_operand(parser, ADDRESS[space])


def parse_strides(parser: Parser) -> list[int]:
    """`<64, 1>`: the element strides of the operand before it."""
    return parser.parse_comma_separated_list(Parser.Delimiter.ANGLE, parser.parse_integer)


def parse_over(parser: Parser) -> list[int]:
    """`over [16, 64]`: the iteration space."""
    parser.parse_keyword("over")
    return parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_integer)


def parse_types(parser: Parser) -> list[Attribute]:
    """`: f32, f16`."""
    parser.parse_punctuation(":")
    return parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)


def print_strided(printer: Printer, value: SSAValue, strides: DenseArrayBase) -> None:
    """An operand and its element strides."""
    printer.print_ssa_value(value)
    printer.print_string(f"<{', '.join(map(str, ints(strides)))}>")


def print_over(printer: Printer, shape: DenseArrayBase) -> None:
    """The iteration space."""
    printer.print_string(f" over [{', '.join(map(str, ints(shape)))}]")


def print_indexed(printer: Printer, value: SSAValue, indices: Sequence[SSAValue]) -> None:
    """A GM operand and its indices."""
    printer.print_ssa_value(value)
    print_indices(printer, indices)


def print_types(printer: Printer, types: Iterable[Attribute]) -> None:
    """The types at the end."""
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)
