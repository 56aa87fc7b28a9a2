"""The tools build IR with the garbage collector off, and leave it as it was for whoever calls them from Python."""

import gc

import pytest

from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools.common import keep_what_is_built, run_tool


@pytest.fixture(autouse=True)
def _collector_on() -> None:
    assert gc.isenabled()


def body(arguments: list[str]) -> int:
    if arguments == ["fail"]:
        raise UserError("no")
    if arguments == ["again"]:
        keep_what_is_built()
    return int(gc.isenabled())


@pytest.mark.parametrize(("argument", "status"), [("build", 0), ("again", 1), ("fail", 1)])
def test_the_collector_is_off_within_a_tool_and_on_after_it(argument: str, status: int) -> None:
    assert run_tool(body, [argument]) == status
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_who_has_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        assert run_tool(body, ["build"]) == 0
        assert not gc.isenabled()
    finally:
        gc.enable()
