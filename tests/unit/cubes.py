"""Cubes for tests."""

from __future__ import annotations

from npu_mlir.dialects.tile import Cube

TYPES = ("f16", "bf16", "f32", "i8")


def square(side: int) -> Cube:
    """A cube whose step has the same three sides for every type."""
    return Cube("square", side, side, dict.fromkeys(TYPES, side))


BITS = {"f16": 16, "bf16": 16, "f32": 32, "i8": 8, "i4": 4}
