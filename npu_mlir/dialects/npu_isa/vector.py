"""The vector unit: elementwise functions, reductions and fills over UB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import (
    BLOCK,
    Access,
    AddrType,
    Elements,
    Instruction,
    Pipe,
    VectorWork,
    Work,
    array,
    check_distinct,
    check_shape,
    check_space,
    collapse,
    integer,
    ints,
    product,
    strided_extent,
    strided_rows,
)
from npu_mlir.dialects.npu_isa.syntax import (
    parse_address,
    parse_over,
    parse_strides,
    parse_types,
    print_over,
    print_strided,
    print_types,
)
from npu_mlir.dialects.tile import Cube, Space, element_bytes

TRANSPOSED_PIECES = 16
"""Pieces of `BLOCK` bytes that a transposed block is made of."""

TRANSPOSED_BYTES = (2, 4)
"""Sizes of elements that are transposed."""


class VectorInstruction(Instruction):
    """`dest[d] = kind(sources[d])` over the iteration space `shape` (at most four dims, innermost last).

    `strides` lists the element strides of the destination, then of every source; `types` their element types. One
    source may be an immediate: `imm`, standing at position `imm_position` among the sources.
    """

    PIPE: ClassVar[Pipe] = Pipe.V
    KINDS: ClassVar[frozenset[str]]
    INPUTS: ClassVar[int]
    """Number of sources, the immediate included."""
    ACCUMULATES: ClassVar[bool] = False
    """The destination is read as well, and its strides may be 0."""
    dest = operand_def(AddrType)
    sources = var_operand_def(AddrType)
    kind = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(ArrayAttr)
    types = prop_def(ArrayAttr)
    imm = opt_prop_def(FloatAttr | IntegerAttr)
    imm_position = opt_prop_def(IntegerAttr[IntegerType])

    def __init__(
        self,
        kind: str,
        dest: SSAValue,
        sources: Sequence[SSAValue],
        shape: Sequence[int],
        strides: Sequence[Sequence[int]],
        types: Sequence[Attribute],
        imm: Attribute | None = None,
        imm_position: int | None = None,
    ):
        super().__init__(
            operands=[dest, sources],
            properties={
                "kind": StringAttr(kind),
                "shape": array(shape),
                "strides": ArrayAttr([array(s) for s in strides]),
                "types": ArrayAttr(types),
                "imm": imm,
                "imm_position": integer(imm_position) if imm_position is not None else None,
            },
        )

    @property
    def operand_strides(self) -> list[tuple[int, ...]]:
        """Element strides of the destination and of every source."""
        return [ints(s) for s in self.strides.data if isinstance(s, DenseArrayBase)]

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        shape = ints(self.shape)
        dest, *sources = (
            strided_extent(shape, strides, 8 * element_bytes(type_))
            for strides, type_ in zip(self.operand_strides, self.types.data, strict=True)
        )
        reads = [Access(value, False, extent) for value, extent in zip(self.sources, sources, strict=True)]
        if self.ACCUMULATES:
            reads.append(Access(self.dest, False, dest))
        return (*reads, Access(self.dest, True, dest))

    def elements(self) -> tuple[Elements, ...] | None:
        if self.ACCUMULATES:
            return None
        shape = ints(self.shape)
        dest, *sources = (
            Elements(shape, strides, element_bytes(type_))
            for strides, type_ in zip(self.operand_strides, self.types.data, strict=True)
        )
        return (*sources, dest)

    def work(self) -> Work:
        """The widest operand decides; an innermost stride other than 0 and 1 takes a block per element. A step has a
        block stride for each operand, so its blocks may as well lie along another loop."""
        dims, strides = collapse(ints(self.shape), *self.operand_strides)
        sizes = [element_bytes(type_) for type_ in self.types.data]
        strided = strided_rows(dims, strides, sizes)
        count = dims.pop() if dims else 1
        widths = [
            size if not steps or steps[-1] <= 1 else BLOCK for steps, size in zip(strides, sizes, strict=True)
        ]
        return VectorWork(self.cost_kind(), product(dims), count * max(widths), strided)

    def cost_kind(self) -> str:
        """The row of the target's table of vector costs."""
        return self.kind.data

    @classmethod
    def parse(cls, parser: Parser) -> VectorInstruction:
        kind = parser.parse_identifier() if len(cls.KINDS) > 1 else next(iter(cls.KINDS))
        dest = parse_address(parser, Space.UB)
        strides = [parse_strides(parser)]
        sources: list[SSAValue] = []
        imm: Attribute | None = None
        position: int | None = None
        while parser.parse_optional_punctuation(","):
            if parser.parse_optional_keyword("imm"):
                position, imm = len(sources), parser.parse_attribute()
                continue
            sources.append(parse_address(parser, Space.UB))
            strides.append(parse_strides(parser))
        shape = parse_over(parser)
        attributes = parser.parse_optional_attr_dict()
        types = parse_types(parser)
        if len(types) == 1:
            types *= len(strides)
        op = cls(kind, dest, sources, shape, strides, types, imm, position)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} " if len(self.KINDS) > 1 else " ")
        strides = [s for s in self.strides.data if isinstance(s, DenseArrayBase)]
        print_strided(printer, self.dest, strides[0])
        position = None if self.imm_position is None else self.imm_position.value.data
        for i, (value, steps) in enumerate(zip(self.sources, strides[1:], strict=True)):
            self._print_immediate(printer, i == position)
            printer.print_string(", ")
            print_strided(printer, value, steps)
        self._print_immediate(printer, len(self.sources) == position)
        print_over(printer, self.shape)
        printer.print_op_attributes(self.attributes)
        types = self.types.data
        print_types(printer, types[:1] if len(set(types)) == 1 else types)

    def _print_immediate(self, printer: Printer, here: bool) -> None:
        if here and self.imm is not None:
            printer.print_string(", imm ")
            printer.print_attribute(self.imm)

    def verify_(self) -> None:
        if self.kind.data not in self.KINDS:
            raise VerifyException(
                f"unknown kind '{self.kind.data}', expected one of {', '.join(sorted(self.KINDS))}"
            )
        check_space(self.dest, "destination", Space.UB)
        for source in self.sources:
            check_space(source, "source", Space.UB)
        self._verify_operands()
        strides = self.operand_strides
        check_shape(ints(self.shape), *strides)
        if not self.ACCUMULATES:
            check_distinct(ints(self.shape), strides[0])
        self.verify_types(*self.types.data)

    def _verify_operands(self) -> None:
        operands, inputs = 1 + len(self.sources), len(self.sources) + (self.imm is not None)
        if inputs != self.INPUTS:
            raise VerifyException(f"expected {self.INPUTS} sources, got {inputs}")
        if (self.imm is None) != (self.imm_position is None):
            raise VerifyException("an immediate has a position, and a position an immediate")
        if self.imm_position is not None and not 0 <= self.imm_position.value.data < self.INPUTS:
            raise VerifyException(f"position {self.imm_position.value.data} of {self.INPUTS} sources")
        if len(self.strides.data) != operands:
            raise VerifyException(f"{operands} operands, but strides for {len(self.strides.data)}")
        if len(self.types.data) != operands:
            raise VerifyException(f"{operands} operands, but {len(self.types.data)} types")

    def verify_types(self, dest: Attribute, *sources: Attribute) -> None:
        """Raise unless the element types fit the instruction."""
        values = [*sources, *([self.imm.type] if self.imm is not None else [])]
        if any(type_ != dest for type_ in values):
            raise VerifyException(
                f"all operands must have the type {dest}, got {', '.join(map(str, values))}"
            )


@irdl_op_definition
class VUnaryOp(VectorInstruction):
    """Elementwise function of one source; `rint` is the nearest whole number, the even one of two.

    Example:

    ```mlir
    npu_isa.vunary exp %d<64, 1>, %a<64, 1> over [16, 50] : f32
    ```
    """

    name = "npu_isa.vunary"
    INPUTS: ClassVar[int] = 1
    KINDS: ClassVar[frozenset[str]] = frozenset(
        {"copy", "exp", "log", "sqrt", "abs", "neg", "relu", "not", "rint"}
    )


@irdl_op_definition
class VTransposeOp(VectorInstruction):
    """Copy elements of 16 or 32 bits in blocks that are transposed: the innermost loop is contiguous in the
    destination, the one around it in the source.

    A block is 16 pieces of 32 bytes of the source, which lie anywhere at multiples of 32 bytes, and becomes as many of
    the destination. What a block has beyond the loops goes to places that nothing reads.

    Example:

    ```mlir
    npu_isa.vtranspose %d<64, 1>, %a<1, 64> over [56, 64] : f16
    ```
    """

    name = "npu_isa.vtranspose"
    INPUTS: ClassVar[int] = 1
    KINDS: ClassVar[frozenset[str]] = frozenset({"transpose"})

    def work(self) -> Work:
        """Blocks, each as many bytes as are read or written of it."""
        *outer, rows, columns = ints(self.shape)
        in_piece = BLOCK // element_bytes(self.types.data[0])
        blocks = product(outer) * -(-rows // in_piece) * -(-columns // TRANSPOSED_PIECES)
        return VectorWork("transpose", blocks, TRANSPOSED_PIECES * BLOCK)

    def verify_(self) -> None:
        super().verify_()
        size = element_bytes(self.types.data[0])
        dest, source = self.operand_strides
        if size not in TRANSPOSED_BYTES:
            raise VerifyException(f"elements of 16 or 32 bits are transposed, got {self.types.data[0]}")
        if len(dest) < 2 or dest[-1] != 1 or source[-2] != 1:
            raise VerifyException(
                "the innermost loop has to be contiguous in the destination, and the one around it in the source"
            )
        others = (*dest[:-1], *source[:-2], source[-1])
        if any(step * size % BLOCK for step in others):
            raise VerifyException(f"the other strides have to be multiples of {BLOCK} bytes")


@irdl_op_definition
class VBinaryOp(VectorInstruction):
    """Elementwise function of two sources, one of which may be an immediate.

    Example:

    ```mlir
    npu_isa.vbinary add %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] : f32
    npu_isa.vbinary sub %d<64, 1>, imm 1.0 : f32, %a<64, 1> over [16, 50] : f32
    ```
    """

    name = "npu_isa.vbinary"
    INPUTS: ClassVar[int] = 2
    KINDS: ClassVar[frozenset[str]] = frozenset(
        {"add", "sub", "mul", "div", "max", "min", "and", "or", "xor"}
    )

    def cost_kind(self) -> str:
        return self.kind.data if self.imm is None or self.kind.data == "div" else "scalar"


@irdl_op_definition
class VMaddOp(VectorInstruction):
    """`dest += a * b` in the destination's type (widening); a destination stride 0 accumulates over that dim.

    Example:

    ```mlir
    npu_isa.vmadd %d<64, 1>, %a<64, 1>, %b<0, 1> over [16, 50] : f32, f16, f16
    ```
    """

    name = "npu_isa.vmadd"
    INPUTS: ClassVar[int] = 2
    ACCUMULATES: ClassVar[bool] = True
    KINDS: ClassVar[frozenset[str]] = frozenset({"madd"})

    def verify_types(self, dest: Attribute, *sources: Attribute) -> None:
        if any(element_bytes(source) > element_bytes(dest) for source in sources):
            raise VerifyException(f"the destination {dest} is narrower than a source")


@irdl_op_definition
class VCmpOp(VectorInstruction):
    """Compare two sources (one may be immediate) into a mask of i1 (one byte each).

    Example:

    ```mlir
    npu_isa.vcmp lt %m<64, 1>, %a<64, 1>, imm 0.0 : f32 over [16, 50] : i1, f32
    ```
    """

    name = "npu_isa.vcmp"
    INPUTS: ClassVar[int] = 2
    KINDS: ClassVar[frozenset[str]] = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})

    def verify_types(self, dest: Attribute, *sources: Attribute) -> None:
        values = {*sources, *([self.imm.type] if self.imm is not None else [])}
        if dest != i1 or len(values) != 1:
            raise VerifyException("npu_isa.vcmp compares two sources of one type into i1")


@irdl_op_definition
class VSelectOp(VectorInstruction):
    """`dest = mask ? a : b`; a or b may be immediate (imm_position 1 or 2).

    Example:

    ```mlir
    npu_isa.vselect %d<64, 1>, %m<64, 1>, %a<64, 1>, imm 0.0 : f32 over [16, 50] : f32, i1, f32
    ```
    """

    name = "npu_isa.vselect"
    INPUTS: ClassVar[int] = 3
    KINDS: ClassVar[frozenset[str]] = frozenset({"select"})

    def verify_types(self, dest: Attribute, *sources: Attribute) -> None:
        if not sources or sources[0] != i1:
            raise VerifyException("the first source of npu_isa.vselect is a mask of i1")
        super().verify_types(dest, *sources[1:])


@irdl_op_definition
class VCastOp(VectorInstruction):
    """Convert between element types: `cast` (signed ints, truncation toward zero), `ucast` (unsigned source), `rcast`
    (floats to signed ints, to the nearest, the even one of two; what is out of range becomes the limit of the range).

    Example:

    ```mlir
    npu_isa.vcast cast %d<64, 1>, %a<64, 1> over [16, 50] : f16, f32
    ```
    """

    name = "npu_isa.vcast"
    INPUTS: ClassVar[int] = 1
    KINDS: ClassVar[frozenset[str]] = frozenset({"cast", "ucast", "rcast"})

    def cost_kind(self) -> str:
        return "cast"

    def verify_types(self, dest: Attribute, *sources: Attribute) -> None:
        if self.imm is not None:
            raise VerifyException("npu_isa.vcast has no immediate")
        if self.kind.data == "rcast" and not (
            isinstance(dest, IntegerType) and isinstance(sources[0], AnyFloat)
        ):
            raise VerifyException(f"rcast makes integers of floats, got {dest} of {sources[0]}")


@irdl_op_definition
class VReduceOp(VectorInstruction):
    """`dest = kind(dest, source)`, accumulating over the dims whose destination stride is 0.

    Example:

    ```mlir
    npu_isa.vreduce sum %d<1, 0>, %a<64, 1> over [16, 50] : f32
    ```
    """

    name = "npu_isa.vreduce"
    INPUTS: ClassVar[int] = 1
    ACCUMULATES: ClassVar[bool] = True
    KINDS: ClassVar[frozenset[str]] = frozenset({"sum", "prod", "max", "min"})

    def cost_kind(self) -> str:
        """Reducing along the innermost dim is a row reduction; along others it is elementwise on the destination."""
        dims, (dest, _) = collapse(ints(self.shape), *self.operand_strides)
        if dims and dest[-1] == 0:
            return "reduce"
        return {"sum": "add", "prod": "mul"}.get(self.kind.data, self.kind.data)

    def verify_types(self, dest: Attribute, *sources: Attribute) -> None:
        if any(element_bytes(source) > element_bytes(dest) for source in sources):
            raise VerifyException(f"the destination {dest} is narrower than the source")


@irdl_op_definition
class VDupOp(VectorInstruction):
    """Fill with the immediate `imm` (no sources, imm_position 0).

    Example:

    ```mlir
    npu_isa.vdup %d<64, 1>, imm 0.0 : f32 over [16, 50] : f32
    ```
    """

    name = "npu_isa.vdup"
    INPUTS: ClassVar[int] = 1
    KINDS: ClassVar[frozenset[str]] = frozenset({"dup"})
