"""Instructions that move data between GM and the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.npu_isa.base import (
    Access,
    AddrType,
    Instruction,
    MoveWork,
    Pipe,
    array,
    check_distinct,
    check_scale_strides,
    check_shape,
    check_space,
    ints,
    moved_bytes,
    scales_access,
    strided_extent,
)
from npu_mlir.dialects.npu_isa.syntax import ADDRESS, Address, Over, Strides
from npu_mlir.dialects.syntax import Indices, Map
from npu_mlir.dialects.tile import (
    Cube,
    EpilogueAttr,
    Space,
    check_epilogue,
    check_map,
    element_bits,
    space_of,
)
from npu_mlir.support.diagnostics import located_errors


@lru_cache(maxsize=1024)
def dim_coefficients(map_: AffineMapAttr, indices: int) -> Sequence[Mapping[int, int]]:
    """For each coordinate of a GM map, the iteration dims that it depends on and their coefficients."""
    zero = [0] * map_.data.num_dims
    origin = map_.data.eval(zero, [])
    result: list[dict[int, int]] = [{} for _ in origin]
    for d in range(map_.data.num_dims - indices):
        point = list(zero)
        point[indices + d] = 1
        for j, (there, here) in enumerate(zip(map_.data.eval(point, []), origin, strict=True)):
            if there != here:
                result[j][d] = there - here
    return result


def gm_strides(type_: MemRefType, map_: AffineMapAttr, indices: int) -> list[int]:
    """The element stride in GM of every iteration dim."""
    strides = [0] * (map_.data.num_dims - indices)
    for step, used in zip(memref_strides(type_), dim_coefficients(map_, indices), strict=True):
        for d, coefficient in used.items():
            strides[d] += abs(coefficient) * step
    return strides


def memref_strides(type_: MemRefType) -> list[int]:
    """The strides of a buffer in GM, in elements: those of its layout, or of its shape."""
    if isinstance(layout := type_.layout, StridedLayoutAttr):
        return [step.data for step in layout.strides if isinstance(step, IntAttr)]
    shape = type_.get_shape()
    return [prod(shape[d + 1 :]) for d in range(len(shape))]


def _check_gm(op: GmLoad | GmStore, gm: SSAValue) -> None:
    """Raise unless the GM side of a transfer fits its iteration space."""
    assert isinstance(gm.type, MemRefType)
    if space_of(gm.type) is not Space.GM:
        raise VerifyException(f"the memref must be in #tile.space<gm>, got {gm.type}")
    shape = ints(op.shape)
    check_shape(shape, ints(op.strides))
    check_map(op.map.data, len(op.indices), len(shape), len(gm.type.get_shape()), op.name)
    for j, used in enumerate(dim_coefficients(op.map, len(op.indices))):
        if len(used) > 1:
            raise VerifyException(f"coordinate {j} of the map depends on more than one iteration dim")
        if any(c < 0 for c in used.values()):
            raise VerifyException(f"coordinate {j} of the map runs backwards")


class GmLoad(Instruction):
    """GM -> on-chip: `dest[sum d*strides] = source[map(indices, d)]`, `pad` (or zero) outside the source.

    The elements have the type of the memref's.
    """

    PIPE: ClassVar[Pipe] = Pipe.MTE2
    SPACE: ClassVar[Space]
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    dest = operand_def(AddrType)
    map = prop_def(AffineMapAttr)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    pad = opt_prop_def(FloatAttr | IntegerAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Address, Indices, Map, Over, Strides)
    assembly_format = (
        "$source custom<Indices>($indices) `->` custom<Address>($dest, type($dest)) custom<Strides>($strides) "
        "custom<Over>($shape) custom<Map>($map) (`pad` $pad^)? attr-dict `:` type($source)"
    )

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        dest: SSAValue,
        map_: AffineMapAttr,
        shape: Sequence[int],
        strides: Sequence[int],
        pad: Attribute | None = None,
    ):
        super().__init__(
            operands=[source, indices, dest],
            properties={"map": map_, "shape": array(shape), "strides": array(strides), "pad": pad},
        )

    @property
    def gm_type(self) -> MemRefType:
        """The type of the GM operand."""
        assert isinstance(self.source.type, MemRefType)
        return self.source.type

    @property
    def data_axis(self) -> int | None:
        """The coordinate in GM that is data, if one is: all of its positions may be meant."""
        return None

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        with located_errors(self):
            extent = strided_extent(
                ints(self.shape), ints(self.strides), element_bits(self.gm_type.element_type)
            )
        return Access(self.source, False, None), Access(self.dest, True, extent)

    def work(self) -> MoveWork:
        bits = element_bits(self.gm_type.element_type)
        gm = gm_strides(self.gm_type, self.map, len(self.indices))
        return MoveWork(f"gm_{self.SPACE}", moved_bytes(ints(self.shape), bits, gm, ints(self.strides)))

    def verify_(self) -> None:
        _check_gm(self, self.source)
        check_space(self.dest, "destination", self.SPACE)
        check_distinct(ints(self.shape), ints(self.strides))
        if self.pad is not None and self.pad.type != self.gm_type.element_type:
            raise VerifyException(
                f"the padding is {self.pad}, but the elements are {self.gm_type.element_type}"
            )


@irdl_op_definition
class LoadL1Op(GmLoad):
    """GM -> L1.

    Example:

    ```mlir
    npu_isa.load_l1 %x[%i] -> %d<64, 1> over [16, 50] map affine_map<(i, a, b) -> (i + a, b)> pad 0.0 : f16
      : memref<60x50xf16, #tile.space<gm>>
    ```
    """

    name = "npu_isa.load_l1"
    SPACE: ClassVar[Space] = Space.L1


@irdl_op_definition
class LoadUbOp(GmLoad):
    """GM -> UB.

    Example:

    ```mlir
    npu_isa.load_ub %x[%i] -> %d<16, 1> over [4, 10] map affine_map<(i, a, b) -> (i + a, b)>
      : memref<60x10xf32, #tile.space<gm>>
    ```
    """

    name = "npu_isa.load_ub"
    SPACE: ClassVar[Space] = Space.UB


class GmStore(Instruction):
    """On-chip -> GM: `dest[map(indices, d)] = source[sum d*strides]`, targets outside `dest` are skipped."""

    SPACE: ClassVar[Space]
    source = operand_def(AddrType)
    dest = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    shape = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    custom_directives = (Address, Indices, Map, Over, Strides)
    assembly_format = (
        "custom<Address>($source, type($source)) custom<Strides>($strides) `->` $dest custom<Indices>($indices) "
        "custom<Over>($shape) custom<Map>($map) attr-dict `:` type($dest)"
    )

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMapAttr,
        shape: Sequence[int],
        strides: Sequence[int],
    ):
        super().__init__(
            operands=[source, dest, indices],
            properties={"map": map_, "shape": array(shape), "strides": array(strides)},
        )

    @property
    def gm_type(self) -> MemRefType:
        """The type of the GM operand."""
        assert isinstance(self.dest.type, MemRefType)
        return self.dest.type

    @property
    def data_axis(self) -> int | None:
        """The coordinate in GM that is data, if one is: all of its positions may be meant."""
        return None

    def source_element_bits(self) -> int:
        """Bits of an element on chip."""
        return element_bits(self.gm_type.element_type)

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        with located_errors(self):
            extent = strided_extent(ints(self.shape), ints(self.strides), self.source_element_bits())
        return Access(self.source, False, extent), Access(self.dest, True, None)

    def work(self) -> MoveWork:
        bits = element_bits(self.gm_type.element_type)
        gm = gm_strides(self.gm_type, self.map, len(self.indices))
        return MoveWork(f"{self.SPACE}_gm", moved_bytes(ints(self.shape), bits, gm, ints(self.strides)))

    def verify_(self) -> None:
        _check_gm(self, self.dest)
        check_space(self.source, "source", self.SPACE)


@irdl_op_definition
class StoreUbOp(GmStore):
    """UB -> GM.

    Example:

    ```mlir
    npu_isa.store_ub %s<16, 1> -> %y[%i] over [4, 10] map affine_map<(i, a, b) -> (i + a, b)>
      : memref<60x10xf32, #tile.space<gm>>
    ```
    """

    name = "npu_isa.store_ub"
    PIPE: ClassVar[Pipe] = Pipe.MTE3
    SPACE: ClassVar[Space] = Space.UB


@irdl_op_definition
class FixpipeGmOp(GmStore):
    """L0C -> GM through the fixpipe: 32-bit accumulators, cast to the element type of `dest`.

    Before the cast they take the steps of the `epilogue`. They are i32 if `dest` has integers, else f32, unless `of`
    says otherwise.

    Example:

    ```mlir
    npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map affine_map<(i, a, b) -> (i + a, b)>
      : memref<60x50xf16, #tile.space<gm>>
    npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map affine_map<(i, a, b) -> (i + a, b)>
      epilogue <scale 1.0e-3, relu> of i32 : memref<60x50xf16, #tile.space<gm>>
    npu_isa.fixpipe_gm %c<64, 1> -> %y[%i] over [16, 50] map affine_map<(i, a, b) -> (i + a, b)>
      epilogue <scales, offset -3> scales %s<0, 1> : memref<60x50xi8, #tile.space<gm>>
    ```
    """

    name = "npu_isa.fixpipe_gm"
    PIPE: ClassVar[Pipe] = Pipe.FIX
    SPACE: ClassVar[Space] = Space.L0C
    # Again, so that the operands of all stores begin in one order.
    source = operand_def(AddrType)
    dest = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    scales = opt_operand_def(ADDRESS[Space.L1])
    element = opt_prop_def(Attribute)
    epilogue = opt_prop_def(EpilogueAttr)
    scale_strides = opt_prop_def(DenseArrayBase)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "custom<Address>($source, type($source)) custom<Strides>($strides) `->` $dest custom<Indices>($indices) "
        "custom<Over>($shape) custom<Map>($map) (`epilogue` $epilogue^)? "
        "(`scales` $scales^ custom<Strides>($scale_strides))? (`of` $element^)? attr-dict `:` type($dest)"
    )

    def __init__(
        self,
        source: SSAValue,
        dest: SSAValue,
        indices: Sequence[SSAValue],
        map_: AffineMapAttr,
        shape: Sequence[int],
        strides: Sequence[int],
        element: Attribute | None = None,
        epilogue: EpilogueAttr | None = None,
        scales: SSAValue | None = None,
        scale_strides: Sequence[int] | None = None,
    ):
        Instruction.__init__(
            self,
            operands=[source, dest, indices, scales],
            properties={
                "map": map_,
                "shape": array(shape),
                "strides": array(strides),
                "scale_strides": None if scale_strides is None else array(scale_strides),
            },
        )
        if element is not None and element != self.accumulator:
            self.properties["element"] = element
        if epilogue is not None:
            self.properties["epilogue"] = epilogue

    @property
    def accumulator(self) -> Attribute:
        """The type of the accumulators."""
        if self.element is not None:
            return self.element
        return i32 if isinstance(self.gm_type.element_type, IntegerType) else f32

    def source_element_bits(self) -> int:
        return 32

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        return (*scales_access(self.scales, ints(self.shape), self.scale_strides), *super().accesses(cube))

    def verify_(self) -> None:
        super().verify_()
        if self.accumulator not in (f32, i32):
            raise VerifyException(f"accumulators are f32 or i32, got {self.accumulator}")
        check_epilogue(self.epilogue, self.accumulator, self.gm_type.element_type)
        check_scale_strides(
            self.epilogue is not None and self.epilogue.has_scales,
            self.scales,
            self.scale_strides,
            ints(self.shape),
        )
