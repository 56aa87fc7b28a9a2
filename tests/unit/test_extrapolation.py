"""Time in place of calls and skipped iterations change nothing: on random nests of loops, with flags that count modulo
their slots."""

from __future__ import annotations

import time
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from isa_programs import gemm, parse
from npu_mlir.analysis.loop_periods import Period, loop_periods
from npu_mlir.dialects import tile
from npu_mlir.simulator import KernelStats, SimulationResult, simulate
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.program import blocks
from npu_mlir.simulator.timing import inlined_timing
from npu_mlir.targets.target import Target, get_target

GM = "memref<64xf32, #tile.space<gm>>"
SIZES = (8, 24, 64)
PIPES = (("MTE2", "V"), ("MTE1", "M"), ("V", "MTE3"), ("MTE2", "MTE1"), ("M", "V"))
"""Whose instructions take turns."""


def program(body: str, before: str = "") -> ModuleOp:
    constants = "\n".join(f"%c{i} = arith.constant {i} : index" for i in range(200))
    return parse(f"""
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{
    {before}
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }}
  tile.kernel @k(%X: {GM}, %Y: {GM}) {{
    {constants}
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    %l1 = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l1>
    %a = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l0a>
    %b = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l0b>
    %c = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<l0c>
    {body}
    tile.return
  }}
}}
""")


def instruction(draw: st.DrawFn, pipe: str) -> str:
    """Some instruction of a pipe."""
    size = draw(st.sampled_from(SIZES))
    match pipe:
        case "MTE2":
            return f"npu_isa.load_ub %X[] -> %u<1> over [{size}] map affine_map<(a) -> (a)> : {GM}"
        case "MTE3":
            return f"npu_isa.store_ub %u<1> -> %Y[] over [{size}] map affine_map<(a) -> (a)> : {GM}"
        case "MTE1":
            return f"npu_isa.load_l0a %l1<4, 1> -> %a over [{size // 4}, 4] rows 1 : f32"
        case "M":
            return f"npu_isa.mmad %a, %b -> %c over [{size // 8}, 4, 4] zero : f32 -> f32"
        case _:
            kind = draw(st.sampled_from(("exp", "relu")))
            return f"npu_isa.vunary {kind} %u<1>, %u<1> over [{size}] : f32"


@st.composite
def nests(draw: st.DrawFn, depth: int = 0, event: int = 0) -> str:
    """A loop in which two pipes take turns over some slots, with other loops and instructions within."""
    name = f"{depth}{draw(st.integers(0, 10**6))}"
    trips = draw(st.integers(0, 40 if depth == 0 else 14))
    step = draw(st.sampled_from((1, 2, 3)))
    slots = draw(st.integers(1, 3))
    src, dst = draw(st.sampled_from(PIPES))
    events = [event + i for i in range(slots)]
    index = f"%n{name}" if slots > 1 else ""
    which = f"{event} + {index} mod {slots}" if slots > 1 else str(event)
    produce, consume = instruction(draw, src), instruction(draw, dst)
    within = ""
    if depth < 2 and draw(st.booleans()):
        within = draw(nests(depth + 1, event + slots))
    if draw(st.booleans()):
        extra = instruction(draw, draw(st.sampled_from((src, dst))))
        within += f"\n%z{name} = arith.addi %i{name}, %c1 : index\n{extra}"
    if draw(st.integers(0, 5)) == 0:
        within += "\nnpu_isa.barrier"
    if draw(st.integers(0, 5)) == 0:
        left = draw(st.sampled_from((f"%i{name}", f"%n{name}")))
        predicate = draw(st.sampled_from(("slt", "eq", "ne", "uge", "sgt")))
        bound = draw(st.sampled_from((0, 1, 5, 20)))
        condition = f"%q{name} = arith.cmpi {predicate}, {left}, %c{bound} : index"
        within = f"{condition}\nscf.if %q{name} {{\n{within}\n}} else {{\n{consume}\n}}"
    if draw(st.booleans()):
        head = f"scf.for %i{name} = %c0 to %c{trips * step} step %c{step} {{\n"
        head += f"%n{name} = arith.floordivsi %i{name}, %c{step} : index\n"
        tail = "}"
    else:
        # A count that the loop carries, from somewhere else than zero.
        head = f"%e{name} = scf.for %i{name} = %c0 to %c{trips * step} step %c{step} "
        head += f"iter_args(%n{name} = %c5) -> (index) {{\n"
        tail = f"%m{name} = arith.addi %n{name}, %c1 : index\nscf.yield %m{name} : index\n}}"
    sets = "\n".join(f"npu_isa.set_flag [{dst}, {src}, {e}]" for e in events)
    waits = "\n".join(f"npu_isa.wait_flag [{dst}, {src}, {e}]" for e in events)
    return f"""{sets}
{head}npu_isa.wait_flag [{dst}, {src}, {which}]
{produce}
npu_isa.set_flag [{src}, {dst}, {which}]
{within}
npu_isa.wait_flag [{src}, {dst}, {which}]
{consume}
npu_isa.set_flag [{dst}, {src}, {which}]
{tail}
{waits}
"""


@settings(max_examples=60, deadline=None)
@given(
    body=nests(),
    depth=st.integers(1, 9),
    flag=st.integers(0, 2),
    issue=st.integers(0, 2),
    longest=st.sampled_from((3, 128)),
    l2=st.sampled_from((None, None, 256, 512)),
    rate=st.sampled_from((None, 0.05, 0.3, 1)),
)
def test_time_in_place_and_skipping_change_nothing(
    body: str, depth: int, flag: int, issue: int, longest: int, l2: int | None, rate: float | None
):
    """Also where loads miss in first iterations, all loads miss, or a prefetch is under way."""
    module = program(body, "" if rate is None else "npu_isa.prefetch %x : tensor<64xf32>")
    del module.attributes["npu.target"]
    toy = get_target("toy")
    target = replace(toy, queue_depth=depth, latencies={**toy.latencies, "flag": flag, "issue": issue})
    if l2 is not None:
        cache = {"size": l2, "line": 64, "sector": 32, "rate": 24, "latency": 5, "hbm": 64}
        target = replace(target, l2={**cache, "prefetch": rate or 1})
    with patch.object(blocks, "INLINED_FROM", 0), patch.object(inlined_timing, "LONGEST", longest):
        plain = timed(module, target, extrapolate=False)
        assert timed(module, target) == plain
        # An observer wants to see each entry: its time is computed by calls.
        (seen,) = timed(module, target, explain=True, extrapolate=False).kernels
        (skipped,) = timed(module, target, explain=True).kernels
    assert unexplained(seen) == plain.kernels[0]
    assert skipped == seen


def timed(
    module: ModuleOp, target: Target, explain: bool = False, extrapolate: bool = True
) -> SimulationResult:
    """Time alone, on a machine with L2 from an empty one."""
    l2 = "cold" if target.l2 else None
    return simulate(
        module, values=False, check=False, target=target, explain=explain, extrapolate=extrapolate, l2=l2
    )


def unexplained(stats: KernelStats) -> KernelStats:
    """The same without attribution."""
    variants = [replace(variant, attribution=None) for variant in stats.variants]
    return replace(stats, attribution=None, variants=variants)


def timed_in_place(body: str, budget: int = 1000) -> None:
    with patch.object(blocks, "INLINED_FROM", 0):
        simulate(program(body), values=False, check=False, budget=budget, extrapolate=False)


@pytest.mark.parametrize(
    "body",
    [
        "npu_isa.wait_flag [MTE2, V, 1]",
        # Set once, waited for twice: without control flow between, across it, and with ids that are computed.
        "npu_isa.set_flag [MTE2, V, 1]\nnpu_isa.wait_flag [MTE2, V, 1]\nnpu_isa.wait_flag [MTE2, V, 1]",
        "npu_isa.set_flag [MTE2, V, 1]\nscf.for %i = %c0 to %c199 step %c1 {\nnpu_isa.wait_flag [MTE2, V, 1]\n}",
        """npu_isa.set_flag [MTE2, V, 0]
        scf.for %i = %c0 to %c199 step %c1 {
          npu_isa.set_flag [MTE2, V, 0 + %i mod 2]
          npu_isa.wait_flag [MTE2, V, 0]
          npu_isa.wait_flag [MTE2, V, 1]
        }""",
    ],
)
def test_a_wait_that_nothing_ends_is_found_in_place(body: str):
    with pytest.raises(SimulationError, match=r"V waits for flag 1 of MTE2"):
        timed_in_place(body)


def test_the_budget_counts_unrolled_loops():
    inner = (
        "scf.for %j = %c0 to %c4 step %c1 {\nnpu_isa.set_flag [MTE2, V, 0]\nnpu_isa.wait_flag [MTE2, V, 0]\n}"
    )
    # 100 iterations of 1 + 4 * 3 steps.
    body = f"scf.for %i = %c0 to %c100 step %c1 {{\n{inner}\n}}"
    timed_in_place(body, budget=1300)
    with pytest.raises(SimulationError, match="more than 1299 steps"):
        timed_in_place(body, budget=1299)


def all_periods(body: str) -> list[Period | None]:
    kernel = next(op for op in program(body).ops if isinstance(op, tile.KernelOp))
    found = loop_periods(kernel)
    return [found.get(op) for op in kernel.walk() if isinstance(op, scf.ForOp)]


def periods(body: str) -> list[int | None]:
    return [None if period is None else period.length for period in all_periods(body)]


def test_parts():
    """Where the outcome of a condition may change: in the loops whose iterations it compares."""

    def parts(condition: str, values: str = "") -> list[tuple[int, ...] | None]:
        body = f"""
scf.for %i = %c0 to %c12 step %c2 {{
  scf.for %j = %c0 to %c5 step %c1 {{
    {values}
    %q = arith.cmpi {condition} : index
    scf.if %q {{ npu_isa.barrier }} }} }}"""
        return [None if period is None else period.parts for period in all_periods(body)]

    count = "%i5 = arith.muli %i, %c5 : index\n%h = arith.floordivsi %i5, %c2 : index"
    count += "\n%n = arith.addi %h, %j : index"
    assert parts("eq, %i, %c0") == [(1,), ()]
    assert parts("eq, %i, %c4") == [(2, 3), ()]
    assert parts("slt, %j, %c3") == [(), (3, 4)]
    assert parts("eq, %j, %i") == [(1, 2, 3), None]
    assert parts("uge, %n, %c1", count) == [(1,), (1, 2)]
    assert parts("eq, %n, %c12", count) == [(2, 3), None]
    assert parts("ult, %before, %j", "%before = arith.subi %j, %c1 : index") == [None, None]


def test_periods():
    flag = "npu_isa.set_flag [MTE2, V, 0 + %n mod 4]"
    loop = "scf.for %i = %c0 to %c12 step %c2 {"
    assert periods(loop + "}") == [1]
    assert periods(loop + "%n = arith.addi %i, %c1 : index\n" + flag + "}") == [2]
    assert periods(loop + "%n = arith.floordivsi %i, %c2 : index\n" + flag + "}") == [4]
    # Not an exact quotient, and a value that depends on another loop alone.
    assert periods(loop + "%n = arith.floordivsi %i, %c3 : index\n" + flag + "}") == [None]
    assert periods(loop + "scf.for %n = %c0 to %c3 step %c1 {" + flag + "} }") == [1, 4]
    # The trip count of the inner loop depends on the outer one.
    assert periods(loop + "scf.for %n = %c0 to %i step %c1 { } }") == [None, 1]


def test_a_count_that_runs_through_all_loops():
    module = parse(gemm(256, 256, 256, tile=(64, 64, 64), k0=16))
    kernel = next(op for op in module.ops if isinstance(op, tile.KernelOp))
    found = loop_periods(kernel)
    assert [found[op].length for op in kernel.walk() if isinstance(op, scf.ForOp)] == [1, 2, 2, 2]


def test_millions_of_instructions_take_no_time():
    module = parse(gemm(8192, 2048, 2048, tile=(64, 64, 64), k0=16))
    start = time.perf_counter()
    result = simulate(module, values=False, check=False)
    assert result.kernels[0].instructions > 1_800_000
    assert time.perf_counter() - start < 1
