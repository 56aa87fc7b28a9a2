"""Contractions: `acc + a * b` summed over loops, as matrix products.

The loops fall into classes by which operand they index: batch (both, parallel), m (the first alone), n (the
second alone), k (both, summed). Each operand's view is transposed to (batch, rows, columns) and multiplied; a
window operand (convolution) is thereby unfolded, in pieces when it would be large. A depthwise convolution
(batch, few k, no n) is summed over k with products of whole arrays.

Does not handle: loops that are summed but index one operand only, or none (the general reduction does).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npu_mlir.analysis.structured.bodies import multiply_add
from npu_mlir.analysis.structured.roles import LoopRoles, loop_roles
from npu_mlir.interpreters.registry import Results, Step
from npu_mlir.interpreters.structured.iteration_space import IterationSpace
from npu_mlir.interpreters.structured.views import make_view

LARGEST_UNFOLDED = 1 << 25
"""Elements of an unfolded operand that are held at once."""


def match_contraction(space: IterationSpace) -> Step | None:
    """The operation as a matrix product, None when it is not one."""
    found = multiply_add(space.block)
    if found is None or not found.is_one_instruction or len(space.block.args) != space.num_inputs + 1:
        return None
    a, b = found.operands
    in_a, in_b = ({d for expr in space.maps[i].results for d in expr.used_dims()} for i in (a, b))
    classes = loop_roles(in_a, in_b, space.reduced, len(space.extents))
    if classes is None or any(space.extents[d] > 1 for d in classes.m if d not in in_a):
        return None
    if classes.n and (not classes.m or _first_output_dim(space, classes) in classes.n):
        a, b = b, a
        classes = classes.exchanged()
    return _make_step(space, a, b, classes)


def _first_output_dim(space: IterationSpace, classes: LoopRoles) -> int | None:
    """The first loop of the output map that is not a batch loop and is longer than 1."""
    for expr in space.maps[-1].results:
        for d in expr.used_dims():
            if d not in classes.batch and space.extents[d] > 1:
                return d
    return None


def _make_step(space: IterationSpace, a: int, b: int, classes: LoopRoles) -> Step:
    wide = _accumulator(space.dtypes[-1], max(space.dtypes[a].itemsize, space.dtypes[b].itemsize))
    view_a, view_b = (make_view(space.maps[i], space.extents, space.shapes[i]) for i in (a, b))
    view_out = make_view(space.maps[-1], space.extents, space.shapes[-1])
    finish = space.finisher()
    out_dtype, last = space.dtypes[-1], len(space.maps) - 1
    product = _product(space.extents, classes)

    def step(args: Results) -> Results:
        x = view_a(args[a].astype(wide, copy=False))
        y = view_b(args[b].astype(wide, copy=False))
        total = product(x, y)
        if out_dtype.kind in "iu":
            total = total.astype(np.int64, copy=False).astype(out_dtype)
        value = (view_out(args[last]) + total).astype(out_dtype, copy=False)
        return finish([value], args[last:])

    return step


def _accumulator(dtype: np.dtype[Any], factor_size: int) -> np.dtype[Any]:
    """The type that is multiplied and summed: that of a float result or f32; for integers f64, which has fast
    products and is exact for short factors, or i64."""
    if dtype.kind in "iu":
        return np.dtype(np.float64 if factor_size <= 2 else np.int64)
    return np.dtype(np.float64 if dtype.itemsize > 4 else np.float32)


Product = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _product(extents: Sequence[int], classes: LoopRoles) -> Product:
    """The product of two views over the iteration space, an array over the iteration space."""

    def size(dims: Sequence[int]) -> int:
        return math.prod(extents[d] for d in dims)

    if classes.batch and size(classes.k) <= 128 and size(classes.n) == 1:
        return _sum_of_products(extents, classes.k)
    if classes.m and size(classes.batch + classes.m + classes.k) > LARGEST_UNFOLDED:
        return _chunked(extents, classes)
    return _matmul(extents, classes)


def _sum_of_products(extents: Sequence[int], dims: Sequence[int]) -> Product:
    points = list(itertools.product(*[range(extents[d]) for d in dims]))

    def at(array: np.ndarray, point: Sequence[int]) -> np.ndarray:
        index = [slice(None)] * len(extents)
        for d, i in zip(dims, point, strict=True):
            index[d] = slice(i, i + 1)
        return array[tuple(index)]

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = at(x, points[0]) * at(y, points[0])
        for point in points[1:]:
            total += at(x, point) * at(y, point)
        return total

    return product


def _chunked(extents: Sequence[int], classes: LoopRoles) -> Product:
    """The product in pieces along the longest loop of m."""
    longest = max(classes.m, key=lambda d: extents[d])
    unit = [1 if d == longest else n for d, n in enumerate(extents)]
    piece = max(
        1, LARGEST_UNFOLDED // max(1, math.prod(unit[d] for d in classes.batch + classes.m + classes.k))
    )

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        parts: list[np.ndarray] = []
        for start in range(0, extents[longest], piece):
            stop = min(start + piece, extents[longest])
            index = tuple(slice(start, stop) if d == longest else slice(None) for d in range(len(extents)))
            part = [stop - start if d == longest else n for d, n in enumerate(extents)]
            parts.append(_matmul(part, classes)(x[index], y))
        return np.concatenate(parts, axis=longest)

    return product


def _matmul(extents: Sequence[int], classes: LoopRoles) -> Product:
    rank = len(extents)
    batch, m, n, k = classes.batch, classes.m, classes.n, classes.k
    order_x = [*batch, *m, *k, *n]
    order_y = [*batch, *k, *n, *m]
    sizes = [math.prod(extents[d] for d in dims) for dims in (batch, m, k, n)]
    shape_x = ([sizes[0]] if batch else []) + [sizes[1], sizes[2]]
    shape_y = ([sizes[0]] if batch else []) + [sizes[2], sizes[3]]
    out = [*batch, *m, *n, *k]
    out_shape = [*[extents[d] for d in (*batch, *m, *n)], *[1] * len(k)]
    back = sorted(range(rank), key=out.__getitem__)

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x = x.transpose(order_x).reshape(shape_x)
        y = y.transpose(order_y).reshape(shape_y)
        return np.matmul(x, y).reshape(out_shape).transpose(back)

    return product
