"""Random linalg programs through every pass from `tile-form-kernels` on: the values stay the same at every level, and
the simulator finds no race, misused flag, read of unwritten memory or access out of bounds."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_linalg import Program, programs
from xdsl.dialects.builtin import StringAttr

from npu_mlir.dialects import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.passes import load_pass
from npu_mlir.pipeline import phases_between
from npu_mlir.simulator import simulate
from npu_mlir.verification import verify

EXAMPLES = int(os.environ.get("NPU_MLIR_EXAMPLES", "25"))
"""Programs per target; by hand, more."""

RANDOM = settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
PASSES = [name for phase in phases_between("linalg", "isa") for name in phase.passes]


def assert_close(name: str, got: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Equal but for the order of sums."""
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype, f"{name}: result {i} is {a.shape} {a.dtype}"
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(a, b, f"{name}: result {i}")
            continue
        relative = 2e-2 if a.dtype == np.float16 else 1e-3
        finite = np.abs(b[np.isfinite(b)].astype(np.float64))
        scale = finite.max(initial=0.0)
        np.testing.assert_allclose(
            a.astype(np.float64), b, relative, relative * scale * 0.1 + 1e-5, err_msg=f"{name}: result {i}"
        )


def check(program: Program, target: str) -> None:
    """Run the program after every pass."""
    module, inputs = program.module, program.inputs
    module.attributes["npu.target"] = StringAttr(target)
    ctx = make_context()
    verify(module)
    expected = run_function(module, "main", inputs)
    for name in PASSES:
        load_pass(name)().apply(ctx, module)
        verify(module)
        assert_close(name, run_function(module, "main", inputs), expected)
    assert_close("simulator", simulate(module, inputs, check=True).outputs, expected)


@pytest.mark.parametrize("target", ["ascend-910", "toy", "ascend-910b"])
def test_values_stay_the_same(target: str) -> None:
    @RANDOM
    @given(programs())
    def run(program: Program) -> None:
        check(program, target)

    run()
