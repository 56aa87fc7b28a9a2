"""Remarks: who asks for which, what they say, how they look."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.remarks import Remark, RemarkKind, muted, remark, reporting, wanted, yaml_document

MODULE = parse_module(
    make_context(), "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}", "remarks.mlir"
)
RETURN = next(op for op in MODULE.walk() if op.name == "func.return")


def remarks(filters: dict[RemarkKind, str], make: Callable[[], None]) -> list[Remark]:
    found: list[Remark] = []
    with reporting(filters, found.append):
        make()
    return found


def one(kind: RemarkKind, category: str) -> Callable[[], None]:
    return lambda: remark(kind, category, "name", RETURN, "text")


@pytest.mark.parametrize(
    ("filters", "kind", "category", "shown"),
    [
        ({}, RemarkKind.MISSED, "my-pass", False),
        ({RemarkKind.MISSED: "my-pass"}, RemarkKind.MISSED, "my-pass", True),
        ({RemarkKind.MISSED: "my-pass"}, RemarkKind.PASSED, "my-pass", False),
        ({RemarkKind.MISSED: "my"}, RemarkKind.MISSED, "my-pass", False),
        ({RemarkKind.MISSED: "your-.*|my-.*"}, RemarkKind.MISSED, "my-pass", True),
    ],
)
def test_filters_match_the_whole_category_of_a_kind(
    filters: dict[RemarkKind, str], kind: RemarkKind, category: str, shown: bool
):
    assert bool(remarks(filters, one(kind, category))) == shown
    with reporting(filters, lambda _: None):
        assert wanted(kind, category) == shown
        with muted():
            assert not wanted(kind, category)
    assert not wanted(kind, category)


def test_text_of_a_remark():
    def make() -> None:
        remark(
            RemarkKind.ANALYSIS,
            "p",
            "size",
            RETURN,
            "two words",
            reason="a,b",
            suggestion="less",
            Bytes=12,
            A=1,
        )

    (found,) = remarks({RemarkKind.ANALYSIS: "p"}, make)
    assert str(found) == (
        '[Analysis] size | Category:p | Function=f | A=1, Bytes=12, Reason="a,b", Remark="two words", Suggestion=less'
    )
    assert yaml_document(found) == (
        "--- !Analysis\n"
        "Pass:            'p'\n"
        "Name:            'size'\n"
        "DebugLoc:        { File: 'remarks.mlir', Line: 2, Column: 3 }\n"
        "Function:        'f'\n"
        "Args:\n"
        "  - Remark:          'two words'\n"
        "  - Reason:          'a,b'\n"
        "  - Suggestion:      'less'\n"
        "  - Bytes:           '12'\n"
        "  - A:               '1'\n"
        "...\n"
    )


def test_what_is_in_no_function():
    (found,) = remarks(
        {RemarkKind.PASSED: "p"}, lambda: remark(RemarkKind.PASSED, "p", "n", ModuleOp([]), "it's")
    )
    assert str(found) == "[Passed] n | Category:p | Remark=it's"
    assert "Line: 0" in yaml_document(found) and "'it''s'" in yaml_document(found)


def test_a_filter_that_is_none():
    with (
        pytest.raises(UserError, match=r"'\[' is not a regular expression"),
        reporting({RemarkKind.PASSED: "["}),
    ):
        pass


def test_remarks_are_printed(capsys: pytest.CaptureFixture[str]):
    with reporting({RemarkKind.MISSED: "p"}):
        remark(RemarkKind.MISSED, "p", "n", RETURN, "text")
    assert (
        "remarks.mlir:2:3: remark: [Missed] n | Category:p | Function=f | Remark=text"
        in capsys.readouterr().err
    )
