"""What every instruction owes: its pipe, the memory that it touches, and the work that its cost depends on.

These are plain values, so that sync insertion, hazard check, cost formulas and simulator need no switch over op
classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from npu_mlir.dialects.tile import Cube, Space, SpaceAttr, element_bits, storage_bytes
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError

BLOCK = 32
"""Bytes of the blocks in which the memories of the core are read and written."""

MAX_DIMS = 4
"""The most dims that an instruction iterates over."""

IM2COL_DIMS = 8
"""The most dims of a load to L0: image, plane, row and column of the output; channel, plane, row and column of the
window."""


class Pipe(StrEnum):
    """An in-order execution queue of the core."""

    S = "S"
    V = "V"
    M = "M"
    MTE1 = "MTE1"
    MTE2 = "MTE2"
    MTE3 = "MTE3"
    FIX = "FIX"


@dataclass(frozen=True)
class Extent:
    """A static set of bytes relative to an address: `dims` = (count, byte stride) nested around `run` bytes."""

    dims: tuple[tuple[int, int], ...]
    run: int

    @cached_property
    def end(self) -> int:
        """One past the last byte."""
        return self.run + sum((count - 1) * stride for count, stride in self.dims)


@dataclass(frozen=True)
class Access:
    """One operand's memory access: the bytes of `extent` from the address (or GM memref) `operand`.

    For a GM operand `extent` is None: the touched box follows from the instruction's map, indices and shape.
    """

    operand: SSAValue
    write: bool
    extent: Extent | None


@dataclass(frozen=True)
class Elements:
    """The elements of an operand over the iteration space `shape`: their element strides, and the bytes of one."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int


class Work:
    """What the cost of an instruction depends on; `npu_mlir.targets.cost` has the cost of each kind."""


@dataclass(frozen=True)
class MoveWork(Work):
    """`bytes` moved along `path` ("gm_l1", ...), every contiguous run rounded up to blocks of 32 B."""

    path: str
    bytes: int


@dataclass(frozen=True)
class CubeWork(Work):
    """A product of `m x k` and `k x n` elements; `element` is their `tile.cube_type`."""

    m: int
    k: int
    n: int
    element: str


@dataclass(frozen=True)
class VectorWork(Work):
    """`rows` contiguous rows of `row_bytes`; `kind` is the row of the target's table of vector costs.

    `strided` are other ways to go over the same elements, of which the unit takes the shortest: pairs of a number of
    rows, and of blocks in each that lie one stride apart.
    """

    kind: str
    rows: int
    row_bytes: int
    strided: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ScalarReadWork(Work):
    """An integer that the scalar unit reads from UB and makes an index of."""


@irdl_attr_definition
class AddrType(ParametrizedAttribute, TypeAttribute):
    """The address of bytes in an on-chip memory: `!npu_isa.addr<ub>`."""

    name = "npu_isa.addr"
    space: SpaceAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[SpaceAttr]:
        return [SpaceAttr(SpaceAttr.parse_parameter(parser))]

    def print_parameters(self, printer: Printer) -> None:
        self.space.print_parameter(printer)


class Instruction(IRDLOperation):
    """Base of all instructions."""

    PIPE: ClassVar[Pipe]

    def accesses(self, cube: Cube) -> tuple[Access, ...]:
        """What the instruction reads and writes on a machine with this cube, to whose steps matrices are padded.

        An operand that is read and written is listed twice.
        """
        raise NotImplementedError

    def work(self) -> Work:
        """What the cost of the instruction depends on."""
        raise NotImplementedError

    def elements(self) -> tuple[Elements, ...] | None:
        """Where each element of the destination is made from those at its place in the sources, and from nothing
        else: the elements of each access, in their order.

        Such an instruction may run over padding that nothing wrote, as that stays padding; others may not (None).
        """
        return None


def array(values: Iterable[int]) -> DenseArrayBase:
    """Integers as an attribute."""
    return DenseArrayBase.from_list(i64, list(values))


def ints(attr: DenseArrayBase) -> tuple[int, ...]:
    """The integers of an attribute."""
    return tuple(int(v) for v in cast("DenseArrayBase[IntegerType]", attr).iter_values())


def integer(value: int) -> IntegerAttr[IntegerType]:
    """An integer as an attribute."""
    return IntegerAttr(value, i64)


def product(values: Iterable[int]) -> int:
    """The product of integers, 1 for none."""
    result = 1
    for value in values:
        result *= value
    return result


def collapse(shape: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """Drop unit dims and merge each dim with the next where that is one step of a longer run for every operand.

    >>> collapse((2, 1, 8), (8, 0, 1), (8, 8, 1))
    ([16], [[1], [1]])
    """
    dims: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for dim in reversed(range(len(shape))):
        count = shape[dim]
        if count == 1:
            continue
        steps = [s[dim] for s in strides]
        if dims and all(step == m[0] * dims[0] for step, m in zip(steps, merged, strict=True)):
            dims[0] *= count
            continue
        dims.insert(0, count)
        for m, step in zip(merged, steps, strict=True):
            m.insert(0, step)
    return dims, merged


def strided_rows(
    dims: Sequence[int], strides: Sequence[Sequence[int]], sizes: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """How many rows of how many blocks a nest has when a step of the vector unit takes its blocks along a loop other
    than the innermost, for each loop where it may: operands, the destination first, whose elements have `sizes` bytes,
    are contiguous innermost, and elsewhere whole blocks apart.

    A row of a narrow tile fills a part of a step; as many rows as a step has blocks fill it.

    >>> strided_rows((56, 24), ((32, 1), (64, 1)), (2, 2))  # 56 rows of 24 f16, two blocks each
    ((2, 56),)
    """
    if len(dims) < 2 or len(set(sizes)) != 1 or any(steps[-1] != 1 for steps in strides):
        return ()
    size, pieces = sizes[0], -(-dims[-1] * sizes[0] // BLOCK)
    total = product(dims[:-1])
    return tuple(
        (total // dims[d] * pieces, dims[d])
        for d in range(len(dims) - 1)
        if strides[0][d] and all(steps[d] * size % BLOCK == 0 for steps in strides)
    )


def strided_extent(shape: Sequence[int], strides: Sequence[int], bits: int) -> Extent:
    """The bytes of a strided block of elements of `bits` each. A `UserError` where a run does not begin at a byte.

    >>> strided_extent((4, 10), (16, 1), 32)
    Extent(dims=((4, 64),), run=40)
    """
    order = sorted((d for d in range(len(shape)) if strides[d]), key=lambda d: -strides[d])
    dims, (steps,) = collapse([shape[d] for d in order], [strides[d] for d in order])
    run = dims.pop() if dims and steps[-1] == 1 else 1
    return Extent(tuple((n, _byte_stride(s, bits)) for n, s in zip(dims, steps)), storage_bytes(run, bits))


def _byte_stride(stride: int, bits: int) -> int:
    if stride * bits % 8:
        raise UserError(f"every {stride} elements of {bits} bits do not begin at a byte")
    return stride * bits // 8


def matrix_extent(cube: Cube, space: Space, sides: tuple[int, int], element: Attribute) -> Extent:
    """The bytes of a matrix in L0A, L0B or L0C, padded to steps of the cube."""
    return Extent((), storage_bytes(product(cube.padded(space, sides, element)), element_bits(element)))


def moved_bytes(shape: Sequence[int], bits: int, *strides: Sequence[int]) -> int:
    """Bytes of a block when each run that is contiguous for all operands is rounded up to blocks of 32 B; elements
    have `bits`.

    >>> moved_bytes((4, 10), 32, (16, 1), (100, 1))
    256
    """
    order = sorted(range(len(shape)), key=lambda d: [-s[d] for s in strides])
    dims, merged = collapse([shape[d] for d in order], *[[s[d] for d in order] for s in strides])
    run = dims.pop() if dims and all(m[-1] == 1 for m in merged) else 1
    return product(dims) * round_up(storage_bytes(run, bits), BLOCK)


def check_shape(shape: Sequence[int], *strides: Sequence[int], most: int = MAX_DIMS) -> None:
    """Raise unless the iteration space is one of an instruction and every operand has a stride per dim."""
    if len(shape) > most:
        raise VerifyException(f"the instruction iterates over at most {most} dims, got {list(shape)}")
    if any(n < 1 for n in shape):
        raise VerifyException(f"every dim must have at least one element, got {list(shape)}")
    for s in strides:
        if len(s) != len(shape):
            raise VerifyException(f"expected a stride for each dim of {list(shape)}, got {list(s)}")
        if any(step < 0 for step in s):
            raise VerifyException(f"strides can't be negative, got {list(s)}")


def check_distinct(shape: Sequence[int], strides: Sequence[int]) -> None:
    """Raise if two elements of a destination that is written once have one address."""
    reach = 0
    for step, count in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if step <= reach:
            raise VerifyException(
                f"elements of the destination overlap: dims {list(shape)}, strides {list(strides)}"
            )
        reach += step * (count - 1)


SCALE_BYTES = 4
"""Bytes of a factor in a row of them that the fixpipe reads."""


def scales_access(
    row: SSAValue | None, shape: Sequence[int], strides: DenseArrayBase | None
) -> tuple[Access, ...]:
    """What an instruction reads of a row of factors, nothing if it has none."""
    if row is None or strides is None:
        return ()
    return (Access(row, False, strided_extent(shape, ints(strides), 8 * SCALE_BYTES)),)


def check_scale_strides(
    has_scales: bool, row: SSAValue | None, strides: DenseArrayBase | None, shape: Sequence[int]
) -> None:
    """Raise unless a row of factors, and its strides, are there where an epilogue has `scales`, and only there."""
    if not has_scales == (row is not None) == (strides is not None):
        raise VerifyException("an epilogue has scales if there is a row of them, and only then")
    if strides is not None:
        check_shape(shape, ints(strides))


def check_space(value: SSAValue, what: str, *spaces: str) -> None:
    """Raise unless the address is one in one of these memories."""
    assert isinstance(value.type, AddrType)
    space = value.type.space.data
    if space not in spaces:
        raise VerifyException(f"the {what} must be an address in {' or '.join(spaces)}, got {space}")
