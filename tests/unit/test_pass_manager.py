"""Pipelines as text, conversion of options, anchors, instruments and the check after each pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.passes import ModulePass

from npu_mlir.dialects.context import make_context
from npu_mlir.ir.parsing import parse_module
from npu_mlir.pass_infra import pipeline_parser as pass_pipeline
from npu_mlir.pass_infra.pass_manager import PassInstrument, PassManager
from npu_mlir.pass_infra.pipeline_parser import PassNest, parse_pass, parse_pipeline
from npu_mlir.support.diagnostics import UserError

SEEN: list[tuple[str, list[str]]] = []


@dataclass(frozen=True)
class Probe(ModulePass):
    """Records what it is run on."""

    name = "probe"

    label: str = ""
    sizes: tuple[int, ...] = ()
    limit: int | None = None
    ratio: float = 1.0
    mode: Literal["fast", "small"] = "fast"
    quick: bool = False

    def apply(self, ctx, op):
        SEEN.append((self.label, [o.sym_name.data for o in op.body.block.ops]))
        if self.label == "add":
            op.body.block.add_op(op.body.block.first_op.clone())
        if self.label == "break":
            block = op.body.block.first_op.body.block
            op_0, op_1 = list(block.ops)[:2]
            op_0.operands[0] = op_1.results[0]
        if self.label == "complain":
            raise UserError("no", loc=op)


@dataclass(frozen=True)
class Needy(ModulePass):
    """Has an option without default."""

    name = "needy"

    size: int

    def apply(self, ctx, op):
        pass


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    classes = {"probe": Probe, "needy": Needy}
    monkeypatch.setattr(pass_pipeline, "PASSES", dict.fromkeys(classes, ""))
    monkeypatch.setattr(pass_pipeline, "is_pass", classes.__contains__)
    monkeypatch.setattr(pass_pipeline, "load_pass", classes.__getitem__)
    SEEN.clear()


TEXT = """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %0, %a : i32
  func.return %1 : i32
}
func.func @g() {
  func.return
}
"""


def run(pipeline: str, **arguments):
    ctx = make_context()
    module = parse_module(ctx, TEXT, "test.mlir")
    module.attributes["npu.target"] = StringAttr("toy")
    PassManager(parse_pipeline(pipeline), **arguments).run(ctx, module)
    return module


def test_all_kinds_of_options():
    nest = parse_pipeline(
        'builtin.module(probe{label="a b" sizes=1,2,3 limit=4 ratio=0.5 mode=small quick}, '
        "probe{sizes={7, 8} quick=false})"
    )
    assert nest.elements == (
        Probe("a b", (1, 2, 3), 4, 0.5, "small", True),
        Probe("", (7, 8), None, 1.0, "fast", False),
    )


def test_nested_anchors_and_blanks():
    nest = parse_pipeline(" builtin.module( func.func ( probe , probe{} ) ,probe, tile.kernel()) ")
    assert nest == PassNest(
        "builtin.module", (PassNest("func.func", (Probe(), Probe())), Probe(), PassNest("tile.kernel", ()))
    )


def test_options_of_a_flag():
    assert parse_pass("probe", "label=x quick", "--probe") == Probe("x", quick=True)
    assert parse_pass("probe", "", "--probe") == Probe()


@pytest.mark.parametrize(
    ("pipeline", "column", "message"),
    [
        ("builtin.module(prob)", 16, "unknown pass 'prob'; did you mean 'probe'?"),
        ("builtin.module(xyz)", 16, "unknown pass 'xyz'"),
        ("builtin.module(probe{siz=1})", 22, "pass 'probe' has no option 'siz'; did you mean 'sizes'?"),
        (
            "builtin.module(probe{sizes=1,a})",
            28,
            "option 'sizes' of pass 'probe': expected an integer, got 'a'",
        ),
        ("builtin.module(probe{ratio=a})", 28, "option 'ratio' of pass 'probe': expected a number, got 'a'"),
        ("builtin.module(probe{limit})", 27, None),
        (
            "builtin.module(probe{mode=fst})",
            27,
            "option 'mode' of pass 'probe': expected one of fast, small, got 'fst'; did you mean 'fast'?",
        ),
        ("builtin.module(needy)", 1, "pass 'needy' needs the option 'size'"),
        ("builtin.module(needy{size})", 26, "option 'size' of pass 'needy': a value is missing"),
        ("builtin.module(probe{)", 22, "expected '}' after the options"),
        ('builtin.module(probe{label="a})', 28, 'expected " after the value'),
        ("builtin.module(probe) x", 23, "expected the end of the pipeline"),
        ("builtin.module(probe", 21, "expected ')' after the passes of 'builtin.module'"),
        ("builtin.module(,)", 16, "expected the name of a pass or of an op"),
        ("func.func(probe)", 1, "expected 'builtin.module(...)' around the pipeline"),
        ("", 1, "expected the name of a pass or of an op"),
    ],
)
def test_errors_in_pipelines(pipeline: str, column: int, message: str | None):
    if message is None:
        assert parse_pipeline(pipeline).elements == (Probe(),)
        return
    with pytest.raises(UserError) as caught:
        parse_pipeline(pipeline)
    assert caught.value.message == message
    assert (caught.value.loc.line, caught.value.loc.column) == (1, column)


def test_passes_run_on_what_they_are_anchored_on():
    run("builtin.module(probe{label=1},func.func(probe{label=2},probe{label=3}),tile.kernel(probe{label=4}))")
    assert SEEN == [("1", ["f", "g"]), ("2", ["f"]), ("3", ["f"]), ("2", ["g"]), ("3", ["g"])]


def test_what_a_nested_pass_adds_stays_in_place():
    module = run("builtin.module(func.func(probe{label=add}))", verify_each=False)
    assert [op.sym_name.data for op in module.body.block.ops] == ["f", "f", "g", "g"]


@pytest.mark.parametrize("verify_each", [True, False])
def test_a_pass_that_breaks_dominance_is_named(verify_each: bool):
    with pytest.raises(UserError, match="operand #0 of 'arith.addi' does not dominate this use") as caught:
        run("builtin.module(probe{label=break})", verify_each=verify_each)
    assert caught.value.notes[-1].message == "broken by pass 'probe'"


def test_instruments_see_each_pass_and_failures():
    events: list[tuple[str, str]] = []

    class Watch(PassInstrument):
        def before_pass(self, pass_, op):
            events.append(("before", pass_.label))

        def after_pass(self, pass_, op):
            events.append(("after", pass_.label))

        def after_failure(self, pass_, op):
            events.append(("failure", pass_.label))

    with pytest.raises(UserError):
        run("builtin.module(probe{label=x},probe{label=complain},probe{label=y})", instruments=[Watch()])
    assert events == [("before", "x"), ("after", "x"), ("before", "complain"), ("failure", "complain")]
