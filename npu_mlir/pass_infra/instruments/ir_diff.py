"""`--mlir-print-ir-diff`: what each pass changed, as a unified diff on standard error.

Values keep their names from pass to pass, so lines differ only where the IR does. On a terminal the diff is coloured;
the environment variables NO_COLOR and FORCE_COLOR decide otherwise.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from difflib import unified_diff
from typing import TextIO

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.ir.printing import PLAIN, PrintOptions, StableWriter, describe_op
from npu_mlir.pass_infra.pass_manager import PassInstrument

_COLOURS = {"+++": "1", "---": "1", "@@": "36", "+": "32", "-": "31"}
"""The terminal's codes by how a line starts, the longest first."""


class IRDiffPrinter(PassInstrument):
    """Prints a diff after each pass that changed something."""

    def __init__(self, options: PrintOptions = PLAIN, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._writer = StableWriter(options)
        self._before = ""

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        self._before = self._writer.text(op)

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        after = self._writer.text(op)
        if after == self._before:
            return
        what = f"{describe_op(op)}, {{}} {pass_.name}"
        diff = unified_diff(
            self._before.splitlines(),
            after.splitlines(),
            what.format("before"),
            what.format("after"),
            lineterm="",
        )
        print("\n".join(_coloured(diff) if wants_colour(self._stream) else diff), file=self._stream)

    def after_failure(self, pass_: ModulePass, op: Operation) -> None:
        try:
            self.after_pass(pass_, op)
        except Exception as error:
            # The pass may have left anything.
            print(
                f"{pass_.name} left IR that cannot be printed: {type(error).__name__}: {error}",
                file=self._stream,
            )


def wants_colour(stream: TextIO) -> bool:
    """Whether to write colours to `stream`."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def _coloured(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        code = next((code for start, code in _COLOURS.items() if line.startswith(start)), None)
        yield line if code is None else f"\x1b[{code}m{line}\x1b[0m"
