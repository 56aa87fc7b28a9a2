"""The steps from ideal cycles to cycles: they sum, none is negative, and what is proven is the bound."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_mlir
from npu_mlir.analysis.waterfall import STEPS, LaunchTime, Occupancies, Step, together, waterfall
from npu_mlir.report.report import report_of
from npu_mlir.targets.target import get_target
from operators import model, node

counts = st.integers(0, 1000)


@st.composite
def launches(draw: st.DrawFn) -> LaunchTime:
    """Launches whose programs do at least what they have to, and take at least as long as their busiest pipe."""
    cube, far, near, gm, l0, fix, vector = (draw(counts) for _ in range(7))
    least = Occupancies(cube, far, far + near, far + near + gm, l0, fix, vector)
    more = [draw(counts) for _ in range(7)]
    own = Occupancies(*(a + b for a, b in zip(astuple(least), more, strict=True)))
    ideal, launch, ends, fill, waits = draw(st.integers(0, cube)), *(draw(counts) for _ in range(4))
    bound = draw(st.sampled_from([None, launch + fill + max(astuple(least))]))
    known = least if bound is not None or draw(st.booleans()) else None
    cycles = max(bound or 0, launch + ends + max(astuple(own)) + waits)
    return LaunchTime(cycles, ideal, launch, known, own, ends, draw(st.booleans()), bound)


@given(launches())
def test_the_steps_sum_to_the_cycles_and_what_is_proven_to_the_bound(time: LaunchTime):
    steps = waterfall(time)
    assert [step.name for step in steps] == list(STEPS)
    assert sum(step.cycles for step in steps) == time.cycles
    proven = sum(step.proven for step in steps)
    if time.bound is not None:
        assert proven == time.bound
    else:
        assert proven == (0 if time.least is None else time.launch + max(astuple(time.least)))
    assert all(step.cycles >= 0 for step in steps)
    assert all(step.cycles >= step.proven for step in steps if step.name != "fill")


@given(launches(), st.integers(0, 500))
def test_what_runs_beside_other_launches_is_hidden(time: LaunchTime, cut: int):
    shorter = replace(time, cycles=max(time.launch, time.cycles - cut))
    steps = {step.name: step.cycles for step in waterfall(shorter)}
    assert sum(steps.values()) == shorter.cycles
    assert steps["hidden"] <= 0 <= steps["left"]
    assert not steps["hidden"] or not steps["left"]


def test_each_step_is_what_it_adds_to_those_before():
    least = Occupancies(cube=110, weights_hbm=0, weights=90, gm=130, on_chip=50, fixpipe=10, vector=0)
    own = Occupancies(cube=120, weights_hbm=0, weights=90, gm=180, on_chip=60, fixpipe=10, vector=200)
    time = LaunchTime(400, 100, 50, least, own, 60, product=True, bound=200)
    found = {step.name: (step.cycles, step.proven) for step in waterfall(time) if step.cycles}
    assert found == {
        "ideal": (100, 100),
        "padding": (10, 10),
        "activations": (20 + 50, 20),
        "epilogues": (20, 0),
        "launch": (50, 50),
        "fill": (60, 20),
        "left": (90, 0),
    }


def test_several_launches_are_the_sums_of_their_steps():
    time = LaunchTime(100, 10, 20, Occupancies(cube=30), Occupancies(cube=40), 5, True, 60)
    once = waterfall(time)
    assert together([once, once]) == [Step(s.name, 2 * s.cycles, 2 * s.proven) for s in once]


def network() -> onnx.ModelProto:
    """A convolution, a pool, the same convolution twice, and a product."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32) / 10

    return model(
        [
            node("Conv", "x w1", "a", pads=[1, 1, 1, 1]),
            node("MaxPool", "a", "b", kernel_shape=[2, 2], strides=[2, 2]),
            node("Conv", "b w2", "c", pads=[1, 1, 1, 1]),
            node("Relu", "c", "d"),
            node("Conv", "d w3", "e", pads=[1, 1, 1, 1]),
            node("Relu", "e", "f"),
            node("Flatten", "f", "g"),
            node("MatMul", "g w4", "h"),
            node("Softmax", "h"),
        ],
        {"x": np.zeros((1, 3, 12, 12), np.float32)},
        w1=weights(16, 3, 3, 3),
        w2=weights(16, 16, 3, 3),
        w3=weights(16, 16, 3, 3),
        w4=weights(576, 10),
    )


@pytest.mark.parametrize(
    ("target", "l2"), [("ascend-910", "cold"), ("ascend-910", "off"), ("ascend-910b", "warm"), ("toy", None)]
)
def test_of_a_network(target: str, l2: str | None, tmp_path: Path):
    onnx.save(network(), tmp_path / "model.onnx")
    program = npu_mlir.compile(tmp_path / "model.onnx", target=target, precision="f16", link=False)
    report = report_of(program, {}, program.simulate(check=False, explain=True, l2=l2), [])
    assert report.waterfall is not None and report.bounds is not None
    steps = report.waterfall.steps
    assert sum(step.cycles for step in steps) == report.cycles
    assert sum(step.proven for step in steps) == report.bounds.serial
    assert steps[-1] == Step("hidden", 0, 0)
    rows = {row.name: row for row in report.kernels}
    for kernel in report.waterfall.kernels:
        row = rows[kernel.kernel]
        assert sum(step.cycles for step in kernel.steps) == row.cycles
        assert sum(step.proven for step in kernel.steps) == row.bound
        assert all(step.cycles >= 0 for step in kernel.steps)


@pytest.mark.parametrize("target", ["ascend-910", "toy"])
def test_of_a_program(target: str, tmp_path: Path):
    onnx.save(network(), tmp_path / "model.onnx")
    program = npu_mlir.compile(tmp_path / "model.onnx", target=target, precision="f16", link=True)
    report = report_of(program, {}, program.simulate(check=False, explain=True), [])
    assert report.waterfall is not None
    steps = {step.name: step for step in report.waterfall.steps}
    assert sum(step.cycles for step in steps.values()) == report.cycles
    assert steps["launch"].cycles == program_launch(target)
    assert steps["fill"].cycles > 0 == steps["fill"].proven
    rows = {row.name: row for row in report.kernels}
    for kernel in report.waterfall.kernels:
        assert sum(step.cycles for step in kernel.steps) == rows[kernel.kernel].cycles


def program_launch(target: str) -> int:
    return get_target(target).latencies["launch"]


def test_a_run_that_was_not_explained_has_none(tmp_path: Path):
    onnx.save(network(), tmp_path / "model.onnx")
    program = npu_mlir.compile(tmp_path / "model.onnx", target="toy", precision="f16")
    assert report_of(program, {}, program.simulate(check=False), []).waterfall is None
