"""SSA dominance: every operand is defined before its use. xDSL's own verifier doesn't check it.

A value is visible to an op if it is defined earlier in the same block, in a block that dominates it, or visible to
the op around it, unless that one is isolated from above. Blocks that can't be reached from their entry are not
checked, as in MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsolatedFromAbove


@dataclass(frozen=True)
class DominanceViolation:
    """Operand number `index` of `op` is not visible there."""

    op: Operation
    index: int

    def __str__(self) -> str:
        return f"operand #{self.index} of '{self.op.name}' does not dominate this use"


def immediate_dominators(successors: Sequence[Sequence[int]]) -> list[int | None]:
    """The immediate dominator of each node of a graph whose entry is node 0.

    The entry is its own; nodes that can't be reached have None.

    >>> immediate_dominators([[1, 2], [3], [3], [], [3]])
    [0, 0, 0, 0, None]
    """
    order = _postorder(successors)
    number = {node: i for i, node in enumerate(order)}
    predecessors: dict[int, list[int]] = {node: [] for node in order}
    for node in order:
        for successor in successors[node]:
            predecessors[successor].append(node)
    idom: list[int | None] = [None] * len(successors)
    idom[0] = 0

    def common(a: int, b: int) -> int:
        while a != b:
            lower = min(a, b, key=number.__getitem__)
            above = idom[lower]
            assert above is not None
            a, b = (above, b) if lower == a else (a, above)
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            known = [p for p in predecessors[node] if idom[p] is not None]
            new = known[0]
            for other in known[1:]:
                new = common(new, other)
            if idom[node] != new:
                idom[node] = new
                changed = True
    return idom


def _postorder(successors: Sequence[Sequence[int]]) -> list[int]:
    """The nodes that can be reached from node 0, each after its successors (back edges aside)."""
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        node, rest = stack[-1]
        following = next((s for s in rest if s not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    return order


def find_violation(op: Operation) -> DominanceViolation | None:
    """The first operand within `op` (in its regions) that is used where its definition isn't visible."""
    return _check_regions(op, set(), {})


Isolated = dict[type[Operation], bool]
"""Whether ops of a class are isolated from above, as far as was asked: it takes a search among traits."""


def _check_regions(op: Operation, visible: set[int], isolated: Isolated) -> DominanceViolation | None:
    kind = type(op)
    if kind not in isolated:
        isolated[kind] = op.has_trait(IsolatedFromAbove)
    if isolated[kind]:
        visible = set()
    for region in op.regions:
        if (violation := _check_region(region, visible, isolated)) is not None:
            return violation
    return None


def _check_region(region: Region, visible: set[int], isolated: Isolated) -> DominanceViolation | None:
    first = region.first_block
    if first is None:
        return None
    if first.next_block is None:
        return _check_tree([first], [[]], 0, visible, isolated)
    blocks = list(region.blocks)
    index = {block: i for i, block in enumerate(blocks)}
    successors = [[index[s] for s in _successors(block)] for block in blocks]
    children: list[list[int]] = [[] for _ in blocks]
    for node, parent in enumerate(immediate_dominators(successors)):
        if parent is not None and node != 0:
            children[parent].append(node)
    return _check_tree(blocks, children, 0, visible, isolated)


def _successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors


def _check_tree(
    blocks: list[Block], children: list[list[int]], node: int, visible: set[int], isolated: Isolated
) -> DominanceViolation | None:
    """Check a block and those it dominates; values it adds to `visible`, by identity, are taken out again."""
    block = blocks[node]
    added = [id(arg) for arg in block.args]
    visible.update(added)
    op = block.first_op
    while op is not None:
        # The tuple itself: a view of it, made for each op, takes a third of the time of all this.
        for operand in op._operands:  # pyright: ignore[reportPrivateUsage]
            if id(operand) not in visible:
                return DominanceViolation(op, list(op.operands).index(operand))
        if op.regions and (violation := _check_regions(op, visible, isolated)) is not None:
            return violation
        for result in op.results:
            added.append(id(result))
            visible.add(id(result))
        op = op.next_op
    for child in children[node]:
        if (violation := _check_tree(blocks, children, child, visible, isolated)) is not None:
            return violation
    visible.difference_update(added)
    return None
