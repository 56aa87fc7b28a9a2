"""IR as text."""

from __future__ import annotations

from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer


def op_text(op: Operation, *, generic: bool = False) -> str:
    """The text of an op, with a final newline."""
    stream = StringIO()
    Printer(stream=stream, print_generic_format=generic).print_op(op)
    return stream.getvalue() + "\n"
