"""Keys of IR: two ops have the same key exactly if they compute the same, up to the names of values and locations.

Unlike text, a key takes no printing, and unlike `is_structurally_equivalent` it finds an equal op among many in one
look-up.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable

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
        self._number = AttributeNumbers().number

    def key(self, op: Operation) -> Hashable:
        """The key of an op with all in it: names, operands, types, attributes (but not the node of the model that it is
        for), properties, regions and blocks."""
        entries: list[Hashable] = []
        self._add(op, entries, {}, {})
        return tuple(entries)

    def _add(
        self, op: Operation, entries: list[Hashable], values: dict[SSAValue, int], blocks: dict[Block, int]
    ) -> None:
        entries += (
            op.name,
            # A value from outside stands for itself.
            tuple([values.get(operand, operand) for operand in op.operands]),
            tuple([self._number(result.type) for result in op.results]),
            frozenset([(name, self._number(attr)) for name, attr in op.properties.items()]),
            frozenset([(n, self._number(attr)) for n, attr in op.attributes.items() if n != PROVENANCE]),
            tuple([blocks.get(block, block) for block in op.successors]),
        )
        for result in op.results:
            values[result] = len(values)
        for region in op.regions:
            entries.append("region")
            for block in region.blocks:
                blocks[block] = len(blocks)
            for block in region.blocks:
                entries.append(tuple([self._number(arg.type) for arg in block.args]))
                for arg in block.args:
                    values[arg] = len(values)
                for inner in block.ops:
                    self._add(inner, entries, values, blocks)
