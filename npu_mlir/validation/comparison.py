"""How far outputs are from those of a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npu_mlir.support.tolerance import Tolerance


@dataclass(frozen=True)
class Comparison:
    """How far an output is from its reference; it agrees if `worst_ratio` is at most one."""

    name: str
    largest_error: float
    """The largest |a - b|."""
    worst_ratio: float
    """The largest |a - b| / (atol + rtol * |b|)."""

    @property
    def agrees(self) -> bool:
        """Whether every element is within the tolerance."""
        return self.worst_ratio <= 1.0


def compare(name: str, found: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    """Compare one output; a wrong shape, or NaN or infinity on one side only, is an infinite error."""
    if found.shape != expected.shape:
        return Comparison(name, float("inf"), float("inf"))
    a, b = found.astype(np.float64), expected.astype(np.float64)
    if a.size == 0:
        return Comparison(name, 0.0, 0.0)
    with np.errstate(invalid="ignore"):
        # Equal infinities and NaNs on both sides count as agreement.
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        error = np.where(same, 0.0, np.abs(a - b))
        error = np.where(np.isnan(error), np.inf, error)
        limit = np.where(np.isfinite(b), tolerance.atol + tolerance.rtol * np.abs(b), 1.0)
    return Comparison(name, float(error.max()), float((error / limit).max()))
