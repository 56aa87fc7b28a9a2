"""Lets the tests here import each other's helpers and those of the examples; marks slow ones."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent.parent / name) for name in ("examples", "benchmarks"))]

LARGE = ("resnet50", "ppocr-cls", "magika", "onet")
"""Models that take more than a few seconds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests of large models to `make test`."""
    for item in items:
        if item.path.is_relative_to(HERE) and any(model in item.name for model in LARGE):
            item.add_marker(pytest.mark.slow)
