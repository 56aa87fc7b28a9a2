"""Instructions for rows whose places are data: the scalar unit reads an index, a DMA moves the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import (
    Access,
    AddrType,
    Extent,
    Instruction,
    Pipe,
    ScalarReadWork,
    check_space,
    integer,
)
from npu_mlir.dialects.npu_isa.gm import GmLoad, GmStore
from npu_mlir.dialects.npu_isa.syntax import Address, Over, Strides
from npu_mlir.dialects.syntax import Indices, Map
from npu_mlir.dialects.tile import Cube, Space, element_bits


@irdl_op_definition
class ReadIndexOp(Instruction):
    """The scalar unit reads an integer from UB as an index into `extent` positions: a negative one counts from the end.
    One that is out of range ends the run with an error.

    The scalar unit issues nothing before it has the index. What was issued before may still write to the integer: a
    flag to the pipe S orders the two. No flag is needed behind the read, as nothing is issued before it is over.

    Example:

    ```mlir
    %r = npu_isa.read_index %a of 1000 : i64
    ```
    """

    name = "npu_isa.read_index"
    PIPE: ClassVar[Pipe] = Pipe.S
    SPACE: ClassVar[Space] = Space.UB
    source = operand_def(AddrType)
    extent = prop_def(IntegerAttr.constr(i64))
    element = prop_def(IntegerType)
    result = result_def(IndexType)
    custom_directives = (Address,)
    assembly_format = "custom<Address>($source, type($source)) `of` $extent attr-dict `:` $element"

    def __init__(self, source: SSAValue, extent: int, element: Attribute):
        super().__init__(
            operands=[source],
            properties={"extent": integer(extent), "element": element},
            result_types=[IndexType()],
        )

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        return (Access(self.source, False, Extent((), element_bits(self.element) // 8)),)

    def work(self) -> ScalarReadWork:
        return ScalarReadWork()

    def verify_(self) -> None:
        check_space(self.source, "index", self.SPACE)
        if self.element.width.data not in (8, 16, 32, 64):
            raise VerifyException(f"an index is an integer of 8, 16, 32 or 64 bits, got {self.element}")
        if self.extent.value.data < 0:
            raise VerifyException(f"there can't be {self.extent.value.data} positions")


def _check_axis(op: GatherUbOp | ScatterUbOp) -> None:
    """Raise unless coordinate `axis` of the map is one of the indices, which nothing else depends on."""
    axis, results = op.axis.value.data, op.map.data.results
    if not 0 <= axis < len(results):
        raise VerifyException(f"there is no coordinate {axis} in {op.map.data}")
    expr = results[axis]
    if not isinstance(expr, AffineDimExpr) or expr.position >= len(op.indices):
        raise VerifyException(f"coordinate {axis} of the map has to be one of the indices, it is {expr}")
    others = (e for i, e in enumerate(results) if i != axis)
    if any(isinstance(e, AffineDimExpr) and e.position == expr.position for o in others for e in o.dfs()):
        raise VerifyException(
            f"the index that coordinate {axis} of the map is can't be part of another coordinate"
        )


@irdl_op_definition
class GatherUbOp(GmLoad):
    """GM -> UB, as `npu_isa.load_ub`, of a row: coordinate `axis` is an index that is data.

    What is done about order and races takes all positions along the axis for read.

    Example:

    ```mlir
    %r = npu_isa.read_index %a of 60 : i32
    npu_isa.gather_ub %x[%r] -> %d<1> over [10] map affine_map<(i, a) -> (i, a)> axis 0
      : memref<60x10xf32, #tile.space<gm>>
    ```
    """

    name = "npu_isa.gather_ub"
    SPACE: ClassVar[Space] = Space.UB
    axis = prop_def(IntegerAttr.constr(i64))
    custom_directives = (Address, Indices, Map, Over, Strides)
    assembly_format = (
        "$source custom<Indices>($indices) `->` custom<Address>($dest, type($dest)) custom<Strides>($strides) "
        "custom<Over>($shape) custom<Map>($map) `axis` $axis (`pad` $pad^)? attr-dict `:` type($source)"
    )

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        dest: SSAValue,
        map_: AffineMapAttr,
        axis: int,
        shape: Sequence[int],
        strides: Sequence[int],
        pad: Attribute | None = None,
    ):
        super().__init__(source, indices, dest, map_, shape, strides, pad)
        self.properties["axis"] = integer(axis)

    @property
    def data_axis(self) -> int | None:
        return self.axis.value.data

    def verify_(self) -> None:
        super().verify_()
        _check_axis(self)


@irdl_op_definition
class ScatterUbOp(GmStore):
    """UB -> GM, as `npu_isa.store_ub`, of a row: coordinate `axis` is an index that is data.

    What is done about order and races takes all positions along the axis for written; which are not known, so that a
    result has to be complete before rows of it are replaced.

    Example:

    ```mlir
    %r = npu_isa.read_index %a of 60 : i32
    npu_isa.scatter_ub %s<1> -> %y[%r] over [10] map affine_map<(i, a) -> (i, a)> axis 0
      : memref<60x10xf32, #tile.space<gm>>
    ```
    """

    name = "npu_isa.scatter_ub"
    PIPE: ClassVar[Pipe] = Pipe.MTE3
    SPACE: ClassVar[Space] = Space.UB
    axis = prop_def(IntegerAttr.constr(i64))
    custom_directives = (Address, Indices, Map, Over, Strides)
    assembly_format = (
        "custom<Address>($source, type($source)) custom<Strides>($strides) `->` $dest custom<Indices>($indices) "
        "custom<Over>($shape) custom<Map>($map) `axis` $axis attr-dict `:` type($dest)"
    )

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMapAttr,
        axis: int,
        shape: Sequence[int],
        strides: Sequence[int],
    ):
        super().__init__(source, dest, indices, map_, shape, strides)
        self.properties["axis"] = integer(axis)

    @property
    def data_axis(self) -> int | None:
        return self.axis.value.data

    def verify_(self) -> None:
        super().verify_()
        _check_axis(self)
