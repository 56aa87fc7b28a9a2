"""IR as text, in the ways that mlir-opt can print it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    NameLoc,
    StringAttr,
    TensorType,
    UnregisteredOp,
    i1,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.printer import Printer

from npu_mlir.ir.resources import quoted

if TYPE_CHECKING:
    import numpy as np
    from xdsl.ir import Use


@dataclass(frozen=True)
class PrintOptions:
    """How to print; the defaults give text that parses back to the same IR."""

    generic: bool = False
    """Every op in its generic form."""
    debuginfo: bool = False
    """Locations behind ops and block arguments."""
    elide_elements: int | None = None
    """Leave out dense constants with more elements than this."""
    elide_resources: int | None = None
    """Leave out resources whose text is longer than this."""
    skip_regions: bool = False
    """`{...}` for every region."""
    unique_ids: bool = False
    """Names of values that are unique in the whole text, not only in their function."""
    name_locations: bool = False
    """Values are named after the location of their op: `loc("name")`, or the node of the model it comes from."""
    value_users: bool = False
    """Comments that say who uses each value."""


PLAIN = PrintOptions()


def op_text(op: Operation, options: PrintOptions = PLAIN) -> str:
    """The text of an op, with a final newline."""
    stream = StringIO()
    printer = IRWriter(stream, options)
    if options.value_users:
        printer.name_everything(op)
    printer.print_op(op)
    return stream.getvalue() + "\n"


def op_line(op: Operation) -> str:
    """An op alone in its generic form, without what is in its regions, for messages; its name if it is too broken to
    be printed."""
    try:
        text = op_text(op, PrintOptions(generic=True, skip_regions=True, elide_elements=16))
    except Exception:
        return op.name
    return " ".join(text.split())


LONGEST_LIST = 100
"""Longer constants are printed in hexadecimal, as xDSL and MLIR do."""


def _looks_like_splat(array: np.ndarray) -> bool:
    from npu_mlir.support.dtypes import is_narrow_integer

    return array.dtype.kind in "fV" and not is_narrow_integer(array.dtype) and bool((array == 0).all())


class IRWriter(Printer):
    """xDSL's printer with the options above."""

    def __init__(self, stream: StringIO, options: PrintOptions) -> None:
        super().__init__(
            stream=stream, print_generic_format=options.generic, print_debuginfo=options.debuginfo
        )
        self.options = options
        self._ids: dict[Operation, str] = {}
        """Ops without results have a number when comments name users."""
        self._naming = False
        """Whether values get their names before they are printed."""
        self._pending: list[str] | None = None
        """Comments about the arguments of the block whose first op is printed next."""

    def print_attribute(self, attribute: Attribute) -> None:
        limit = self.options.elide_elements
        if (
            limit is not None
            and isinstance(attribute, DenseIntOrFPElementsAttr)
            and _is_long(attribute, limit)
        ):
            self.print_string("dense_resource<__elided__> : ")
            attribute = attribute.get_type()
        if isinstance(attribute, DenseIntOrFPElementsAttr) and self._print_dense(attribute):
            return
        super().print_attribute(attribute)

    def _print_dense(self, attribute: DenseIntOrFPElementsAttr[Any]) -> bool:
        """Print constants that xDSL would change: zeros of both signs, and long ones of i1 (packed, as in MLIR)."""
        type_, element = attribute.get_type(), attribute.get_element_type()
        if not isinstance(type_, TensorType) or not (isinstance(element, AnyFloat) or element == i1):
            return False

        import numpy as np

        from npu_mlir.ir.constants import dense_array

        array = dense_array(attribute)
        if array.size < 2 or not _looks_like_splat(array):
            if array.dtype != np.bool_ or array.size <= LONGEST_LIST or array.all() or not array.any():
                return False
            text = f'"0x{np.packbits(array, bitorder="little").tobytes().hex().upper()}"'
        else:
            if array.dtype.kind == "b" or np.signbit(array).all() or not np.signbit(array).any():
                return False
            text = f'"0x{array.tobytes().hex().upper()}"'
        self.print_string(f"dense<{text}> : ")
        super().print_attribute(attribute.get_type())
        return True

    def print_resource_handle(self, dialect: str, handle: str) -> None:
        # xDSL prints every name without quotes.
        super().print_resource_handle(dialect, quoted(handle))

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        if self.options.skip_regions:
            self.print_string("{...}")
            return
        super().print_region(region, print_entry_block_args, print_empty_block, print_block_terminators)

    def print_block(
        self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True
    ) -> None:
        if not self.options.value_users or self._naming:
            super().print_block(block, print_block_args, print_block_terminator)
            return
        # xDSL prints label and ops in one go; the users of arguments belong between them, so they are put before
        # the first op.
        self._pending = [self._users_of_argument(arg) for arg in block.args]
        super().print_block(block, print_block_args, print_block_terminator)

    def print_op(self, op: Operation) -> None:
        if not self.options.value_users:
            super().print_op(op)
            return
        if self._naming:
            super().print_op(op)
            if not op.results:
                self._id_of(op)
            return
        pending, self._pending = self._pending or [], None
        for comment in pending:
            self.print_string(comment)
            self._print_new_line()
        super().print_op(op)
        comment = self._users_of_results(op)
        if comment:
            self.print_string(f" // {comment}")

    def enter_scope(self) -> None:
        if not self.options.unique_ids:
            super().enter_scope()

    def exit_scope(self) -> None:
        if not self.options.unique_ids:
            super().exit_scope()

    def print_ssa_value(self, value: SSAValue) -> str:
        if self.options.name_locations and value not in self._ssa_values:
            prefix = _location_name(value)
            if prefix is not None:
                count = self.ssa_names.get(prefix, 0)
                self.ssa_names[prefix] = count + 1
                self._ssa_values[value] = f"{prefix}_{count}" if count else prefix
        return super().print_ssa_value(value)

    def name_everything(self, op: Operation) -> None:
        """Give all values names, as printing does, so that comments can name what comes later."""
        stream, self.stream = self.stream, StringIO()
        self._naming = True
        self.print_op(op)
        self._naming = False
        self.stream = stream
        self._current_line = self._current_column = 0

    def _users_of_argument(self, arg: BlockArgument) -> str:
        name = f"%{self._ssa_values.get(arg, '?')}"
        users = ", ".join(self._user_name(use) for use in arg.uses)
        return f"// {name} is used by {users}" if users else f"// {name} is unused"

    def _users_of_results(self, op: Operation) -> str:
        if not op.results:
            return f"id: {self._id_of(op)}" if op.operands else ""
        users = [[self._user_name(use) for use in result.uses] for result in op.results]
        if len(users) > 1:
            return f"users: {', '.join('(' + (', '.join(names) or 'unused') + ')' for names in users)}"
        names = users[0]
        return f"user{'s' * (len(names) > 1)}: {', '.join(names)}" if names else "unused"

    def _user_name(self, use: Use) -> str:
        op = use.operation
        return f"%{self._ssa_values.get(op.results[0], '?')}" if op.results else self._id_of(op)

    def _id_of(self, op: Operation) -> str:
        if op not in self._ids:
            self._ids[op] = f"%{self._get_new_valid_name_id()}"
        return self._ids[op]


class StableWriter(IRWriter):
    """Prints the same module again and again: a value keeps the name that it had the first time, so texts differ only
    where the IR does."""

    def __init__(self, options: PrintOptions) -> None:
        super().__init__(StringIO(), options)

    def text(self, op: Operation) -> str:
        """The text of an op, with a final newline."""
        self.stream = stream = StringIO()
        self._current_line = self._current_column = 0
        self._blocks.clear()
        self.print_op(op)
        return stream.getvalue() + "\n"

    def enter_scope(self) -> None:
        """Names are unique everywhere: a value may move to another scope."""

    def exit_scope(self) -> None:
        """See `enter_scope`."""


def describe_op(op: Operation) -> str:
    """An op as banners name it: `'func.func' operation: @f`."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    symbol = symbol_name(op)
    return f"'{name}' operation" + (f": @{symbol}" if symbol is not None else "")


def symbol_name(op: Operation) -> str | None:
    """The name of a function or kernel, if it has one."""
    symbol = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return symbol.data if isinstance(symbol, StringAttr) else None


def _is_long(attribute: DenseIntOrFPElementsAttr, limit: int) -> bool:
    return len(attribute) > limit and not attribute.is_splat()


def _location_name(value: SSAValue) -> str | None:
    """What a value is called where it comes from, as an identifier."""
    origin: Attribute | None = None
    if isinstance(value, OpResult):
        location, origin = value.op.location, value.op.attributes.get("npu.node")
    else:
        location = value.location if isinstance(value, BlockArgument) else None
    name = origin if origin is not None else location.desc if isinstance(location, NameLoc) else None
    if not isinstance(name, StringAttr):
        return None
    text = re.sub(r"\W", "_", name.data, flags=re.ASCII)
    if not text or text[0].isdigit():
        text = f"_{text}"
    # Numbers are added to names that occur again, and must not meet one that ends in a number.
    return f"{text}_" if re.search(r"_\d+$", text) else text
