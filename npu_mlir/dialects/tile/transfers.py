"""Transfers of tiles between memory spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    SSAValue,
)
from xdsl.ir.affine import AffineMap
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
from npu_mlir.dialects.tile.epilogue import EpilogueAttr, check_epilogue, check_scales
from npu_mlir.dialects.tile.spaces import Space, TileType, space_of

LOADS: frozenset[tuple[Space, Space]] = frozenset(
    {
        (Space.GM, Space.L1),
        (Space.GM, Space.UB),
        (Space.L1, Space.L0A),
        (Space.L1, Space.L0B),
        (Space.L0C, Space.UB),
        (Space.UB, Space.L1),
        (Space.L1, Space.UB),
        (Space.UB, Space.UB),
    }
)
"""The (source, destination) pairs that `tile.load` accepts."""

STORES: frozenset[Space] = frozenset({Space.UB, Space.L0C})
"""The spaces from which `tile.store` writes to GM."""


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

    A load from L0C may cast to the element type of the tile, after the steps of an `epilogue`; they don't change `pad`.
    If it has `scales`, these are a row in L1 with a factor for each position of the tile along the dims `along`.

    On tensors it has a result, on memrefs a destination. Between GM and a tile of unplaced type (no encoding) it stands
    for the whole operand before tiling.

    Example:

    ```mlir
    %t = tile.load %a[%i] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)> pad 0.0 : f32
      : memref<60x64xf32, #tile.space<gm>> -> tensor<16x64xf32, #tile.space<ub>>
    %u = tile.load %c[] map affine_map<(d0, d1) -> (d0, d1)> epilogue <scale 1.0e-3, relu>
      : tensor<16x64xi32, #tile.space<l0c>> -> tensor<16x64xf16, #tile.space<ub>>
    %v = tile.load %c[] map affine_map<(d0, d1) -> (d0, d1)> epilogue <scales, offset -3>
      scales %r : tensor<64xf32, #tile.space<l1>> along [1]
      : tensor<16x64xi32, #tile.space<l0c>> -> tensor<16x64xi8, #tile.space<ub>>
    ```
    """

    name = "tile.load"
    source = operand_def(TensorType | MemRefType)
    indices = var_operand_def(IndexType)
    dest = opt_operand_def(MemRefType)
    scales = opt_operand_def(TensorType | MemRefType)
    map = prop_def(AffineMapAttr)
    pad = opt_prop_def(FloatAttr | IntegerAttr)
    epilogue = opt_prop_def(EpilogueAttr)
    along = opt_prop_def(DenseArrayBase.constr(i64))
    result = opt_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def()
    custom_directives = (Indices, Map)
    assembly_format = (
        "$source custom<Indices>($indices) (`into` $dest^)? custom<Map>($map) (`pad` $pad^)? (`epilogue` $epilogue^)? "
        "(`scales` $scales^ `:` type($scales) `along` $along)? attr-dict "
        "`:` type($source) (`,` type($dest)^)? (`->` type($result)^)?"
    )

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMap | AffineMapAttr,
        result_type: Attribute | None = None,
        dest: SSAValue | None = None,
        pad: Attribute | None = None,
        epilogue: EpilogueAttr | None = None,
        scales: SSAValue | None = None,
        along: Sequence[int] = (),
    ):
        super().__init__(
            operands=[source, indices, dest, scales],
            properties={
                "map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_),
                "pad": pad,
                "epilogue": epilogue,
                "along": None if scales is None else DenseArrayBase.from_list(i64, along),
            },
            result_types=[result_type],
        )

    @property
    def scale_dims(self) -> tuple[int, ...]:
        """The dims of the tile along which scales vary."""
        return () if self.along is None else tuple(int(d) for d in self.along.get_values())

    @property
    def tile_type(self) -> TileType:
        """The type of the tile that is filled."""
        tile = self.result if self.result is not None else self.dest
        assert tile is not None
        return cast("TileType", tile.type)

    def verify_(self) -> None:
        if (self.dest is None) == (self.result is None):
            raise VerifyException("tile.load has either a result (on tensors) or a destination (on memrefs)")
        source = cast("TileType", self.source.type)
        tile = self.tile_type
        from_l0c = space_of(source) is Space.L0C
        if self.epilogue is not None and not from_l0c:
            raise VerifyException("only a load from L0C has an epilogue")
        check_scales(self.epilogue, self.scales and self.scales.type, self.scale_dims, tile.get_shape())
        if from_l0c:
            check_epilogue(self.epilogue, source.get_element_type(), tile.get_element_type())
        elif source.get_element_type() != tile.get_element_type():
            raise VerifyException(f"tile.load keeps the element type, got {source} and {tile}")
        check_map(self.map.data, len(self.indices), len(tile.get_shape()), len(source.get_shape()), self.name)
        if (
            (src := space_of(source)) is not None
            and (dst := space_of(tile)) is not None
            and (src, dst) not in LOADS
        ):
            raise VerifyException(f"there is no path from {src} to {dst}")


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Write a tile to GM: `dest[map(indices, d)] = tile[d]` for every `d` whose target lies inside `dest`.

    A store from L0C casts to the element type of `dest`, after the steps of an `epilogue`, which may have `scales` as
    that of a load has.

    Example:

    ```mlir
    tile.store %t, %b[%i] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)>
      : tensor<16x64xf32, #tile.space<ub>>, memref<60x64xf32, #tile.space<gm>>
    tile.store %c, %b[%i] map affine_map<(i0, d0, d1) -> (i0 + d0, d1)> epilogue <relu>
      : tensor<16x64xf32, #tile.space<l0c>>, memref<60x64xf16, #tile.space<gm>>
    ```
    """

    name = "tile.store"
    value = operand_def(TensorType | MemRefType)
    dest = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    scales = opt_operand_def(TensorType | MemRefType)
    map = prop_def(AffineMapAttr)
    epilogue = opt_prop_def(EpilogueAttr)
    along = opt_prop_def(DenseArrayBase.constr(i64))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Indices, Map)
    assembly_format = (
        "$value `,` $dest custom<Indices>($indices) custom<Map>($map) (`epilogue` $epilogue^)? "
        "(`scales` $scales^ `:` type($scales) `along` $along)? attr-dict `:` type($value) `,` type($dest)"
    )

    def __init__(
        self,
        value: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMap | AffineMapAttr,
        epilogue: EpilogueAttr | None = None,
        scales: SSAValue | None = None,
        along: Sequence[int] = (),
    ):
        super().__init__(
            operands=[value, dest, indices, scales],
            properties={
                "map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_),
                "epilogue": epilogue,
                "along": None if scales is None else DenseArrayBase.from_list(i64, along),
            },
        )

    @property
    def scale_dims(self) -> tuple[int, ...]:
        """The dims of the tile along which scales vary."""
        return () if self.along is None else tuple(int(d) for d in self.along.get_values())

    def verify_(self) -> None:
        tile, dest = cast("TileType", self.value.type), cast("TileType", self.dest.type)
        check_scales(self.epilogue, self.scales and self.scales.type, self.scale_dims, tile.get_shape())
        if space_of(tile) is Space.L0C:
            check_epilogue(self.epilogue, tile.get_element_type(), dest.get_element_type())
        elif self.epilogue is not None:
            raise VerifyException("only a store from L0C has an epilogue")
        elif tile.get_element_type() != dest.get_element_type():
            raise VerifyException(f"tile.store keeps the element type, got {tile} and {dest}")
        check_map(self.map.data, len(self.indices), len(tile.get_shape()), len(dest.get_shape()), self.name)
        if space_of(dest) is not Space.GM:
            raise VerifyException(f"tile.store writes to GM, got {dest}")
        if (space := space_of(tile)) is not None and space not in STORES:
            raise VerifyException(f"there is no path from {space} to gm")


@irdl_op_definition
class InsertOp(IRDLOperation):
    """Write a tile of UB into a part of a larger one in L1: `dest[map(indices, d)] = tile[d]` for every `d`.

    All places lie inside of `dest`. On tensors the result is `dest` with that part new, on memrefs `dest` is written.

    Example:

    ```mlir
    %p = tile.insert %t, %h[%i] map affine_map<(i0, d0, d1) -> (d0, i0 + d1)>
      : tensor<16x64xf16, #tile.space<ub>>, tensor<16x256xf16, #tile.space<l1>> -> tensor<16x256xf16, #tile.space<l1>>
    ```
    """

    name = "tile.insert"
    value = operand_def(TensorType | MemRefType)
    dest = operand_def(TensorType | MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    result = opt_result_def(TensorType)
    custom_directives = (Indices, Map)
    assembly_format = (
        "$value `,` $dest custom<Indices>($indices) custom<Map>($map) attr-dict `:` "
        "type($value) `,` type($dest) (`->` type($result)^)?"
    )

    def __init__(
        self,
        value: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMap | AffineMapAttr,
    ):
        super().__init__(
            operands=[value, dest, indices],
            properties={"map": map_ if isinstance(map_, AffineMapAttr) else AffineMapAttr(map_)},
            result_types=[dest.type if isinstance(dest.type, TensorType) else None],
        )

    def verify_(self) -> None:
        tile, dest = cast("TileType", self.value.type), cast("TileType", self.dest.type)
        if (self.result.type if self.result is not None else None) != (
            dest if isinstance(dest, TensorType) else None
        ):
            raise VerifyException(
                "tile.insert into a tensor has that tensor's type as its result, others have none"
            )
        if tile.get_element_type() != dest.get_element_type():
            raise VerifyException(f"tile.insert keeps the element type, got {tile} and {dest}")
        check_map(self.map.data, len(self.indices), len(tile.get_shape()), len(dest.get_shape()), self.name)
        if (space_of(tile), space_of(dest)) != (Space.UB, Space.L1):
            raise VerifyException(f"tile.insert takes a tile from ub to l1, got {tile} and {dest}")
