"""What graph passes share: finding the graph ops of a module, and putting one op in place of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.dialects.graph import LOCATION, GraphOp, WeightOp, location_of
from npu_mlir.ir.constants import make_constant
from npu_mlir.ir.resources import resources_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.support.locations import inherit_location
from npu_mlir.support.node_names import joined, parts

MOST_NAMES = 3
"""A fused op is named after at most this many nodes."""


class WeightReleaser:
    """Forgets weights as soon as nothing reads them, so that they don't take memory beside what was made of them."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._store = weights_of(module)
        self._readers = self._count()

    def _count(self) -> Counter[str]:
        """How many ops read each entry."""
        weights = Counter(op.entry_name for op in self._module.walk() if isinstance(op, WeightOp))
        return weights + Counter(resources_of(self._module).keys())

    def release(self, values: Iterable[SSAValue]) -> None:
        """Erase those of the values that are weights without uses, and their entries once no other op reads them."""
        for value in dict.fromkeys(values):
            op = value.owner
            if isinstance(op, WeightOp) and op.parent is not None and not value.uses:
                op.detach()
                op.erase()
                self._readers[op.entry_name] -= 1
                if self._readers[op.entry_name] <= 0:
                    self._store.discard(op.entry_name)

    def finish(self) -> None:
        """Forget all entries that no op reads."""
        for name in self._store.new_names() - self._count().keys():
            self._store.discard(name)


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.body.blocks:
            yield op


def graph_ops(block: Block) -> list[GraphOp]:
    """The operators of a block as they are now, in order; weights are none."""
    return [op for op in block.ops if isinstance(op, GraphOp) and not isinstance(op, WeightOp)]


def insert_before(anchor: Operation, op: Operation) -> SSAValue:
    """Insert an op, which takes over the anchor's location unless it has one, before a return that of what it reads;
    returns its result."""
    block = anchor.parent
    assert block is not None
    read = op.operands[0].owner if op.operands else anchor
    inherit_location(op, anchor if isinstance(anchor, GraphOp) or isinstance(read, Block) else read)
    block.insert_op_before(op, anchor)
    return op.results[0]


def insert_constant(anchor: Operation, store: WeightStore, array: np.ndarray, name: str) -> SSAValue:
    """Insert a constant before the anchor."""
    block = anchor.parent
    assert block is not None
    op = make_constant(store, array, name)
    block.insert_op_before(op, anchor)
    return op.results[0]


def replace(op: Operation, value: SSAValue) -> None:
    """Use `value` instead of the only result of `op`, and erase `op`."""
    value.name_hint = value.name_hint or op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def join_locations(target: Operation, *sources: Operation) -> None:
    """Name `target` after the nodes that all the sources came from."""
    names: dict[str, None] = {}
    for source in sources:
        names.update(dict.fromkeys(parts(location_of(source) or "")))
    if names:
        target.attributes[LOCATION] = StringAttr(joined(list(names)[:MOST_NAMES]))


def only_user(value: SSAValue) -> Operation | None:
    """The op that uses a value, if it has exactly one use."""
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None
