"""The `tile` dialect: kernels, loops over tiles, loads and stores between memory spaces.

It lives in two forms. On tensors, an on-chip tile is a value whose type carries its memory space as the tensor
encoding (`tensor<16x64xf16, #tile.space<ub>>`); on memrefs, it is a buffer made by `tile.alloc`. In both, global
memory (GM) is seen through the kernel's arguments, which are memrefs in the space `gm`, and computation stays
`linalg.generic`: on operands in L0A and L0B it means the cube unit, on UB the vector unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    ParametrizedAttribute,
    Region,
    SSAValue,
)
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

TileType = TensorType[Attribute] | MemRefType[Attribute]


class Space(StrEnum):
    """A memory of the NPU core, or global memory."""

    GM = "gm"
    L1 = "l1"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"
    UB = "ub"


@irdl_attr_definition
class SpaceAttr(Data[Space]):
    """A memory space: `#tile.space<ub>`. It is a memref's memory space and a tensor's encoding."""

    name = "tile.space"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Space:
        with parser.in_angle_brackets():
            word = parser.parse_identifier()
        if word not in set(Space):
            parser.raise_error(f"unknown memory space '{word}', expected one of {', '.join(Space)}")
        return Space(word)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """How a kernel is tiled: `#tile.schedule<{tile = array<i64: 64, 128>, ...}>`.

    The entries, written by `tile-choose-schedule` (or by hand) and obeyed by `tile-apply-schedule`:

    - `tile`: for every dimension class of the kernel, the size of one tile in the outer loops (parallel classes) or of
      one chunk brought on chip (reductions: to L1 for a contraction, to UB for the vector unit);
    - `inner`: for every class, the size of a chunk of K in L0, and of the piece of an accumulator that passes through
      UB at once; it divides `tile`;
    - `order`: the tiled parallel classes from the outermost loop to the innermost;
    - `direct`: a unit attribute: results leave L0C for GM without passing through UB, cast on the way if need be;
    - `slots`: number of ping-pong copies of the buffers of each space.
    """

    name = "tile.schedule"
    entries: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_attribute()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.entries)

    def sizes(self, key: str) -> tuple[int, ...]:
        """The integers listed under `key`; empty when it is absent."""
        value = self.entries.data.get(key)
        if value is None:
            return ()
        return tuple(int(v) for v in cast("DenseArrayBase[IntegerType]", value).get_values())

    def slots(self) -> dict[str, int]:
        """Number of ping-pong copies by space name; a space not named has one."""
        value = self.entries.data.get("slots")
        if not isinstance(value, DictionaryAttr):
            return {}
        return {k: v.value.data for k, v in value.data.items() if isinstance(v, IntegerAttr)}

    @property
    def direct(self) -> bool:
        """Whether results go from L0C to GM directly."""
        return "direct" in self.entries.data

    @staticmethod
    def of(slots: Mapping[str, int], *, direct: bool = False, **sizes: Iterable[int]) -> ScheduleAttr:
        """Build a schedule from plain integers."""
        entries: dict[str, Attribute] = {k: DenseArrayBase.from_list(i64, list(v)) for k, v in sizes.items()}
        if direct:
            entries["direct"] = UnitAttr()
        entries["slots"] = DictionaryAttr({k: IntegerAttr(v, i64) for k, v in slots.items()})
        return ScheduleAttr(DictionaryAttr(entries))


def space_of(type_: Attribute) -> Space | None:
    """The memory space of a tile's type; None for a tensor that has not been placed."""
    if isinstance(type_, MemRefType):
        attr = cast("MemRefType[Attribute]", type_).memory_space
    elif isinstance(type_, TensorType):
        attr = cast("TensorType[Attribute]", type_).encoding
    else:
        return None
    return attr.data if isinstance(attr, SpaceAttr) else None


def place(shape: Sequence[int], element_type: Attribute, space: Space) -> TensorType[Attribute]:
    """The type of an on-chip tile as a tensor value."""
    return TensorType(element_type, shape, SpaceAttr(space))


def buffer_type(shape: Sequence[int], element_type: Attribute, space: Space) -> MemRefType[Attribute]:
    """The type of an on-chip tile as a buffer."""
    return MemRefType(element_type, shape, NoneAttr(), SpaceAttr(space))


def element_bytes(element_type: Attribute) -> int:
    """Bytes that one element takes in memory; an i1 takes a whole byte."""
    width = getattr(element_type, "bitwidth", None)
    if isinstance(element_type, IndexType):
        return 8
    if width is None:
        raise ValueError(f"{element_type} has no size in memory")
    return max(1, cast("int", width) // 8)


ROW_ALIGNMENT = 32
"""Bytes to which the rows of a tile in L1 and UB are padded (Ascend 910: UB and L1 blocks of 32 B)."""

def tile_strides(shape: Sequence[int], element_size: int) -> tuple[int, ...]:
    """Element strides of a tile in L1 or UB: row-major, the innermost dimension padded to 32 B.

    >>> tile_strides((4, 10), 4)
    (16, 1)
    """
    if not shape:
        return ()
    strides = [1]
    block = max(1, ROW_ALIGNMENT // element_size)
    pitch = -(-shape[-1] // block) * block if len(shape) > 1 else shape[-1]
    for extent in reversed(shape[1:]):
        strides.append(pitch if len(strides) == 1 else strides[-1] * extent)
    return tuple(reversed(strides))


def matrix_strides(shape: Sequence[int], row_dims: int, fractal: int) -> tuple[int, ...]:
    """Element strides of a matrix tile in L0C: rows are the first `row_dims` dimensions, flattened, columns the rest;
    the columns are padded to a multiple of `fractal`, the side of a step of the cube.

    >>> matrix_strides((2, 3, 20), 2, 16)
    (96, 32, 1)
    """
    columns = 1
    strides: list[int] = []
    for extent in reversed(shape[row_dims:]):
        strides.append(columns)
        columns *= extent
    pitch = -(-columns // fractal) * fractal
    for extent in reversed(shape[:row_dims]):
        strides.append(pitch)
        pitch *= extent
    return tuple(reversed(strides))


def tile_bytes(type_: Attribute, row_dims: int, fractal: int) -> int:
    """Bytes that one copy of a tile takes in its space, padding included, a multiple of the space's alignment.

    In L0A, L0B and L0C a tile is a matrix whose rows are its first `row_dims` dimensions; both sides are padded to
    `fractal`, the side of a step of the cube.
    """
    tile = cast("TileType", type_)
    shape, size = tile.get_shape(), element_bytes(tile.get_element_type())
    space = space_of(tile)
    if space in (Space.L0A, Space.L0B, Space.L0C):
        rows, columns = 1, 1
        for extent in shape[:row_dims]:
            rows *= extent
        for extent in shape[row_dims:]:
            columns *= extent
        padded = -(-rows // fractal) * fractal * (-(-columns // fractal) * fractal)
        return -(-padded * size // ROW_ALIGNMENT) * ROW_ALIGNMENT
    strides = tile_strides(shape, size)
    elements = strides[0] * shape[0] if shape else 1
    return -(-elements * size // ROW_ALIGNMENT) * ROW_ALIGNMENT


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
      %t = tile.load %a[] map affine_map<(d0) -> (d0)> : memref<64xf32, #tile.space<gm>> -> tensor<64xf32, #tile.space<ub>>
      tile.store %t, %b[] map affine_map<(d0) -> (d0)> : tensor<64xf32, #tile.space<ub>>, memref<64xf32, #tile.space<gm>>
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


def check_map(map_: AffineMap, indices: int, tile_rank: int, memory_rank: int, what: str) -> None:
    """Raise unless the map takes (indices, tile dims) to the coordinates of the other side."""
    if map_.num_dims != indices + tile_rank or map_.num_symbols:
        raise VerifyException(
            f"{what}: the map must take {indices} loop indices and {tile_rank} tile dimensions, it takes {map_.num_dims}"
        )
    if len(map_.results) != memory_rank:
        raise VerifyException(
            f"{what}: the map gives {len(map_.results)} coordinates, the memory has rank {memory_rank}"
        )


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Bring a tile to another space: element `d` of the tile is `source[map(indices, d)]`, or `pad` outside the source.

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
    ):
        super().__init__(
            operands=[source, indices, dest],
            properties={"map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_), "pad": pad},
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
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source_value = parser.resolve_operand(source, parser.parse_type())
        if dest is None:
            parser.parse_punctuation("->")
            op = cls(source_value, indices, map_, parser.parse_type(), None, pad)
        else:
            parser.parse_punctuation(",")
            op = cls(
                source_value, indices, map_, None, parser.resolve_operand(dest, parser.parse_type()), pad
            )
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
        if source.get_element_type() != tile.get_element_type():
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


Tile = Dialect(
    "tile",
    [ReturnOp, KernelOp, LaunchOp, LoadOp, StoreOp, AllocOp, SlotOp],
    [SpaceAttr, ScheduleAttr],
)
