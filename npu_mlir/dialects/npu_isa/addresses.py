"""Addresses: what the scalar unit computes for the other pipes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import AddrType, integer
from npu_mlir.dialects.syntax import parse_operand
from npu_mlir.dialects.tile import Space, SpaceAttr


def _parse_type(parser: Parser) -> AddrType:
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    if not isinstance(type_, AddrType):
        parser.raise_error(f"expected an address type, got {type_}")
    return type_


def _print_type(printer: Printer, type_: Attribute) -> None:
    printer.print_string(" : ")
    printer.print_attribute(type_)


@irdl_op_definition
class BufferOp(IRDLOperation):
    """A buffer of `slots` copies of `bytes` bytes each, from `address` on.

    Example:

    ```mlir
    %b = npu_isa.buffer 2 x 1024 at 4096 : !npu_isa.addr<ub>
    ```
    """

    name = "npu_isa.buffer"
    address = prop_def(IntegerAttr.constr(i64))
    bytes = prop_def(IntegerAttr.constr(i64))
    slots = prop_def(IntegerAttr.constr(i64))
    result = result_def(AddrType)
    traits = traits_def(Pure())
    assembly_format = "$slots `x` $bytes `at` $address attr-dict `:` type($result)"

    def __init__(self, space: SpaceAttr, address: int, bytes: int, slots: int = 1):
        super().__init__(
            result_types=[AddrType(space)],
            properties={"address": integer(address), "bytes": integer(bytes), "slots": integer(slots)},
        )

    def verify_(self) -> None:
        if self.result.type.space.data is Space.GM:
            raise VerifyException("npu_isa.buffer is in an on-chip memory, not in gm")
        if self.address.value.data < 0 or self.bytes.value.data < 1 or self.slots.value.data < 1:
            raise VerifyException("a buffer has an address, at least one byte and at least one slot")


@irdl_op_definition
class SlotOp(IRDLOperation):
    """The address of copy `index mod slots` of a buffer.

    Example:

    ```mlir
    %b = npu_isa.buffer 2 x 1024 at 4096 : !npu_isa.addr<ub>
    %s = npu_isa.slot %b[%i] : !npu_isa.addr<ub>
    ```
    """

    name = "npu_isa.slot"
    _T: ClassVar = VarConstraint("T", BaseAttr(AddrType))
    buffer = operand_def(_T)
    index = operand_def(IndexType)
    result = result_def(_T)
    traits = traits_def(Pure())
    assembly_format = "$buffer `[` $index `]` attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, index: SSAValue):
        super().__init__(operands=[buffer, index], result_types=[buffer.type])

    def verify_(self) -> None:
        if not isinstance(self.buffer.owner, BufferOp):
            raise VerifyException("npu_isa.slot takes the result of an npu_isa.buffer")


@irdl_op_definition
class AtOp(IRDLOperation):
    """The address `offset` bytes (an index value, or the attribute `constant`, or both) further on.

    Example:

    ```mlir
    %p = npu_isa.at %b + 64 : !npu_isa.addr<ub>
    %q = npu_isa.at %b + %i + 64 : !npu_isa.addr<ub>
    ```
    """

    name = "npu_isa.at"
    base = operand_def(AddrType)
    offset = opt_operand_def(IndexType)
    constant = prop_def(IntegerAttr[IntegerType])
    result = result_def(AddrType)
    traits = traits_def(Pure())

    def __init__(self, base: SSAValue, offset: SSAValue | None = None, constant: int = 0):
        super().__init__(
            operands=[base, offset], result_types=[base.type], properties={"constant": integer(constant)}
        )

    @classmethod
    def parse(cls, parser: Parser) -> AtOp:
        base = parser.parse_unresolved_operand()
        offset, constant = None, 0
        while parser.parse_optional_punctuation("+"):
            value = parser.parse_optional_integer(allow_boolean=False)
            if value is None:
                offset = parse_operand(parser, IndexType())
            else:
                constant = value
        attributes = parser.parse_optional_attr_dict()
        op = cls(parser.resolve_operand(base, _parse_type(parser)), offset, constant)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        if self.offset is not None:
            printer.print_string(" + ")
            printer.print_ssa_value(self.offset)
        if self.constant.value.data:
            printer.print_string(f" + {self.constant.value.data}")
        printer.print_op_attributes(self.attributes)
        _print_type(printer, self.result.type)

    def verify_(self) -> None:
        if self.result.type != self.base.type:
            raise VerifyException("npu_isa.at has the type of its base")
