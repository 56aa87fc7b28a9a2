"""On-chip buffers and their slots."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    i64,
)
from xdsl.ir import (
    Attribute,
    SSAValue,
)
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.tile.cube import Cube, layout, tile_bytes
from npu_mlir.dialects.tile.spaces import Space, space_of
from npu_mlir.support.diagnostics import located_errors


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

    @property
    def row_dims(self) -> int:
        """How many leading dims are the rows of a matrix tile."""
        return 1 if self.rows is None else self.rows.value.data

    def slot_bytes(self, cube: Cube) -> int:
        """Bytes of one copy on a machine with this cube, padding included. A `UserError` for a matrix of elements that
        the cube doesn't multiply."""
        with located_errors(self):
            return tile_bytes(self.buffer.type, self.row_dims, cube)

    def strides(self, cube: Cube) -> tuple[int, ...]:
        """Element strides of a copy on a machine with this cube; errors as `slot_bytes`."""
        with located_errors(self):
            return layout(self.buffer.type, self.row_dims, cube)

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
    _T: ClassVar = VarConstraint("T", BaseAttr(MemRefType))
    buffer = operand_def(_T)
    index = operand_def(IndexType)
    result = result_def(_T)
    traits = traits_def(Pure())
    assembly_format = "$buffer `[` $index `]` attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, index: SSAValue):
        super().__init__(operands=[buffer, index], result_types=[buffer.type])
