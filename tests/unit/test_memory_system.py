"""L2 and HBM: what is where, held to an exact LRU cache on random programs; time that never grows with a better
machine; several kernels and cores."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from isa_programs import gemm, parse
from lru_oracle import SectorCache, lru_launch
from npu_mlir.analysis.gm_addresses import GmAddresses, KernelTouches
from npu_mlir.analysis.gm_boxes import covers_all, loops_that_repeat
from npu_mlir.analysis.prefetch import LaunchNeeds, plan_prefetches
from npu_mlir.analysis.residency import GmTouch, Residency
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.api import Program
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.context import make_context
from npu_mlir.passes.tile.plan_memory import PlanMemory
from npu_mlir.report.report import report_of
from npu_mlir.simulator import Run, simulate
from npu_mlir.simulator.program import blocks
from npu_mlir.simulator.program.blocks import Blocks, Heat
from npu_mlir.simulator.simulate import SimulationResult
from npu_mlir.simulator.timing.memory_system import MemorySystem
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import set_target
from npu_mlir.targets.target import Target, get_target
from test_simulator_runs import array, step

TOY = get_target("toy")
L2 = {"size": 4096, "line": 64, "sector": 32, "rate": 16, "latency": 5, "prefetch": 8, "hbm": 64}


def with_l2(**numbers: float) -> Target:
    return replace(TOY, l2={**L2, **numbers})


# ---- residency -----------------------------------------------------------------------------------------------------


def findings(residency: Residency, *places: range) -> list[str]:
    found, _ = residency.launch([GmTouch(place) for place in places])
    return [finding.reason() for finding in found]


def test_what_was_touched_since_decides():
    residency = Residency(320)
    x, w, y, z = (range(i * 96, i * 96 + 96) for i in range(4))
    assert findings(residency, x, w) == ["cold: first use"] * 2
    assert findings(residency, w, y) == ["hot: 288 B since", "cold: first use"]
    assert findings(residency, y, z) == ["hot: 288 B since", "cold: first use"]
    assert findings(residency, x) == ["cold: 384 B since"]
    # Its last touch is recent now.
    assert findings(residency, x) == ["hot: 96 B since"]


def test_a_range_of_which_a_part_is_old_is_as_old_as_that():
    residency = Residency(128)
    assert findings(residency, range(64)) == ["cold: first use"]
    assert findings(residency, range(64, 128)) == ["cold: first use"]
    assert findings(residency, range(128)) == ["hot: 128 B since"]
    findings(residency, range(128, 192))
    assert findings(residency, range(32, 64), range(96, 128)) == ["cold: 192 B since", "cold: 192 B since"]
    assert findings(residency, range(32, 256)) == ["cold: first use"]


def test_what_may_be_touched_counts_but_is_not_there():
    residency = Residency(128)
    residency.launch([GmTouch(range(64), whole=False)])
    assert findings(residency, range(64)) == ["cold: first use"]
    residency.launch([GmTouch(range(64, 192), whole=False)])
    assert findings(residency, range(64)) == ["cold: 192 B since"]


def test_a_launch_that_does_not_fit():
    residency = Residency(128)
    assert residency.launch([GmTouch(range(64)), GmTouch(range(64, 128))])[1]
    assert not residency.launch([GmTouch(range(64)), GmTouch(range(64, 160))])[1]
    # With what another core touches meanwhile.
    assert not residency.launch([GmTouch(range(64))], [GmTouch(range(64, 160))])[1]


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 24))
def test_what_is_hot_is_in_an_exact_cache_in_whatever_order_a_launch_touches_it(
    data: st.DataObject, lines: int
):
    residency, cache = Residency(lines * 32), SectorCache(lines * 32)
    for _ in range(data.draw(st.integers(1, 12))):
        starts = data.draw(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=4))
        places = [range(32 * s, 32 * (s + n)) for s, n in starts]
        found, _ = residency.launch([GmTouch(place) for place in places])
        order = data.draw(st.permutations([s // 32 for place in places for s in place[::32]]))
        seen: set[int] = set()
        hot = {s // 32 for place, f in zip(places, found, strict=True) if f.hot for s in place[::32]}
        for sector in order:
            there = cache.touch([sector])
            assert there or sector in seen or sector not in hot
            seen.add(sector)


# ---- what a kernel touches -----------------------------------------------------------------------------------------


def kernel_of(module: ModuleOp) -> tile.KernelOp:
    return next(op for op in module.ops if isinstance(op, tile.KernelOp))


def test_loops_in_which_a_load_repeats():
    kernel = kernel_of(parse(gemm(32, 32, 32, tile=(8, 16, 16), k0=8, element="f32", target="toy")))
    forms = ScalarForms()
    loads = [op for op in kernel.walk() if isinstance(op, npu_isa.GmLoad)]
    i, j, _, _ = (op for op in kernel.walk() if op.name == "scf.for")
    assert [loops_that_repeat(op, forms) for op in loads] == [(j,), (i,)]
    assert all(covers_all(op, forms) for op in loads)
    assert KernelTouches(kernel).whole == [True] * 3


def loads_in(body: str, first: str = "") -> list[tuple[bool, int]]:
    """Of each load of a kernel with an array of 64 elements: whether it covers it, in how many loops it repeats."""
    gm = "memref<64xf32, #tile.space<gm>>"
    load = f"-> %u<1> over [8] map affine_map<(i, a) -> (i + a)> : {gm}"
    constants = "\n".join(f"%c{i} = arith.constant {i} : index" for i in (0, 1, 2, 3, 8, 16, 56, 64))
    module = parse(f"""
builtin.module {{
  tile.kernel @k(%X: {gm}, %Y: {gm}) {{
    {constants}
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    {first}
    {body.replace("LOAD", "npu_isa.load_ub %X").replace("8]", f"8] {load}").replace("i]", f"i] {load}")}
    tile.return
  }}
}}
""")
    forms = ScalarForms()
    found = [op for op in kernel_of(module).walk() if isinstance(op, npu_isa.GmLoad)]
    return [(covers_all(op, forms), len(loops_that_repeat(op, forms))) for op in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("scf.for %i = %c0 to %c64 step %c8 { LOAD[%i] }", (True, 0)),
        ("scf.for %i = %c0 to %c56 step %c8 { LOAD[%i] }", (False, 0)),
        ("scf.for %i = %c0 to %c64 step %c16 { LOAD[%i] }", (False, 0)),
        ("scf.for %j = %c0 to %c3 step %c1 { scf.for %i = %c0 to %c64 step %c8 { LOAD[%i] } }", (True, 1)),
        # How often the inner loop runs depends on the outer one; a condition may.
        ("scf.for %j = %c0 to %c64 step %c8 { scf.for %i = %c0 to %j step %c8 { LOAD[%i] } }", (False, 0)),
        (
            "scf.for %j = %c0 to %c3 step %c1 { %q = arith.cmpi eq, %j, %c1 : index\n"
            "scf.if %q { scf.for %i = %c0 to %c64 step %c8 { LOAD[%i] } } }",
            (False, 0),
        ),
        # The first iteration of a loop that the load does not depend on, and one that it depends on.
        (
            "scf.for %j = %c0 to %c3 step %c1 { %q = arith.cmpi eq, %j, %c0 : index\n"
            "scf.if %q { scf.for %i = %c0 to %c64 step %c8 { LOAD[%i] } } }",
            (True, 1),
        ),
        (
            "scf.for %j = %c0 to %c3 step %c1 { scf.for %i = %c0 to %c64 step %c8 {\n"
            "%q = arith.cmpi eq, %j, %c0 : index\n%p = arith.cmpi eq, %i, %c0 : index\n"
            "%b = arith.andi %q, %p : i1\nscf.if %b { LOAD[%i] } } }",
            (False, 0),
        ),
        # What a loop carries moves with it.
        (
            "%r = scf.for %j = %c0 to %c3 step %c1 iter_args(%i = %c0) -> (index) { LOAD[%i]\n"
            "%m = arith.addi %i, %c8 : index\nscf.yield %m : index }",
            (False, 0),
        ),
    ],
)
def test_what_a_load_covers_and_where_it_repeats(body: str, expected: tuple[bool, int]):
    assert loads_in(body) == [expected]


@pytest.mark.parametrize(
    ("shape", "loops"), [("[8] map affine_map<(a) -> (a)>", 1), ("[4] map affine_map<(a) -> (a)>", 0)]
)
def test_a_load_but_for_first_tiles_repeats_if_these_are_loaded_at_the_top(shape: str, loops: int):
    """The one at the top has no index left: it was a constant."""
    first = f"npu_isa.load_ub %X[] -> %u<1> over {shape} : memref<64xf32, #tile.space<gm>>"
    body = (
        "scf.for %j = %c0 to %c3 step %c1 { scf.for %i = %c0 to %c64 step %c8 {\n"
        "%q = arith.cmpi uge, %i, %c8 : index\nscf.if %q { LOAD[%i] } } }"
    )
    assert loads_in(body, first)[1][1] == loops


# ---- random programs -----------------------------------------------------------------------------------------------

SIDE = 16


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Launches of products of square matrices, with some results used again later, and prefetches between."""
    tiles = st.tuples(*(st.sampled_from((4, 8, 16)) for _ in range(3)))
    shapes = draw(st.lists(tiles, min_size=1, max_size=3))
    kernels: list[str] = []
    for number, (tm, tn, tk) in enumerate(shapes):
        tm, tn, tk = tm, min(tn, 8), min(tk, 8) if tm == 16 else tk
        text = gemm(SIDE, SIDE, SIDE, tile=(tm, tn, tk), k0=4, element="f32", target="toy")
        kernels.append(text[text.index("  tile.kernel") : text.rindex("}")].replace("@gemm", f"@k{number}"))
    type_ = f"tensor<{SIDE}x{SIDE}xf32>"
    values = ["%a", "%b", "%c", "%d"]
    lines: list[str] = []
    for number in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 2)) == 0:
            lines.append(f"npu_isa.prefetch {draw(st.sampled_from(values))} : {type_}")
        kernel = draw(st.integers(0, len(shapes) - 1))
        x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        lines.append(f"%v{number} = tile.launch @k{kernel}({x}, {y}) : ({type_}, {type_}) -> {type_}")
        values.append(f"%v{number}")
    body = "\n    ".join(lines)
    arguments = ", ".join(f"%{name}: {type_}" for name in "abcd")
    kernel_text = "".join(kernels)
    return f"""
builtin.module {{
  func.func @main({arguments}) -> {type_} {{
    {body}
    func.return {values[-1]} : {type_}
  }}
{kernel_text}
}}
"""


def planned(text: str) -> ModuleOp:
    module = parse(text)
    PlanMemory().apply(None, module)  # type: ignore[arg-type]
    return module


def timed(module: ModuleOp, target: Target, **options: Any) -> SimulationResult:
    given: dict[str, Any] = {"l2": "cold", **options}
    return simulate(module, values=False, check=False, target=target, **given)


sizes = st.sampled_from((512, 1024, 2048, 3072, 4096, 8192, 16384))


def whole_sectors(text: str) -> bool:
    """Whether all rows of tiles begin and end with a sector, 8 numbers of f32."""
    return all(int(v) % 8 == 0 for v in re.findall(r"%(?:n|k|tn|tk) = arith.constant (\d+)", text))


@settings(max_examples=20, deadline=None)
@given(programs(), sizes)
def test_an_exact_cache_has_what_hits_and_takes_no_longer(text: str, size: int):
    text = "\n".join(line for line in text.splitlines() if "npu_isa.prefetch" not in line)
    module, target = planned(text), with_l2(size=size)
    addresses, cache = GmAddresses(module), SectorCache(size)
    launches = [op for op in module.walk() if isinstance(op, tile.LaunchOp)]
    kernels = {op.sym_name.data: Blocks(op, target) for op in module.ops if isinstance(op, tile.KernelOp)}
    for op, launch in zip(launches, timed(module, target).launches, strict=True):
        places = [addresses.of(value) for value in (*op.operands, *op.results)]
        hits, misses = cache.hits, cache.misses
        exact = lru_launch(kernels[op.kernel.string_value()], places, cache)
        moved = [sum(getattr(o, name) for o in launch.operands) for name in ("hits", "misses")]
        assert sum(moved) == cache.hits - hits + cache.misses - misses
        assert moved[0] <= cache.hits - hits
        assert exact <= launch.cycles
        if size >= 16384 and len(set(places)) == len(places) and whole_sectors(text):
            # All fits: the model has lost nothing. Of one tensor as two operands, it takes each to be cold at first,
            # and it knows nothing of a neighbour's half of a sector.
            assert (exact, moved[0]) == (launch.cycles, cache.hits - hits)


@settings(max_examples=20, deadline=None)
@given(programs(), st.data())
def test_a_better_machine_is_never_slower(text: str, data: st.DataObject):
    module = planned(text)
    small = data.draw(sizes)
    numbers = {
        "size": small,
        "rate": data.draw(st.sampled_from((8, 12, 16))),
        "latency": data.draw(st.integers(0, 20)),
        "prefetch": data.draw(st.sampled_from((0.5, 2, 8))),
    }
    better = dict(numbers)
    better["size"] = data.draw(sizes.filter(lambda size: size >= small))
    better["rate"] *= data.draw(st.sampled_from((1, 1.5, 2)))
    better["latency"] = data.draw(st.integers(0, int(numbers["latency"])))
    better["prefetch"] *= data.draw(st.sampled_from((1, 1.5, 4)))
    target, other = with_l2(**numbers), with_l2(**better)
    faster = data.draw(st.sampled_from((1, 1.25, 3)))
    rates = {path: rate * faster if "gm" in path else rate for path, rate in TOY.rates.items()}
    assert timed(module, replace(other, rates=rates)).cycles <= timed(module, target).cycles
    assert timed(module, target).cycles <= timed(module, target, l2="off").cycles
    assert timed(module, target, l2="warm").cycles <= timed(module, target).cycles


@settings(max_examples=15, deadline=None)
@given(programs(), sizes, st.sampled_from((0.25, 1, 8)))
def test_all_ways_to_time_a_program_agree(text: str, size: int, rate: float):
    module, target = planned(text), with_l2(size=size, prefetch=rate)
    with pytest.MonkeyPatch.context() as patch:
        called = timed(module, target, extrapolate=False)
        seen = timed(module, target, explain=True)
        plain = timed(module, target, explain=True, extrapolate=False)
        patch.setattr(blocks, "INLINED_FROM", 0)
        assert timed(module, target) == called
        assert timed(module, target, extrapolate=False) == called
    assert plain == seen
    assert seen.launches == called.launches
    for kernel in seen.kernels:
        for variant in kernel.variants:
            assert variant.attribution is not None
            time = variant.attribution.pipes["MTE2"]
            assert 0 <= time.hbm <= time.transfer <= time.busy


# ---- one program after the other -----------------------------------------------------------------------------------


def test_the_cache_is_said_with_the_result_and_has_to_exist():
    module = planned(programs_example())
    assert timed(module, TOY, l2=None).l2 == "off"
    assert timed(module, with_l2()).l2 == "cold"
    with pytest.raises(UserError, match="unknown state of L2 'hot'"):
        timed(module, with_l2(), l2="hot")
    with pytest.raises(UserError, match="the target 'toy' has no L2 that could be warm"):
        timed(module, TOY, l2="warm")


def programs_example() -> str:
    type_ = f"tensor<{SIDE}x{SIDE}xf32>"
    text = gemm(SIDE, SIDE, SIDE, tile=(8, 8, 8), k0=4, element="f32", target="toy")
    start = text.index("  tile.kernel")
    return f"""
builtin.module {{
  func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{
    %x = tile.launch @gemm(%a, %b) : ({type_}, {type_}) -> {type_}
    %y = tile.launch @gemm(%x, %b) : ({type_}, {type_}) -> {type_}
    func.return %y : {type_}
  }}
{text[start : text.rindex("}")]}
}}
"""


def test_operands_say_where_they_were_and_why():
    first, second = timed(planned(programs_example()), with_l2()).launches
    assert [o.reason for o in first.operands] == ["cold: first use", "cold: first use", "result"]
    assert [o.reason for o in second.operands] == ["hot: 4.1 kB since"] * 2 + ["result"]
    # Two columns of tiles: the left operand is loaded twice, and there the second time.
    assert (first.operands[0].hits, first.operands[0].misses) == (1024, 1024)
    assert (second.operands[0].hits, second.operands[0].misses, second.operands[2].stored) == (2048, 0, 1024)
    assert second.cycles < first.cycles


def test_values_and_time_alone_see_the_same():
    module, target = planned(programs_example()), with_l2(size=3072)
    inputs = [np.random.default_rng(i).standard_normal((SIDE, SIDE)).astype(np.float32) for i in range(2)]
    run = simulate(module, inputs, target=target, l2="cold")
    assert run.launches == timed(module, target).launches
    np.testing.assert_allclose(run.outputs[0], inputs[0] @ inputs[1] @ inputs[1], rtol=1e-4, atol=1e-4)


# ---- prefetches ----------------------------------------------------------------------------------------------------


def test_prefetches_follow_each_other_and_what_is_there_takes_no_time():
    memory = MemorySystem(with_l2())
    first, second = memory.prefetch(range(800), 10), memory.prefetch(range(1024, 1824), 20)
    # 4 cycles for each, 8 bytes per cycle, 20 of latency.
    assert (first.start, first.ready, first.bytes) == (10, 10 + 104 + 20, 800)
    assert (second.start, second.ready) == (114, 114 + 104 + 20)
    again = memory.prefetch(range(800), 500)
    assert (again.start, again.ready, again.bytes) == (500, 500, 0)
    placed = memory.launch([GmTouch(range(800)), GmTouch(range(1024, 1824)), GmTouch(range(2048, 2080))], 200)
    assert placed.heat == Heat((0, 38, None), True)
    assert [placed.reason(i) for i in range(3)] == [
        "prefetched",
        "prefetched: ready after 38 cycles",
        "cold: first use",
    ]


@pytest.mark.parametrize("l2", ["cold", "off"])
def test_a_prefetch_changes_no_value_and_needs_no_cache(l2: str):
    text = programs_example().replace("%x = ", "npu_isa.prefetch %b : tensor<16x16xf32>\n    %x = ")
    module = planned(text)
    inputs = [np.random.default_rng(i).standard_normal((SIDE, SIDE)).astype(np.float32) for i in range(2)]
    run = simulate(module, inputs, target=with_l2(), l2=l2)
    np.testing.assert_allclose(run.outputs[0], inputs[0] @ inputs[1] @ inputs[1], rtol=1e-4, atol=1e-4)
    assert len(run.prefetches) == (l2 == "cold")


def test_a_prefetch_that_is_late_costs_nothing():
    plain = planned(programs_example())
    ahead = planned(programs_example().replace("%x = ", "npu_isa.prefetch %b : tensor<16x16xf32>\n    %x = "))
    for rate in (0.1, 1, 4, 100):
        target = with_l2(prefetch=rate)
        assert timed(ahead, target).cycles <= timed(plain, target).cycles
    fast, slow = (timed(ahead, with_l2(prefetch=rate), explain=True) for rate in (100, 8))
    assert fast.cycles < slow.cycles < timed(plain, with_l2()).cycles
    attribution = slow.kernels[0].attribution
    assert attribution is not None and attribution.pipes["MTE2"].prefetch > 0
    assert fast.launches[0].operands[1].reason == "prefetched"


# ---- several kernels and cores -------------------------------------------------------------------------------------


def heated(kernel: Blocks, ready: int | None) -> int:
    """The cycles of a kernel on an empty core with all its arguments in one state."""
    run = Run(kernel.target, check=False)
    run.execute(kernel, [None] * 3, values=False, heat=Heat((ready,) * 3, True))
    return run.cycles


@pytest.mark.parametrize("cores", [1, 2])
def test_kernels_of_a_run_find_what_those_before_have_left(cores: int):
    target = with_l2(size=2048)
    first, second = (Blocks(step("exp", at, at // 256).kernel, target) for at in (0, 256))
    w, x, y, z = (array(i) for i in range(4))
    alone = Run(target, check=False, l2="cold")
    alone.execute(first, [w, x, y])
    assert alone.cycles == heated(first, None)
    after = alone.cycles
    run = Run(target, check=False, cores=cores, l2="cold")
    run.execute(first, [w, x, y])
    executed = run.execute(second, [w, y, z], core=cores - 1)
    assert [executed.traffic[i].hits for i in (0, 1)] == [256, 256]
    assert executed.traffic[0].misses == 0
    if cores == 2:
        assert executed.end == heated(second, 0)
    else:
        assert run.cycles < after + heated(second, None)


def test_a_run_prefetches():
    target, x = with_l2(), [array(i) for i in range(3)]
    kernel = Blocks(step("exp", 0).kernel, target)
    run = Run(target, check=False, l2="cold")
    run.prefetch(x[1], x[1].nbytes)
    executed = run.execute(kernel, x)
    assert run.cycles <= heated(kernel, None)
    assert executed.traffic[0].misses == 256
    late = Run(target, check=False, l2="cold")
    late.memory.free = 10**6  # type: ignore[union-attr]
    late.prefetch(x[1], x[1].nbytes)
    late.execute(kernel, x)
    assert late.cycles == heated(kernel, None)


# ---- which weights to prefetch -------------------------------------------------------------------------------------


def needs(*launches: tuple[int, int, int]) -> list[LaunchNeeds]:
    """Launches that read the result of the one before, weights of so many bytes at an address, and write a result."""
    found: list[LaunchNeeds] = []
    for number, (activations, start, size) in enumerate(launches):
        source, dest = (range(10**6 * i, 10**6 * i + activations) for i in (number % 2, 1 - number % 2))
        found.append(LaunchNeeds([GmTouch(p) for p in (source, range(start, start + size), dest)], 2, [1]))
    return found


def test_weights_are_brought_as_far_ahead_as_the_window_reaches():
    launches = needs(*((64, 10**8 * (i + 1), 320) for i in range(4)))
    plan = plan_prefetches(launches, 640, 10**6)
    assert (plan.window, plan.before) == (640, [[(0, 1), (1, 1)], [(2, 1)], [(3, 1)], []])
    # What is there is not brought again, and what is larger than the window not at all.
    again = needs((64, 10**8, 320), (64, 10**8, 320), (64, 2 * 10**8, 960))
    assert plan_prefetches(again, 640, 10**6).before == [[(0, 1)], [], []]
    assert plan_prefetches(launches, 0, 10**6).window == 0


def test_a_window_that_pushes_out_what_is_needed_is_cut():
    launches = needs(*((320, 10**8 * (i + 1), 640) for i in range(6)))
    # 2 x 320 bytes of activations and 640 of weights are in use, twice in a row.
    assert plan_prefetches(launches, 2560, 4096).window == 2560 * 0.75
    assert plan_prefetches(launches, 2560, 2**20).window == 2560
    assert plan_prefetches(launches, 2560, 1024).window == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(1, 40),
    st.integers(1, 60),
)
def test_no_launch_has_more_to_load_for_prefetches(
    launches: list[tuple[int, int, int]], window: int, size: int
):
    all_needs = needs(*((32 * a, 10**8 * w, 32 * b) for a, w, b in launches))
    plan = plan_prefetches(all_needs, 32 * window, 32 * size)
    missing: list[list[int]] = []
    for before in (plan.before, [[] for _ in all_needs]):
        residency = Residency(32 * size)
        found: list[int] = []
        ahead: list[int] = []
        for launch, begun in zip(all_needs, before, strict=True):
            for other, number in begun:
                residency.launch([all_needs[other].touches[number]])
                ahead.append(len(all_needs[other].touches[number].bytes))
            findings, _ = residency.launch(launch.touches)
            found.append(sum(len(t.bytes) for t, f in zip(launch.touches[:2], findings) if not f.hot))
        missing.append(found)
    assert all(ahead <= without for ahead, without in zip(*missing, strict=True))


# ---- reports -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", ["cold", "warm"])
@pytest.mark.parametrize("size", [1024, 1 << 20])
def test_a_report_says_what_moved_and_no_launch_beats_its_bound(l2: str, size: int):
    text = """
func.func @main(%x: tensor<24x16xf32>) -> tensor<24x12xf32> {
  %w = arith.constant dense<0.5> : tensor<16x12xf32>
  %0 = graph.matmul %x, %w : (tensor<24x16xf32>, tensor<16x12xf32>) -> tensor<24x12xf32>
  %1 = graph.softmax %0 axis 1 : (tensor<24x12xf32>) -> tensor<24x12xf32>
  func.return %1 : tensor<24x12xf32>
}
"""
    module = parse(text)
    set_target(module, with_l2(size=size))
    program = Program(make_context(), module).lower("isa")
    run = program.simulate(explain=True, check=False, l2=l2)
    report = report_of(program, {}, run, [])
    assert report.memory is not None and report.bounds is not None
    assert report.memory.l2 == l2
    moved = sum(row.hits + row.misses for row in report.launches)
    assert report.memory.hits + report.memory.misses == moved > 0
    assert all(row.bound is not None and 0 < row.bound <= row.cycles for row in report.launches)
    assert report.bounds.serial == sum(row.bound or 0 for row in report.launches)
    assert sum(report.critical.values()) == report.cycles
    if l2 == "warm" and size > 1024:
        assert report.memory.misses == 0
