"""The compiler decides as it did before."""

from __future__ import annotations

import pytest

from programs import PROGRAMS
from snapshots import EXPECTED, TARGETS, snapshot


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_decisions(program: str, target: str):
    expected = EXPECTED.read_text().strip().split("\n\n")
    for precision in ("f32", "f16"):
        found = snapshot(program, target, precision)
        assert found in expected, "other decisions than before; if they are meant: make snapshots"
