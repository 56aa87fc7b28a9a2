"""Programs of several kernels: the same values as separate launches, no race, and times that add up."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import npu_mlir
from fuzz.graphs import random_graph
from npu_mlir.analysis.sections import BoundaryWaits, Span, boundary_waits
from npu_mlir.api import Program
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.sections import new_windows, sections_before
from npu_mlir.simulator import SimulationError, simulate
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import target_of
from test_loops_of_launches import Case, recurrent

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
    what = "race between MTE3 and MTE2 in GM" if pipe == "MTE3" else "race between|is set again"
    with pytest.raises(SimulationError, match=what):
        simulate(module, values=False)


def test_sections_before(program: Program):
    (op, *_) = [p for p in program.module.walk() if isinstance(p, tile.ProgramOp)]
    before = sections_before(op)
    first, *others = before
    assert not before[first] and all(before[launch] for launch in others)


def test_windows():
    seen: set[tuple[Hashable, ...]] = set()
    assert new_windows("abcbcbcb", seen) == [True] * 5 + [False] * 3
    assert new_windows("abcb", seen) == [False] * 4
    assert new_windows("abcbd", seen) == [False, False, True, True, True]


def test_boundary_waits():
    head = [Span("l1", 0, 8)]
    usage = {"MTE1": [Span("l1", 4, 6)], "M": [Span("l0a", 0, 8)], "MTE2": [Span("l1", 0, 8)]}
    assert boundary_waits(head, ["MTE2", "V"], [usage]) == BoundaryWaits(("MTE1",), ("M", "V"))
    assert boundary_waits([], ["MTE2"], [usage]) == BoundaryWaits((), ("M", "MTE1"))
    assert boundary_waits(head, ["MTE2", "V"], []) == BoundaryWaits((), ())
