"""The cube unit."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnitAttr, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import (
    Access,
    CubeWork,
    Extent,
    Instruction,
    Pipe,
    integer,
    matrix_extent,
)
from npu_mlir.dialects.npu_isa.syntax import ADDRESS, parse_over
from npu_mlir.dialects.tile import Cube, Space, cube_type, element_bits, storage_bytes
from npu_mlir.support.diagnostics import located_errors


@irdl_custom_directive
class Sides(CustomDirective):
    """`over [128, 64, 256]`: the extents of a product."""

    m: AttributeVariable
    k: AttributeVariable
    n: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        sides = parse_over(parser)
        if len(sides) != 3:
            parser.raise_error("expected the three extents m, k, n")
        for variable, side in zip((self.m, self.k, self.n), sides, strict=True):
            variable.set(state, integer(side))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, MmadOp)
        printer.print_string(f" over [{', '.join(map(str, op.mkn))}]")


@irdl_op_definition
class MmadOp(Instruction):
    """C (+)= A x B. `init` (an i1; or the unit attribute `zero` for always) starts from zero instead of from C.

    With `bias`, a row of n elements in L1, it starts from copies of that row instead of from zero.

    A is a `m x k` matrix in L0A, B `k x n` in L0B, C `m x n` in L0C; row-major, their sides padded to multiples of
    the cube's side. The padding of C is written like the rest: it is zero where that of A and B is.

    Example:

    ```mlir
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] init %first : f16 -> f32
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] zero : f16 -> f32
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] : f16 -> f32
    npu_isa.mmad %a, %b -> %c over [128, 64, 256] init %first bias %row : f16, f32 -> f32
    ```
    """

    name = "npu_isa.mmad"
    PIPE: ClassVar[Pipe] = Pipe.M
    c = operand_def(ADDRESS[Space.L0C])
    a = operand_def(ADDRESS[Space.L0A])
    b = operand_def(ADDRESS[Space.L0B])
    init = opt_operand_def(i1)
    bias = opt_operand_def(ADDRESS[Space.L1])
    m = prop_def(IntegerAttr[IntegerType])
    k = prop_def(IntegerAttr[IntegerType])
    n = prop_def(IntegerAttr[IntegerType])
    zero = opt_prop_def(UnitAttr)
    element = prop_def(Attribute)
    accumulator = prop_def(Attribute)
    bias_element = opt_prop_def(Attribute)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Sides,)
    assembly_format = (
        "$a `,` $b `->` $c custom<Sides>($m, $k, $n) "
        "(`init` $init^)? (`zero` $zero^)? (`bias` $bias^)? attr-dict "
        "`:` $element (`,` $bias_element^)? `->` $accumulator"
    )

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
        bias: SSAValue | None = None,
        bias_element: Attribute | None = None,
    ):
        super().__init__(
            operands=[c, a, b, init, bias],
            properties={
                "m": integer(mkn[0]),
                "k": integer(mkn[1]),
                "n": integer(mkn[2]),
                "zero": zero,
                "element": element,
                "accumulator": accumulator,
                "bias_element": bias_element,
            },
        )

    @property
    def mkn(self) -> tuple[int, int, int]:
        """The extents of the product, without padding."""
        return self.m.value.data, self.k.value.data, self.n.value.data

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        """C counts as read unless `zero` is given: a dynamic `init` may be false."""
        m, k, n = self.mkn
        with located_errors(self):
            a = matrix_extent(cube, Space.L0A, (m, k), self.element)
            b = matrix_extent(cube, Space.L0B, (k, n), self.element)
        c = matrix_extent(cube, Space.L0C, (m, n), self.accumulator)
        reads = [Access(self.a, False, a), Access(self.b, False, b)]
        if self.bias is not None and self.bias_element is not None:
            row = Extent((), storage_bytes(n, element_bits(self.bias_element)))
            reads.append(Access(self.bias, False, row))
        if self.zero is None:
            reads.append(Access(self.c, False, c))
        return (*reads, Access(self.c, True, c))

    def work(self) -> CubeWork:
        return CubeWork(*self.mkn, cube_type(self.element))

    def verify_(self) -> None:
        if min(self.mkn) < 1:
            raise VerifyException(f"every extent must be at least 1, got {list(self.mkn)}")
        if self.init is not None and self.zero is not None:
            raise VerifyException("npu_isa.mmad has either 'init' or 'zero'")
        if (self.bias is None) != (self.bias_element is None):
            raise VerifyException("npu_isa.mmad has a bias and its element type, or neither")
        if self.bias is not None and self.init is None and self.zero is None:
            raise VerifyException("a bias is only read by an npu_isa.mmad with 'init' or 'zero'")
        if element_bits(self.accumulator) != 32:
            raise VerifyException(f"the accumulator has 32 bits, got {self.accumulator}")
