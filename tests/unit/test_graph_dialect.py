"""Docstring examples of the graph dialect parse, verify and print back."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.printer import Printer

from npu_mlir.dialects.graph import OPS, Graph, GraphOp

EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
STATEMENT = re.compile(r"%\w+ = (graph\.\w+)(.*?): \((.*?)\)\s*->", re.DOTALL)


def context() -> Context:
    ctx = Context()
    for dialect in (Builtin, Func, Arith, Graph):
        ctx.load_dialect(dialect)
    return ctx


def as_function(statement: str) -> str:
    """One example op as a function whose arguments are the op's operands."""
    match = STATEMENT.match(statement.strip())
    if not match:
        return f"func.func @example() {{\n{statement}\nfunc.return\n}}"
    names = re.findall(r"%\w+", match[2])
    types = re.findall(r"tensor<[^>]*>", match[3])
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    return f"func.func @example({arguments}) {{\n{statement}\nfunc.return\n}}"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_docstring_example(op: type[GraphOp]):
    examples = EXAMPLE.findall(op.__doc__ or "")
    assert examples, f"{op.name} has no example"
    for example in examples:
        for statement in re.split(r"\n(?=\s*%)", example):
            module = Parser(context(), as_function(statement)).parse_module()
            module.verify()
            found = [inner for inner in module.walk() if isinstance(inner, op)]
            assert found, f"the example of {op.name} does not contain it"
            assert found[0].infer_type() == found[0].result.type
            for generic in (False, True):
                text = StringIO()
                Printer(text, print_generic_format=generic).print_op(module)
                again = Parser(context(), text.getvalue()).parse_module()
                assert again.is_structurally_equivalent(module)
