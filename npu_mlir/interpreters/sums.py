"""Sums as a tree of additions.

The order of a sum is left open by every level, but not its accuracy: adding n numbers one after the other loses n times
as much as adding them in pairs. NumPy adds in pairs only along the innermost axis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SEQUENTIAL = 8
"""Numbers that are added one after the other at the leaves of the tree."""


def reduce(
    ufunc: np.ufunc, values: np.ndarray, axes: tuple[int, ...], dtype: np.dtype[Any] | None = None
) -> np.ndarray:
    """`ufunc` over `axes`, which stay with extent 1. Sums of floats are trees; other functions don't need it.

    >>> reduce(np.add, np.ones((3, 40), np.float32), (0, 1))
    array([[120.]], dtype=float32)
    """
    wide = values.dtype if dtype is None else np.dtype(dtype)
    count = math.prod(values.shape[a] for a in axes)
    if ufunc is not np.add or wide.kind != "f" or count <= SEQUENTIAL:
        return ufunc.reduce(values, axis=axes, keepdims=True, dtype=dtype)
    kept = [a for a in range(values.ndim) if a not in axes]
    rows = values.transpose((*axes, *kept)).reshape(count, -1)
    if rows.dtype != wide:
        rows = rows.astype(wide)
    while len(rows) > SEQUENTIAL:
        half = len(rows) // 2
        pairs = rows[:half] + rows[half : 2 * half]
        if len(rows) % 2:
            pairs[0] += rows[-1]
        rows = pairs
    total = np.add.reduce(rows, axis=0)
    return total.reshape([1 if a in axes else n for a, n in enumerate(values.shape)])
