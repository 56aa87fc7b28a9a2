"""What upstream's tensor ops demand of the types of their operands and results, which xDSL's verifiers leave out.

Extents and places that only the run knows are not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

DYNAMIC = (-1, DYNAMIC_INDEX)


def broken_rule(op: Operation) -> str | None:
    """What is wrong with the types of an op, as the end of a sentence that begins with the op; None for sound ones."""
    rule = _RULES.get(type(op))
    return None if rule is None else rule(op)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("TensorType[Attribute]", value.type).get_shape()


def _is_known(*extents: int) -> bool:
    return not any(extent in DYNAMIC for extent in extents)


def _number(attribute: IntegerAttr | IntAttr) -> int:
    return attribute.data if isinstance(attribute, IntAttr) else attribute.value.data


def _expand_shape(op: Operation) -> str | None:
    assert isinstance(op, tensor.ExpandShapeOp)
    shape = _shape(op.result)
    asked = op.static_output_shape.get_values()
    for d, (extent, size) in enumerate(zip(shape, asked, strict=True)):
        if _is_known(extent, size) and extent != size:
            return f"has {size} as extent {d} of its output shape, and {extent} in the type of its result"
    return None


def _collapse_shape(op: Operation) -> str | None:
    assert isinstance(op, tensor.CollapseShapeOp)
    attribute = cast("ArrayAttr[ArrayAttr[IntegerAttr | IntAttr]]", op.reassociation)
    groups = [[_number(d) for d in group] for group in attribute]
    source, result = _shape(op.src), _shape(op.result)
    if not groups and not result and (not _is_known(*source) or prod(source) == 1):
        return None
    if [d for group in groups for d in group] != list(range(len(source))) or len(groups) != len(result):
        return f"groups {len(source)} dims into {len(result)} by {groups}"
    for number, (group, extent) in enumerate(zip(groups, result, strict=True)):
        parts = [source[d] for d in group]
        if _is_known(extent, *parts) and prod(parts) != extent:
            return f"makes dim {number} of extent {extent} of extents {parts}"
    return None


def _slice(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, whole: Sequence[int], part: Sequence[int]
) -> str | None:
    offsets, sizes, strides = (
        entries.get_values() for entries in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    if not len(offsets) == len(sizes) == len(strides) == len(whole):
        return (
            f"has {len(offsets)} offsets, {len(sizes)} sizes and {len(strides)} strides for {len(whole)} dims"
        )
    for d, (extent, offset, size, stride) in enumerate(zip(whole, offsets, sizes, strides, strict=True)):
        if any(_is_known(number) and number < 0 for number in (offset, size)):
            return f"has a negative offset or size along dim {d}"
        last = offset + (size - 1) * stride
        if _is_known(extent, offset, size, stride) and size and not 0 <= last < extent:
            return f"takes position {last} along dim {d}, which has {extent}"
    return None if _is_reduced(sizes, part) else f"has sizes {list(sizes)} for a part of shape {list(part)}"


def _is_reduced(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a shape is the sizes, or these without some that are 1."""
    rest = list(shape)
    spare = len(sizes) - len(shape)
    for size in sizes:
        if rest and (size == rest[0] or not _is_known(size, rest[0])):
            rest.pop(0)
        elif size == 1 and spare > 0:
            spare -= 1
        else:
            return False
    return not rest


def _extract_slice(op: Operation) -> str | None:
    assert isinstance(op, tensor.ExtractSliceOp)
    return _slice(op, _shape(op.source), _shape(op.result))


def _insert_slice(op: Operation) -> str | None:
    assert isinstance(op, tensor.InsertSliceOp)
    return _slice(op, _shape(op.dest), _shape(op.source))


def _pad(op: Operation) -> str | None:
    assert isinstance(op, tensor.PadOp)
    source, result = _shape(op.source), _shape(op.result)
    low, high = op.static_low.get_values(), op.static_high.get_values()
    if not len(source) == len(result) == len(low) == len(high):
        return f"has {len(low)} and {len(high)} paddings for {len(source)} dims that become {len(result)}"
    for d, (extent, before, after, padded) in enumerate(zip(source, low, high, result, strict=True)):
        if _is_known(extent, before, after, padded) and extent + before + after != padded:
            return f"makes {extent} + {before} + {after} of dim {d}, and the type of its result says {padded}"
    return None


def _element(op: Operation) -> str | None:
    assert isinstance(op, tensor.ExtractOp | tensor.InsertOp)
    rank = len(_shape(op.tensor if isinstance(op, tensor.ExtractOp) else op.dest))
    return f"has {len(op.indices)} indices for {rank} dims" if len(op.indices) != rank else None


_RULES: dict[type[Operation], Callable[[Operation], str | None]] = {
    tensor.ExpandShapeOp: _expand_shape,
    tensor.CollapseShapeOp: _collapse_shape,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.InsertSliceOp: _insert_slice,
    tensor.PadOp: _pad,
    tensor.ExtractOp: _element,
    tensor.InsertOp: _element,
}
