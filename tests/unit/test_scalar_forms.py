"""Forms of index values, and how they change from one iteration to the next, against loops that are run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from isa_programs import parse
from npu_mlir.analysis.affine_maps import python_expression
from npu_mlir.analysis.scalar_forms import Form, Function, ScalarForms
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
    assert [ScalarForms().step(value_of(module), loop) for loop in loops_of(module)] == steps
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
    known = ScalarForms().changes(value_of(module), loops_of(module)[-1], modulus)
    # With one execution nothing has to differ, which is not looked for.
    assert known == differ or (differ and any(len(range(*b)) == 1 for b in bounds))


def test_a_count_that_starts_anew_may_repeat() -> None:
    # 0 1 2 | 0 1 2: the last and the first one are the same modulo 2. 0 1 | 0 1: they are not.
    for trips, expected in ((3, False), (2, True)):
        module = nest([(0, 4, 1), (0, trips, 1)], "i1")
        assert ScalarForms().changes(value_of(module), loops_of(module)[1], 2) == expected


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
    assert not ScalarForms().changes(value_of(module), inner, 2)
    assert ScalarForms().step(value_of(module), outer) == 2


# ---- forms ---------------------------------------------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Nests of loops that carry values, with arithmetic on what is in scope."""
    count = itertools.count()

    def arithmetic(values: list[str], lines: list[str]) -> None:
        for _ in range(draw(st.integers(0, 3))):
            name, a, b = f"%v{next(count)}", draw(st.sampled_from(values)), draw(st.sampled_from(values))
            op = draw(st.sampled_from(["addi", "subi", "muli", "floordivsi", "floordivsi", "remui", "apply"]))
            if op == "apply":
                d = draw(st.integers(1, 4))
                map_ = f"affine_map<(a)[b] -> (a * 3 + b mod {d} + (a + b * {d} + 1) floordiv {d})>"
                lines.append(f"{name} = affine.apply {map_}({a})[{b}]")
            else:
                b = f"%c{draw(st.integers(1, 4))}" if op in ("floordivsi", "remui") else b
                lines.append(f"{name} = arith.{op} {a}, {b} : index")
            values.append(name)

    def block(values: list[str], depth: int) -> list[str]:
        values, lines = list(values), []
        arithmetic(values, lines)
        for _ in range(draw(st.integers(0, 2)) if depth else 0):
            loop, carried, init = f"{next(count)}", f"%v{next(count)}", draw(st.sampled_from(values))
            lower, trips, step = draw(st.integers(0, 3)), draw(st.integers(0, 4)), draw(st.integers(1, 3))
            lines.append(
                f"%r{loop} = scf.for %i{loop} = %c{lower} to %c{lower + trips * step} step %c{step} "
                f"iter_args({carried} = {init}) -> (index) {{"
            )
            inside = block([*values, f"%i{loop}", carried], depth - 1)
            *body, last = inside
            if draw(st.booleans()):
                last = f"%v{next(count)}"
                body.append(f"{last} = arith.addi {carried}, %c{draw(st.integers(0, 4))} : index")
            lines += [*body, f"scf.yield {last} : index", "}"]
            values.append(f"%r{loop}")
            arithmetic(values, lines)
        return [*lines, draw(st.sampled_from(values))]

    constants = [f"%c{n} = arith.constant {n} : index" for n in range(16)]
    *body, _ = block(["%c0", "%c1", "%c3", "%x"], 3)
    return "\n".join(["func.func @f(%x: index) {", *constants, *body, "func.return", "}"])


State = dict[scf.ForOp | SSAValue, int]
"""The number of the iteration of each loop around, and the values there are."""


def run(block: Block, state: State) -> Iterator[tuple[Operation, State]]:
    """Each execution of an op without a region, with what is known behind it."""
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            carried = [state[v] for v in op.iter_args]
            bounds = [state[v] for v in (op.lb, op.ub, op.step)]
            for number, index in enumerate(range(*bounds)):
                args = dict(zip(op.body.block.args, [index, *carried], strict=True))
                inside: State = {**state, op: number, **args}
                yield from run(op.body.block, inside)
                assert op.body.block.last_op is not None
                carried = [inside[v] for v in op.body.block.last_op.operands]
            state |= zip(op.results, carried, strict=True)
            continue
        a, b = ([state[v] for v in op.operands] + [0, 0])[:2]
        match op:
            case arith.ConstantOp():
                state[op.result] = op.value.value.data  # type: ignore[attr-defined]
            case affine.ApplyOp():
                text = python_expression(op.map.data.results[0], [str(a)], [str(b)])
                state[op.result] = eval(text)
            case arith.AddiOp() | arith.SubiOp() | arith.MuliOp():
                signs = {arith.AddiOp: a + b, arith.SubiOp: a - b, arith.MuliOp: a * b}
                state[op.result] = signs[type(op)]
            case arith.FloorDivSIOp() | arith.RemUIOp():
                state[op.result] = a // b if isinstance(op, arith.FloorDivSIOp) else a % b
            case _:
                continue
        yield op, state


def value_at(form: Form, state: State) -> int:
    """The value of a form."""
    total = form.constant
    for symbol, factor in form.terms:
        if isinstance(symbol, Function) and symbol.kind in ("floordiv", "mod", "product"):
            a, b = (value_at(operand, state) for operand in symbol.operands)
            part = a * b if symbol.kind == "product" else a // b if symbol.kind == "floordiv" else a % b
        elif isinstance(symbol, Function):
            assert symbol.value is not None
            part = state[symbol.value]
        else:
            part = state[symbol]
        total += factor * part
    return total


@settings(max_examples=150, deadline=None)
@given(programs(), st.integers(0, 5), st.randoms())
def test_forms_are_the_values_of_programs(text: str, x: int, random: Random) -> None:
    module = parse(text)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    forms = ScalarForms()
    # In whatever order they are asked for.
    values = [op.results[0] for op in function.walk() if op.results and not isinstance(op, arith.ConstantOp)]
    random.shuffle(values)
    for value in values:
        forms.of(value)
    before: dict[tuple[SSAValue, scf.ForOp], tuple[State, int]] = {}
    for op, state in run(function.body.block, {function.body.block.args[0]: x}):
        (value,) = op.results
        assert value_at(forms.of(value), state) == state[value]
        loops = [loop for loop in state if isinstance(loop, scf.ForOp)]
        for loop in loops:
            step = forms.step(value, loop)
            seen = before.get((value, loop))
            others: State = {v: n for v, n in state.items() if isinstance(v, scf.ForOp) and v is not loop}
            if seen is not None and step is not None and seen[0] == others and state[loop]:
                assert state[value] - seen[1] == step
            before[value, loop] = others, state[value]


def test_counts_that_loops_carry() -> None:
    module = parse("""
func.func @f(%x: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%m = %x) -> (index) {
    %last = scf.for %j = %c0 to %c4 step %c2 iter_args(%n = %m) -> (index) {
      %next = arith.addi %n, %c1 : index
      scf.yield %next : index
    }
    scf.yield %last : index
  }
  func.return
}""")
    outer, inner = loops_of(module)
    forms = ScalarForms()
    count = inner.body.block.args[1]
    assert [forms.step(count, loop) for loop in (outer, inner)] == [2, 1]
    assert [forms.growth(loop, 0) for loop in (outer, inner)] == [2, 1]
    assert forms.step(outer.results[0], outer) == 0
    # A count that runs through both loops has another value modulo 2 each time.
    assert forms.changes(count, inner, 2) and not forms.changes(count, inner, 1)


def test_long_chains_of_scalar_code() -> None:
    lines = [f"%v{i + 1} = arith.addi %v{i}, %i : index" for i in range(3000)]
    body = "\n".join(["%v0 = arith.addi %i, %c1 : index", *lines])
    module = parse(f"""
func.func @f() {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {{
    {body}
  }}
  func.return
}}""")
    (loop,) = loops_of(module)
    last = loop.body.block.last_op
    assert last is not None and last.prev_op is not None
    assert ScalarForms().step(last.prev_op.results[0], loop) == 3001
