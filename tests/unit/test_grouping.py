"""Grouping of operations into kernels, on random graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.grouping import form_groups

Graph = dict[Hashable, list[Hashable]]


def compute(key: Hashable, operands: Sequence[Hashable]) -> LoopNestOp:
    maps = tuple((Linear((1,), 0),) for _ in operands)
    return LoopNestOp(key, (4,), (False,), tuple(operands), maps, (0,))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[LoopNestOp], Graph]:
    """Operations in order, and what each needs: its operands, and others through views."""
    computes: list[LoopNestOp] = []
    needed: Graph = {}
    for key in range(draw(st.integers(1, 10))):
        earlier = st.lists(st.integers(0, key - 1), unique=True, max_size=3) if key else st.just([])
        operands = draw(earlier)
        views: dict[Hashable, list[Hashable]] = {f"{key} of {other}": [other] for other in draw(earlier)}
        computes.append(compute(key, operands))
        needed |= views
        needed[key] = [*operands, *views]
    return computes, needed


def reachable(needed: Graph, start: Hashable) -> set[Hashable]:
    found: set[Hashable] = set()
    stack = [start]
    while stack:
        for key in needed[stack.pop()]:
            if key not in found:
                found.add(key)
                stack.append(key)
    return found


def groups_of(
    graph: tuple[list[LoopNestOp], Graph], legal: Callable[[Sequence[LoopNestOp]], bool]
) -> list[list[Hashable]]:
    return [[op.key for op in group] for group in form_groups(*graph, legal)]


@given(graphs(), st.integers(1, 6))
def test_groups_are_convex_parts_in_order(graph: tuple[list[LoopNestOp], Graph], most: int):
    groups = groups_of(graph, lambda group: len(group) <= most)
    computes, needed = graph
    assert sorted(key for group in groups for key in group) == list(range(len(computes)))
    for group in groups:
        assert group == sorted(group) and len(group) <= most
        inside = set(group)
        for key in group:
            # A path from the group to an operation outside never leads back.
            for between in reachable(needed, key) - inside:
                assert not reachable(needed, between) & inside


@given(graphs())
def test_groups_can_be_ordered(graph: tuple[list[LoopNestOp], Graph]):
    """No two groups wait for each other."""
    groups = groups_of(graph, lambda group: len(group) <= 3)
    _, needed = graph
    home: dict[Hashable, Hashable] = {key: key for key in needed}
    home |= {key: f"group {i}" for i, group in enumerate(groups) for key in group}
    between: Graph = {node: [] for node in home.values()}
    for key, others in needed.items():
        between[home[key]] += [home[other] for other in others if home[other] != home[key]]
    assert not any(node in reachable(between, node) for node in between)


@given(graphs())
def test_legality_decides(graph: tuple[list[LoopNestOp], Graph]):
    assert all(len(group) == 1 for group in groups_of(graph, lambda group: len(group) == 1))


def test_all_producers_at_once():
    """The reader of two sums joins them all, where joining one of them alone would not be legal."""
    ops = [
        compute("x", []),
        compute("sum", ["x"]),
        compute("squares", ["x"]),
        compute("y", ["sum", "squares"]),
    ]
    needed: Graph = {"x": [], "sum": ["x"], "squares": ["x"], "y": ["sum", "squares"]}

    def legal(group: Sequence[LoopNestOp]) -> bool:
        keys = {op.key for op in group}
        return len(keys) == 1 or keys == {"sum", "squares", "y"}

    assert groups_of((ops, needed), legal) == [["x"], ["sum", "squares", "y"]]


def test_the_latest_producer_comes_first():
    """Where one producer only may be joined, it is the one that was made last."""
    for operands in (["a", "b"], ["b", "a"]):
        ops = [compute("a", []), compute("b", []), compute("c", operands)]
        needed: Graph = {"a": [], "b": [], "c": list(operands)}
        assert groups_of((ops, needed), lambda group: len(group) <= 2) == [["a"], ["b", "c"]]


def test_a_path_through_a_view_keeps_groups_apart():
    """`c` reads `a` directly, and reshaped: one kernel cannot do both."""
    ops = [compute("a", []), compute("c", ["a", "view"])]
    needed: Graph = {"a": [], "view": ["a"], "c": ["a", "view"]}
    assert groups_of((ops, needed), lambda group: True) == [["a"], ["c"]]
