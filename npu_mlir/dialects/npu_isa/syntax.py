"""Pieces of the assembly format that instructions share: directives for `assembly_format`, and functions for what is
parsed and printed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OperandVariable,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from npu_mlir.dialects.npu_isa.base import AddrType, array, ints
from npu_mlir.dialects.syntax import parse_operand
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


def print_types(printer: Printer, types: Iterable[Attribute]) -> None:
    """The types at the end."""
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)


@irdl_custom_directive
class Address(CustomDirective):
    """`%x`: an address, in the memory by which the instruction differs from others of its kind (`SPACE`)."""

    value: OperandVariable
    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.parse(parser, state)
        self.value.set_types(state, [ADDRESS[cast("Any", state.op_type).SPACE]])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        self.value.print(printer, state, op)


@irdl_custom_directive
class Strides(CustomDirective):
    """`<64, 1>`: the element strides of the address before it."""

    strides: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.strides.set(state, array(parse_strides(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        printer.print_string(f"<{', '.join(map(str, _integers(self.strides, op)))}>")


@irdl_custom_directive
class Over(CustomDirective):
    """`over [16, 64]`: the iteration space."""

    shape: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.shape.set(state, array(parse_over(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        printer.print_string(f" over [{', '.join(map(str, _integers(self.shape, op)))}]")


def _integers(variable: AttributeVariable, op: IRDLOperation) -> tuple[int, ...]:
    attr = variable.get(op)
    assert isinstance(attr, DenseArrayBase)
    return ints(attr)
