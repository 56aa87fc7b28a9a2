"""Do two strided sets of bytes overlap? Exactly, by comparing their runs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from npu_mlir.dialects.npu_isa import Extent


@lru_cache(maxsize=1024)
def run_starts(extent: Extent) -> np.ndarray:
    """The first byte of every contiguous run, sorted."""
    starts = np.zeros(1, np.int64)
    for count, stride in extent.dims:
        starts = (starts[:, None] + np.arange(count, dtype=np.int64) * stride).ravel()
    return np.unique(starts)


def overlap(a: int, a_extent: Extent, b: int, b_extent: Extent) -> bool:
    """Whether the bytes of two extents at the addresses `a` and `b` have one in common.

    >>> rows = Extent(((4, 64),), 32)
    >>> overlap(0, rows, 32, rows), overlap(0, rows, 16, rows)
    (False, True)
    """
    if a + a_extent.end <= b or b + b_extent.end <= a:
        return False
    if not a_extent.dims and not b_extent.dims:
        return True
    starts = run_starts(a_extent) + (a - b)
    others = run_starts(b_extent)
    # Runs of b that begin before a run of a ends, without those that end before it begins.
    before = np.searchsorted(others, starts + a_extent.run, "left")
    ended = np.searchsorted(others, starts - b_extent.run, "right")
    return bool((before > ended).any())
