"""The cube unit, and what its accumulators start from."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, IntegerAttr, IntegerType, UnitAttr, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import (
    BLOCK,
    Access,
    AddrType,
    CubeWork,
    Extent,
    Instruction,
    MoveWork,
    Pipe,
    check_space,
    integer,
    round_up,
)
from npu_mlir.dialects.npu_isa.syntax import parse_address, parse_operand, print_types
from npu_mlir.dialects.tile import Space, element_bytes


@irdl_op_definition
class MmadOp(Instruction):
    """C (+)= A x B. `init` (an i1; or the unit attribute `zero` for always) starts from zero instead of from C.

    A is a `m x k` matrix in L0A, B `k x n` in L0B, C `m x n` in L0C; row-major, their sides padded to multiples of
    the cube's side. The padding of C is written like the rest: it is zero where that of A and B is.

    Example:

    ```mlir
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] init %first : f16 -> f32
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] zero : f16 -> f32
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] : f16 -> f32
    ```
    """

    name = "npu_isa.mmad"
    PIPE: ClassVar[Pipe] = Pipe.M
    c = operand_def(AddrType)
    a = operand_def(AddrType)
    b = operand_def(AddrType)
    init = opt_operand_def(i1)
    m = prop_def(IntegerAttr[IntegerType])
    k = prop_def(IntegerAttr[IntegerType])
    n = prop_def(IntegerAttr[IntegerType])
    zero = opt_prop_def(Attribute)
    element = prop_def(Attribute)
    accumulator = prop_def(Attribute)

    def __init__(
        self,
        c: SSAValue,
        a: SSAValue,
        b: SSAValue,
        mkn: tuple[int, int, int],
        element: Attribute,
        accumulator: Attribute,
        init: SSAValue | None = None,
        zero: Attribute | None = None,
    ):
        super().__init__(
            operands=[c, a, b, init],
            properties={
                "m": integer(mkn[0]),
                "k": integer(mkn[1]),
                "n": integer(mkn[2]),
                "zero": zero,
                "element": element,
                "accumulator": accumulator,
            },
        )

    @property
    def mkn(self) -> tuple[int, int, int]:
        """The extents of the product, without padding."""
        return self.m.value.data, self.k.value.data, self.n.value.data

    def accesses(self, fractal: int = 16) -> tuple[Access, ...]:
        """C counts as read unless `zero` is given: a dynamic `init` may be false."""
        m, k, n = (round_up(side, fractal) for side in self.mkn)
        size = element_bytes(self.element)
        c = Extent((), m * n * element_bytes(self.accumulator))
        reads = [
            Access(self.a, False, Extent((), m * k * size)),
            Access(self.b, False, Extent((), k * n * size)),
        ]
        if self.zero is None:
            reads.append(Access(self.c, False, c))
        return (*reads, Access(self.c, True, c))

    def work(self) -> CubeWork:
        return CubeWork(*self.mkn, element_bytes(self.element), isinstance(self.element, Float32Type))

    @classmethod
    def parse(cls, parser: Parser) -> MmadOp:
        a = parse_address(parser, Space.L0A)
        parser.parse_punctuation(",")
        b = parse_address(parser, Space.L0B)
        parser.parse_punctuation("->")
        c = parse_address(parser, Space.L0C)
        parser.parse_keyword("over")
        sides = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_integer)
        if len(sides) != 3:
            parser.raise_error("expected the three extents m, k, n")
        init = parse_operand(parser, i1) if parser.parse_optional_keyword("init") else None
        zero = UnitAttr() if parser.parse_optional_keyword("zero") else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        element = parser.parse_type()
        parser.parse_punctuation("->")
        op = cls(c, a, b, (sides[0], sides[1], sides[2]), element, parser.parse_type(), init, zero)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.a, self.b), printer.print_ssa_value)
        printer.print_string(" -> ")
        printer.print_ssa_value(self.c)
        printer.print_string(f" over [{', '.join(map(str, self.mkn))}]")
        if self.init is not None:
            printer.print_string(" init ")
            printer.print_ssa_value(self.init)
        if self.zero is not None:
            printer.print_string(" zero")
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.element])
        printer.print_string(" -> ")
        printer.print_attribute(self.accumulator)

    def verify_(self) -> None:
        check_space(self.a, "left operand", Space.L0A)
        check_space(self.b, "right operand", Space.L0B)
        check_space(self.c, "accumulator", Space.L0C)
        if min(self.mkn) < 1:
            raise VerifyException(f"every extent must be at least 1, got {list(self.mkn)}")
        if self.init is not None and self.zero is not None:
            raise VerifyException("npu_isa.mmad has either 'init' or 'zero'")
        if element_bytes(self.accumulator) != 4:
            raise VerifyException(f"the accumulator has 32 bits, got {self.accumulator}")


@irdl_op_definition
class InitL0COp(Instruction):
    """UB -> L0C: every row of the `m x n` accumulators becomes a copy of a row of `n` elements; their padding is zero.

    It lets a product start from its bias. The vector unit moves the row.

    Example:

    ```mlir
    npu_isa.init_l0c %row -> %c over [128, 256] : f32
    ```
    """

    name = "npu_isa.init_l0c"
    PIPE: ClassVar[Pipe] = Pipe.V
    source = operand_def(AddrType)
    dest = operand_def(AddrType)
    m = prop_def(IntegerAttr[IntegerType])
    n = prop_def(IntegerAttr[IntegerType])
    element = prop_def(Attribute)

    def __init__(self, source: SSAValue, dest: SSAValue, m: int, n: int, element: Attribute):
        super().__init__(
            operands=[source, dest], properties={"m": integer(m), "n": integer(n), "element": element}
        )

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of the accumulators, without padding."""
        return self.m.value.data, self.n.value.data

    def accesses(self, fractal: int = 16) -> tuple[Access, ...]:
        size = element_bytes(self.element)
        rows, columns = (round_up(side, fractal) for side in self.matrix)
        return (
            Access(self.source, False, Extent((), self.matrix[1] * size)),
            Access(self.dest, True, Extent((), rows * columns * size)),
        )

    def work(self) -> MoveWork:
        rows, columns = self.matrix
        return MoveWork("ub_l0c", rows * round_up(columns * element_bytes(self.element), BLOCK))

    @classmethod
    def parse(cls, parser: Parser) -> InitL0COp:
        source = parse_address(parser, Space.UB)
        parser.parse_punctuation("->")
        dest = parse_address(parser, Space.L0C)
        parser.parse_keyword("over")
        sizes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        if len(sizes) != 2:
            parser.raise_error("expected [rows, columns]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(source, dest, sizes[0], sizes[1], parser.parse_type())
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" -> ")
        printer.print_ssa_value(self.dest)
        printer.print_string(f" over [{self.matrix[0]}, {self.matrix[1]}]")
        printer.print_op_attributes(self.attributes)
        print_types(printer, [self.element])

    def verify_(self) -> None:
        check_space(self.source, "source", Space.UB)
        check_space(self.dest, "destination", Space.L0C)
        if min(self.matrix) < 1:
            raise VerifyException(f"a matrix of {self.matrix[0]} x {self.matrix[1]} elements")
