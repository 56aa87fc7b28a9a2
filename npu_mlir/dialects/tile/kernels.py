"""Kernels and their launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    Region,
    SSAValue,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.symbols import lookup_symbol
from npu_mlir.dialects.tile.computation import check_computation
from npu_mlir.dialects.tile.schedule import ScheduleAttr
from npu_mlir.dialects.tile.spaces import Space, TileType, space_of


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends a kernel.

    Example:

    ```mlir
    tile.return
    ```
    """

    name = "tile.return"
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@irdl_op_definition
class KernelOp(IRDLOperation):
    """A program of the NPU core. Its arguments are the GM buffers of the launch: operands first, then results.

    With `reuses [0]`, the result lies where operand 0 does and holds at first what that holds, which nothing reads
    afterwards; of several results, -1 stands for those that hold nothing.

    Example:

    ```mlir
    tile.kernel @copy(%a: memref<64xf32, #tile.space<gm>>, %b: memref<64xf32, #tile.space<gm>>) {
      %t = tile.load %a[] map affine_map<(d0) -> (d0)>
        : memref<64xf32, #tile.space<gm>> -> tensor<64xf32, #tile.space<ub>>
      tile.store %t, %b[] map affine_map<(d0) -> (d0)>
        : tensor<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
      tile.return
    }
    ```
    """

    name = "tile.kernel"
    sym_name = prop_def(SymbolNameConstraint())
    num_outputs = prop_def(IntegerAttr[IntegerType])
    reuses = opt_prop_def(DenseArrayBase)
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        body: Region,
        num_outputs: int,
        schedule: ScheduleAttr | None = None,
        reuses: Sequence[int] | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "num_outputs": IntegerAttr(num_outputs, i64),
                "reuses": DenseArrayBase.from_list(i64, reuses) if reuses is not None else None,
                "schedule": schedule,
            },
            regions=[body],
        )

    @property
    def outputs(self) -> int:
        """How many of the arguments, counted from the last, are results of the launch."""
        return self.num_outputs.value.data

    @property
    def reused(self) -> tuple[int | None, ...]:
        """For each result, the number of the operand that it lies in the place of."""
        if self.reuses is None:
            return (None,) * self.outputs
        numbers = cast("DenseArrayBase[IntegerType]", self.reuses).get_values()
        return tuple(n if n >= 0 else None for n in numbers)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        args = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        outputs = 1
        if parser.parse_optional_keyword("outputs"):
            outputs = parser.parse_integer()
        reuses = None
        if parser.parse_optional_keyword("reuses"):
            reuses = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        schedule = None
        if parser.parse_optional_keyword("schedule"):
            attr = parser.parse_attribute()
            if not isinstance(attr, ScheduleAttr):
                parser.raise_error("expected a #tile.schedule attribute")
            schedule = attr
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(args)
        op = cls(name.data, body, outputs, schedule, reuses)
        if attributes is not None:
            op.attributes |= attributes.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        block = self.body.block
        with printer.in_parens():
            printer.print_list(block.args, printer.print_block_argument)
        if self.outputs != 1:
            printer.print_string(f" outputs {self.outputs}")
        if self.reuses is not None:
            numbers = ", ".join(str(-1 if n is None else n) for n in self.reused)
            printer.print_string(f" reuses [{numbers}]")
        if self.schedule is not None:
            printer.print_string(" schedule ")
            printer.print_attribute(self.schedule)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        args = self.body.block.args
        for i, arg in enumerate(args):
            if not isinstance(arg.type, MemRefType) or space_of(arg.type) is not Space.GM:
                raise VerifyException(
                    f"argument {i} of a kernel must be a memref in #tile.space<gm>, got {arg.type}"
                )
        if not 0 < self.outputs <= len(args):
            raise VerifyException(f"{self.outputs} outputs, but the kernel has {len(args)} arguments")
        self._verify_reuses()
        last = self.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException("a kernel must end with tile.return")
        check_computation(self)

    def _verify_reuses(self) -> None:
        types = [arg.type for arg in self.body.block.args]
        inputs, results = types[: -self.outputs], types[-self.outputs :]
        if len(self.reused) != len(results):
            raise VerifyException(
                f"{len(self.reused)} results reuse operands, but the kernel has {len(results)}"
            )
        for result, operand in zip(results, self.reused, strict=True):
            if operand is not None and (operand >= len(inputs) or inputs[operand] != result):
                raise VerifyException(f"a result of type {result} can't reuse operand {operand}")
        used = [operand for operand in self.reused if operand is not None]
        if len(set(used)) != len(used):
            raise VerifyException("two results reuse one operand")


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Run a kernel on the core and wait for it. Its results are fresh GM tensors that the kernel writes.

    `result_offsets` are the byte addresses of the results in the GM arena, once planned. In a loop, a result may have
    several places there, one behind the other, `result_slots` of them: the launch writes number `index mod slots`,
    where the indices are the operands `slots`, one for each result. A result that is a part of a tensor has the strides
    of the whole, in elements: `result_strides`, in which an empty list stands for those of its own shape.

    Example:

    ```mlir
    %y = tile.launch @copy(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %z = tile.launch @copy(%y) slots(%i) {result_offsets = array<i64: 0>, result_slots = array<i64: 2>}
      : (tensor<64xf32>) -> tensor<64xf32>
    %w = tile.launch @k(%x) {result_offsets = array<i64: 64>, result_strides = [array<i64: 96, 1>]}
      : (tensor<8x32xf16>) -> tensor<8x32xf16>
    ```
    """

    name = "tile.launch"
    kernel = prop_def(SymbolRefAttr)
    result_offsets = opt_prop_def(DenseArrayBase.constr(i64))
    result_slots = opt_prop_def(DenseArrayBase.constr(i64))
    result_strides = opt_prop_def(ArrayAttr[DenseArrayBase])
    inputs = var_operand_def(TensorType)
    slots = var_operand_def(IndexType)
    results_ = var_result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(), AttrSizedOperandSegments(as_property=True))
    traits = traits_def(Pure())
    assembly_format = (
        "$kernel `(` $inputs `)` (`slots` `(` $slots^ `)`)? attr-dict `:` functional-type($inputs, $results_)"
    )

    def __init__(
        self,
        kernel: str,
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        slots: Sequence[SSAValue] = (),
    ):
        super().__init__(
            operands=[inputs, slots],
            result_types=[result_types],
            properties={"kernel": SymbolRefAttr(kernel)},
        )

    def places(self) -> list[tuple[int, int]] | None:
        """For each result, where its places in the GM arena begin, in bytes, and how many there are; None as long as
        that is not planned."""
        if self.result_offsets is None:
            return None
        offsets = self.result_offsets.get_values()
        slots = self.result_slots.get_values() if self.result_slots is not None else [1] * len(offsets)
        return list(zip(offsets, slots, strict=True))

    def strides(self) -> list[tuple[int, ...] | None]:
        """For each result its strides in elements, None for those of its own shape."""
        if self.result_strides is None:
            return [None] * len(self.results)
        lists = [cast("DenseArrayBase[IntegerType]", entry).get_values() for entry in self.result_strides]
        return [tuple(own) or None for own in lists]

    def verify_(self) -> None:
        self._verify_places()
        name = self.kernel.string_value()
        table = self.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        kernel = lookup_symbol(table, self.kernel) if table is not None else None
        if kernel is None:
            return
        if not isinstance(kernel, KernelOp):
            raise VerifyException(f"'@{name}' is not a kernel")
        expected = [_without_space(arg.type) for arg in kernel.body.block.args]
        given = [_without_space(value.type) for value in (*self.inputs, *self.results)]
        if given != expected or len(self.results) != kernel.outputs:
            raise VerifyException(f"operands and results are not those of the kernel '@{name}'")
        self._verify_section(kernel)

    def _verify_section(self, kernel: KernelOp) -> None:
        """As a section of a program, a launch has a kernel that waits for what ran before; what it loads ahead of that,
        no section may write."""
        program = self.parent_op()
        while program is not None and program.name != "tile.program":
            program = program.parent_op()
        if program is None:
            return
        ahead = loaded_ahead(kernel)
        if ahead is None:
            if not _is_lowered(kernel):
                raise VerifyException(
                    f"as a section of a program, '@{kernel.sym_name.data}' needs a tile.boundary: what stands "
                    "behind it waits for the sections before"
                )
            return
        for number in ahead.constant:
            writer = writer_in_program(self.inputs[number], program) if number < len(self.inputs) else self
            if writer is not None:
                raise VerifyException(
                    f"'@{kernel.sym_name.data}' loads argument {number} ahead of its boundary, and a section of this "
                    "program writes it: move the load behind the boundary"
                )
        if ahead.awaits:
            self._verify_handover(kernel, ahead.stored, program)

    def _verify_handover(self, kernel: KernelOp, numbers: Sequence[int], program: Operation) -> None:
        """What is loaded behind `tile.await_stored` comes from the section directly before, which has `tile.stored`."""
        before = self.prev_op
        while before is not None and not isinstance(before, LaunchOp) and not before.regions:
            before = before.prev_op
        if before is not None and before.regions:
            # The last launch of a loop, which only the simulator follows.
            return
        name = kernel.sym_name.data
        if not isinstance(before, LaunchOp):
            if self.parent_op() is program:
                raise VerifyException(
                    f"'@{name}' waits for tile.stored, and is the first section of a program"
                )
            return
        table = program.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        producer = lookup_symbol(table, before.kernel) if table is not None else None
        if isinstance(producer, KernelOp) and not _is_lowered(producer) and not _says_stored(producer):
            raise VerifyException(
                f"'@{name}' waits for tile.stored, and the section before, '@{producer.sym_name.data}', has none"
            )
        for number in numbers:
            writer = writer_in_program(self.inputs[number], program) if number < len(self.inputs) else self
            if writer not in (None, before):
                raise VerifyException(
                    f"'@{name}' loads argument {number} ahead of its boundary, and another section than the one "
                    "directly before writes it: move the load behind the boundary"
                )

    def _verify_places(self) -> None:
        for entry in (self.result_offsets, self.result_slots):
            if entry is not None and len(entry.get_values()) != len(self.results):
                raise VerifyException(f"{len(entry.get_values())} places for {len(self.results)} results")
        if self.result_strides is not None:
            ranks = [len(cast("TileType", result.type).get_shape()) for result in self.results]
            given = [len(own or ()) for own in self.strides()]
            if self.result_offsets is None or len(given) != len(ranks):
                raise VerifyException(
                    "results with strides have result_offsets, and strides or an empty list each"
                )
            if any(count not in (0, rank) for count, rank in zip(given, ranks, strict=True)):
                raise VerifyException(f"strides for {given} dims, and the results have {ranks}")
        if self.result_slots is None and not self.slots:
            return
        if self.result_slots is None or self.result_offsets is None:
            raise VerifyException("results with slots have result_offsets and result_slots")
        if len(self.slots) != len(self.results):
            raise VerifyException(f"{len(self.slots)} indices for {len(self.results)} results")
        if min(self.result_slots.get_values(), default=1) < 1:
            raise VerifyException("a result has at least one slot")


@irdl_op_definition
class ReserveOp(IRDLOperation):
    """A tensor of undefined contents at a byte address of the GM arena, of which launches in a loop write the parts.

    In a loop it may have `slots` places one behind the other, of which it is number `index mod slots`.

    Example:

    ```mlir
    %y = tile.reserve at 4096 : tensor<100x64xf32>
    %z = tile.reserve at 8192 slot %i of 2 : tensor<100x64xf32>
    ```
    """

    name = "tile.reserve"
    offset = prop_def(IntegerAttr.constr(i64))
    slots = opt_prop_def(IntegerAttr.constr(i64))
    slot = opt_operand_def(IndexType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "`at` $offset (`slot` $slot^ `of` $slots)? attr-dict `:` type($result)"

    def __init__(self, offset: int, type_: Attribute, slot: SSAValue | None = None, slots: int = 1):
        super().__init__(
            operands=[slot],
            result_types=[type_],
            properties={
                "offset": IntegerAttr(offset, i64),
                "slots": IntegerAttr(slots, i64) if slot is not None else None,
            },
        )

    def place(self) -> tuple[int, int]:
        """Where its places in the GM arena begin, in bytes, and how many there are."""
        return self.offset.value.data, 1 if self.slots is None else self.slots.value.data

    def verify_(self) -> None:
        if (self.slots is None) != (self.slot is None) or self.place()[1] < 1:
            raise VerifyException("an index of a slot, and how many there are, go together")


class LoadedAhead(NamedTuple):
    """The arguments that a kernel loads before its boundary: those that no section writes, and behind its
    `tile.await_stored`, if it `awaits` that, those of the section before."""

    constant: list[int]
    stored: list[int]
    awaits: bool


def loaded_ahead(kernel: KernelOp) -> LoadedAhead | None:
    """The arguments that a kernel loads before its boundary; None without one."""
    constant: list[int] = []
    stored: list[int] = []
    found, awaits = constant, False
    for op in kernel.body.block.ops:
        if op.name == "tile.boundary":
            return LoadedAhead(constant, stored, awaits)
        if op.name == "tile.await_stored":
            found, awaits = stored, True
        for value in op.operands if op.name.startswith(("tile.load", "npu_isa.load")) else ():
            if isinstance(value, BlockArgument) and value.block is kernel.body.block:
                found.append(value.index)
    return None


def _says_stored(kernel: KernelOp) -> bool:
    return any(op.name == "tile.stored" for op in kernel.walk())


def _is_lowered(kernel: KernelOp) -> bool:
    """Whether a kernel consists of instructions, where flags take the place of the boundary."""
    return any(op.name.startswith("npu_isa.") for op in kernel.body.block.ops)


def writer_in_program(value: SSAValue, program: Operation) -> Operation | None:
    """The op of a program that a value, or what it is a view of, comes from; None if it is from outside."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.name in (
        "tensor.collapse_shape",
        "tensor.expand_shape",
        "tensor.cast",
        "tensor.reshape",
        "builtin.unrealized_conversion_cast",
        "tensor.extract_slice",
    ):
        owner = owner.operands[0].owner
    if isinstance(owner, Block):
        owner = owner.parent_op()
        assert owner is not None
    around: Operation | None = owner
    while around is not None and around is not program:
        around = around.parent_op()
    if around is None or owner is program or owner.name in ("arith.constant", "graph.weight"):
        return None
    return owner


def _without_space(type_: Attribute) -> tuple[tuple[int, ...], Attribute]:
    """Shape and element type of a tensor or memref."""
    tile = cast("TileType", type_)
    return tile.get_shape(), tile.get_element_type()


def _parse_argument(parser: Parser) -> Parser.Argument:
    """An argument with the location that it may have."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument
