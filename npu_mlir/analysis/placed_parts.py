"""Parts of a tensor in GM that launches write where they belong, and read where they are: tensors joined in place.

    %d = tensor.empty() : tensor<8x96xf16>
    %1 = tensor.insert_slice %x into %d[0, 0] [8, 32] [1, 1] {npu.in_place}
    %2 = tensor.insert_slice %y into %1[0, 32] [8, 64] [1, 1] {npu.in_place}      %y is made in rows of 64 out of 96

An insertion or extraction with the attribute moves nothing: its part is the same memory, seen with the strides of the
whole. Between launches that is known by the attribute alone, so that any producer of linalg can say it, and mlir-opt
keeps it. The bytes of a part count, for what is in L2, as if those of each part lay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnitAttr
from xdsl.ir import Operation, OpResult, SSAValue

from npu_mlir.analysis.reshapes import reassociation_groups
from npu_mlir.dialects import tile
from npu_mlir.support.levels import IN_PLACE

Slice = tensor.InsertSliceOp | tensor.ExtractSliceOp


def is_in_place(op: object) -> bool:
    """Whether an operation is an insertion or extraction that moves nothing."""
    return isinstance(op, Slice) and IN_PLACE in op.attributes


def set_in_place(op: Slice) -> None:
    """Say that an insertion or extraction moves nothing."""
    op.attributes[IN_PLACE] = UnitAttr()


def whole_of(op: Slice) -> SSAValue:
    """The tensor that a slice is a part of."""
    return op.source if isinstance(op, tensor.ExtractSliceOp) else op.dest


@dataclass(frozen=True)
class Part:
    """Positions `start` to `start + size` along one axis of a tensor, and all along the others."""

    shape: tuple[int, ...]
    axis: int
    start: int
    size: int

    @property
    def elements(self) -> range:
        """Where its elements are if those of each part along the axis lie together, one part behind the other."""
        row = prod(n for d, n in enumerate(self.shape) if d != self.axis)
        return range(self.start * row, (self.start + self.size) * row)

    @property
    def first(self) -> int:
        """The position of its first element among those of the tensor."""
        return self.start * prod(self.shape[self.axis + 1 :])


def part_of(op: Slice) -> Part | None:
    """The part that a static slice of the same rank takes; None if it is cut along several axes, or strided."""
    if op.offsets or op.sizes or op.strides or set(numbers(op.static_strides)) - {1}:
        return None
    type_ = whole_of(op).type
    assert isinstance(type_, TensorType)
    shape, starts, sizes = type_.get_shape(), numbers(op.static_offsets), numbers(op.static_sizes)
    part = op.source if isinstance(op, tensor.InsertSliceOp) else op.result
    assert isinstance(part.type, TensorType)
    if part.type.get_shape() != sizes:
        return None
    cut = [d for d, (n, size) in enumerate(zip(shape, sizes, strict=True)) if size != n]
    if len(cut) > 1 or any(starts[d] for d in range(len(shape)) if d not in cut):
        return None
    axis = cut[0] if cut else 0
    return Part(shape, axis, starts[axis], sizes[axis])


def numbers(attr: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The static offsets, sizes or strides of a slice."""
    return tuple(int(n) for n in attr.get_values())


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor in its own memory, in elements.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def strides_behind(value: SSAValue, root: SSAValue, strides: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of `root` if `value`, which reshapes alone make of it, has these; None if it then has none."""
    chain: list[Operation] = []
    while value is not root:
        op = value.owner
        if isinstance(op, tile.ProgramOp):
            value = op.yielded.values[cast("OpResult", value).index]
            continue
        if not isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            return None
        chain.append(op)
        value = op.operands[0]
    found: tuple[int, ...] | None = tuple(strides)
    for op in chain:
        assert isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp) and found is not None
        (before, after), groups = (
            (_shape(v) for v in (op.operands[0], op.results[0])),
            reassociation_groups(op),
        )
        if isinstance(op, tensor.CollapseShapeOp):
            found = split_strides(found, before, groups)
        else:
            found = joined_strides(found, after, groups)
            if found is None:
                return None
    return found


class Layouts:
    """The strides of tensors in GM, in elements: of parts in place, of what is made as such a part, and of views of
    these. None for those of a tensor's own shape."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, tuple[int, ...] | None] = {}

    def of(self, value: SSAValue) -> tuple[int, ...] | None:
        """The strides of a tensor. A view that can't be one, as its operand has gaps, has those of its own shape."""
        if value not in self._known:
            found = self._find(value)
            self._known[value] = None if found == row_major(_shape(value)) else found
        return self._known[value]

    def can_view(self, op: Operation) -> bool:
        """Whether a reshape is the same memory under another shape."""
        return self.of(op.operands[0]) is None or self._viewed(op) is not None

    def _find(self, value: SSAValue) -> tuple[int, ...] | None:
        op = value.owner
        if isinstance(op, tile.ProgramOp):
            return self.of(op.yielded.values[cast("OpResult", value).index])
        if isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            return None if self.of(op.operands[0]) is None else self._viewed(op)
        if isinstance(op, tensor.ExtractSliceOp) and is_in_place(op):
            return row_major(_shape(op.source))
        return _strides_of_part(value, value) if isinstance(op, Operation) else None

    def _viewed(self, op: Operation) -> tuple[int, ...] | None:
        assert isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp)
        strides = self.of(op.operands[0])
        assert strides is not None
        before, after = (_shape(v) for v in (op.operands[0], op.results[0]))
        if isinstance(op, tensor.CollapseShapeOp):
            return joined_strides(strides, before, reassociation_groups(op))
        return split_strides(strides, after, reassociation_groups(op))


def _strides_of_part(value: SSAValue, root: SSAValue) -> tuple[int, ...] | None:
    """The strides of `root` if an insertion in place reads `value`, a view of it, or a view of that; a program hands on
    what launches in it make."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, tensor.InsertSliceOp) and is_in_place(op) and op.source is value:
            return strides_behind(value, root, row_major(_shape(op.dest)))
        view: SSAValue | None = None
        if isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            view = op.results[0]
        elif isinstance(op, tile.YieldOp) and isinstance(program := op.parent_op(), tile.ProgramOp):
            view = program.results[use.index]
        found = None if view is None else _strides_of_part(view, root)
        if found is not None:
            return found
    return None


def split_strides(
    strides: Sequence[int], wide: Sequence[int], groups: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """The strides of a wide tensor, groups of whose dims have these strides when they are joined.

    >>> split_strides((100, 1), (8, 2, 16), [[0], [1, 2]])
    (100, 16, 1)
    """
    found: list[int] = []
    for stride, group in zip(strides, groups, strict=True):
        found += [stride * prod(wide[d] for d in group if d > position) for position in group]
    return tuple(found)


def joined_strides(
    strides: Sequence[int], wide: Sequence[int], groups: Sequence[Sequence[int]]
) -> tuple[int, ...] | None:
    """The strides of the joined dims of a wide tensor with these strides; None where a group can't be joined in place.

    >>> joined_strides((100, 16, 1), (8, 2, 16), [[0], [1, 2]])
    (100, 1)
    >>> joined_strides((100, 20, 1), (8, 2, 16), [[0], [1, 2]]) is None
    True
    """
    found: list[int] = []
    for group in groups:
        large = [d for d in group if wide[d] != 1]
        if any(strides[a] != strides[b] * wide[b] for a, b in pairwise(large)):
            return None
        found.append(strides[large[-1]] if large else 1)
    return tuple(found)


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()
