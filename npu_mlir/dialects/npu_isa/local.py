"""Instructions that move data between the memories of the core: L1 to L0, L0C to UB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import (
    BLOCK,
    IM2COL_DIMS,
    SCALE_BYTES,
    Access,
    AddrType,
    Elements,
    Instruction,
    MoveWork,
    Pipe,
    array,
    check_distinct,
    check_scale_strides,
    check_shape,
    check_space,
    collapse,
    integer,
    ints,
    matrix_extent,
    moved_bytes,
    product,
    scales_access,
    strided_extent,
)
from npu_mlir.dialects.npu_isa.syntax import ADDRESS, Address, Over, Strides
from npu_mlir.dialects.tile import (
    Cube,
    EpilogueAttr,
    Space,
    check_epilogue,
    element_bits,
    element_bytes,
    storage_bytes,
)
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import located_errors


@irdl_op_definition
class FixpipeUbOp(Instruction):
    """L0C -> UB: a strided block of accumulators (cores whose L0C reaches UB).

    On the way they take the steps of the `epilogue`, and are cast to the type of the destination, `result`. `scales` of
    the epilogue are f32 in L1, with strides of their own.

    Example:

    ```mlir
    npu_isa.fixpipe_ub %c<64, 1> -> %u<56, 1> over [16, 50] : f32
    npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <relu> : f32 -> f16
    npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <scale 1.0e-3> : i32 -> f16
    npu_isa.fixpipe_ub %c<64, 1> -> %u<64, 1> over [16, 50] epilogue <scales, offset -3> scales %s<0, 1> : i32 -> i8
    ```
    """

    name = "npu_isa.fixpipe_ub"
    PIPE: ClassVar[Pipe] = Pipe.FIX
    source = operand_def(ADDRESS[Space.L0C])
    dest = operand_def(ADDRESS[Space.UB])
    scales = opt_operand_def(ADDRESS[Space.L1])
    shape = prop_def(DenseArrayBase)
    source_strides = prop_def(DenseArrayBase)
    dest_strides = prop_def(DenseArrayBase)
    element = prop_def(Attribute)
    result = opt_prop_def(Attribute)
    epilogue = opt_prop_def(EpilogueAttr)
    scale_strides = opt_prop_def(DenseArrayBase)
    custom_directives = (Over, Strides)
    assembly_format = (
        "$source custom<Strides>($source_strides) `->` $dest custom<Strides>($dest_strides) custom<Over>($shape) "
        "(`epilogue` $epilogue^)? (`scales` $scales^ custom<Strides>($scale_strides))? attr-dict "
        "`:` $element (`->` $result^)?"
    )

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        shape: Sequence[int],
        source_strides: Sequence[int],
        dest_strides: Sequence[int],
        element: Attribute,
        result: Attribute | None = None,
        epilogue: EpilogueAttr | None = None,
        scales: SSAValue | None = None,
        scale_strides: Sequence[int] | None = None,
    ):
        super().__init__(
            operands=[source, dest, scales],
            properties={
                "shape": array(shape),
                "source_strides": array(source_strides),
                "dest_strides": array(dest_strides),
                "element": element,
                "result": result if result != element else None,
                "epilogue": epilogue,
                "scale_strides": None if scale_strides is None else array(scale_strides),
            },
        )

    @property
    def dest_element(self) -> Attribute:
        """The element type of the destination."""
        return self.element if self.result is None else self.result

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        shape = ints(self.shape)
        source, dest = element_bits(self.element), element_bits(self.dest_element)
        return (
            *scales_access(self.scales, shape, self.scale_strides),
            Access(self.source, False, strided_extent(shape, ints(self.source_strides), source)),
            Access(self.dest, True, strided_extent(shape, ints(self.dest_strides), dest)),
        )

    def elements(self) -> tuple[Elements, ...]:
        shape = ints(self.shape)
        row = () if self.scale_strides is None else (Elements(shape, ints(self.scale_strides), SCALE_BYTES),)
        return (
            *row,
            Elements(shape, ints(self.source_strides), element_bytes(self.element)),
            Elements(shape, ints(self.dest_strides), element_bytes(self.dest_element)),
        )

    def work(self) -> MoveWork:
        """Accumulators leave L0C at their own size, whatever they become."""
        bits = element_bits(self.element)
        return MoveWork(
            "l0c_ub", moved_bytes(ints(self.shape), bits, ints(self.source_strides), ints(self.dest_strides))
        )

    def verify_(self) -> None:
        check_shape(ints(self.shape), ints(self.source_strides), ints(self.dest_strides))
        check_distinct(ints(self.shape), ints(self.dest_strides))
        check_epilogue(self.epilogue, self.element, self.dest_element)
        check_scale_strides(
            self.epilogue is not None and self.epilogue.has_scales,
            self.scales,
            self.scale_strides,
            ints(self.shape),
        )


class LocalCopy(Instruction):
    """On-chip -> on-chip, between L1 and UB: `dest[sum d*dest_strides] = source[sum d*source_strides]`."""

    SOURCE: ClassVar[Space]
    DEST: ClassVar[Space]
    source = operand_def(AddrType)
    dest = operand_def(AddrType)
    shape = prop_def(DenseArrayBase)
    source_strides = prop_def(DenseArrayBase)
    dest_strides = prop_def(DenseArrayBase)
    element = prop_def(Attribute)
    custom_directives = (Over, Strides)
    assembly_format = (
        "$source custom<Strides>($source_strides) `->` $dest custom<Strides>($dest_strides) custom<Over>($shape) "
        "attr-dict `:` $element"
    )

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        shape: Sequence[int],
        source_strides: Sequence[int],
        dest_strides: Sequence[int],
        element: Attribute,
    ):
        super().__init__(
            operands=[source, dest],
            properties={
                "shape": array(shape),
                "source_strides": array(source_strides),
                "dest_strides": array(dest_strides),
                "element": element,
            },
        )

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        shape, bits = ints(self.shape), element_bits(self.element)
        with located_errors(self):
            source = strided_extent(shape, ints(self.source_strides), bits)
            dest = strided_extent(shape, ints(self.dest_strides), bits)
        return Access(self.source, False, source), Access(self.dest, True, dest)

    def elements(self) -> tuple[Elements, ...]:
        shape, size = ints(self.shape), element_bytes(self.element)
        return tuple(
            Elements(shape, ints(strides), size) for strides in (self.source_strides, self.dest_strides)
        )

    def work(self) -> MoveWork:
        strides = ints(self.source_strides), ints(self.dest_strides)
        return MoveWork(
            f"{self.SOURCE}_{self.DEST}", moved_bytes(ints(self.shape), element_bits(self.element), *strides)
        )

    def verify_(self) -> None:
        check_shape(ints(self.shape), ints(self.source_strides), ints(self.dest_strides))
        check_distinct(ints(self.shape), ints(self.dest_strides))


@irdl_op_definition
class CopyL1Op(LocalCopy):
    """UB -> L1: what the vector unit has made becomes an operand of the cube.

    Example:

    ```mlir
    npu_isa.copy_l1 %u<56, 1> -> %a<64, 1> over [16, 50] : f16
    ```
    """

    name = "npu_isa.copy_l1"
    PIPE: ClassVar[Pipe] = Pipe.MTE3
    SOURCE: ClassVar[Space] = Space.UB
    DEST: ClassVar[Space] = Space.L1
    source = operand_def(ADDRESS[Space.UB])
    dest = operand_def(ADDRESS[Space.L1])


@irdl_op_definition
class CopyUbOp(LocalCopy):
    """L1 -> UB: what lies in L1 is read by the vector unit.

    Example:

    ```mlir
    npu_isa.copy_ub %a<64, 1> -> %u<56, 1> over [16, 50] : f16
    ```
    """

    name = "npu_isa.copy_ub"
    PIPE: ClassVar[Pipe] = Pipe.MTE1
    SOURCE: ClassVar[Space] = Space.L1
    DEST: ClassVar[Space] = Space.UB
    source = operand_def(ADDRESS[Space.L1])
    dest = operand_def(ADDRESS[Space.UB])


class L0Load(Instruction):
    """L1 -> L0: the strided block `shape`/`strides` at `source`, its first `rows` dims flattened to matrix rows, the
    rest to columns, packed as a row-major matrix padded with zeros to multiples of the cube's side.

    Strides that overlap read a convolution's windows (im2col).
    """

    PIPE: ClassVar[Pipe] = Pipe.MTE1
    SPACE: ClassVar[Space]
    source = operand_def(ADDRESS[Space.L1])
    dest = operand_def(AddrType)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    rows = prop_def(IntegerAttr.constr(i64))
    element = prop_def(Attribute)
    custom_directives = (Address, Over, Strides)
    assembly_format = (
        "$source custom<Strides>($strides) `->` custom<Address>($dest, type($dest)) "
        "custom<Over>($shape) `rows` $rows attr-dict `:` $element"
    )

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        shape: Sequence[int],
        strides: Sequence[int],
        rows: int,
        element: Attribute,
    ):
        super().__init__(
            operands=[source, dest],
            properties={
                "shape": array(shape),
                "strides": array(strides),
                "rows": integer(rows),
                "element": element,
            },
        )

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of the matrix, without padding."""
        shape, rows = ints(self.shape), self.rows.value.data
        return product(shape[:rows]), product(shape[rows:])

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        with located_errors(self):
            block = strided_extent(ints(self.shape), ints(self.strides), element_bits(self.element))
            matrix = matrix_extent(cube, self.SPACE, self.matrix, self.element)
        return Access(self.source, False, block), Access(self.dest, True, matrix)

    def work(self) -> MoveWork:
        """A contiguous run along the rows or along the columns moves whole blocks; otherwise a block per run."""
        shape, strides, rows = ints(self.shape), ints(self.strides), self.rows.value.data
        run = max(_run(shape[:rows], strides[:rows]), _run(shape[rows:], strides[rows:]))
        size = storage_bytes(run, element_bits(self.element))
        return MoveWork(f"l1_{self.SPACE}", product(shape) // run * round_up(size, BLOCK))

    def verify_(self) -> None:
        check_space(self.dest, "destination", self.SPACE)
        check_shape(ints(self.shape), ints(self.strides), most=IM2COL_DIMS)
        if not 0 <= self.rows.value.data <= len(ints(self.shape)):
            raise VerifyException(f"{self.rows.value.data} row dims of {len(ints(self.shape))} dims")


def _run(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements of the innermost contiguous run."""
    dims, (steps,) = collapse(shape, strides)
    return dims[-1] if dims and steps[-1] == 1 else 1


@irdl_op_definition
class LoadL0AOp(L0Load):
    """L1 -> L0A: rows are m, columns k.

    Example:

    ```mlir
    npu_isa.load_l0a %s<256, 1> -> %a over [128, 64] rows 1 : f16
    ```
    """

    name = "npu_isa.load_l0a"
    SPACE: ClassVar[Space] = Space.L0A


@irdl_op_definition
class LoadL0BOp(L0Load):
    """L1 -> L0B: rows are k, columns n.

    Example:

    ```mlir
    npu_isa.load_l0b %s<1, 256> -> %b over [64, 128] rows 1 : f16
    ```
    """

    name = "npu_isa.load_l0b"
    SPACE: ClassVar[Space] = Space.L0B
