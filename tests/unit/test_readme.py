"""What the README shows is what the tools print."""

from __future__ import annotations

import re

import tour

ERRORS = re.compile(r"│ y .*")
"""The row with the errors of the output: their last digits depend on the processor."""


def test_the_tour_is_up_to_date():
    """If not: python examples/tour.py --write"""
    shown = tour.README.read_text().split(tour.BEGIN)[1].split(tour.END)[0]
    assert ERRORS.sub("", shown.strip()) == ERRORS.sub("", tour.tour())
