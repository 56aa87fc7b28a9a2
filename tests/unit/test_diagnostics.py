"""How errors are rendered."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.support.diagnostics import Note, SourceLocation, UserError, closest, register_source, render


def test_without_a_location():
    assert render(UserError("it broke", notes=["try again"])) == "error: it broke\nnote: try again"


def test_caret_stands_below_the_column_also_after_tabs():
    register_source("a.mlir", "first\n\tsecond line\n")
    error = UserError("here", loc=SourceLocation("a.mlir", 2, 9))
    assert render(error) == "a.mlir:2:9: error: here\n\tsecond line\n\t       ^"


def test_an_unknown_file_or_line_has_no_caret():
    assert render(UserError("x", loc=SourceLocation("missing", 3, 1))) == "missing:3:1: error: x"
    register_source("short", "one line")
    assert render(UserError("x", loc=SourceLocation("short", 9, 1))) == "short:9:1: error: x"


def test_ops_are_located_or_else_the_op_around_them():
    module = parse_module(make_context(), "func.func @f() {\n  func.return\n}\n", "b.mlir")
    function = module.body.block.first_op
    ret = function.body.block.first_op
    assert render(UserError("x", loc=ret)).startswith("b.mlir:2:3: error: x\n  func.return\n  ^")
    made = ret.clone()
    made.location = type(module)([]).location
    function.body.block.insert_op_before(made, ret)
    assert render(UserError("x", loc=made)).startswith("b.mlir:1:1: error: x")


def test_provenance_is_shown():
    module = parse_module(make_context(), "module {}", "c.mlir")
    module.attributes["npu.node"] = StringAttr("conv1")
    lines = render(UserError("x", loc=module, notes=[Note("y", module)])).split("\n")
    assert lines[3] == "note: from the graph op 'conv1'"
    assert lines[4] == "c.mlir:1:1: note: y"


def test_closest():
    assert closest("canonicalise", ["cse", "canonicalize"]) == "; did you mean 'canonicalize'?"
    assert closest("zzz", ["cse", "canonicalize"]) == ""
