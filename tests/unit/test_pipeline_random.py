"""Random linalg programs through every pass from `tile-form-kernels` on: the values stay the same at every level, and
the simulator finds no race, misused flag, read of unwritten memory or access out of bounds.

With schedules as `tile-choose-schedule` makes them, and with any legal ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block

from npu_mlir.analysis.chain_tiling import divisors
from npu_mlir.analysis.dims import DimKind
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.verification import verify
from npu_mlir.passes import load_pass
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.passes.tile.form_kernels import FormKernels
from npu_mlir.passes.tile.kernel import exact_classes, linked_classes, read_kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, Link, levels_of, ops_of
from npu_mlir.passes.tile.trial import try_schedule
from npu_mlir.pipeline import phases_between
from npu_mlir.simulator import simulate
from npu_mlir.targets.module_target import set_target, target_of
from npu_mlir.targets.target import Target
from random_linalg import Program, make_program, multiply_add, programs, slice_of

EXAMPLES = os.environ.get("NPU_MLIR_EXAMPLES")
"""Programs per test, to look for more by hand; by default few, and always the same."""

MOST_TRIPS = 500
"""Iterations of a drawn schedule, roughly."""

RANDOM = settings(
    max_examples=int(EXAMPLES or 16),
    derandomize=EXAMPLES is None,
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


def check(
    program: Program,
    target: str | Target,
    schedule: Callable[[ModuleOp], None] = lambda module: None,
    chains: str = "auto",
) -> ModuleOp:
    """Run the program after every pass, and return it; `schedule` may choose schedules first, `chains` is the policy
    for chains of contractions."""
    module, inputs = program.module, program.inputs
    set_target(module, Target.load(target) if isinstance(target, str) else target)
    ctx = make_context()
    verify(module)
    expected = run_function(module, "main", inputs)
    for name in PASSES:
        if name == "tile-choose-schedule":
            schedule(module)
        pass_ = load_pass(name)
        (pass_(chains=chains) if pass_ is FormKernels else pass_()).apply(ctx, module)
        verify(module)
        assert_close(name, run_function(module, "main", inputs), expected)
    assert_close("simulator", simulate(module, inputs, check=True).outputs, expected)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ascend-910", "toy", "ascend-910b"])
def test_values_stay_the_same(target: str) -> None:
    @RANDOM
    @given(programs())
    def run(program: Program) -> None:
        check(program, target)

    run()


def draw_schedule(draw: Callable[[Any], Any], op: tile.KernelOp, bypass_ub: bool) -> tile.ScheduleAttr:
    """Any schedule that `tile-apply-schedule` accepts, whether or not it fits; `bypass_ub` as the target needs it."""
    kernel = read_kernel(op)
    batch, exact = set[int](), set[int]()
    for contraction in kernel.contractions:
        roles = contraction_roles(contraction)
        assert roles is not None
        exact |= exact_classes(kernel, contraction)
        batch |= {kernel.classes.class_of[contraction.key][d] for d in roles.batch}
    sizes: list[int] = []
    inner: list[int] = []
    trips = MOST_TRIPS
    for c in kernel.classes.classes:
        low = max(1, c.extent // trips)
        if c.kind is DimKind.MIXED:
            low = size = c.extent
        elif c.id in batch:
            size = 1
        elif c.id in exact or c.kind is DimKind.LINK:
            size = draw(st.sampled_from([d for d in range(low, c.extent + 1) if c.extent % d == 0]))
        else:
            # Some tiles reach beyond their extent.
            size = draw(st.integers(low, c.extent + 3))
        low = max(1, size // trips) if c.kind is not DimKind.MIXED else size
        sizes.append(size)
        inner.append(draw(st.sampled_from([d for d in range(low, size + 1) if size % d == 0])))
        trips = max(1, trips // -(-c.extent // inner[-1]))
    parallel = [c.id for c in kernel.classes.classes if c.kind is DimKind.PAR and sizes[c.id] < c.extent]
    slots = {space: draw(st.integers(1, 3)) for space in ("l1", "l0a", "l0b", "l0c", "ub")}
    order = draw(st.permutations(parallel))
    links: dict[Hashable, Link] = {}
    for contraction in kernel.contractions:
        chunks: dict[int, tuple[int, int]] = {}
        linked = linked_classes(kernel, contraction)
        streamed = [kernel.classes.classes[c].kind is DimKind.LINK for c in linked]
        per_tile = bool(linked) and all(streamed) and draw(st.booleans())
        for c in linked:
            extent = kernel.classes.classes[c].extent
            chunk = sizes[c] if per_tile else draw(st.sampled_from(divisors(extent, 1)))
            chunks[c] = chunk, draw(st.sampled_from(divisors(chunk, 1)))
        if linked:
            links[contraction.key] = Link(chunks, per_tile)
    drawn = KernelSizes(tuple(sizes), tuple(inner), tuple(inner), links)
    bypass_ub = bypass_ub and bool(kernel.contractions)
    ops = ops_of(kernel, drawn)
    keep = draw(st.sampled_from([(), ("a",), ("b",), ("a", "b")]))
    lists = levels_of(kernel, drawn)
    return tile.ScheduleAttr.of(slots, lists, order=order, keep=keep, bypass_ub=bypass_ub, ops=ops)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ascend-910", "toy", "ascend-910b"])
def test_any_schedule_gives_the_same_values(target: str) -> None:
    @RANDOM
    @given(programs(most=3), st.data())
    def run(program: Program, data: st.DataObject) -> None:
        def schedule(module: ModuleOp) -> None:
            machine = target_of(module)
            for kernel in [op for op in module.ops if isinstance(op, tile.KernelOp)]:
                drawn = draw_schedule(data.draw, kernel, machine.split_cores)
                if try_schedule(kernel, drawn, machine).overflow is None:
                    kernel.properties["schedule"] = drawn

        check(program, target, schedule)

    run()


@pytest.mark.parametrize("target", ["ascend-910", "toy"])
def test_neighbours_of_slices_are_not_added(target: str) -> None:
    """Chunks of K that do not divide it would read on behind the slices, where there are no zeros."""
    b, block = Builder(), Block()
    x, y = (block.insert_arg(tensor_type(f32, (n, n)), i) for i, n in enumerate((700, 650)))
    lhs, rhs = slice_of(b, x, (1, 5), (9, 601)), slice_of(b, y, (3, 0), (601, 7))
    maps = [(0, 2), (2, 1), (0, 1)]
    product = b.generic([lhs, rhs], b.fill(0.0, (9, 7), f32), maps, 3, [2], multiply_add)
    check(make_program(b, block, [product]), target)
