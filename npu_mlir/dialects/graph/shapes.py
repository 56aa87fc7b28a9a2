"""Shape arithmetic of the graph dialect: plain functions on tuples of ints, without IR.

Each raises `ShapeError` with a message that names the extents that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Shape = tuple[int, ...]


class ShapeError(ValueError):
    """Operand shapes that an operator cannot take."""


def text(shape: Sequence[int]) -> str:
    """`(1, 3, 24)` as `1x3x24`, an open extent as `?`, a scalar as `scalar`."""
    return "x".join("?" if extent < 0 else str(extent) for extent in shape) or "scalar"


def broadcast(*shapes: Shape) -> Shape:
    """The common shape under NumPy's rules: aligned at the right, 1 stretches to anything."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int] = []
    for extents in zip(*padded, strict=True):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise ShapeError(f"shapes {' and '.join(map(text, shapes))} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def window(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Shape:
    """Spatial extents that a sliding window leaves; pads are all begins, then all ends."""
    rank = len(extents)
    for name, values, count in (
        ("kernel", kernel, rank),
        ("strides", strides, rank),
        ("pads", pads, 2 * rank),
        ("dilations", dilations, rank),
    ):
        if len(values) != count:
            raise ShapeError(f"{name} has {len(values)} entries, expected {count}")
        if min(values, default=1) < (0 if name == "pads" else 1):
            raise ShapeError(f"{name} has an entry below {0 if name == 'pads' else 1}")
    result: list[int] = []
    for axis in range(rank):
        padded = extents[axis] + pads[axis] + pads[rank + axis]
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        if padded < reach:
            raise ShapeError(f"window of reach {reach} exceeds padded extent {padded} of spatial axis {axis}")
        result.append((padded - reach) // strides[axis] + 1)
    return tuple(result)


def matmul(lhs: Shape, rhs: Shape) -> Shape:
    """`...xMxK` by `...xKxN`, leading dimensions broadcast."""
    if len(lhs) < 2 or len(rhs) < 2:
        raise ShapeError(f"operands {text(lhs)} and {text(rhs)} must have rank 2 or more")
    if lhs[-1] != rhs[-2]:
        raise ShapeError(f"inner extents of {text(lhs)} and {text(rhs)} differ")
    batch = broadcast(lhs[:-2], rhs[:-2]) if len(lhs) + len(rhs) > 4 else ()
    return (*batch, lhs[-2], rhs[-1])


def reduce(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """The shape with `axes` removed, or set to 1."""
    check_axes(axes, len(shape))
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def check_axes(axes: Sequence[int], rank: int) -> None:
    """Axes must be distinct, ascending and within `[0, rank)`."""
    if list(axes) != sorted(set(axes)):
        raise ShapeError(f"axes {list(axes)} are not ascending and distinct")
    if any(not 0 <= axis < rank for axis in axes):
        raise ShapeError(f"axes {list(axes)} exceed rank {rank}")


def transpose(shape: Shape, perm: Sequence[int]) -> Shape:
    """The shape with dimension `i` taken from `perm[i]`."""
    if sorted(perm) != list(range(len(shape))):
        raise ShapeError(f"perm {list(perm)} is no permutation of rank {len(shape)}")
    return tuple(shape[axis] for axis in perm)


def concat(shapes: Sequence[Shape], axis: int) -> Shape:
    """Shapes joined along `axis`; every other extent must agree."""
    if not shapes:
        raise ShapeError("concat needs at least one operand")
    first = shapes[0]
    check_axes([axis], len(first))
    for shape in shapes[1:]:
        if shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :] or len(shape) != len(first):
            raise ShapeError(f"shapes {text(first)} and {text(shape)} differ outside of axis {axis}")
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def reshape(shape: Shape, target: Sequence[int]) -> Shape:
    """`target` with at most one -1 resolved so that the element counts agree."""
    open_axes = [axis for axis, extent in enumerate(target) if extent < 0]
    known = prod(extent for extent in target if extent >= 0)
    total = prod(shape)
    if len(open_axes) > 1 or (open_axes and (known == 0 or total % known)):
        raise ShapeError(f"{text(shape)} cannot become {text(target)}")
    resolved = tuple(total // known if extent < 0 else extent for extent in target)
    if prod(resolved) != total:
        raise ShapeError(f"{text(shape)} has {total} elements, {text(resolved)} has {prod(resolved)}")
    return resolved
