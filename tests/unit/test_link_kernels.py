"""Programs of several kernels: the same values as separate launches, no race, and times that add up."""

from __future__ import annotations

import os
from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from xdsl.dialects.builtin import ModuleOp

import npu_mlir
from fuzz.graphs import random_graph
from npu_mlir.analysis.handover import LoadBox, StoreBoxes, last_iteration
from npu_mlir.analysis.sections import SectionUse, Span, handshakes, together
from npu_mlir.api import Program
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.sections import new_windows, sections_before
from npu_mlir.simulator import SimulationError, simulate
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target
from test_loops_of_launches import Case, model_of, recurrent

EXAMPLES = int(os.environ.get("NPU_MLIR_EXAMPLES", "25"))
"""Random networks; 300 by hand."""


def test_random_networks_have_the_values_of_separate_launches():
    linked = 0
    for seed in range(1_000_000, 1_000_000 + EXAMPLES):
        case = random_graph(seed)
        if case is None:
            continue
        options: dict[str, Any] = {"target": case.target, "precision": case.precision, "dims": case.dims}
        try:
            apart = npu_mlir.compile(case.model, link=False, **options)
            expected = apart.simulate(case.inputs).outputs
        except UserError:
            continue
        program = npu_mlir.compile(case.model, link=True, **options)
        # Looks for races in GM and on chip, between kernels as within them.
        found = program.simulate(case.inputs).outputs
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(a, b, f"seed {seed}")
        linked += any(isinstance(op, tile.ProgramOp) for op in program.module.walk())
    assert linked >= EXAMPLES // 5


@pytest.fixture(scope="module")
def case() -> Case:
    return recurrent("LSTM", "bidirectional", 12)


@pytest.fixture(scope="module", params=["ascend-910", "ascend-910b", "toy"])
def program(request: pytest.FixtureRequest, case: Case) -> Program:
    return npu_mlir.compile(case[0], target=request.param, link=True, unroll=0)


def test_time_is_the_same_however_it_is_found(program: Program, case: Case):
    """By repeating what is known, entry by entry, with values, and explained."""
    timed = program.simulate()
    for other in (
        simulate(program.module, values=False, check=False, extrapolate=False),
        simulate(program.module, values=False, check=True),
        program.simulate(case[1]),
        program.simulate(case[1], check=False),
        program.simulate(explain=True),
        program.simulate(record=True),
    ):
        assert other.cycles == timed.cycles
        assert [(x.kernel, x.start, x.cycles) for x in other.launches] == [
            (x.kernel, x.start, x.cycles) for x in timed.launches
        ]


def test_the_cycles_of_sections_are_those_of_the_program(program: Program):
    result = program.simulate(record=True)
    assert sum(x.cycles for x in result.launches) == sum(k.cycles for k in result.kernels) == result.cycles
    for before, after in zip(result.launches, result.launches[1:]):
        assert after.start == before.start + before.cycles
    explained = [v for k in result.kernels for v in k.variants]
    assert sum(v.launches for v in explained) == len(result.launches)
    totals: dict[str, int] = {}
    critical = 0
    for variant in explained:
        assert variant.attribution is not None
        critical += sum(variant.attribution.critical.values())
        assert critical and variant.attribution.cycles == variant.cycles
        for pipe, time in variant.attribution.pipes.items():
            totals[pipe] = totals.get(pipe, 0) + time.total()
    assert critical == result.cycles and set(totals.values()) == {result.cycles}


def test_linking_saves_what_launches_cost(program: Program, case: Case):
    apart = npu_mlir.compile(case[0], target=target_of(program.module), link=False, unroll=0).simulate()
    linked = program.simulate()
    latencies = target_of(program.module).latencies
    saved = (latencies["launch"] - latencies["section"] - 60) * (len(linked.launches) - 1)
    assert linked.cycles < apart.cycles - saved


def boundary_flags(module: ModuleOp) -> list[npu_isa.FlagInstruction]:
    event = target_of(module).event_ids - 1
    flags = [op for op in module.walk() if isinstance(op, npu_isa.FlagInstruction) and op.index is None]
    return [op for op in flags if op.event.value.data == event]


@pytest.mark.parametrize("pipe", ["MTE3", "MTE1", "M"])
def test_races_between_sections_are_found(case: Case, pipe: str):
    """Without the flags of boundaries between MTE2 and another pipe."""
    module = npu_mlir.compile(case[0], target="toy", link=True, unroll=0).module
    for op in boundary_flags(module):
        if pipe in op.pipes:
            op.detach()
    what = "race between MTE3 and MTE2" if pipe == "MTE3" else "race between|is set again"
    with pytest.raises(SimulationError, match=what):
        simulate(module, values=False)


def test_sections_before(program: Program):
    (op, *_) = [p for p in program.module.walk() if isinstance(p, tile.ProgramOp)]
    before = sections_before(op)
    first, *others = before
    assert not before[first] and all(before[launch] for launch in others)


def test_windows():
    seen: set[tuple[Hashable, ...]] = set()
    assert new_windows("abcbcbcbcb", seen) == [True] * 5 + [False] * 3 + [True] * 2
    assert new_windows("abcbcb", seen) == [False] * 6
    assert new_windows("abcbd", seen) == [False, False, True, True, True]
    assert new_windows("abc", seen) == [False, True, True]


def use(**spans: list[Span]) -> SectionUse:
    return SectionUse({pipe: frozenset(own) for pipe, own in spans.items()})


def test_handshakes():
    """Pairs of pipes that touch the same bytes, one of them writing, or that use the same ids."""
    a, b, c = Span("l1", 0, 8, True), Span("l1", 4, 6, False), Span("l1", 6, 12, False)
    assert handshakes(use(MTE2=[a]), use(MTE1=[b])) == [("MTE2", "MTE1")]
    assert handshakes(use(MTE1=[b]), use(M=[c])) == []
    assert handshakes(use(V=[a]), use(V=[a])) == []
    flags = frozenset([("MTE3", "MTE2")])
    assert handshakes(SectionUse(flags=flags), SectionUse(flags=flags)) == [("MTE2", "MTE3")]
    assert handshakes(SectionUse(flags=flags), SectionUse()) == []


def test_uses_together():
    found = together(
        [use(V=[Span("ub", 0, 8, True)]), use(V=[Span("ub", 8, 9, True), Span("ub", 20, 21, True)])]
    )
    assert found.spans == {"V": frozenset([Span("ub", 0, 9, True), Span("ub", 20, 21, True)])}
    assert found.meets("V", [Span("ub", 8, 10, False)]) and not found.meets("V", [Span("ub", 9, 20, True)])
    assert not found.meets("M", [Span("ub", 0, 9, True)])


@given(data=st.data())
def test_the_last_iteration_that_stores_what_is_needed(data: st.DataObject):
    """Against all iterations, of the same shape and of the same elements in rows."""
    trips = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    moves = [data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in trips]
    count = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    shape = tuple(
        c + sum(m[d] * (n - 1) for m, n in zip(moves, trips, strict=True)) for d, c in enumerate(count)
    )
    first = [data.draw(st.integers(0, n - 1)) for n in shape]
    last = [data.draw(st.integers(f, n - 1)) for f, n in zip(first, shape, strict=True)]
    store = StoreBoxes(shape, (0, 0), tuple(moves), tuple(trips))
    needed = np.zeros(shape, bool)
    if flat := data.draw(st.booleans()):
        start, end = first[0] * shape[1] + first[1], last[0] * shape[1] + last[1]
        box = LoadBox((shape[0] * shape[1],), (start,), (max(start, end),))
        needed.reshape(-1)[start : max(start, end) + 1] = True
    else:
        box = LoadBox(shape, tuple(first), tuple(last))
        needed[first[0] : last[0] + 1, first[1] : last[1] + 1] = True
    meets: list[tuple[int, ...]] = []
    for at in product(*map(range, trips)):
        row, column = (sum(i * m[d] for i, m in zip(at, moves, strict=True)) for d in (0, 1))
        if needed[row : row + count[0], column : column + count[1]].any():
            meets.append(at)
    found = last_iteration(store, box)
    assert found is not None and found >= max(meets, default=(0,) * len(trips)), flat


def chain(seed: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A network of convolutions, pools, additions of what was before, and products in the end, whose kernels have loops
    on machines with small memories."""
    random = np.random.default_rng(seed)

    def choose(*options: int) -> int:
        return int(random.choice(options))

    size, channels = choose(8, 12, 15), choose(3, 8)
    x = random.standard_normal((1, channels, size, size)).astype(np.float32)
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    value, before = "x", [("x", channels, size)]

    def weight(*shape: int) -> str:
        name = f"w{len(weights)}"
        weights[name] = (random.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32)
        return name

    for i in range(choose(3, 4, 6)):
        name = f"v{i}"
        same = [v for v, c, s in before[:-1] if (c, s) == (channels, size)]
        match choose(0, 0, 0, 1, 2, 3):
            case 1 if same and value != same[-1]:
                nodes.append(helper.make_node("Add", [value, same[-1]], [name], name))
            case 2 if size > 6:
                options: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
                nodes.append(helper.make_node("MaxPool", [value], [name], name, **options))
                size //= 2
            case 3:
                nodes.append(helper.make_node("Sigmoid", [value], [name], name))
            case _:
                width, made = choose(1, 3), choose(channels, 8, 16, 24)
                inputs = [value, weight(made, channels, width, width), weight(made)]
                options = {"kernel_shape": [width] * 2, "pads": [width // 2] * 4}
                nodes.append(helper.make_node("Conv", inputs, [f"{name}c"], name, **options))
                nodes.append(helper.make_node("Relu", [f"{name}c"], [name], f"{name}r"))
                channels = made
        value = name
        before.append((value, channels, size))
    nodes.append(helper.make_node("Flatten", [value], ["flat"], "flatten"))
    nodes.append(helper.make_node("MatMul", ["flat", weight(channels * size * size, 24)], ["m"], "dense"))
    nodes.append(helper.make_node("MatMul", ["m", weight(24, 12)], ["y"], "dense2"))
    return model_of(nodes, {"x": x}, ["y"], weights), {"x": x}


CHAINS = int(os.environ.get("NPU_MLIR_EXAMPLES", "9"))


def test_random_chains_have_the_values_of_separate_launches():
    """Where results are loaded ahead as soon as they are stored, tile by tile."""
    awaited = 0
    for seed in range(CHAINS):
        model, inputs = chain(seed)
        target, precision = ("toy", "ascend-910", "ascend-910b")[seed % 3], ("f32", "f16")[seed // 3 % 2]
        machine = Target.load(target)
        if target != "toy":
            machine = machine.replace(ub="8KiB", l1="32KiB", l0c="8KiB", l0a="4KiB", l0b="4KiB")
        options: dict[str, Any] = {"target": machine, "precision": precision}
        expected = npu_mlir.compile(model, link=False, **options).simulate(inputs).outputs
        program = npu_mlir.compile(model, **options)
        found = program.simulate(inputs).outputs
        np.testing.assert_array_equal(expected[0], found[0], f"seed {seed}")
        early = npu_mlir.compile(model, emit="tile-memref", **options)
        awaited += sum(isinstance(op, tile.AwaitStoredOp) for op in early.module.walk())
    assert awaited > CHAINS // 3
