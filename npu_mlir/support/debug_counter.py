"""`--mlir-debug-counter`: run only some of the passes or of the applications of patterns, to find the one to blame.

    --mlir-debug-counter=pass-execution-skip=2,pass-execution-count=1      only the third pass
    --mlir-debug-counter=apply-pattern-skip=0,apply-pattern-count=40       only the first 40 attempts of patterns

The two kinds of actions are those of MLIR. An attempt of a pattern counts whether or not it matches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npu_mlir.support.diagnostics import UserError, closest

if TYPE_CHECKING:
    from xdsl.pattern_rewriter import PatternRewriterListener

PASS_EXECUTION = "pass-execution"
APPLY_PATTERN = "apply-pattern"

_OPTION = "--mlir-debug-counter"


@dataclass
class Counter:
    """Actions of a kind: how many there were, how many at first are skipped, how many then are done (-1: all)."""

    count: int = 0
    skip: int = -1
    limit: int = -1

    def admits(self) -> bool:
        """Count an action; whether to do it."""
        index = self.count
        self.count += 1
        first = max(self.skip, 0)
        return index >= first and (self.limit < 0 or index < first + self.limit)


_counters: dict[str, Counter] = {}


def may(action: str) -> bool:
    """Count an action; whether to do it."""
    counter = _counters.get(action)
    return counter is None or counter.admits()


def parse_counters(values: Iterable[str]) -> dict[str, Counter]:
    """The counters that the option asks for."""
    counters: dict[str, Counter] = {}
    for setting in (part.strip() for value in values for part in value.split(",")):
        key, _, number = setting.partition("=")
        name, _, what = key.rpartition("-")
        if what not in ("skip", "count"):
            raise UserError(f"{_OPTION}: expected NAME-skip=N or NAME-count=N, got '{setting}'")
        if name not in (PASS_EXECUTION, APPLY_PATTERN):
            known = (PASS_EXECUTION, APPLY_PATTERN)
            raise UserError(
                f"{_OPTION}: no counter '{name}'{closest(name, known) or '; there are ' + ', '.join(known)}"
            )
        if not number.isdecimal():
            raise UserError(f"{_OPTION}: expected a number after '{key}=', got '{number}'")
        counter = counters.setdefault(name, Counter())
        if what == "skip":
            counter.skip = int(number)
        else:
            counter.limit = int(number)
    return counters


def describe(counters: dict[str, Counter]) -> str:
    """What --mlir-print-debug-counter prints."""
    lines = [f"{name:<32}: {{{c.count},{c.skip},{c.limit}}}" for name, c in sorted(counters.items())]
    return "\n".join(["DebugCounter counters:", *lines])


@contextmanager
def limited(counters: dict[str, Counter]) -> Generator[None]:
    """Within, only what the counters admit is done; also by the pattern walkers of xDSL."""
    if not counters:
        yield
        return

    from xdsl.ir import Operation
    from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

    class Limited(RewritePattern):
        def __init__(self, pattern: RewritePattern) -> None:
            self.pattern = pattern

        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
            if may(APPLY_PATTERN):
                self.pattern.match_and_rewrite(op, rewriter)

    process = PatternRewriteWalker._process_worklist  # pyright: ignore[reportPrivateUsage]

    def process_limited(self: PatternRewriteWalker, listener: PatternRewriterListener) -> bool:
        pattern, self.pattern = self.pattern, Limited(self.pattern)
        try:
            return process(self, listener)
        finally:
            self.pattern = pattern

    PatternRewriteWalker._process_worklist = process_limited  # pyright: ignore[reportPrivateUsage]
    _counters.update(counters)
    try:
        yield
    finally:
        _counters.clear()
        PatternRewriteWalker._process_worklist = process  # pyright: ignore[reportPrivateUsage]
