"""How far values may be from those they stand for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """Values a and b agree if |a - b| <= atol + rtol * |b|; integers if they are at most `steps` apart."""

    rtol: float
    atol: float
    steps: int = 0


TOLERANCES = {"f32": Tolerance(1e-3, 1e-5), "f16": Tolerance(2e-2, 2e-2)}
"""By the precision that a model was compiled for."""
