"""Synchronisation between pipes."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_operand_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import Pipe, integer
from npu_mlir.dialects.syntax import parse_operand


class FlagInstruction(IRDLOperation):
    """Base of set_flag and wait_flag: event id = event + index mod slots, of the pair (src, dst)."""

    src = prop_def(StringAttr)
    dst = prop_def(StringAttr)
    event = prop_def(IntegerAttr[IntegerType])
    slots = prop_def(IntegerAttr[IntegerType])
    index = opt_operand_def(IndexType)

    def __init__(self, src: Pipe, dst: Pipe, event: int, slots: int = 1, index: SSAValue | None = None):
        super().__init__(
            operands=[index],
            properties={
                "src": StringAttr(src),
                "dst": StringAttr(dst),
                "event": integer(event),
                "slots": integer(slots),
            },
        )

    @property
    def pipes(self) -> tuple[Pipe, Pipe]:
        """The pipe that sets the flag and the one that waits for it."""
        return Pipe(self.src.data), Pipe(self.dst.data)

    @classmethod
    def parse(cls, parser: Parser) -> FlagInstruction:
        parser.parse_punctuation("[")
        src = parser.parse_identifier()
        parser.parse_punctuation(",")
        dst = parser.parse_identifier()
        parser.parse_punctuation(",")
        event, slots, index = parser.parse_integer(), 1, None
        if parser.parse_optional_punctuation("+"):
            index = parse_operand(parser, IndexType())
            parser.parse_keyword("mod")
            slots = parser.parse_integer()
        parser.parse_punctuation("]")
        for pipe in (src, dst):
            if pipe not in set(Pipe):
                parser.raise_error(f"unknown pipe '{pipe}', expected one of {', '.join(Pipe)}")
        op = cls(Pipe(src), Pipe(dst), event, slots, index)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" [{self.src.data}, {self.dst.data}, {self.event.value.data}")
        if self.index is not None:
            printer.print_string(" + ")
            printer.print_ssa_value(self.index)
            printer.print_string(f" mod {self.slots.value.data}")
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        for pipe in (self.src.data, self.dst.data):
            if pipe not in set(Pipe):
                raise VerifyException(f"unknown pipe '{pipe}', expected one of {', '.join(Pipe)}")
        if self.src == self.dst:
            raise VerifyException(f"a flag from {self.src.data} to itself: a pipe is in order already")
        if self.src.data == Pipe.S:
            raise VerifyException(
                "the scalar unit sets no flags: it issues nothing before it is through with a read"
            )
        if (self.slots.value.data == 1) != (self.index is None):
            raise VerifyException("a flag has an index if and only if it has several slots")
        if self.event.value.data < 0 or self.slots.value.data < 1:
            raise VerifyException("a flag has an event id from 0 on and at least one slot")


@irdl_op_definition
class SetFlagOp(FlagInstruction):
    """Executes in src's queue: raise the flag once everything before it there is complete.

    Example:

    ```mlir
    npu_isa.set_flag [MTE2, MTE1, 0]
    npu_isa.set_flag [MTE2, MTE1, 2 + %i mod 2]
    ```
    """

    name = "npu_isa.set_flag"


@irdl_op_definition
class WaitFlagOp(FlagInstruction):
    """Blocks dst's queue until the flag is raised, then lowers it. The pipe S has none: the scalar unit waits.

    Example:

    ```mlir
    npu_isa.wait_flag [MTE2, MTE1, 0]
    npu_isa.wait_flag [MTE2, MTE1, 2 + %i mod 2]
    npu_isa.wait_flag [MTE2, S, 0]
    ```
    """

    name = "npu_isa.wait_flag"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """The scalar unit waits until every pipe is idle.

    Example:

    ```mlir
    npu_isa.barrier
    ```
    """

    name = "npu_isa.barrier"
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()
