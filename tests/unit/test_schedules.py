"""The compiler chooses schedules, forms kernels and shares memory as it did before."""

from __future__ import annotations

import pytest

from schedules import CASES, EXPECTED, snapshot


@pytest.mark.parametrize(("program", "target"), CASES)
def test_schedules(program: str, target: str):
    expected = EXPECTED.read_text().strip().split("\n\n")
    assert snapshot(program, target) in expected, "other decisions; if they are meant: make snapshots"
