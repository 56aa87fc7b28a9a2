"""Kernels that follow each other on one clock, and on several cores: like one kernel of all their entries."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from hazard_oracle import first_hazard
from isa_programs import gemm, parse
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator import Run, SimulationError, simulate
from npu_mlir.simulator.checks.gm_hazards import GmArray
from npu_mlir.simulator.program import blocks
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.targets.target import Target, get_target
from test_extrapolation import nests, program
from test_hazard_oracle import WORDS
from test_insert_sync import kernels, with_flags

TOY = get_target("toy")
GM = "memref<64xf32, #tile.space<gm>>"


def kernel_of(module: ModuleOp) -> tile.KernelOp:
    return next(op for op in module.ops if isinstance(op, tile.KernelOp))


LOAD = f"over [64] map affine_map<(a) -> (a)> : {GM}"


def step(kind: str, at: int, event: int = 0, before: str = "", behind: str = "") -> Blocks:
    """A kernel `Y = kind(X) + W` on 64 elements, with a slot of UB at an address for X and one 512 bytes behind for W,
    which is loaded first. `before` stands before the load of X, `behind` at the end."""
    module = parse(f"""
builtin.module {{
  tile.kernel @{kind}(%W: {GM}, %X: {GM}, %Y: {GM}) {{
    %w = npu_isa.buffer 1 x 256 at {at + 512} : !npu_isa.addr<ub>
    %u = npu_isa.buffer 1 x 256 at {at} : !npu_isa.addr<ub>
    npu_isa.load_ub %W[] -> %w<1> {LOAD}
    {before}
    npu_isa.load_ub %X[] -> %u<1> {LOAD}
    npu_isa.set_flag [MTE2, V, {event}]
    npu_isa.wait_flag [MTE2, V, {event}]
    npu_isa.vunary {kind} %u<1>, %u<1> over [64] : f32
    npu_isa.vbinary add %u<1>, %u<1>, %w<1> over [64] : f32
    npu_isa.set_flag [V, MTE3, {event}]
    npu_isa.wait_flag [V, MTE3, {event}]
    npu_isa.store_ub %u<1> -> %Y[] {LOAD}
    {behind}
    tile.return
  }}
}}
""")
    return Blocks(kernel_of(module), TOY)


SET, WAIT = "npu_isa.set_flag [MTE3, MTE2, 0]", "npu_isa.wait_flag [MTE3, MTE2, 0]"


def array(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, 64).astype(np.float32)


def alone(kernel: Blocks) -> int:
    """The cycles of a kernel that starts from an empty core and drains."""
    run = Run(TOY, check=False)
    run.execute(kernel, [None] * 3, values=False)
    return run.cycles


# ---- one core ------------------------------------------------------------------------------------------------------


def test_a_kernel_begins_while_the_one_before_is_executed():
    x, v, w, y, z = (array(i) for i in range(5))
    first, second = step("exp", 0, behind=SET), step("neg", 256, 1, before=WAIT)
    run = Run(TOY)
    a = run.execute(first, [v, x, y])
    b = run.execute(second, [w, y, z])
    run.end()
    np.testing.assert_allclose(z, w - (np.exp(x) + v), rtol=1e-5)
    assert b.start < a.end < b.end == run.cycles
    # Waits for what the first stores, but has loaded its own W by then.
    assert run.cycles < alone(step("exp", 0)) + alone(step("neg", 256)) - 30


def test_kernels_that_share_nothing_overlap_further():
    first, second = step("exp", 0), step("neg", 256, 1)
    run = Run(TOY)
    for kernel in (first, second):
        run.execute(kernel, [array(0), array(1), array(2)])
    run.end()
    assert run.cycles < 0.8 * (alone(first) + alone(second))


def test_a_race_between_two_kernels_in_gm_is_found():
    run = Run(TOY)
    run.execute(step("exp", 0), [array(0), array(1), y := array(2)])
    message = r"race between MTE3 and MTE2 in GM: elements \[0:64\] of argument 1, part of which MTE3 writes, are read"
    with pytest.raises(SimulationError, match=message):
        run.execute(step("neg", 256, 1), [array(0), y, array(3)])


def test_overwriting_what_the_kernel_before_reads_in_gm_is_a_race():
    run = Run(TOY)
    late = f"%l = npu_isa.buffer 1 x 256 at 1024 : !npu_isa.addr<ub>\nnpu_isa.load_ub %X[] -> %l<1> {LOAD}"
    run.execute(step("exp", 0, behind=late), [array(0), x := array(1), array(2)])
    fill = parse(f"""
builtin.module {{
  tile.kernel @fill(%Y: {GM}) {{
    %u = npu_isa.buffer 1 x 256 at 256 : !npu_isa.addr<ub>
    npu_isa.vdup %u<1>, imm 0.0 : f32 over [64] : f32
    npu_isa.set_flag [V, MTE3, 1]
    npu_isa.wait_flag [V, MTE3, 1]
    npu_isa.store_ub %u<1> -> %Y[] {LOAD}
    tile.return
  }}
}}
""")
    # The store of the second is behind that of the first, but not behind its last load.
    with pytest.raises(SimulationError, match="race between MTE2 and MTE3 in GM: .* MTE2 reads, are written"):
        run.execute(Blocks(kernel_of(fill), TOY), [x])


def test_a_race_between_two_kernels_on_chip_is_found():
    run = Run(TOY)
    run.execute(step("exp", 0), [array(0), array(1), array(2)])
    message = "race between V and MTE2: bytes 640 to 768 of ub, which V reads, are overwritten"
    with pytest.raises(SimulationError, match=message) as error:
        run.execute(step("neg", 128, 1), [array(3), array(4), array(5)])
    assert any("set_flag [V, MTE2, 0]" in str(note) for note in error.value.notes)


def test_arrays_have_names_where_only_time_is_asked_for():
    run = Run(TOY)
    run.execute(step("exp", 0), ["v", "x", "y"], values=False)
    with pytest.raises(SimulationError, match="race between MTE3 and MTE2 in GM"):
        run.execute(step("neg", 256, 1), ["w", "y", "z"], values=False)
    run = Run(TOY)
    run.execute(step("exp", 0), [None] * 3, values=False)
    run.execute(step("neg", 256, 1), [None] * 3, values=False)
    run.end()


SHARED = [(1000, True), (1128, True), (1252, True), (1256, False), (748, True), (744, False)]


@pytest.mark.parametrize(("start", "races"), SHARED)
def test_arrays_that_share_bytes(start: int, races: bool):
    run = Run(TOY)
    run.execute(step("exp", 0), [None, None, range(1000, 1256)], values=False)
    arrays = [None, range(start, start + 256), None]
    if races:
        with pytest.raises(SimulationError, match="race between MTE3 and MTE2 in GM"):
            run.execute(step("neg", 256, 1), arrays, values=False)
        return
    run.execute(step("neg", 256, 1), arrays, values=False)
    run.end()


def test_what_lies_elsewhere_in_the_same_memory_is_overwritten():
    memory = np.zeros(96, np.float32)
    run = Run(TOY)
    run.execute(step("exp", 0, behind=SET), [array(0), array(1), memory[:64]])
    run.execute(step("neg", 256, 1, before=WAIT, behind=SET), [array(2), array(3), memory[32:]])
    # Half of what the first has stored is left.
    with pytest.raises(
        SimulationError, match=r"MTE2 reads elements \[0:64\] of argument 1, a result, before"
    ):
        run.execute(step("exp", 0, 2, before=WAIT), [array(4), memory[:64], array(5)])


@given(
    starts=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    sizes=st.tuples(st.sampled_from((1, 2, 4, 8)), st.sampled_from((1, 2, 4, 8))),
    counts=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    chosen=st.sets(st.integers(0, 8), min_size=1),
)
def test_elements_that_share_bytes(
    starts: tuple[int, int], sizes: tuple[int, int], counts: tuple[int, int], chosen: set[int]
):
    a, b = (
        GmArray(count, size, range(start, start + count * size))
        for start, size, count in zip(starts, sizes, counts, strict=True)
    )
    elements = [i for i in sorted(chosen) if i < counts[1]]
    bytes_ = {starts[1] + i * sizes[1] + k for i in elements for k in range(sizes[1])}
    expected = sorted({(byte - starts[0]) // sizes[0] for byte in bytes_} & set(range(counts[0])))
    assert list(np.unique(a.elements_of(b, np.array(elements, np.int64)))) == expected


def test_an_array_that_no_kernel_of_the_run_has_written_completely():
    half = parse(f"""
builtin.module {{
  tile.kernel @half(%W: {GM}, %X: {GM}, %Y: {GM}) {{
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.load_ub %X[] -> %u<1> {LOAD}
    npu_isa.set_flag [MTE2, MTE3, 0]
    npu_isa.wait_flag [MTE2, MTE3, 0]
    npu_isa.store_ub %u<1> -> %Y[] over [32] map affine_map<(a) -> (a)> : {GM}
    tile.return
  }}
}}
""")
    run = Run(TOY)
    run.execute(Blocks(kernel_of(half), TOY), [None] * 3, values=False)
    with pytest.raises(SimulationError, match="32 of 64 elements of result 0 of '@half' are never written"):
        run.execute(step("exp", 256, 1), [None] * 3, values=False)


def test_event_ids_are_not_free_before_their_last_wait_is_over():
    run = Run(TOY)
    run.execute(step("exp", 0), [array(0), array(1), array(2)])
    with pytest.raises(
        SimulationError, match="flag 0 from MTE2 to V is set again while the last wait may not"
    ):
        run.execute(step("neg", 256, event=0), [array(3), array(4), array(5)])


def test_a_flag_may_be_left_to_the_next_kernel_but_not_to_the_end():
    run = Run(TOY)
    run.execute(step("exp", 0, behind=SET), [array(0), array(1), array(2)])
    with pytest.raises(SimulationError, match="flag 0 from MTE3 to MTE2 is still set at the end"):
        run.end()


def test_buffers_hold_nothing_when_a_kernel_begins():
    reads = parse(f"""
builtin.module {{
  tile.kernel @k(%W: {GM}, %X: {GM}, %Y: {GM}) {{
    %u = npu_isa.buffer 1 x 256 at 0 : !npu_isa.addr<ub>
    npu_isa.wait_flag [MTE3, MTE2, 0]
    npu_isa.store_ub %u<1> -> %Y[] {LOAD}
    tile.return
  }}
}}
""")
    run = Run(TOY)
    run.execute(step("exp", 0, behind=SET), [array(0), array(1), array(2)])
    with pytest.raises(SimulationError, match="MTE3 reads 256 bytes that no instruction wrote"):
        run.execute(Blocks(kernel_of(reads), TOY), [array(0), array(1), array(2)])


# ---- as one kernel -------------------------------------------------------------------------------------------------


def renamed(body: str) -> str:
    """The same with other names for what it defines."""
    return re.sub(r"%([inemqz])(\d)", r"%\1x\2", body)


@settings(max_examples=40, deadline=None)
@given(
    first=nests(),
    second=nests().map(renamed),
    handed=st.booleans(),
    depth=st.integers(1, 9),
    flag=st.integers(0, 2),
    issue=st.integers(0, 2),
    longest=st.sampled_from((0, 10**9)),
)
def test_the_time_of_two_kernels_is_that_of_one_with_the_entries_of_both(
    first: str, second: str, handed: bool, depth: int, flag: int, issue: int, longest: int
):
    latencies = {**TOY.latencies, "flag": flag, "issue": issue}
    target = replace(TOY, queue_depth=depth, latencies=latencies)
    if handed:
        first += "npu_isa.set_flag [MTE2, V, 15]\n"
        second = "npu_isa.wait_flag [MTE2, V, 15]\n" + second
    parts = [kernel_of(program(body)) for body in (first, second)]
    whole = program(first + second)
    del whole.attributes["npu.target"]
    expected = simulate(whole, values=False, check=False, target=target, explain=True).kernels[0]
    launch = target.latencies["launch"]
    # In place, by calls, and with an observer.
    with patch.object(blocks, "INLINED_FROM", longest):
        for explain in (False, True):
            run = Run(target, check=False, explain=explain)
            done = [run.execute(Blocks(part, target), [None] * 2, values=False) for part in parts]
            assert run.cycles + launch == expected.cycles
            assert sum(e.instructions for e in done) == expected.instructions
            if explain:
                assert expected.attribution is not None
                assert run.explain(launch=launch).pipes == expected.attribution.pipes


@settings(max_examples=40, deadline=None)
@given(kernels(), st.lists(st.integers(0, 10**6), max_size=2), st.booleans())
def test_hazards_of_two_kernels_are_those_of_one_with_the_entries_of_both(
    text: str, chosen: list[int], whole: bool
) -> None:
    original = kernel_of(with_flags(text))
    parts = [original, original.clone()]
    flags = [op for part in parts for op in part.walk() if isinstance(op, npu_isa.FlagInstruction)]
    removed = [flags[i % len(flags)] for i in chosen] if flags else []
    if whole:
        removed = [op for op in flags if any(op.pipes == other.pipes for other in removed)]
    for op in dict.fromkeys(removed):
        op.detach()
        op.erase()
    both, of = joined(parts)
    target = get_target("ascend-910")
    expected = first_hazard(both, target)
    assert reported(parts, target, of) == expected


def joined(parts: list[tile.KernelOp]) -> tuple[tile.KernelOp, dict[Operation, Operation]]:
    """One kernel with the ops of two on the same arguments, and what became of each op."""
    both = parts[0].clone()
    of = dict(zip(parts[0].walk(), both.walk(), strict=True))
    end = both.body.block.last_op
    assert end is not None
    values: dict[SSAValue, SSAValue] = dict(zip(parts[1].body.block.args, both.body.block.args, strict=True))
    for op in list(parts[1].body.block.ops)[:-1]:
        copy = op.clone(values)
        both.body.block.insert_op_before(copy, end)
        of |= zip(op.walk(), copy.walk(), strict=True)
        values |= zip(op.results, copy.results, strict=True)
    return both, of


def reported(
    parts: list[tile.KernelOp], target: Target, of: dict[Operation, Operation]
) -> tuple[str, Operation | None] | None:
    run = Run(target)
    names = list(range(len(parts[0].body.block.args)))
    try:
        for part in parts:
            run.execute(Blocks(part, target), names, values=False)
        run.end()
    except SimulationError as error:
        kind = next(kind for text, kind in WORDS.items() if text in error.message)
        return kind, None if kind == "left" else of[cast("Operation", error.loc)]
    return None


# ---- two cores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("longest", [0, 10**9])
def test_two_cores_run_at_the_same_time(longest: int):
    module = parse(gemm(16, 16, 32, tile=(8, 8, 16), k0=8, element="f32", target="toy"))
    kernel = Blocks(kernel_of(module), TOY)
    rng = np.random.default_rng(0)
    inputs = [[rng.standard_normal(s).astype(np.float32) for s in ((16, 32), (32, 16))] for _ in range(2)]
    results = [np.zeros((16, 16), np.float32) for _ in range(2)]
    with patch.object(blocks, "INLINED_FROM", longest):
        run = Run(TOY, cores=2, explain=longest > 0)
        done = [run.execute(kernel, [*inputs[core], results[core]], core=core) for core in (0, 1)]
    run.end()
    (single,) = simulate(module, inputs[0]).kernels
    assert done[0] == done[1]
    assert run.cycles + TOY.latencies["launch"] == single.cycles
    for (a, b), c in zip(inputs, results, strict=True):
        np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)
    assert run.clock.pipes[0, Pipe.M].free == run.clock.pipes[1, Pipe.M].free > 0


def test_two_cores_on_one_result_are_a_race():
    run = Run(TOY, cores=2)
    arrays = [array(0), array(1), array(2)]
    run.execute(step("exp", 0), arrays, core=0)
    with pytest.raises(
        SimulationError, match="race between MTE3 of core 0 and MTE3 of core 1 in GM"
    ) as error:
        run.execute(step("exp", 0), arrays, core=1)
    assert "no flag goes from one core to another" in str(error.value.notes[-1])


def test_cores_that_read_the_same_do_not_conflict():
    run = Run(TOY, cores=2)
    w, x, results = array(0), array(1), [array(2), array(3)]
    for core in (0, 1):
        run.execute(step("exp", 0), [w, x, results[core]], core=core)
    run.end()
    np.testing.assert_array_equal(results[0], results[1])
