"""Arithmetic of sizes."""

from __future__ import annotations


def round_up(value: int, unit: int) -> int:
    """The least multiple of `unit` that is not below `value`.

    >>> round_up(33, 32)
    64
    """
    return -(-value // unit) * unit
