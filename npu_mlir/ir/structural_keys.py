"""Keys of IR: two ops have the same key exactly if they compute the same, up to the names of values and locations.

Unlike text, a key takes no printing, and unlike `is_structurally_equivalent` it finds an equal op among many in one
look-up.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from npu_mlir.support.locations import PROVENANCE


class AttributeNumbers:
    """Gives equal attributes equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[int, tuple[int, Attribute]] = {}
        """Numbers of attribute objects by identity, which saves hashing them. Each is kept, so that no other gets its
        identity."""

    def number(self, attr: Attribute) -> int:
        """The number of an attribute."""
        known = self._known.get(id(attr))
        if known is None:
            number = self._numbers.setdefault(self._key(attr), len(self._numbers))
            known = self._known[id(attr)] = (number, attr)
        return known[0]

    def _key(self, attr: Attribute) -> Hashable:
        """The attribute, but with the bits of its floats: 0.0 and -0.0 are equal, NaN and NaN are not."""
        if isinstance(attr, FloatAttr):
            return FloatAttr, struct.pack("<d", attr.value.data), self.number(attr.type)
        if isinstance(attr, ArrayAttr):
            return ArrayAttr, tuple([self.number(entry) for entry in attr.data])
        if isinstance(attr, DictionaryAttr):
            entries = [(name, self.number(entry)) for name, entry in attr.data.items()]
            return DictionaryAttr, frozenset(entries)
        return attr


class StructuralKeys:
    """Makes keys, which can be compared with each other only."""

    def __init__(self) -> None:
        self._numbers = AttributeNumbers()

    def key(self, op: Operation) -> Hashable:
        """The key of an op with all in it: names, operands, types, attributes (but not the node of the model that it is
        for), properties, regions and blocks."""
        key = self.start()
        key.add(op)
        return key.finish()

    def start(self) -> PartialKey:
        """A key of several ops, to be made step by step."""
        return PartialKey(self._numbers.number)


class PartialKey:
    """A key of several ops and of what is said about them, in the order in which they are added.

    Values are known by the order in which they were defined, those that were not stand for themselves.
    """

    def __init__(self, number: Callable[[Attribute], int]) -> None:
        self._number = number
        self._entries: list[Hashable] = []
        self._values: dict[SSAValue, int] = {}
        self._defined = 0
        self._blocks: dict[Block, int] = {}

    def finish(self) -> Hashable:
        """The key of all that was added."""
        return tuple(self._entries)

    def note(self, what: str, *attributes: Attribute | None) -> None:
        """Add a word, and attributes that are part of what it means."""
        self._entries += (what, *[None if attr is None else self._number(attr) for attr in attributes])

    def use(self, value: SSAValue) -> None:
        """Add which value it is, of those that are defined."""
        self._entries.append(self._values.get(value, value))

    def define(self, value: SSAValue) -> None:
        """Give a value the next number, in place of the one that it may have."""
        self._values[value] = self._defined
        self._defined += 1

    def add(self, op: Operation) -> None:
        """Add an op with all in it; its results are defined from here on."""
        number, values, blocks = self._number, self._values, self._blocks
        self._entries += (
            op.name,
            tuple([values.get(operand, operand) for operand in op.operands]),
            tuple([number(result.type) for result in op.results]),
            frozenset([(name, number(attr)) for name, attr in op.properties.items()]),
            frozenset([(n, number(attr)) for n, attr in op.attributes.items() if n != PROVENANCE]),
            tuple([blocks.get(block, block) for block in op.successors]),
        )
        for result in op.results:
            self.define(result)
        for region in op.regions:
            self._entries.append("{")
            for block in region.blocks:
                blocks[block] = len(blocks)
            for block in region.blocks:
                self._entries.append(tuple([number(arg.type) for arg in block.args]))
                for arg in block.args:
                    self.define(arg)
                for inner in block.ops:
                    self.add(inner)
            self._entries.append("}")
