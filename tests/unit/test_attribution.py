"""Every cycle is attributed: on random programs, with times that the observer leaves as they are."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from isa_programs import gemm, parse
from npu_mlir.dialects.npu_isa import Pipe, VectorWork
from npu_mlir.simulator import simulate
from npu_mlir.simulator.attribution import activity
from npu_mlir.simulator.attribution import observer as observer_module
from npu_mlir.simulator.attribution.attribution import Attribution, attribute
from npu_mlir.simulator.attribution.observer import Observer
from npu_mlir.simulator.timing.pipes import EXECUTING, Clock
from npu_mlir.targets.cost import Cost
from pipe_oracle import Barrier, Entry, Run, Scalar, Set
from pipe_oracle import simulate as step_through
from test_simulator_time import LAUNCH, LOAD, TOY, machine, programs


@dataclass(eq=False)
class Stub:
    """What the observer asks of an operation."""

    PIPE: Pipe = Pipe.V
    pipes: tuple[Pipe, Pipe] = (Pipe.V, Pipe.M)
    attributes: ClassVar[dict[str, Any]] = {}
    location: ClassVar[LocationAttr] = UNKNOWN_LOC
    parent: Any = field(default=None)

    def work(self) -> VectorWork:
        return VectorWork("add", 1, 1)

    def parent_op(self) -> None:
        return None


def observed(program: list[Entry], depth: int, issue: int, flag: int) -> tuple[int, Attribution]:
    clock = Clock(machine(depth, issue, flag)).cores[0]
    observer: Any = Observer(clock, TOY)
    flags: dict[int, Pipe] = {}
    now = 0
    for entry in program:
        if isinstance(entry, Scalar):
            now += entry.cycles
        elif isinstance(entry, Run):
            numbers = (entry.occupancy, entry.latency, entry.head)
            now = observer.instruction(Stub(PIPE=EXECUTING[entry.pipe]), Cost(*numbers))(now, *numbers)
        elif isinstance(entry, Barrier):
            now = observer.barrier(Stub())(now)
        elif isinstance(entry, Set):
            flags[entry.flag] = EXECUTING[entry.pipe]
            now = observer.set_flag(Stub(pipes=(EXECUTING[entry.pipe], Pipe.S)))(now, entry.flag)
        else:
            # The key of a flag has its destination, which the oracle does not know: move it there.
            src, dst = flags[entry.flag], EXECUTING[entry.pipe]
            clock.flags(src, dst)[entry.flag] = clock.flags(src, Pipe.S).pop(entry.flag)
            observer.raised[src, dst, entry.flag] = observer.raised.pop((src, Pipe.S, entry.flag))
            now = observer.wait_flag(Stub(pipes=(src, dst)))(now, entry.flag)
    return clock.idle(now), attribute(observer, now, launch=7, chain=True)


@settings(max_examples=300, deadline=None)
@given(program=programs(), depth=st.integers(1, 5), issue=st.integers(0, 3), flag=st.integers(0, 2))
def test_all_cycles_are_attributed(program: list[Entry], depth: int, issue: int, flag: int):
    # `attribute` itself asserts that the cycles of each pipe and of the critical path sum to the total.
    total, attribution = observed(program, depth, issue, flag)
    assert total == step_through(program, 3, depth, issue, flag)[0]
    assert attribution.cycles == total + 7
    assert sum(attribution.critical.values()) == total + 7
    assert sum(cycles for _, _, _, cycles in attribution.chain) == total
    starts = [start for _, _, start, _ in attribution.chain]
    assert starts == sorted(starts)


@settings(max_examples=60, deadline=None)
@given(program=programs(), depth=st.integers(1, 5), issue=st.integers(0, 3), flag=st.integers(0, 2))
def test_folding_the_critical_path_changes_no_sum(program: list[Entry], depth: int, issue: int, flag: int):
    _, whole = observed(program, depth, issue, flag)
    with patch.object(observer_module, "FOLD_AFTER", 3):
        _, folded = observed(program, depth, issue, flag)
    assert replace(folded, chain=[]) == replace(whole, chain=[])


def test_memory_does_not_grow_with_the_run():
    def peak(m: int) -> int:
        module = parse(gemm(m, 64, 64, tile=(8, 8, 16), k0=8, element="f32", target="toy"))
        tracemalloc.start()
        simulate(module, values=False, check=False, explain=True)
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    with patch.object(observer_module, "FOLD_AFTER", 300), patch.object(activity, "LIMIT", 300):
        peak(8)
        assert peak(128) < 1.2 * peak(32)


def explained(body: str) -> Attribution:
    module = parse(f"""
builtin.module attributes {{"npu.target" = "toy"}} {{
  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {{
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
    func.return %y : tensor<64xf32>
  }}
  tile.kernel @k(%X: memref<64xf32, #tile.space<gm>>, %Y: memref<64xf32, #tile.space<gm>>) {{
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    {body}
    tile.return
  }}
}}
""")
    result = simulate(module, values=False, check=False, explain=True)
    assert result.kernels[0].attribution is not None
    return result.kernels[0].attribution


EXP = "npu_isa.vunary exp %u<1>, %u<1> over [64] : f32\n"
FLAG = "npu_isa.set_flag [MTE2, V, 3]\nnpu_isa.wait_flag [MTE2, V, 3]\n"


def test_a_wait_names_its_setter():
    # The load: issue 1, 4 + 32 busy, 20 of latency, complete at 57. The wait arrives at 3; then 1 flag, 2 of fill.
    attribution = explained(LOAD + "\n" + FLAG + EXP)
    vector = attribution.pipes["V"]
    assert (vector.busy, vector.fill, vector.flag, vector.waiting) == (16, 2, 1, 54)
    assert vector.starved == {"issue": 3} and vector.done == 4 and vector.launch == LAUNCH
    (wait,) = attribution.sites[2].waits
    assert (wait.src, wait.dst, wait.event, wait.setter, wait.cycles) == ("MTE2", "V", 3, 1, 54)
    load = attribution.pipes["MTE2"]
    assert (load.busy, load.transfer, load.starved, load.flag) == (36, 32, {"issue": 1}, 1)
    assert attribution.critical == {
        "launch": LAUNCH,
        "busy MTE2": 36,
        "latency MTE2": 20,
        "busy V": 16,
        "latency V": 4,
        "fill V": 2,
        "issue": 1,
        "flag": 1,
    }


def test_a_pipe_starves_behind_a_full_queue():
    # The exps start at 3, 5, ..., 41; from the fifteenth on, each is held up for 1 cycle until the one eight before it
    # starts. 6 stalls, and 21 entries that are issued.
    attribution = explained("npu_isa.vunary exp %u<1>, %u<1> over [8] : f32\n" * 20 + LOAD)
    assert attribution.pipes["MTE2"].starved == {"queue V": 6, "issue": 21}
    assert attribution.pipes["S"].starved == {"queue V": 6}


def test_a_pipe_stands_at_a_barrier():
    attribution = explained(f"{LOAD}\nnpu_isa.barrier\n{EXP}")
    assert attribution.pipes["V"].barrier == 55 and attribution.pipes["V"].starved == {"issue": 3}


def test_overlap_and_graph_ops():
    attribution = explained(
        f"{LOAD}\n{EXP.replace(' : f32', ' {npu.node = ' + chr(34) + 'e' + chr(34) + '} : f32')}"
    )
    # The load runs from 1 to 37, the exp from 4 to 20.
    assert attribution.overlap == {"V & MTE2": 16}
    assert sum(attribution.critical_by_loc.values()) == attribution.cycles
    assert [site.loc for site in attribution.sites] == ["", "e"]


def test_observing_changes_no_time():
    module = parse(gemm(64, 64, 64, tile=(8, 8, 16), k0=8, element="f32", target="toy"))
    plain = simulate(module, values=False, check=False)
    seen = simulate(module, values=False, check=False, record=True)
    assert plain.cycles == seen.cycles
    recording = seen.kernels[0].recording
    assert recording is not None and len(recording) > plain.kernels[0].instructions
    pipes = [seen.kernels[0].attribution.sites[s].pipe for s in recording.site]  # type: ignore[union-attr]
    ends = dict.fromkeys(pipes, 0)
    for pipe, start, end in zip(pipes, recording.start, recording.end):
        assert start >= ends[pipe] and end >= start
        ends[pipe] = end
