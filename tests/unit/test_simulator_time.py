"""The simulator's time: cases worked out by hand, and the oracle on random programs."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa_programs import gemm, parse
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator import SimulationResult, simulate
from npu_mlir.simulator.timing.pipes import EXECUTING, Clock
from npu_mlir.targets.target import Target, get_target
from pipe_oracle import Barrier, Entry, Run, Scalar, Set, Wait
from pipe_oracle import simulate as step_through

TOY = get_target("toy")
LAUNCH = TOY.latencies["launch"]


def machine(depth: int, issue: int, flag: int) -> Target:
    latencies = {**TOY.latencies, "issue": issue, "flag": flag}
    return dataclasses.replace(TOY, queue_depth=depth, latencies=latencies)


def by_recurrence(program: list[Entry], target: Target) -> tuple[int, list[int]]:
    clock = Clock(target).cores[0]
    now = 0
    raised: dict[int, int] = {}
    for entry in program:
        match entry:
            case Scalar(cycles):
                now += cycles
            case Run(pipe, occupancy, latency, head):
                now = clock.pipes[EXECUTING[pipe]].run(now, occupancy, latency, head)
            case Set(pipe, flag):
                now, raised[flag] = clock.pipes[EXECUTING[pipe]].set_flag(now)
            case Wait(pipe, flag):
                now = clock.pipes[EXECUTING[pipe]].wait_flag(now, raised[flag])
            case Barrier():
                now = clock.idle(now)
    return clock.idle(now), [clock.pipes[pipe].busy for pipe in EXECUTING[:3]]


@st.composite
def programs(draw: st.DrawFn) -> list[Entry]:
    """Entries of three pipes; a flag is set before it is waited for, but the waits come in any order."""
    program: list[Entry] = []
    pending: list[int] = []
    count = 0
    for _ in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from(["scalar", "run", "run", "run", "set", "wait", "barrier"]))
        pipe = draw(st.integers(0, 2))
        if kind == "scalar":
            program.append(Scalar(draw(st.integers(0, 6))))
        elif kind == "set":
            program.append(Set(pipe, count))
            pending.append(count)
            count += 1
        elif kind == "wait" and pending:
            program.append(Wait(pipe, pending.pop(draw(st.integers(0, len(pending) - 1)))))
        elif kind == "barrier" and draw(st.booleans()):
            program.append(Barrier())
        else:
            numbers = draw(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 5)))
            program.append(Run(pipe, *numbers))
    return program


@settings(max_examples=250, deadline=None)
@given(program=programs(), depth=st.integers(1, 5), issue=st.integers(0, 3), flag=st.integers(0, 2))
def test_recurrences_equal_the_oracle(program: list[Entry], depth: int, issue: int, flag: int):
    expected = step_through(program, 3, depth, issue, flag)
    assert by_recurrence(program, machine(depth, issue, flag)) == expected


# ---- by hand ---------------------------------------------------------------------------------------------------------


def kernel(body: str, gm: str = "memref<64xf32, #tile.space<gm>>") -> SimulationResult:
    """The time of a kernel on the toy machine."""
    module = parse(f"""
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }}
  tile.kernel @k(%X: {gm}, %Y: {gm}) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    {body}
    tile.return
  }}
}}
""")
    return simulate(module, values=False, check=False)


LOAD = "npu_isa.load_ub %X[] -> %u<1> over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>"
EXP = "npu_isa.vunary exp %u<1>, %u<1> over [64] : f32"
STORE = (
    "npu_isa.store_ub %u<1> -> %Y[] over [64] map affine_map<(a) -> (a)> : memref<64xf32, #tile.space<gm>>"
)


def test_an_empty_kernel_takes_the_launch():
    assert kernel("").cycles == LAUNCH


def test_a_load():
    # Issue 1; 4 + 256 B / 8 B occupy the pipe, the GM's 20 cycles of latency follow.
    result = kernel(LOAD)
    assert result.cycles == LAUNCH + 1 + (4 + 32) + 20
    assert result.kernels[0].pipe_busy == {Pipe.MTE2: 36}
    assert result.kernels[0].instructions == 1


def test_latency_does_not_occupy_the_pipe():
    assert kernel(LOAD + "\n" + LOAD).cycles == LAUNCH + 1 + 36 + 36 + 20


def test_vector_instructions_hide_their_head():
    # 8 repeats of 32 B at 2 cycles; the head of 2 and the tail of 4 show once.
    assert kernel(EXP).cycles == LAUNCH + 1 + 2 + 16 + 4
    assert kernel(EXP + "\n" + EXP).cycles == LAUNCH + 1 + 2 + 16 + 16 + 4


def test_flags_order_pipes():
    body = f"""
    {LOAD}
    npu_isa.set_flag [MTE2, V, 0]
    npu_isa.wait_flag [MTE2, V, 0]
    {EXP}
    """
    # The load is complete at 57, the set fires then; the wait takes 1, the pipe fills for 2.
    assert kernel(body).cycles == LAUNCH + 57 + 1 + 2 + 16 + 4


def test_pipes_without_flags_overlap():
    assert kernel(LOAD + "\n" + EXP).cycles == LAUNCH + 57


def test_a_barrier_waits_for_completion():
    assert kernel(f"{LOAD}\nnpu_isa.barrier\n{EXP}").cycles == LAUNCH + 57 + 1 + 2 + 16 + 4


def test_scalar_code_and_loops_take_time():
    # Three iterations of the loop itself and an addition; the constants are free.
    assert (
        kernel("scf.for %i = %c0 to %c3 step %c1 {\n%a = arith.addi %i, %c1 : index\n}").cycles == LAUNCH + 6
    )


def test_a_full_queue_holds_up_the_scalar_unit():
    short = "npu_isa.vunary exp %u<1>, %u<1> over [8] : f32\n"
    # The exps start at 3, 5, ...; the last is issued when the twelfth starts at 25, because eight may wait, and the
    # load behind it at 27.
    assert kernel(short * 20 + LOAD).cycles == LAUNCH + 27 + 36 + 20
    assert kernel(short * 8 + LOAD).cycles == LAUNCH + 9 + 36 + 20


def test_mmad_on_padded_fractals():
    body = """
    %a = npu_isa.buffer 1 x 512 at 0 : !npu_isa.addr<l0a>
    %b = npu_isa.buffer 1 x 512 at 0 : !npu_isa.addr<l0b>
    %c = npu_isa.buffer 1 x 1024 at 0 : !npu_isa.addr<l0c>
    npu_isa.mmad %a, %b -> %c over [5, 6, 7] zero : f32 -> f32
    """
    result = kernel(body)
    # Two fractals along each of m, k, n.
    assert result.cycles == LAUNCH + 1 + 2 + 8
    assert result.kernels[0].macs == 5 * 6 * 7
    assert result.kernels[0].padded_macs == 8 * 8 * 8


@pytest.mark.parametrize("depth", [4, 8, 32])
def test_a_gemm_is_faster_with_deeper_queues_and_never_beyond_peak(depth: int):
    module = parse(gemm(256, 512, 512))
    target = dataclasses.replace(get_target("ascend-910"), queue_depth=depth, name="deep")
    del module.attributes["npu.target"]
    result = simulate(module, values=False, target=target)
    macs = 256 * 512 * 512
    assert result.kernels[0].macs == macs
    assert result.cycles > macs / target.peak_macs("f16")
    assert result.kernels[0].pipe_busy[Pipe.M] < result.cycles


def test_time_alone_equals_time_with_values():
    import numpy as np

    module = parse(gemm(16, 16, 32, tile=(8, 8, 16), k0=8, element="f32", target="toy"))
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((16, 32), (32, 16)))
    with_values = simulate(module, [a, b])
    assert with_values.kernels == simulate(module, values=False, check=False).kernels
    np.testing.assert_allclose(with_values.outputs[0], a @ b, rtol=1e-5, atol=1e-5)
