"""Values within a model, compared with those of a reference: which deviate, which have nothing to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest

from npu_mlir.report.views.tables import print_checks
from npu_mlir.support.tolerance import Tolerance
from npu_mlir.validation.intermediates import Result, compare_all

VALUE, OTHER = np.random.default_rng(0).standard_normal((2, 2, 3), np.float32)


class Given:
    """A reference whose nodes have these values."""

    frontends: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: str, values: Mapping[str, np.ndarray] = {}):
        self.values = values

    def outputs(self, inputs: Mapping[str, np.ndarray | float]) -> dict[str, np.ndarray]:
        return {}

    def intermediates(self, inputs: Mapping[str, np.ndarray | float]) -> dict[str, list[np.ndarray]]:
        return {name: [value] for name, value in self.values.items()}


def deviating(results: Sequence[tuple[str, np.ndarray]], **values: np.ndarray) -> list[int]:
    """Which results deviate, given as the nodes that their launches compute and what they leave."""
    found = [Result(f"k{i}", tuple(nodes.split()), value) for i, (nodes, value) in enumerate(results)]
    checks = compare_all(found, Given("", values), {}, Tolerance(1e-3, 1e-5))
    return [i for i, check in enumerate(checks) if check.deviates]


def test_parts_of_a_node_are_not_compared():
    assert deviating([("a", VALUE), ("b", OTHER), ("b", 2 * VALUE)], a=VALUE, b=2 * VALUE) == []


def test_the_launch_that_completes_a_node_is():
    assert deviating([("a", VALUE), ("b", OTHER), ("b", OTHER)], a=VALUE, b=2 * VALUE) == [2]
    assert deviating([("a", OTHER), ("b", VALUE)], a=VALUE, b=2 * VALUE) == [0]


def test_one_of_several_nodes_that_is_complete():
    """Nothing computes `a` any more, so it should be there."""
    assert deviating([("a b", OTHER), ("b", 2 * VALUE)], a=VALUE, b=2 * VALUE) == [0]


def test_launches_without_names_are_no_parts():
    assert compare_all(
        [Result("k", ("",), VALUE)] * 2, Given("", {"a": 2 * VALUE}), {}, Tolerance(1e-3, 1e-5)
    )[0].deviates


def test_what_is_said_of_parts(capsys: pytest.CaptureFixture[str]):
    results = [Result("first", ("b",), OTHER), Result("second", ("b",), 2 * VALUE)]
    print_checks(compare_all(results, Given("", {"b": 2 * VALUE}), {}, Tolerance(1e-3, 1e-5)))
    shown = " ".join(capsys.readouterr().out.split())
    assert "first" not in shown and "second" in shown
    assert "1 further value is a part of a node that later kernels complete" in shown
    assert "All 1 values in memory agree" in shown
