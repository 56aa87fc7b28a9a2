"""Flags and barriers are placed as before."""

from __future__ import annotations

import pytest

from sync_plans import EXPECTED, PROGRAMS, snapshot


@pytest.mark.parametrize("seed", PROGRAMS)
def test_plans(seed: int):
    expected = EXPECTED.read_text().strip().split("\n\n")
    assert snapshot(seed) == expected[seed], "other flags; if they are meant: make snapshots"
