"""The simulator notices small changes of compiled kernels; the flags that the compiler inserts are all needed.

`make mutants-isa` does the same and writes docs/mutation-isa.md.
"""

from __future__ import annotations

import pytest
from isa_boundaries import judged_boundaries, linked_cases
from isa_cases import CASES, Case, compiled
from isa_kernels import kernels_of
from isa_mutants import Mutant, flag_ranges, mutants_of, mutated
from isa_run import is_equivalent, judged
from xdsl.dialects.builtin import ModuleOp

from isa_programs import gemm, parse
from npu_mlir.dialects import tile

REDUNDANT = {
    # The pieces of the one tile go through two slots, one each; no other number of them is a right program.
    ("matmul with a long sum", "MTE3 -> FIX"),
    # Two rows of tiles go through two slots, and more of them do not fit.
    ("attention f16", "M -> MTE1"),
    # Chunks that stay in L1 are loaded in the first iteration alone: nothing has to wait until they have been read. The
    # planner of flags does not see what guards their loads.
    ("ragged matmul", "MTE1 -> MTE2"),
    ("perceptron f16, fixpipe", "MTE1 -> MTE2"),
}
"""Pairs that nothing needs, by program and pipes."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-").replace(",", ""))
def test_every_mutant_of_a_program_shows(case: Case) -> None:
    outcomes = list(judged(case))
    assert {o.mutant.kind for o in outcomes} >= {"pair", "shift"}
    found = {(case.name, o.mutant.text.partition(",")[0]) for o in outcomes if is_equivalent(o)}
    assert found == {pair for pair in REDUNDANT if pair[0] == case.name}


def test_flags_between_sections_are_needed() -> None:
    mutants = [m for case, module in linked_cases("f16") for m in judged_boundaries(case, module)]
    assert all(m.report is not None for m in mutants if m.kind == "all")
    # Of the others, flags between other pipes often order the same.
    for kind in ("pair", "stored"):
        assert any(m.report is not None for m in mutants if m.kind == kind)


def test_there_are_enough_programs() -> None:
    assert len(CASES) >= 25
    assert {case.target for case in CASES} == {"toy", "ascend-910", "ascend-910b"}


# ---- the mutants themselves ------------------------------------------------------------------------------------------

PRODUCT = gemm(16, 16, 32, tile=(8, 8, 16), k0=8, element="f32", target="toy")


def kernel_of(module: ModuleOp) -> tile.KernelOp:
    return next(op for op in module.ops if isinstance(op, tile.KernelOp))


def of_kind(kernel: tile.KernelOp, kind: str) -> list[Mutant]:
    return [m for m in mutants_of(kernel) if m.kind == kind]


def test_a_pair_has_the_sets_and_waits_around_the_loop() -> None:
    ranges = flag_ranges(kernel_of(parse(PRODUCT)))
    assert sorted((*ids.pipes, ids.slots, len(ops)) for ids, ops in ranges.items()) == [
        ("FIX", "M", 2, 6),
        ("M", "FIX", 2, 2),
        ("M", "MTE1", 2, 6),
        ("MTE1", "M", 2, 2),
        ("MTE1", "MTE2", 2, 6),
        ("MTE2", "MTE1", 2, 2),
    ]


def test_a_mutant_changes_one_use_of_a_copy() -> None:
    kernel = kernel_of(parse(PRODUCT))
    before = str(kernel)
    shift = mutated(kernel, next(m for m in of_kind(kernel, "shift") if "mmad" in m.text))
    swap = mutated(kernel, next(m for m in of_kind(kernel, "swap") if "mmad" in m.text))
    assert str(kernel) == before
    new = [line.strip() for line in str(shift).splitlines() if line not in before]
    assert new == [
        "%0 = npu_isa.at %c + 32 : !npu_isa.addr<l0c>",
        "npu_isa.mmad %a0, %b0 -> %0 over [8, 8, 8] init %first : f32 -> f32",
    ]
    assert str(swap).count("npu_isa.slot") == before.count("npu_isa.slot") + 1
    shift.verify()
    swap.verify()


def test_every_use_is_mutated() -> None:
    kernel = kernel_of(parse(PRODUCT))
    # Two loads to L1 and the fixpipe use one address each, two loads to L0 two, the product three.
    assert len(of_kind(kernel, "shift")) == len(of_kind(kernel, "swap")) == 2 + 1 + 4 + 3


def test_loops_run_as_often_as_they_are_told_to() -> None:
    case = next(c for c in CASES if c.name == "matmul with many columns")
    (kernel,) = kernels_of(compiled(case))
    assert kernel.loops == [7, 4, 2]
    variant = kernel.with_trips([12, 2, 2])
    assert variant.loops == [12, 2, 2] and kernel.loops == [7, 4, 2]
    # Twelve tiles of columns need more of the operand and the result.
    assert [a.shape for a in variant.arguments] == [(4, 16), (16, 192), (4, 192)]
