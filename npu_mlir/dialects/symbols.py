"""Symbols are looked up in a table where many are, instead of one walk through the module for each."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

_kept: dict[Operation, dict[str, Operation]] | None = None


@contextmanager
def symbols_kept() -> Generator[None]:
    """Within, the symbols of an op are collected at the first look-up; nobody may add, rename or remove any."""
    global _kept
    outer, _kept = _kept, {}
    try:
        yield
    finally:
        _kept = outer


def lookup_symbol(table: Operation, symbol: SymbolRefAttr) -> Operation | None:
    """The op that a reference names in `table`, an op with the trait `SymbolTable`."""
    if _kept is None or symbol.nested_references.data:
        return SymbolTable.lookup_symbol(table, symbol)
    if table not in _kept:
        found: dict[str, Operation] = {}
        for op in table.regions[0].block.ops:
            name = op.get_attr_or_prop("sym_name")
            if isinstance(name, StringAttr):
                found.setdefault(name.data, op)
        _kept[table] = found
    return _kept[table].get(symbol.root_reference.data)
