"""Symbols are found in a table as they are by a walk, and a module that changes is seen outside of it."""

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from npu_mlir.dialects.symbols import lookup_symbol, symbols_kept


def module() -> ModuleOp:
    return ModuleOp([FuncOp.external(name, [], []) for name in ("f", "g")])


def test_symbols_are_found_with_and_without_a_table() -> None:
    outer = module()
    f, g = outer.body.block.ops
    for _ in range(2):
        assert lookup_symbol(outer, SymbolRefAttr("f")) is f
        assert lookup_symbol(outer, SymbolRefAttr("h")) is None
    with symbols_kept():
        assert lookup_symbol(outer, SymbolRefAttr("g")) is g
        assert lookup_symbol(outer, SymbolRefAttr("h")) is None
        g.properties["sym_name"] = StringAttr("h")
        assert lookup_symbol(outer, SymbolRefAttr("g")) is g
    assert lookup_symbol(outer, SymbolRefAttr("g")) is None
    assert lookup_symbol(outer, SymbolRefAttr("h")) is g


def test_nested_references_are_followed() -> None:
    inner = module()
    inner.sym_name = StringAttr("inner")
    outer = ModuleOp([inner])
    with symbols_kept():
        assert lookup_symbol(outer, SymbolRefAttr("inner", ["f"])) is inner.body.block.first_op
