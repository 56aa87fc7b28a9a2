"""Value numbering: SSA values that are computed alike from the same values get the same number."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure


class ValueNumbers:
    """Numbers of scalar values, made on demand; `values` lists every value that has been given a number."""

    def __init__(self) -> None:
        self.values: list[list[SSAValue]] = []
        self._of: dict[SSAValue, int] = {}
        self._by_key: dict[Hashable, int] = {}

    def number(self, value: SSAValue) -> int:
        """The number of a value."""
        found = self._of.get(value)
        if found is None:
            found = self._by_key.setdefault(self._key(value), len(self.values))
            if found == len(self.values):
                self.values.append([])
            self.values[found].append(value)
            self._of[value] = found
        return found

    def _key(self, value: SSAValue) -> Hashable:
        owner = value.owner
        if isinstance(owner, Block) or owner.regions or len(owner.results) != 1 or not owner.has_trait(Pure):
            return value
        operands = tuple([self.number(v) for v in owner.operands])
        return owner.name, operands, tuple(owner.properties.items()), value.type


class Materializer:
    """Makes values available at other places, by copying the scalar code that computes them where needed."""

    def __init__(self, numbers: ValueNumbers):
        self._numbers = numbers
        self._positions: dict[Block, dict[Operation, int]] = {}

    def value(self, number: int, anchor: Operation, before: Operation) -> SSAValue:
        """A value with this number to be used just before the op `before`, where all that `anchor` sees is visible."""
        candidates = self._numbers.values[number]
        for value in candidates:
            if self._dominates(value, anchor):
                return value
        owner = candidates[0].owner
        assert isinstance(owner, Operation), "a slot value must not depend on a loop that it is outside of"
        operands = [self.value(self._numbers.number(v), anchor, before) for v in owner.operands]
        clone = owner.clone(dict(zip(owner.operands, operands, strict=True)))
        assert before.parent is not None
        before.parent.insert_op_before(clone, before)
        return clone.results[0]

    def _dominates(self, value: SSAValue, anchor: Operation) -> bool:
        owner = value.owner
        home = owner if isinstance(owner, Block) else owner.parent
        assert home is not None
        user = home.find_ancestor_op_in_block(anchor)
        if user is None:
            return False
        return isinstance(owner, Block) or self._position(owner) < self._position(user)

    def _position(self, op: Operation) -> int:
        block = op.parent
        assert block is not None
        if block not in self._positions:
            self._positions[block] = {o: i for i, o in enumerate(block.ops)}
        return self._positions[block][op]
