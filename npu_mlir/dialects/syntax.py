"""Pieces of assembly format that the dialects share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_operand(parser: Parser, type_: Attribute) -> SSAValue:
    """An operand whose type the operation implies."""
    return parser.resolve_operand(parser.parse_unresolved_operand(), type_)


def parse_indices(parser: Parser) -> list[SSAValue]:
    """`[%i, %j]`: index values."""
    return parser.parse_comma_separated_list(
        Parser.Delimiter.SQUARE, lambda: parse_operand(parser, IndexType())
    )


def print_indices(printer: Printer, indices: Sequence[SSAValue]) -> None:
    """Index values in square brackets."""
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


def parse_map(parser: Parser) -> AffineMapAttr:
    """`map affine_map<...>`."""
    parser.parse_keyword("map")
    attr = parser.parse_attribute()
    if not isinstance(attr, AffineMapAttr):
        parser.raise_error("expected an affine map")
    return attr


def print_map(printer: Printer, map_: AffineMapAttr) -> None:
    """The map of a transfer."""
    printer.print_string(" map ")
    printer.print_attribute(map_)
