"""Runs a pipeline of passes on a module and checks the IR after each of them.

Nested anchors run xDSL's module passes on one op at a time: the op is put into a module of its own (with the
attributes of the real one) while the passes run.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from npu_mlir.diagnostics import Note, UserError
from npu_mlir.pass_pipeline import Nest
from npu_mlir.printing import op_text
from npu_mlir.verification import check_dominance, verify

if TYPE_CHECKING:
    from xdsl.context import Context


class PassInstrument:
    """Something that watches passes run: a printer, a clock, a check."""

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        """Called before `pass_` runs on `op`."""

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        """Called after `pass_` ran on `op` and the result was checked."""

    def after_failure(self, pass_: ModulePass, op: Operation) -> None:
        """Called when `pass_` failed or left IR that doesn't verify."""


@dataclass
class IRPrinter(PassInstrument):
    """Prints the IR around each pass, as mlir-opt does."""

    stream: TextIO
    before: bool = False
    after: bool = False
    on_failure: bool = False

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        if self.before:
            self._print("Before", pass_, op)

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        if self.after:
            self._print("After", pass_, op)

    def after_failure(self, pass_: ModulePass, op: Operation) -> None:
        if self.on_failure:
            self._print("After", pass_, op, " Failed")

    def _print(self, when: str, pass_: ModulePass, op: Operation, outcome: str = "") -> None:
        print(f"// -----// IR Dump {when} {pass_}{outcome} //----- //", file=self.stream)
        print(op_text(op), file=self.stream)


@dataclass
class PassManager:
    """Runs `pipeline`; `verify_each` adds the full verifier to the check of dominance after each pass."""

    pipeline: Nest
    verify_each: bool = True
    instruments: Sequence[PassInstrument] = field(default_factory=tuple)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        """Run the pipeline on `module`, which is changed in place."""
        self._run_nest(ctx, self.pipeline, module)

    def _run_nest(self, ctx: Context, nest: Nest, op: Operation) -> None:
        for element in nest.elements:
            if not isinstance(element, Nest):
                self._run_pass(ctx, element, op)
                continue
            for child in [c for r in op.regions for b in r.blocks for c in b.ops]:
                if child.name == element.anchor:
                    self._run_nest(ctx, element, child)

    def _run_pass(self, ctx: Context, pass_: ModulePass, op: Operation) -> None:
        for instrument in self.instruments:
            instrument.before_pass(pass_, op)
        try:
            self._apply_and_check(ctx, pass_, op)
        except UserError as error:
            for instrument in self.instruments:
                instrument.after_failure(pass_, op)
            error.notes.append(Note(f"in pass '{pass_.name}'"))
            raise
        for instrument in self.instruments:
            instrument.after_pass(pass_, op)

    def _apply_and_check(self, ctx: Context, pass_: ModulePass, op: Operation) -> None:
        with _as_module(op) as module:
            try:
                pass_.apply(ctx, module)
            except DiagnosticException as error:
                raise UserError(str(error)) from error
            if self.verify_each:
                verify(module)
            else:
                check_dominance(module)


@contextmanager
def _as_module(op: Operation) -> Generator[ModuleOp]:
    """`op` itself if it is a module, else a module around it; whatever is in there afterwards takes its place."""
    if isinstance(op, ModuleOp):
        yield op
        return
    block, following = op.parent, op.next_op
    assert block is not None
    root = op.get_toplevel_object()
    attributes = dict(root.attributes) if isinstance(root, ModuleOp) else {}
    op.detach()
    module = ModuleOp([op], attributes)
    try:
        yield module
    finally:
        for moved in list(module.body.block.ops):
            moved.detach()
            if following is None:
                block.add_op(moved)
            else:
                block.insert_op_before(moved, following)
