"""Lower bounds: no schedule beats them, with GM as a flat memory or behind L2; the formulas on numbers by hand.

Here a sample of all schedules is tried; `make bounds` tries all.
"""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_mlir.analysis.bound import (
    Bound,
    KernelWork,
    LaunchWork,
    ProductWork,
    VectorOps,
    best_blocking,
    bound,
    l2_bound,
    network_bounds,
    reads_of,
)
from npu_mlir.targets.target import get_target
from schedule_search import (
    KERNELS,
    MACHINE,
    bound_of,
    compiled,
    count,
    cycles,
    formed,
    kernels,
    read,
    schedules,
    states,
)

SAMPLE = 6
TOY = get_target("toy")
ASCEND = get_target("ascend-910")


@pytest.mark.parametrize("name", KERNELS)
def test_no_schedule_beats_the_bound(name: str):
    module = formed(KERNELS[name], MACHINE)
    assert len(kernels(module)) == 1
    kernel = read(module)
    candidates = list(schedules(kernel))
    # The last has whole tiles, the first the smallest.
    chosen = random.Random(0).sample(candidates, min(SAMPLE, len(candidates)))
    programs = [p for s in (*chosen, candidates[-1]) if (p := compiled(module, s)) is not None]
    assert programs
    for state in states(kernels(module)[0]):
        least = bound_of(module, state)
        assert min(cycles(program, state) for program in programs) >= least > 0


def test_what_is_in_l2_makes_a_difference_to_the_search():
    module = formed(KERNELS["add 16x2"], MACHINE)
    program = compiled(module, list(schedules(read(module)))[-1])
    assert program is not None
    found = {state: (bound_of(module, state), cycles(program, state)) for state in states(kernels(module)[0])}
    assert len(found) == 5
    assert found[True, True, True] < found[True, False, True] < found[False, False, True]


def test_there_are_schedules_to_search():
    assert len(KERNELS) >= 30
    assert count(read(formed(KERNELS["product 2x2x2"]))) == 1920


def test_a_vector_kernel_by_hand():
    # One load and one store of 256 B at 8 B per cycle, 8 groups of 32 B at 1 cycle.
    work = KernelWork((("gm_ub", 256),), (256,), vector=(VectorOps(64, 4, 1),))
    least = bound(work, TOY)
    assert least.pipes == {"MTE2": 4 + 32, "V": 8, "MTE3": 4 + 32}
    # Issue 1, the smallest load 4 + 4 + 20, a handover 1, the stores 36 + 20.
    assert least.cycles == 100 + 1 + 28 + 1 + 36 + 20
    assert least.limit == "MTE2"


def test_a_product_by_hand():
    # 5 x 6 x 7 f32 on a cube of 4 x 4 x 4: 2 * 2 * 2 steps in one mmad.
    work = KernelWork(
        (("gm_l1", 120), ("gm_l1", 168)), (140,), (ProductWork(1, 5, 7, 6, "f32", 32),), direct=True
    )
    least = bound(work, TOY)
    assert least.pipes["M"] == 8 + 2
    assert least.pipes["MTE1"] == (120 + 168) // 16 + 2 * 2
    assert least.pipes["MTE2"] == (120 + 168) // 8 + 2 * 4
    assert "FIX" not in least.pipes and least.pipes["MTE3"] == 18 + 4


def test_the_bound_grows_with_the_work():
    small = ProductWork(1, 64, 64, 64, "f16", 16)
    large = dataclasses.replace(small, m=1024)
    works = [KernelWork((("gm_l1", 8192),), (8192,), (p,)) for p in (small, large)]
    assert bound(works[0], ASCEND).cycles < bound(works[1], ASCEND).cycles


def test_best_blocking_of_a_large_product_is_its_cube():
    side = 4096
    size = side * side * 2
    work = KernelWork(
        (("gm_l1", size), ("gm_l1", size)),
        (size,),
        (ProductWork(1, side, side, side, "f16", 16),),
        direct=True,
    )
    cube = (side // 16) ** 3
    assert cube <= (best_blocking(work, [], ASCEND) or 0) <= 1.01 * cube
    assert best_blocking(KernelWork((), ()), [], ASCEND) is None


def test_best_blocking_keeps_as_many_columns_as_their_type_allows():
    """The right operand, 8192 x 128 bytes, just fits L1, so that the left one is loaded once."""
    left, right = 4096 * 8192, 8192 * 128
    work = KernelWork(
        (("gm_l1", left), ("gm_l1", right)),
        (4096 * 128,),
        (ProductWork(1, 4096, 128, 8192, "i8", 8),),
        direct=True,
    )
    once = (left + right) / 64
    assert once <= (best_blocking(work, [], ASCEND) or 0) <= 1.01 * once


def test_networks_by_hand():
    # Weights of 64 KiB take 1,024 cycles at 64 B per cycle.
    first = LaunchWork(Bound(3000, {"M": 2000, "MTE2": 1500}), 0)
    second = LaunchWork(Bound(2500, {"M": 100, "MTE2": 1200}), 65536)
    bounds = network_bounds([first, second], ASCEND)
    assert bounds.serial == 5500
    # While the first multiplies, the weights of the second come: 100 cycles are left.
    assert bounds.prefetched == 2100
    assert bounds.overlapped == 2100
    late = network_bounds([second, first], ASCEND)
    assert late.prefetched == 1024 + 2000
    # The vector unit counts like the cube.
    assert network_bounds([LaunchWork(Bound(900, {"V": 700, "M": 50}), 0)], ASCEND).prefetched == 700


def test_what_is_in_l2_lowers_the_bound_of_a_launch():
    work = KernelWork(
        (("gm_l1", 64000), ("gm_l1", 128000)), (640,), (ProductWork(1, 64, 64, 64, "f16", 16),), (), True
    )
    flat = bound(work, ASCEND)
    reads = reads_of(work, [0, 2], 4, ASCEND)
    assert (reads.bytes, reads.paths) == ((64000, 0, 128000, 0), ("gm_l1", "", "gm_l1", ""))
    cold = l2_bound(flat.pipes, reads, [False] * 4, ASCEND)
    assert cold.pipes == flat.pipes and flat.pipes["MTE2"] == 3000 + 2 * 16
    # Only the latency behind the last load differs, by what a hit takes less.
    assert flat.cycles - 2 * 150 <= cold.cycles <= flat.cycles
    half = l2_bound(flat.pipes, reads, [True, False, False, False], ASCEND)
    assert half.pipes["MTE2"] == 500 + 2000 + 2 * 16
    assert cold.cycles - half.cycles == 500


def test_networks_behind_l2_by_hand():
    # 128 B per cycle from HBM, by loads and prefetches together; the second finds half of its weights in L2.
    first = LaunchWork(Bound(3000, {"M": 200}), 65536, 65536)
    second = LaunchWork(Bound(2500, {"M": 100}), 65536, 32768, 32768)
    bounds = network_bounds([first, second], ASCEND, l2=True)
    assert bounds.prefetched == 512 + 512
    assert bounds.overlapped == (65536 + 32768) // 128


@given(st.lists(st.tuples(*[st.integers(0, 3000)] * 4, st.integers(0, 1 << 20)), min_size=1))
def test_bounds_of_networks_are_in_order(launches: list[tuple[int, ...]]):
    works: list[LaunchWork] = []
    for m, v, mte1, extra, weights in launches:
        cycles = max(m, v, mte1, -(-weights // 64)) + extra
        works.append(LaunchWork(Bound(cycles, {"M": m, "V": v, "MTE1": mte1}), weights))
    bounds = network_bounds(works, ASCEND)
    assert bounds.serial >= bounds.prefetched >= bounds.overlapped
