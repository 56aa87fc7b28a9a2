"""An operand of a structured operation as an array over the iteration space.

For `affine_map<(n, h, k) -> (n, 2 * h + k)>` on an array of 4x9, extents (4, 4, 2), the view has shape (4, 4, 2)
and the strides (s0, 2 * s1, s1). An axis that the map ignores has size 1, so that operands broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir.affine import AffineMap

from npu_mlir.analysis.affine_maps import Linear, linear_map, projection
from npu_mlir.support.diagnostics import UserError

View = Callable[[np.ndarray], np.ndarray]


def make_view(map_: AffineMap, extents: Sequence[int], shape: Sequence[int]) -> View:
    """The function from an operand of the given shape to its view over an iteration space of the given extents."""
    if not map_.results:
        unit = (1,) * len(extents)
        return lambda array: np.reshape(array, unit)
    dims = projection(map_)
    if dims is not None and len(set(dims)) == len(dims):
        return _projected(dims, len(extents))
    rows = linear_map(map_)
    if rows is None:
        raise UserError(f"the indexing map {map_} is not linear")
    return _strided(rows, extents, shape)


def _projected(dims: list[int], rank: int) -> View:
    order = sorted(range(len(dims)), key=dims.__getitem__)
    index = tuple(slice(None) if d in dims else None for d in range(rank))
    expanded = len(dims) < rank
    if order == list(range(len(dims))):
        return (lambda array: array[index]) if expanded else (lambda array: array)
    return lambda array: array.transpose(order)[index]


def _strided(rows: list[Linear], extents: Sequence[int], shape: Sequence[int]) -> View:
    used = [any(row.coefficients[d] for row in rows) for d in range(len(extents))]
    view_shape = tuple(n if use else 1 for n, use in zip(extents, used, strict=True))
    if 0 in view_shape:
        return lambda array: np.empty(view_shape, array.dtype)
    _check_bounds(rows, extents, shape)
    columns = list(zip(*[row.coefficients for row in rows], strict=True))
    start = tuple(slice(row.constant, None) for row in rows)

    def view(array: np.ndarray) -> np.ndarray:
        strides = [sum(c * s for c, s in zip(column, array.strides, strict=True)) for column in columns]
        return np.lib.stride_tricks.as_strided(array[start], view_shape, strides)

    return view


def _check_bounds(rows: list[Linear], extents: Sequence[int], shape: Sequence[int]) -> None:
    for axis, (row, size) in enumerate(zip(rows, shape, strict=True)):
        reach = [c * (n - 1) for c, n in zip(row.coefficients, extents, strict=True)]
        low = row.constant + sum(r for r in reach if r < 0)
        high = row.constant + sum(r for r in reach if r > 0)
        if low < 0 or high >= size:
            raise UserError(f"an operand of size {size} is indexed from {low} to {high} in dimension {axis}")
