"""Pieces of assembly format that the dialects share: directives for `assembly_format`, and functions for what is parsed
and printed by hand."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer


def parse_operand(parser: Parser, type_: Attribute) -> SSAValue:
    """An operand whose type the operation implies."""
    return parser.resolve_operand(parser.parse_unresolved_operand(), type_)


@irdl_custom_directive
class Indices(CustomDirective):
    """`[%i, %j]`: index values, behind what they index."""

    values: VariadicOperandVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        found = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        self.values.set(state, found)
        self.values.set_types(state, [IndexType()] * len(found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        with printer.in_square_brackets():
            printer.print_list(self.values.get(op), printer.print_ssa_value)


@irdl_custom_directive
class Map(CustomDirective):
    """`map affine_map<...>`: where a transfer reads or writes."""

    map: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        parser.parse_keyword("map")
        attr = parser.parse_attribute()
        if not isinstance(attr, AffineMapAttr):
            parser.raise_error("expected an affine map")
        self.map.set(state, attr)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        printer.print_string(" map")
        self.map.print(printer, state, op)
