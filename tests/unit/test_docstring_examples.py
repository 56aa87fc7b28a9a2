"""Every op of our dialects has an example in its docstring, and every example, also those of attributes and types,
parses, verifies and survives a round trip. Values that an example doesn't define are taken as given."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from npu_mlir.dialects import OWN_DIALECTS, dialect_factory
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import LocatingParser

EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)

DIALECTS = [dialect_factory(name)() for name in OWN_DIALECTS]
OPS = [op for dialect in DIALECTS for op in dialect.operations]
ATTRIBUTES = [attribute for dialect in DIALECTS for attribute in dialect.attributes]


def examples_of(definition: type) -> list[str]:
    return EXAMPLE.findall(definition.__doc__ or "")


def parse_ops(text: str) -> list[Operation]:
    """The ops in `text`; what they use without defining it stays a forward reference."""
    parser = LocatingParser(make_context(), text, "example")
    ops: list[Operation] = []
    while (op := parser.parse_optional_operation()) is not None:
        ops.append(op)
        # Examples may use one name for values of different types.
        parser.forward_ssa_references.clear()
    assert parser.pos >= len(text.rstrip()), f"cannot parse {text[parser.pos :]!r}"
    return ops


def text_of(ops: list[Operation]) -> str:
    stream = StringIO()
    printer = Printer(stream)
    for op in ops:
        printer.print_op(op)
        printer.print_string("\n")
    return stream.getvalue()


@pytest.mark.parametrize("op_class", OPS, ids=lambda op: op.name)
def test_op_examples(op_class: type[Operation]):
    assert examples_of(op_class), f"{op_class.name} has no example in its docstring"
    for example in examples_of(op_class):
        ops = parse_ops(example)
        nested = [inner for op in ops for inner in op.walk()]
        assert any(isinstance(op, op_class) for op in nested), f"the example does not show {op_class.name}"
        for op in nested:
            op.verify(verify_nested_ops=False)
        printed = text_of(ops)
        assert text_of(parse_ops(printed)) == printed


@pytest.mark.parametrize("attribute_class", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_attribute_examples(attribute_class: type[Attribute]):
    for example in examples_of(attribute_class):
        for line in filter(None, map(str.strip, example.split("\n"))):
            attribute = LocatingParser(make_context(), line, "example").parse_attribute()
            assert isinstance(attribute, attribute_class)
            assert LocatingParser(make_context(), str(attribute), "example").parse_attribute() == attribute
