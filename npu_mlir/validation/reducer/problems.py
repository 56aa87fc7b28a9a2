"""How to tell whether a module still shows the problem that it is reduced for.

- `PipelineProblem`: a pipeline fails on it in the same way (the same pass, the same kind of error) as on the original.
- `ScriptProblem`: a program that gets the name of a file with the module exits with status 1, as for mlir-reduce.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.ir.module_io import save_module
from npu_mlir.ir.weights import copy_weights
from npu_mlir.pass_infra.pass_manager import PassInstrument, PassManager
from npu_mlir.pass_infra.pipeline_parser import PassNest
from npu_mlir.support.diagnostics import UserError
from npu_mlir.validation.equivalence import EquivalenceChecker, EquivalenceError


class Problem(Protocol):
    """What a module is reduced for."""

    def shows(self, module: ModuleOp) -> bool:
        """Whether `module`, which is left as it is, shows the problem."""
        ...


def copy_of(module: ModuleOp) -> ModuleOp:
    """A copy with weights of its own."""
    copy = module.clone()
    copy_weights(module, copy)
    return copy


class _Done(Exception):
    """The pass that failed at first has come to its end."""


class _Stop(PassInstrument):
    """Notes which pass runs, and ends the pipeline behind one that is known to be to blame."""

    def __init__(self) -> None:
        self.running: ModulePass | None = None
        self.last: ModulePass | None = None

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        self.running = pass_

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        if pass_ is self.last:
            raise _Done


class PipelineProblem:
    """A pipeline that fails; with a `seed`, also because a pass changes what the module computes.

    The pass that fails on the original is the one that is looked at from then on: the passes before it are run
    unchecked, those behind it not at all.
    """

    def __init__(self, ctx: Context, pipeline: PassNest, module: ModuleOp, seed: int | None = None):
        self._ctx = ctx
        self._pipeline = pipeline
        self._seed = seed
        self._stop = _Stop()
        failure = self._failure(module)
        if failure is None:
            raise UserError("the passes do not fail on the module: there is nothing to reduce")
        self.error = failure
        self._key = self._key_of(failure)
        self._stop.last = self._stop.running

    def shows(self, module: ModuleOp) -> bool:
        """Whether the same pass fails in the same way."""
        failure = self._failure(module)
        return failure is not None and self._key_of(failure) == self._key

    def _failure(self, module: ModuleOp) -> Exception | None:
        instruments: list[PassInstrument] = [self._stop]
        if self._seed is not None:
            last = self._stop.last
            checker = EquivalenceChecker(self._seed, lambda pass_: last is None or pass_ is last)
            instruments = [_Before(self._stop), checker, self._stop]
        try:
            PassManager(self._pipeline, instruments=instruments).run(self._ctx, copy_of(module))
        except _Done:
            return None
        except Exception as error:
            return error
        return None

    def _key_of(self, error: Exception) -> tuple[str, ...]:
        """What has to stay the same about a failure: the pass, and the message but for names and numbers."""
        running = self._stop.running.name if self._stop.running is not None else ""
        if isinstance(error, EquivalenceError):
            return running, "changed", error.kind
        message = error.message if isinstance(error, UserError) else str(error)
        return running, type(error).__name__, re.sub(r"'[^']*'|[\[(<].*?[\])>]|[-\d.]+", "", message)[:60]


class _Before(PassInstrument):
    """Passes on the start of each pass only: the check of a pass has to come before the end of the pipeline."""

    def __init__(self, stop: _Stop):
        self._stop = stop

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        self._stop.before_pass(pass_, op)


class ScriptProblem:
    """A program that exits with status 1 when it is run on a file that shows the problem."""

    def __init__(self, command: Sequence[str], timeout: float = 600):
        self._command = list(command)
        self._timeout = timeout

    def shows(self, module: ModuleOp) -> bool:
        """Run the program on the module in a file; one that takes too long counts as not showing the problem."""
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "reduced.mlir"
            save_module(copy_of(module), str(path))
            try:
                command = [*self._command, str(path)]
                done = subprocess.run(command, capture_output=True, timeout=self._timeout, check=False)
            except subprocess.TimeoutExpired:
                return False
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise UserError(f"cannot run '{self._command[0]}': {reason}") from error
        return done.returncode == 1
