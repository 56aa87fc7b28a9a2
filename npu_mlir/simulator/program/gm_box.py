"""The part of a GM array that a load or store touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute

from npu_mlir.analysis.affine_maps import python_expression
from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.npu_isa.gm import dim_coefficients
from npu_mlir.support.dtypes import numpy_dtype


@lru_cache(maxsize=1024)
def _origin(map_: AffineMapAttr, indices: int, rank: int) -> Callable[..., tuple[int, ...]]:
    """The function from the indices to the coordinates of the first element."""
    names = [f"i{i}" for i in range(indices)]
    coordinates = [python_expression(e, [*names, *["0"] * rank]) for e in map_.data.results]
    return eval(f"lambda {', '.join(names)}: ({''.join(c + ', ' for c in coordinates)})")


class GmBox:
    """Which elements of a GM array an instruction touches. Of coordinate `whole`, if given, it may be any."""

    def __init__(self, op: npu_isa.GmLoad | npu_isa.GmStore, whole: int | None = None):
        type_ = op.gm_type
        self.whole = whole
        self.shape = ints(op.shape)
        self.extents = type_.get_shape()
        self.dtype = numpy_dtype(type_)
        used = dim_coefficients(op.map, len(op.indices))
        self.dims = [next(iter(u), None) for u in used]
        self.steps = [next(iter(u.values()), 1) for u in used]
        pitch = [prod(self.extents[j + 1 :]) * self.dtype.itemsize for j in range(len(self.extents))]
        self.pitch = pitch
        self.strides = [0] * len(self.shape)
        for dim, step, bytes_ in zip(self.dims, self.steps, pitch):
            if dim is not None:
                self.strides[dim] += step * bytes_
        # The largest origin at which the whole box is inside.
        self.last = [
            n - 1 - (0 if d is None else (self.shape[d] - 1) * s)
            for n, d, s in zip(self.extents, self.dims, self.steps)
        ]
        self.origin = _origin(op.map, len(op.indices), len(self.shape))

    def window(self, origin: Sequence[int]) -> tuple[tuple[int, ...], tuple[slice, ...]] | None:
        """The part of the iteration space that lies inside: its first point and slices, None if nothing does."""
        first, stop = [0] * len(self.shape), list(self.shape)
        for axis, (start, extent, dim, step) in enumerate(zip(origin, self.extents, self.dims, self.steps)):
            if dim is None:
                if axis != self.whole and not 0 <= start < extent:
                    return None
                continue
            first[dim] = max(first[dim], -(start // step))
            stop[dim] = min(stop[dim], (extent - 1 - start) // step + 1)
        if any(b <= a for a, b in zip(first, stop)):
            return None
        return tuple(first), tuple(slice(a, b) for a, b in zip(first, stop))

    def inside(self, origin: Sequence[int]) -> bool:
        """Whether every element lies inside."""
        return all(0 <= start <= last for start, last in zip(origin, self.last))

    def view(
        self, array: np.ndarray, origin: Sequence[int], first: Sequence[int], shape: Sequence[int]
    ) -> np.ndarray:
        """The elements of the array from the point `first` of the iteration space on."""
        offset = sum(start * pitch for start, pitch in zip(origin, self.pitch))
        offset += sum(at * stride for at, stride in zip(first, self.strides))
        # NumPy gives no buffer of the types of ml_dtypes (bf16), but one of the same bits.
        bits = array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")
        return np.ndarray(shape, self.dtype, bits.data, offset, self.strides)  # pyright: ignore[reportArgumentType]

    def parts(
        self, array: np.ndarray, origin: Sequence[int], tile: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The elements of the array and those of the tile that correspond, None if there are none."""
        window = self.window(origin)
        if window is None:
            return None
        first, slices = window
        part = tile[slices]
        return self.view(array, origin, first, part.shape), part

    def part_of(self, array: np.ndarray, origin: Sequence[int]) -> np.ndarray | None:
        """The elements of an array of the GM operand's shape that the box covers, None if there are none."""
        window = self.window(origin)
        if window is None:
            return None
        slices: list[slice] = []
        for axis, (start, dim, step) in enumerate(zip(origin, self.dims, self.steps)):
            if axis == self.whole:
                slices.append(slice(None))
            elif dim is None:
                slices.append(slice(start, start + 1))
            else:
                inside = window[1][dim]
                slices.append(slice(start + inside.start * step, start + (inside.stop - 1) * step + 1, step))
        # The ellipsis keeps an element of an array of rank 0 a view.
        return array[(*slices, ...)]


_boxes: dict[tuple[Attribute, Attribute, Attribute, int, int | None], GmBox] = {}
"""By all that a box is made of."""

CACHE_LIMIT = 1024


def box_of(op: npu_isa.GmLoad | npu_isa.GmStore, whole: int | None = None) -> GmBox:
    """The box of an instruction, shared by those that touch the same."""
    key = (op.shape, op.gm_type, op.map, len(op.indices), whole)
    box = _boxes.get(key)
    if box is None:
        if len(_boxes) >= CACHE_LIMIT:
            _boxes.clear()
        box = _boxes[key] = GmBox(op, whole)
    return box
