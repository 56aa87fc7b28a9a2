"""The operations of the tile dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import (
    Attribute,
    Region,
    SSAValue,
)
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
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

from npu_mlir.dialects.tile.computation import check_computation
from npu_mlir.dialects.tile.schedule import ScheduleAttr
from npu_mlir.dialects.tile.spaces import Space, TileType, space_of, tile_bytes


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
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, body: Region, num_outputs: int, schedule: ScheduleAttr | None = None):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "num_outputs": IntegerAttr(num_outputs, i64),
                "schedule": schedule,
            },
            regions=[body],
        )

    @property
    def outputs(self) -> int:
        """How many of the arguments, counted from the last, are results of the launch."""
        return self.num_outputs.value.data

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        args = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_argument)
        outputs = 1
        if parser.parse_optional_keyword("outputs"):
            outputs = parser.parse_integer()
        schedule = None
        if parser.parse_optional_keyword("schedule"):
            attr = parser.parse_attribute()
            if not isinstance(attr, ScheduleAttr):
                parser.raise_error("expected a #tile.schedule attribute")
            schedule = attr
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(args)
        op = cls(name.data, body, outputs, schedule)
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
        last = self.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException("a kernel must end with tile.return")
        check_computation(self)


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Run a kernel on the core and wait for it. Its results are fresh GM tensors that the kernel writes.

    `result_offsets` are the byte addresses of the results in the GM arena, once planned.

    Example:

    ```mlir
    %y = tile.launch @copy(%x) : (tensor<64xf32>) -> tensor<64xf32>
    ```
    """

    name = "tile.launch"
    kernel = prop_def(SymbolRefAttr)
    result_offsets = opt_prop_def(DenseArrayBase)
    inputs = var_operand_def(TensorType)
    results_ = var_result_def(TensorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results_)"

    def __init__(self, kernel: str, inputs: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[inputs], result_types=[result_types], properties={"kernel": SymbolRefAttr(kernel)}
        )

    def verify_(self) -> None:
        name = self.kernel.string_value()
        table = self.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        kernel = SymbolTable.lookup_symbol(table, self.kernel) if table is not None else None
        if kernel is None:
            return
        if not isinstance(kernel, KernelOp):
            raise VerifyException(f"'@{name}' is not a kernel")
        expected = [_without_space(arg.type) for arg in kernel.body.block.args]
        given = [_without_space(value.type) for value in (*self.operands, *self.results)]
        if given != expected or len(self.results) != kernel.outputs:
            raise VerifyException(f"operands and results are not those of the kernel '@{name}'")


def _without_space(type_: Attribute) -> tuple[tuple[int, ...], Attribute]:
    """Shape and element type of a tensor or memref."""
    tile = cast("TileType", type_)
    return tile.get_shape(), tile.get_element_type()


def check_map(map_: AffineMap, indices: int, tile_rank: int, memory_rank: int, what: str) -> None:
    """Raise unless the map takes (indices, tile dims) to the coordinates of the other side."""
    if map_.num_dims != indices + tile_rank or map_.num_symbols:
        raise VerifyException(
            f"{what}: the map must take {indices} loop indices and {tile_rank} tile dimensions, "
            f"it takes {map_.num_dims}"
        )
    if len(map_.results) != memory_rank:
        raise VerifyException(
            f"{what}: the map gives {len(map_.results)} coordinates, the memory has rank {memory_rank}"
        )


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Bring a tile to another space: element `d` of the tile is `source[map(indices, d)]`, or `pad` outside the source.

    A load from L0C may cast to the element type of the tile, after setting negative values to zero with `relu`.

    On tensors it has a result, on memrefs a destination. Between GM and a tile of unplaced type (no encoding) it stands
    for the whole operand before tiling.

    Example:

    ```mlir
    %t = tile.load %a[%i] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)> pad 0.0 : f32
      : memref<60x64xf32, #tile.space<gm>> -> tensor<16x64xf32, #tile.space<ub>>
    ```
    """

    name = "tile.load"
    source = operand_def(TensorType | MemRefType)
    indices = var_operand_def(IndexType)
    dest = opt_operand_def(MemRefType)
    map = prop_def(AffineMapAttr)
    pad = opt_prop_def(FloatAttr | IntegerAttr)
    relu = opt_prop_def(UnitAttr)
    result = opt_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def()

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMap | AffineMapAttr,
        result_type: Attribute | None = None,
        dest: SSAValue | None = None,
        pad: Attribute | None = None,
        relu: bool = False,
    ):
        super().__init__(
            operands=[source, indices, dest],
            properties={
                "map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_),
                "pad": pad,
                "relu": UnitAttr() if relu else None,
            },
            result_types=[result_type],
        )

    @property
    def tile_type(self) -> TileType:
        """The type of the tile that is filled."""
        tile = self.result if self.result is not None else self.dest
        assert tile is not None
        return cast("TileType", tile.type)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        source = parser.parse_unresolved_operand()
        indices = _parse_indices(parser)
        dest = None
        if parser.parse_optional_keyword("into"):
            dest = parser.parse_unresolved_operand()
        parser.parse_keyword("map")
        map_ = _parse_map(parser)
        pad = parser.parse_attribute() if parser.parse_optional_keyword("pad") else None
        relu = parser.parse_optional_keyword("relu") is not None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_value = parser.resolve_operand(source, parser.parse_type())
        if dest is None:
            parser.parse_punctuation("->")
            op = cls(source_value, indices, map_, parser.parse_type(), None, pad, relu)
        else:
            parser.parse_punctuation(",")
            tile = parser.resolve_operand(dest, parser.parse_type())
            op = cls(source_value, indices, map_, None, tile, pad, relu)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        _print_indices(printer, self.indices)
        if self.dest is not None:
            printer.print_string(" into ")
            printer.print_ssa_value(self.dest)
        printer.print_string(" map ")
        printer.print_attribute(self.map)
        if self.pad is not None:
            printer.print_string(" pad ")
            printer.print_attribute(self.pad)
        if self.relu is not None:
            printer.print_string(" relu")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> " if self.dest is None else ", ")
        printer.print_attribute(self.tile_type)

    def verify_(self) -> None:
        if (self.dest is None) == (self.result is None):
            raise VerifyException("tile.load has either a result (on tensors) or a destination (on memrefs)")
        source = cast("TileType", self.source.type)
        tile = self.tile_type
        from_l0c = space_of(source) is Space.L0C
        if self.relu is not None and not from_l0c:
            raise VerifyException("only a load from L0C can set negative values to zero")
        if source.get_element_type() != tile.get_element_type() and not from_l0c:
            raise VerifyException(f"tile.load keeps the element type, got {source} and {tile}")
        check_map(self.map.data, len(self.indices), len(tile.get_shape()), len(source.get_shape()), self.name)
        if (
            (src := space_of(source)) is not None
            and (dst := space_of(tile)) is not None
            and (src, dst) not in LOADS
        ):
            raise VerifyException(f"there is no path from {src} to {dst}")


LOADS: frozenset[tuple[Space, Space]] = frozenset(
    {
        (Space.GM, Space.L1),
        (Space.GM, Space.UB),
        (Space.L1, Space.L0A),
        (Space.L1, Space.L0B),
        (Space.L0C, Space.UB),
        (Space.UB, Space.L1),
        (Space.UB, Space.UB),
    }
)
"""The (source, destination) pairs that `tile.load` accepts."""

STORES: frozenset[Space] = frozenset({Space.UB, Space.L0C})
"""The spaces from which `tile.store` writes to GM."""


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write a tile to GM: `dest[map(indices, d)] = tile[d]` for every `d` whose target lies inside `dest`.

    Example:

    ```mlir
    tile.store %t, %b[%i] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)>
      : tensor<16x64xf32, #tile.space<ub>>, memref<60x64xf32, #tile.space<gm>>
    ```
    """

    name = "tile.store"
    value = operand_def(TensorType | MemRefType)
    dest = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)

    def __init__(
        self, value: SSAValue, dest: SSAValue, indices: Sequence[SSAValue], map_: AffineMap | AffineMapAttr
    ):
        super().__init__(
            operands=[value, dest, indices],
            properties={"map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_)},
        )

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        dest = parser.parse_unresolved_operand()
        indices = _parse_indices(parser)
        parser.parse_keyword("map")
        map_ = _parse_map(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value_ = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation(",")
        op = cls(value_, parser.resolve_operand(dest, parser.parse_type()), indices, map_)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        printer.print_ssa_value(self.dest)
        _print_indices(printer, self.indices)
        printer.print_string(" map ")
        printer.print_attribute(self.map)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.dest.type)

    def verify_(self) -> None:
        tile, dest = cast("TileType", self.value.type), cast("TileType", self.dest.type)
        if tile.get_element_type() != dest.get_element_type() and space_of(tile) is not Space.L0C:
            raise VerifyException(f"tile.store keeps the element type, got {tile} and {dest}")
        check_map(self.map.data, len(self.indices), len(tile.get_shape()), len(dest.get_shape()), self.name)
        if space_of(dest) is not Space.GM:
            raise VerifyException(f"tile.store writes to GM, got {dest}")
        if (space := space_of(tile)) is not None and space not in STORES:
            raise VerifyException(f"there is no path from {space} to gm")


def _parse_indices(parser: Parser) -> list[SSAValue]:
    unresolved = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(u, IndexType()) for u in unresolved]


def _print_indices(printer: Printer, indices: Sequence[SSAValue]) -> None:
    with printer.in_square_brackets():
        printer.print_list(indices, printer.print_ssa_value)


def _parse_map(parser: Parser) -> AffineMapAttr:
    attr = parser.parse_attribute()
    if not isinstance(attr, AffineMapAttr):
        parser.raise_error("expected an affine map")
    return attr


@irdl_op_definition
class AllocOp(IRDLOperation):
    """An on-chip buffer of `slots` copies. `address` is the byte address of the first copy, once planned.

    `rows` is the number of leading dimensions that are the rows of a matrix tile (L0A, L0B, L0C).

    Example:

    ```mlir
    %b = tile.alloc {slots = 2} : memref<16x64xf32, #tile.space<ub>>
    ```
    """

    name = "tile.alloc"
    slots = opt_prop_def(IntegerAttr[IntegerType])
    address = opt_prop_def(IntegerAttr[IntegerType])
    rows = opt_prop_def(IntegerAttr[IntegerType])
    buffer = result_def(MemRefType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, type_: MemRefType[Attribute], slots: int = 1, rows: int | None = None):
        super().__init__(
            result_types=[type_],
            properties={
                "slots": IntegerAttr(slots, i64) if slots != 1 else None,
                "rows": IntegerAttr(rows, i64) if rows is not None else None,
            },
        )

    @property
    def num_slots(self) -> int:
        """How many copies the buffer has."""
        return 1 if self.slots is None else self.slots.value.data

    def slot_bytes(self, fractal: int) -> int:
        """Bytes of one copy, padding included; `fractal` is the side of a step of the target's cube."""
        return tile_bytes(self.buffer.type, 1 if self.rows is None else self.rows.value.data, fractal)

    def verify_(self) -> None:
        if space_of(self.buffer.type) in (None, Space.GM):
            raise VerifyException(f"tile.alloc makes on-chip buffers, got {self.buffer.type}")
        if self.num_slots < 1:
            raise VerifyException("a buffer has at least one slot")


@irdl_op_definition
class SlotOp(IRDLOperation):
    """Copy number `index mod slots` of a buffer.

    Example:

    ```mlir
    %s = tile.slot %b[%i] : memref<16x64xf32, #tile.space<ub>>
    ```
    """

    name = "tile.slot"
    buffer = operand_def(MemRefType)
    index = operand_def(IndexType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())

    def __init__(self, buffer: SSAValue, index: SSAValue):
        super().__init__(operands=[buffer, index], result_types=[buffer.type])

    @classmethod
    def parse(cls, parser: Parser) -> SlotOp:
        buffer = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(
            parser.resolve_operand(buffer, parser.parse_type()), parser.resolve_operand(index, IndexType())
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        with printer.in_square_brackets():
            printer.print_ssa_value(self.index)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)

    def verify_(self) -> None:
        if self.result.type != self.buffer.type:
            raise VerifyException("tile.slot has the type of its buffer")
