"""Prints the IR around passes, as mlir-opt does: `--mlir-print-ir-*`.

    // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //

Dumps go to standard error, or each to a file of its own in a tree of directories that follows the nesting of ops:

    DIR/builtin_module_no-symbol-name/0_cse.mlir
    DIR/builtin_module_no-symbol-name/func_func_main/0_0_canonicalize.mlir

The numbers count the dumps of an op, from 0; those of an op within it have the number of its last one in front.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.ir.printing import PLAIN, PrintOptions, describe_op, op_text, symbol_name
from npu_mlir.pass_infra.pass_manager import PassInstrument
from npu_mlir.support.diagnostics import UserError


@dataclass(frozen=True)
class Selection:
    """Some passes by name, or all of them."""

    names: Collection[str] = ()
    all: bool = False

    def __contains__(self, pass_: ModulePass) -> bool:
        return self.all or pass_.name in self.names

    def __bool__(self) -> bool:
        return self.all or bool(self.names)


@dataclass
class IRPrinter(PassInstrument):
    """Prints before and after the passes of two selections, and when one fails."""

    before: Selection = field(default_factory=Selection)
    after: Selection = field(default_factory=Selection)
    only_changes: bool = False
    """After a pass, print only if it changed something."""
    on_failure: bool = False
    module_scope: bool = False
    """Print the whole module, not only the op that the pass runs on."""
    directory: Path | None = None
    options: PrintOptions = PLAIN

    def __post_init__(self) -> None:
        self._text_before = ""
        self._counters: dict[Operation, int] = {}

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        if self.only_changes and pass_ in self.after:
            self._text_before = op_text(op, self.options)
        if pass_ in self.before:
            self._dump("Before", pass_, op)

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        if pass_ not in self.after:
            return
        if not self.only_changes or op_text(op, self.options) != self._text_before:
            self._dump("After", pass_, op)

    def after_failure(self, pass_: ModulePass, op: Operation) -> None:
        if self.on_failure:
            self._dump("After", pass_, op, " Failed")

    def _dump(self, when: str, pass_: ModulePass, op: Operation, outcome: str = "") -> None:
        shown = op.get_toplevel_object() if self.module_scope else op
        assert isinstance(shown, Operation)
        which = f" ({describe_op(op)})" if self.module_scope else ""
        banner = f"// -----// IR Dump {when} {type(pass_).__name__}{outcome} ({pass_.name}){which} //----- //"
        text = f"{banner}\n{self._text(shown)}"
        if self.directory is None:
            # mlir-opt leaves one more line free behind a module.
            print(text if shown is op and not isinstance(op, ModuleOp) else f"{text}\n", file=sys.stderr)
        else:
            self._write(self._path(op, pass_), f"{text}\n")

    def _text(self, op: Operation) -> str:
        """The text of an op, which may be whatever a pass that failed has left."""
        try:
            return op_text(op, self.options)
        except Exception as error:
            return f"// too broken to be printed: {type(error).__name__}: {error}\n"

    def _path(self, op: Operation, pass_: ModulePass) -> Path:
        """The next file for a dump of `op`."""
        assert self.directory is not None
        chain = [op]
        while (parent := chain[0].parent_op()) is not None:
            chain.insert(0, parent)
        numbers = [self._counters.setdefault(around, 0) for around in chain[:-1]]
        numbers.append(self._counters.get(op, -1) + 1)
        self._counters[op] = numbers[-1]
        folders = [f"{o.name.replace('.', '_')}_{symbol_name(o) or 'no-symbol-name'}" for o in chain]
        name = f"{'_'.join(str(number) for number in numbers)}_{pass_.name}.mlir"
        return self.directory.joinpath(*(folder.replace("/", "_") for folder in folders), name)

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise UserError(f"--mlir-print-ir-tree-dir: cannot write '{path}': {error.strerror}") from error
