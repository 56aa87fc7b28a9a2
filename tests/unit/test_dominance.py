"""SSA dominance against brute force: a node dominates another if every path from the entry passes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.cf import Cf

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.dominance import find_violation, immediate_dominators
from npu_mlir.ir.parsing import parse_module
from npu_mlir.ir.verification import check_dominance
from npu_mlir.support.diagnostics import UserError


def reachable(successors: list[list[int]], without: int | None = None) -> set[int]:
    seen: set[int] = set()
    stack = [0]
    while stack:
        node = stack.pop()
        if node != without and node not in seen:
            seen.add(node)
            stack += successors[node]
    return seen


graphs = st.integers(1, 8).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
)


@given(graphs)
def test_immediate_dominators_agree_with_paths(successors: list[list[int]]):
    idom = immediate_dominators(successors)
    alive = reachable(successors)
    for node in range(len(successors)):
        if node not in alive:
            assert idom[node] is None
            continue
        expected = {d for d in alive if d == node or node not in reachable(successors, without=d)}
        found, up = {node}, node
        while up != 0:
            up = idom[up]
            found.add(up)
        assert found == expected


GOOD = {
    "loop": """
        func.func @f(%n: index) {
          %c = arith.constant 1 : index
          scf.for %i = %c to %n step %c { %0 = arith.addi %i, %n : index  scf.yield }
          func.return
        }""",
    "diamond": """
        func.func @f(%c: i1, %a: i32) -> i32 {
          %0 = arith.addi %a, %a : i32
          "cf.cond_br"(%c) [^l, ^r] {operandSegmentSizes = array<i32: 1, 0, 0>} : (i1) -> ()
        ^l:
          %1 = arith.addi %0, %a : i32
          "cf.br"(%1) [^j] : (i32) -> ()
        ^r:
          "cf.br"(%0) [^j] : (i32) -> ()
        ^j(%p: i32):
          %2 = arith.addi %p, %0 : i32
          func.return %2 : i32
        }""",
}

BAD = {
    "order": (
        """func.func @f(%a: i32) {
          %1 = arith.addi %a, %0 : i32
          %0 = arith.addi %a, %a : i32
          func.return
        }""",
        "operand #1 of 'arith.addi' does not dominate this use",
    ),
    "itself": (
        """func.func @f() { %0 = arith.negf %0 : f32  func.return }""",
        "operand #0 of 'arith.negf' does not dominate this use",
    ),
    "other branch": (
        """func.func @f(%c: i1, %a: i32) -> i32 {
          "cf.cond_br"(%c) [^l, ^r] {operandSegmentSizes = array<i32: 1, 0, 0>} : (i1) -> ()
        ^l:
          %1 = arith.addi %a, %a : i32
          "cf.br"(%1) [^j] : (i32) -> ()
        ^r:
          "cf.br"(%1) [^j] : (i32) -> ()
        ^j(%p: i32):
          func.return %p : i32
        }""",
        "operand #0 of 'cf.br' does not dominate this use",
    ),
}


def parse(text: str):
    ctx = make_context()
    ctx.load_dialect(Cf)
    return parse_module(ctx, text, "test")


@pytest.mark.parametrize("name", GOOD)
def test_good_programs_pass(name: str):
    assert find_violation(parse(GOOD[name])) is None


@pytest.mark.parametrize("name", BAD)
def test_bad_programs_are_named(name: str):
    text, message = BAD[name]
    assert str(find_violation(parse(text))) == message


def test_values_do_not_enter_isolated_regions():
    module = parse(
        """
        func.func @f(%a: i32) {
          %0 = arith.addi %a, %a : i32
          func.return
        }
        func.func @g(%b: i32) {
          %1 = arith.addi %b, %b : i32
          func.return
        }"""
    )
    f, g = module.body.block.ops
    g.body.block.first_op.operands[0] = f.body.block.first_op.results[0]
    assert find_violation(module) is not None


def test_the_error_names_use_and_definition():
    module = parse(BAD["order"][0])
    with pytest.raises(UserError) as caught:
        check_dominance(module)
    assert caught.value.loc.name == "arith.addi"
    assert caught.value.notes[0].message == "the operand is defined here"
