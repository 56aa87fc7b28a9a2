"""How index values change from one iteration to the next, against loops that are run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from isa_programs import parse
from npu_mlir.analysis.affine_maps import python_expression
from npu_mlir.analysis.loop_steps import changes, loop_step
from npu_mlir.ir.loop_bounds import constant_trips


def nest(bounds: list[tuple[int, int, int]], text: str) -> ModuleOp:
    """Loops around an affine value of their indices."""
    constants = "\n".join(
        f"%c{i}_{j} = arith.constant {n} : index" for i, b in enumerate(bounds) for j, n in enumerate(b)
    )
    heads = [f"scf.for %i{i} = %c{i}_0 to %c{i}_1 step %c{i}_2 {{" for i in range(len(bounds))]
    names = ", ".join(f"i{i}" for i in range(len(bounds)))
    values = ", ".join(f"%i{i}" for i in range(len(bounds)))
    body = f"%x = affine.apply affine_map<({names}) -> ({text})>({values})"
    return parse(
        "\n".join(["func.func @f() {", constants, *heads, body, *["}"] * len(bounds), "func.return", "}"])
    )


def loops_of(module: ModuleOp) -> list[scf.ForOp]:
    return [op for op in module.walk() if isinstance(op, scf.ForOp)]


def value_of(module: ModuleOp) -> SSAValue:
    return next(op for op in module.walk() if op.name == "affine.apply").results[0]


def executed(bounds: list[tuple[int, int, int]], text: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """The indices and the value in each execution of the innermost body."""

    def run(indices: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(indices) == len(bounds):
            yield indices
            return
        for i in range(*bounds[len(indices)]):
            yield from run((*indices, i))

    map_ = next(op for op in nest(bounds, text).walk() if op.name == "affine.apply").properties["map"].data
    for indices in run(()):
        yield indices, eval(python_expression(map_.results[0], [str(i) for i in indices]))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("i0 floordiv 16 * 3 + i1 floordiv 4", [3, 1]),
        ("i0 floordiv 8", [2, 0]),
        ("i1 * 5 - 7", [0, 20]),
        ("i0 floordiv 5", [None, 0]),
        ("i0 mod 3 + i1", [None, 4]),
    ],
)
def test_steps_of_affine_values(text: str, steps: list[int | None]) -> None:
    module = nest([(0, 48, 16), (0, 12, 4)], text)
    assert [loop_step(value_of(module), loop) for loop in loops_of(module)] == steps
    assert [len(constant_trips(loop) or ()) for loop in loops_of(module)] == [3, 3]


@st.composite
def nests(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], str]:
    bounds: list[tuple[int, int, int]] = []
    terms: list[str] = []
    for i in range(draw(st.integers(1, 3))):
        step, trips = draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 4))
        start = step * draw(st.integers(0, 2))
        bounds.append((start, start + step * trips - draw(st.integers(0, step - 1)), step))
        terms.append(f"i{i} floordiv {draw(st.sampled_from([1, step]))} * {draw(st.integers(0, 6))}")
    return bounds, " + ".join(terms)


@settings(max_examples=60, deadline=None)
@given(nests(), st.integers(2, 3))
def test_what_changes_is_another_value_each_time(
    drawn: tuple[list[tuple[int, int, int]], str], modulus: int
) -> None:
    bounds, text = drawn
    module = nest(bounds, text)
    values = [value for _, value in executed(bounds, text)]
    differ = all((a - b) % modulus for a, b in pairwise(values))
    known = changes(value_of(module), loops_of(module)[-1], modulus)
    # With one execution nothing has to differ, which is not looked for.
    assert known == differ or (differ and any(len(range(*b)) == 1 for b in bounds))


def test_a_count_that_starts_anew_may_repeat() -> None:
    # 0 1 2 | 0 1 2: the last and the first one are the same modulo 2. 0 1 | 0 1: they are not.
    for trips, expected in ((3, False), (2, True)):
        module = nest([(0, 4, 1), (0, trips, 1)], "i1")
        assert changes(value_of(module), loops_of(module)[1], 2) == expected


def test_branches_may_leave_executions_out() -> None:
    module = parse("""
func.func @f(%c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.if %c {
      scf.for %j = %c0 to %c2 step %c1 {
        %x = affine.apply affine_map<(i, j) -> (i * 2 + j)>(%i, %j)
      }
    }
  }
  func.return
}""")
    outer, inner = loops_of(module)
    assert not changes(value_of(module), inner, 2)
    assert loop_step(value_of(module), outer) == 2
