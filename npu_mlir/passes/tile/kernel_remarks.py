"""Which operations are one kernel, and why others that read each other's results are not, as remarks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation

from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.nest import root_of
from npu_mlir.passes.tile.chain_choice import ChainChoice
from npu_mlir.passes.tile.kernel_rules import Objection, why_not
from npu_mlir.support.diagnostics import location_of
from npu_mlir.support.locations import node_of
from npu_mlir.support.node_names import shown
from npu_mlir.support.remarks import RemarkKind, remark, wanted
from npu_mlir.targets.target import Target

Dependencies = Mapping[Hashable, Sequence[Hashable]]


def explain_groups(
    groups: Sequence[Sequence[LoopNestOp]],
    dependencies: Dependencies,
    target: Target,
    category: str,
    choice: ChainChoice,
) -> None:
    """A remark for every kernel of several operations, and for every operation that reads what another kernel makes:
    the rule that keeps the two kernels apart.

    `dependencies` are, in topological order, what each operation of the block needs directly.
    """
    for group in groups:
        if len(group) > 1:
            root = root_of(group)
            remark(RemarkKind.PASSED, category, "one-kernel", root, f"{len(group)} operations are one kernel")
    if wanted(RemarkKind.MISSED, category):
        _explain_borders(groups, dependencies, target, category, choice)


def _explain_borders(
    groups: Sequence[Sequence[LoopNestOp]],
    dependencies: Dependencies,
    target: Target,
    category: str,
    choice: ChainChoice,
) -> None:
    home = {op.key: i for i, group in enumerate(groups) for op in group}
    order = {key: i for i, key in enumerate(dependencies)}
    told: set[tuple[int, int]] = set()
    for consumer in sorted(home, key=order.__getitem__):
        for producer, between in _sources(consumer, home, dependencies):
            pair = (home[producer], home[consumer])
            if pair[0] == pair[1] or pair in told:
                continue
            told.add(pair)
            objection = between or _objection(
                [groups[i] for i in pair], order, dependencies, home, target, choice
            )
            op = cast("Operation", consumer)
            remark(
                RemarkKind.MISSED,
                category,
                objection.rule,
                op,
                f"{_name(op)} is in another kernel than {_name(cast('Operation', producer))}, which it reads",
                reason=objection.reason,
            )


def _sources(
    consumer: Hashable, home: Mapping[Hashable, int], dependencies: Dependencies
) -> Iterator[tuple[Hashable, Objection | None]]:
    """The operations of kernels that an operation reads, each with what stands between, if something does."""
    for needed in dependencies[consumer]:
        key: Hashable = needed
        while key not in home and (before := dependencies.get(key)):
            key = before[0]
        if key not in home:
            continue
        if key == needed:
            yield key, None
        elif not isinstance(needed, linalg.FillOp):
            name = cast("Operation", needed).name
            yield (
                key,
                Objection(
                    "nothing-between", f"'{name}' stands between them, which works on the whole tensor"
                ),
            )


def _objection(
    pair: Sequence[Sequence[LoopNestOp]],
    order: Mapping[Hashable, int],
    dependencies: Dependencies,
    home: Mapping[Hashable, int],
    target: Target,
    choice: ChainChoice,
) -> Objection:
    merged = sorted((op for group in pair for op in group), key=lambda op: order[op.key])
    objection = why_not(merged, target)
    if objection is not None:
        return objection
    if _leads_back({op.key for op in merged}, order, dependencies, home):
        return Objection("convex", "another kernel between them reads from one and is read by the other")
    objection = choice.objection(merged, pair)
    if objection is not None:
        return objection
    return Objection("greedy", "each was merged with others first; together they could be one kernel")


def _leads_back(
    inside: set[Hashable],
    order: Mapping[Hashable, int],
    dependencies: Dependencies,
    home: Mapping[Hashable, int],
) -> bool:
    """Whether a path leaves these operations and enters them again, other kernels being entered and left anywhere."""
    members: dict[int, list[Hashable]] = {}
    for key, group in home.items():
        members.setdefault(group, []).append(key)
    stack = [n for key in inside for n in dependencies[key] if n not in inside]
    seen: set[Hashable] = set()
    while stack:
        key = stack.pop()
        if key in inside:
            return True
        if key in seen:
            continue
        others = members[home[key]] if key in home else [key]
        seen.update(others)
        stack += [needed for other in others for needed in dependencies[other]]
    return False


def _name(op: Operation) -> str:
    """An operation as a remark calls it: by its node, or by its kind and line."""
    node = node_of(op)
    if node is not None:
        return f"'{shown(node)}'"
    place = location_of(op)
    return f"'{op.name}'" + (f" of line {place.line}" if place is not None else "")
