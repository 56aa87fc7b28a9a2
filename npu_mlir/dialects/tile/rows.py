"""Transfers of rows whose places are data: which rows of an array in GM a tile is made of is said by another tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.syntax import Indices, Map
from npu_mlir.dialects.tile.spaces import Space, TileType, space_of
from npu_mlir.dialects.tile.transfers import check_map


def row_dim(map_: AffineMap, indices: int, axis: int) -> int | None:
    """The dim of the tile along which rows are taken: coordinate `axis` of the map is that dim, behind a start that
    indices give, and no other coordinate depends on it. None if the map is not like this."""
    if not 0 <= axis < len(map_.results):
        return None
    dims = [_dims(expr, indices) for expr in map_.results]
    if len(dims[axis]) != 1:
        return None
    (dim,) = dims[axis]
    if any(dim in found for i, found in enumerate(dims) if i != axis):
        return None
    zero = [0] * map_.num_dims
    one = [int(i == indices + dim) for i in range(map_.num_dims)]
    expr = map_.results[axis]
    return dim if expr.eval(one, []) - expr.eval(zero, []) == 1 else None


def _dims(expr: AffineExpr, indices: int) -> set[int]:
    """The dims of the tile that an expression over (indices; tile dims) depends on."""
    return {
        e.position - indices for e in expr.dfs() if isinstance(e, AffineDimExpr) and e.position >= indices
    }


def check_rows(rows: TileType, map_: AffineMap, indices: int, axis: int, tile: TileType, name: str) -> None:
    """Raise unless `rows` can have an index for each position of the dim of the tile that coordinate `axis` is."""
    if not isinstance(rows.get_element_type(), IntegerType):
        raise VerifyException(f"{name}: indices are integers, got {rows.get_element_type()}")
    dim = row_dim(map_, indices, axis)
    if dim is None:
        raise VerifyException(
            f"{name}: coordinate {axis} of the map has to be a dim of the tile, that no other coordinate depends on, "
            "behind a start"
        )
    if len(rows.get_shape()) != 1 or rows.get_shape()[0] < tile.get_shape()[dim]:
        raise VerifyException(
            f"{name}: dim {dim} of the tile has {tile.get_shape()[dim]} positions, the indices are {rows}"
        )
    if (space := space_of(rows)) not in (None, Space.UB):
        raise VerifyException(f"{name}: the scalar unit reads indices from ub, not from {space}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Bring rows of an array in GM to UB: element `d` of the tile is `source[c]`, `c` being `map(indices, d)` but for
    coordinate `axis`, a position in `rows`, in place of which stands the index that `rows` has there.

    A negative index counts from the end of the axis; one that is out of range is an error of the run. Other coordinates
    outside the source give `pad`. On tensors it has a result, on memrefs a destination; with a tile of unplaced type it
    stands for the whole operand before tiling.

    Example:

    ```mlir
    %t = tile.gather %a[%i] rows %r axis 0 map affine_map<(i0, d0, d1) -> (d0, i0 + d1)>
      : memref<1000x64xf32, #tile.space<gm>>, tensor<16xi64, #tile.space<ub>> -> tensor<16x32xf32, #tile.space<ub>>
    ```
    """

    name = "tile.gather"
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    rows = operand_def(TensorType | MemRefType)
    dest = opt_operand_def(MemRefType)
    axis = prop_def(IntegerAttr.constr(i64))
    map = prop_def(AffineMapAttr)
    pad = opt_prop_def(FloatAttr | IntegerAttr)
    result = opt_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def()
    custom_directives = (Indices, Map)
    assembly_format = (
        "$source custom<Indices>($indices) `rows` $rows (`into` $dest^)? `axis` $axis custom<Map>($map) (`pad` $pad^)? "
        "attr-dict `:` type($source) `,` type($rows) (`,` type($dest)^)? (`->` type($result)^)?"
    )

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        rows: SSAValue,
        axis: int,
        map_: AffineMap | AffineMapAttr,
        result_type: Attribute | None = None,
        dest: SSAValue | None = None,
        pad: Attribute | None = None,
    ):
        super().__init__(
            operands=[source, indices, rows, dest],
            properties={
                "axis": IntegerAttr(axis, i64),
                "map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_),
                "pad": pad,
            },
            result_types=[result_type],
        )

    @property
    def tile_type(self) -> TileType:
        """The type of the tile that is filled."""
        tile = self.result if self.result is not None else self.dest
        assert tile is not None
        return cast("TileType", tile.type)

    @property
    def row_dim(self) -> int:
        """The dim of the tile along which rows are taken."""
        dim = row_dim(self.map.data, len(self.indices), self.axis.value.data)
        assert dim is not None, "the verifier has seen to it"
        return dim

    @property
    def extent(self) -> int:
        """How many rows the source has."""
        return cast("TileType", self.source.type).get_shape()[self.axis.value.data]

    def verify_(self) -> None:
        if (self.dest is None) == (self.result is None):
            raise VerifyException(
                "tile.gather has either a result (on tensors) or a destination (on memrefs)"
            )
        source, tile = cast("TileType", self.source.type), self.tile_type
        if space_of(source) is not Space.GM:
            raise VerifyException(f"tile.gather reads from GM, got {source}")
        if (space := space_of(tile)) not in (None, Space.UB):
            raise VerifyException(f"tile.gather brings rows to ub, not to {space}")
        if source.get_element_type() != tile.get_element_type():
            raise VerifyException(f"tile.gather keeps the element type, got {source} and {tile}")
        if self.pad is not None and self.pad.type != source.get_element_type():
            raise VerifyException(
                f"the padding is {self.pad}, but the elements are {source.get_element_type()}"
            )
        indices = len(self.indices)
        check_map(self.map.data, indices, len(tile.get_shape()), len(source.get_shape()), self.name)
        rows = cast("TileType", self.rows.type)
        check_rows(rows, self.map.data, indices, self.axis.value.data, tile, self.name)


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Write the rows of a tile in UB to GM: `dest[c] = tile[d]`, `c` being `map(indices, d)` but for coordinate `axis`,
    a position in `rows`, in place of which stands the index that `rows` has there.

    A negative index counts from the end of the axis; one that is out of range is an error of the run. Where indices
    are equal, the last of the tile wins. What lies outside of `dest` along other coordinates is skipped. In a kernel it
    writes to an argument; in the host function, on whole tensors, it stands for one: its result is `dest` with these
    rows.

    Example:

    ```mlir
    tile.scatter %t, %y[%i] rows %r axis 0 map affine_map<(i0, d0, d1) -> (d0, i0 + d1)>
      : tensor<16x32xf32, #tile.space<ub>>, memref<1000x64xf32, #tile.space<gm>>, tensor<16xi64, #tile.space<ub>>
    %z = tile.scatter %u, %x[] rows %n axis 0 map affine_map<(d0, d1) -> (d0, d1)>
      : tensor<16x64xf32>, tensor<1000x64xf32>, tensor<16xi64> -> tensor<1000x64xf32>
    ```
    """

    name = "tile.scatter"
    value = operand_def(TensorType | MemRefType)
    dest = operand_def(TensorType | MemRefType)
    indices = var_operand_def(IndexType)
    rows = operand_def(TensorType | MemRefType)
    axis = prop_def(IntegerAttr.constr(i64))
    map = prop_def(AffineMapAttr)
    result = opt_result_def(TensorType)
    traits = traits_def()
    custom_directives = (Indices, Map)
    assembly_format = (
        "$value `,` $dest custom<Indices>($indices) `rows` $rows `axis` $axis custom<Map>($map) attr-dict `:` "
        "type($value) `,` type($dest) `,` type($rows) (`->` type($result)^)?"
    )

    def __init__(
        self,
        value: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        rows: SSAValue,
        axis: int,
        map_: AffineMap | AffineMapAttr,
        result_type: Attribute | None = None,
    ):
        super().__init__(
            operands=[value, dest, indices, rows],
            properties={
                "axis": IntegerAttr(axis, i64),
                "map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_),
            },
            result_types=[result_type],
        )

    @property
    def row_dim(self) -> int:
        """The dim of the tile that rows stand behind each other along."""
        dim = row_dim(self.map.data, len(self.indices), self.axis.value.data)
        assert dim is not None, "the verifier has seen to it"
        return dim

    @property
    def extent(self) -> int:
        """How many rows the destination has."""
        return cast("TileType", self.dest.type).get_shape()[self.axis.value.data]

    def verify_(self) -> None:
        tile, dest = cast("TileType", self.value.type), cast("TileType", self.dest.type)
        if self.result is None:
            if space_of(dest) is not Space.GM:
                raise VerifyException(f"tile.scatter writes to GM, got {dest}")
        elif self.result.type != dest:
            raise VerifyException(f"the result is {self.result.type}, but rows of {dest} are replaced")
        if (space := space_of(tile)) not in (None, Space.UB):
            raise VerifyException(f"tile.scatter takes rows from ub, not from {space}")
        if tile.get_element_type() != dest.get_element_type():
            raise VerifyException(f"tile.scatter keeps the element type, got {tile} and {dest}")
        indices = len(self.indices)
        check_map(self.map.data, indices, len(tile.get_shape()), len(dest.get_shape()), self.name)
        rows = cast("TileType", self.rows.type)
        check_rows(rows, self.map.data, indices, self.axis.value.data, tile, self.name)
