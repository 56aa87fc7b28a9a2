"""Runs a pipeline of passes on a module and checks the IR after each of them.

Nested anchors run xDSL's module passes on one op at a time: the op is put into a module of its own (with the
attributes of the real one) while the passes run.

A pass that fails is named in a note; one that raises something unexpected becomes a `PassCrash`, which also says at
which op and line of Python.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from npu_mlir.ir.printing import op_line
from npu_mlir.ir.verification import check_dominance, verify
from npu_mlir.pass_infra.pipeline_parser import PassNest
from npu_mlir.passes.tile.measuring import measured_by
from npu_mlir.passes.upcoming import followed_by
from npu_mlir.support.debug_counter import PASS_EXECUTION, may
from npu_mlir.support.diagnostics import Note, PassCrash, UserError
from npu_mlir.support.locations import kept_by_patterns

if TYPE_CHECKING:
    from xdsl.context import Context

    from npu_mlir.dialects import tile
    from npu_mlir.pass_infra.instruments.timing import Timing
    from npu_mlir.targets.target import Target


Element = PassNest | ModulePass


class PassInstrument:
    """Something that watches passes run: a printer, a check."""

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        """Called before `pass_` runs on `op`."""

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        """Called after `pass_` ran on `op` and the result was checked."""

    def after_failure(self, pass_: ModulePass, op: Operation) -> None:
        """Called when `pass_` failed or left IR that doesn't verify."""


@dataclass
class PassManager:
    """Runs `pipeline`; `verify_each` adds the full verifier to the check of dominance after each pass."""

    pipeline: PassNest
    verify_each: bool = True
    instruments: Sequence[PassInstrument] = field(default_factory=tuple)
    timing: Timing | None = None
    rest: Sequence[PassNest] = ()
    """Pipelines that will run afterwards."""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        """Run the pipeline on `module`, which is changed in place."""
        with measured_by(_kernel_cycles):
            self._run_nest(ctx, self.pipeline, module, tuple(self.rest))

    def _run_nest(self, ctx: Context, nest: PassNest, op: Operation, behind: Sequence[Element]) -> None:
        """Run a nest on `op`; `behind` are the elements that follow it."""
        for i, element in enumerate(nest.elements):
            following = (*nest.elements[i + 1 :], *behind)
            if not isinstance(element, PassNest):
                with followed_by(_kernel_passes(following)):
                    self._run_pass(ctx, element, op)
                continue
            for child in [c for r in op.regions for b in r.blocks for c in b.ops]:
                if child.name == element.anchor:
                    with self._timed(f"'{element.anchor}' Pipeline", element):
                        self._run_nest(ctx, element, child, following)

    def _run_pass(self, ctx: Context, pass_: ModulePass, op: Operation) -> None:
        if not may(PASS_EXECUTION):
            return
        for instrument in self.instruments:
            instrument.before_pass(pass_, op)
        try:
            with self._timed(pass_.name, pass_):
                self._apply_and_check(ctx, pass_, op)
        except UserError:
            for instrument in self.instruments:
                instrument.after_failure(pass_, op)
            raise
        for instrument in self.instruments:
            instrument.after_pass(pass_, op)

    def _apply_and_check(self, ctx: Context, pass_: ModulePass, op: Operation) -> None:
        with _as_module(op) as module:
            _apply(ctx, pass_, module)
            try:
                with self._timed("(V) Verifier"):
                    (verify if self.verify_each else check_dominance)(module)
            except UserError as error:
                if isinstance(error.loc, Operation):
                    error.notes.append(Note(f"see current operation: {op_line(error.loc)}"))
                error.notes.append(Note(f"broken by pass '{pass_.name}'"))
                raise

    def _timed(self, name: str, element: PassNest | ModulePass | None = None) -> AbstractContextManager[None]:
        """A scope of the report; passes and nests are told apart by identity, as equal ones may follow each other."""
        if self.timing is None:
            return nullcontext()
        return self.timing.scope(name, None if element is None else id(element))


def _kernel_passes(elements: Sequence[Element]) -> list[ModulePass]:
    """The passes among these elements that work on modules or kernels."""
    passes: list[ModulePass] = []
    for element in elements:
        if not isinstance(element, PassNest):
            passes.append(element)
        elif element.anchor in (ModuleOp.name, "tile.kernel"):
            passes += _kernel_passes(element.elements)
    return passes


def _apply(ctx: Context, pass_: ModulePass, module: ModuleOp) -> None:
    """Run a pass; whatever it raises becomes a `UserError` that names it."""
    try:
        with kept_by_patterns():
            pass_.apply(ctx, module)
    except UserError as error:
        error.notes.append(Note(f"in pass '{pass_.name}'"))
        raise
    except DiagnosticException as error:
        raise UserError(str(error), notes=[f"in pass '{pass_.name}'"]) from error
    except Exception as error:
        raise _crash(pass_, error) from error


def _crash(pass_: ModulePass, error: Exception) -> PassCrash:
    from npu_mlir.pass_infra.crashes import describe_crash

    return describe_crash(pass_, error)


def _kernel_cycles(kernel: tile.KernelOp, target: Target, cold: frozenset[int] | None) -> int | None:
    """The simulator, which is loaded when it is wanted."""
    from npu_mlir.simulator.measure import kernel_cycles

    return kernel_cycles(kernel, target, cold)


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
