"""cse: compute equal values once.

    %0 = arith.addi %a, %b : i32
    %1 = arith.addi %a, %b : i32               // uses of %1 become uses of %0
  becomes
    %0 = arith.addi %a, %b : i32

Ops are equal if they have the same name, operands, attributes, result types and region contents; where they come
from (`npu.node`) doesn't count. `tensor.empty` and `linalg.fill` are never merged: they are the destinations of
destination-passing ops, and one shared by two ops would cost a copy in bufferization.

Does not handle: reads of memory, ops that are equal across the blocks of a region with control flow.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove, IsTerminator

from npu_mlir.analysis.effects import is_dead, is_pure
from npu_mlir.support.statistics import count

_DESTINATIONS = frozenset({"tensor.empty", "linalg.fill"})

Scope = dict[Hashable, list[Operation]]
"""The ops that can stand in for others, by their key; ops of one key may still differ in their regions."""


def _key(op: Operation) -> Hashable:
    attributes = frozenset(item for item in op.attributes.items() if item[0] != "npu.node")
    return (
        op.name,
        op.operands,
        tuple(result.type for result in op.results),
        attributes,
        frozenset(op.properties.items()),
    )


def _same_regions(op: Operation, other: Operation) -> bool:
    return all(a.is_structurally_equivalent(b) for a, b in zip(op.regions, other.regions, strict=True))


def _simplify_region(region: Region, scope: Scope) -> None:
    """Simplify the ops of a region; those of `scope` are visible in it."""
    for block in region.blocks:
        added: list[Hashable] = []
        for op in list(block.ops):
            if is_dead(op):
                count("num-dce'd", description="Dead operations erased")
                block.erase_op(op)
                continue
            inner: Scope = {} if op.has_trait(IsolatedFromAbove) else scope
            for nested in op.regions:
                _simplify_region(nested, inner)
            _merge(op, scope, added)
        for key in added:
            scope[key].pop()


def _merge(op: Operation, scope: Scope, added: list[Hashable]) -> None:
    """Replace `op` by an equal one in `scope`, or add it there and its key to `added`."""
    if not op.results or op.name in _DESTINATIONS or op.has_trait(IsTerminator) or not is_pure(op):
        return
    key = _key(op)
    candidates = scope.setdefault(key, [])
    for known in candidates:
        if _same_regions(op, known):
            for old, new in zip(op.results, known.results):
                new.name_hint = new.name_hint or old.name_hint
                old.replace_all_uses_with(new)
            count("num-cse'd", description="Operations merged with an equal one")
            op.detach()
            op.erase()
            return
    candidates.append(op)
    added.append(key)


class CommonSubexpressionElimination(ModulePass):
    """Merge equal ops that have no effects."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _simplify_region(op.body, {})
