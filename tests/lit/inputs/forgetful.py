"""A dialect whose op does not print all that it has."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer


@irdl_op_definition
class CountOp(IRDLOperation):
    """`forgetful.count 3`, which is printed without its number when that is large."""

    name = "forgetful.count"
    number = prop_def(IntegerAttr)

    @classmethod
    def parse(cls, parser: Parser) -> CountOp:
        number = parser.parse_optional_integer() or 0
        return CountOp(properties={"number": IntegerAttr(number, i64)})

    def print(self, printer: Printer) -> None:
        if self.number.value.data < 10:
            printer.print_string(f" {self.number.value.data}")


Forgetful = Dialect("forgetful", [CountOp])
