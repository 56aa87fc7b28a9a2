"""Which operations become one kernel: greedy merging of operations with their producers.

An operation is merged with all groups that produce its operands at once if the result is legal (else the two sums of a
layer norm would stay apart), and otherwise with one of them after the other, the latest first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from npu_mlir.analysis.dims import LoopNestOp


@dataclass
class _Graph:
    order: dict[Hashable, int]
    consumers: dict[Hashable, list[Hashable]]
    group: dict[Hashable, list[LoopNestOp]] = field(default_factory=dict[Hashable, list[LoopNestOp]])


def form_groups(
    computes: Sequence[LoopNestOp],
    dependencies: dict[Hashable, list[Hashable]],
    legal: Callable[[Sequence[LoopNestOp]], bool],
    pays: Callable[[Sequence[LoopNestOp], Sequence[Sequence[LoopNestOp]]], bool] | None = None,
) -> list[list[LoopNestOp]]:
    """Partition `computes` (in topological order) into groups that can each be one kernel.

    `dependencies` are, for these and all operations between them (views, pads), in topological order, what each needs
    directly; `legal` judges a candidate group, `pays` one that is legal beside the groups that it is made of. Groups
    can be ordered: no path leaves one and enters it again, be it through a view or another group.
    """
    graph = _Graph({key: i for i, key in enumerate(dependencies)}, {key: [] for key in dependencies})
    for key, needed in dependencies.items():
        for producer in needed:
            graph.consumers[producer].append(key)
    for op in computes:
        graph.group[op.key] = [op]
        _merge_producers(op, graph, legal, pays)
    unique = {id(group): group for group in graph.group.values()}
    return list(unique.values())


def _merge_producers(
    op: LoopNestOp,
    graph: _Graph,
    legal: Callable[[Sequence[LoopNestOp]], bool],
    pays: Callable[[Sequence[LoopNestOp], Sequence[Sequence[LoopNestOp]]], bool] | None,
) -> None:
    producers = {id(g): g for key in op.operands if (g := graph.group.get(key)) is not None}
    groups = sorted(producers.values(), key=lambda g: -max(graph.order[o.key] for o in g))
    for candidate in [groups] if len(groups) == 1 else [groups, *([g] for g in groups)]:
        added = [o for g in candidate for o in g if graph.group[o.key] is not graph.group[op.key]]
        merged = sorted([*graph.group[op.key], *added], key=lambda o: graph.order[o.key])
        if not added or not _convex(merged, graph) or not legal(merged):
            continue
        if pays is None or pays(merged, [graph.group[op.key], *candidate]):
            for member in merged:
                graph.group[member.key] = merged


def _convex(group: Sequence[LoopNestOp], graph: _Graph) -> bool:
    """Whether no path from the group leads back into it through others, groups being entered and left anywhere."""
    inside = {op.key for op in group}
    last = max(graph.order[key] for key in inside)
    stack = [c for key in inside for c in graph.consumers[key] if c not in inside]
    seen: set[Hashable] = set()
    while stack:
        key = stack.pop()
        if key in inside:
            return False
        # What comes later has not been merged with anything yet, so nothing leads back from it.
        if key in seen or graph.order[key] > last:
            continue
        others = [op.key for op in graph.group[key]] if key in graph.group else [key]
        seen.update(others)
        stack += [c for other in others for c in graph.consumers[other]]
    return True
