"""`--mlir-pass-statistics`: what each pass counted, and how many operations it made and erased.

===-------------------------------------------------------------------------===
                         ... Pass statistics report ...
===-------------------------------------------------------------------------===
'func.func' Pipeline
  cse
    (S) 0 ops-created - Operations that were not there before
    (S) 2 ops-erased - Operations that are not there any more
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.pass_infra.pass_manager import PassInstrument
from npu_mlir.pass_infra.pipeline_parser import PassNest
from npu_mlir.support.statistics import Statistic, count, counting

_RULE = f"==={'-' * 73}==="

Statistics = dict[str, Statistic]


class PassStatistics(PassInstrument):
    """Collects the numbers of the passes of a pipeline."""

    def __init__(self) -> None:
        self._numbers: dict[int, Statistics] = {}
        self._before: set[Operation] = set()
        self._counting = ExitStack()

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        self._before = set(op.walk())
        self._counting.enter_context(counting(self._numbers.setdefault(id(pass_), {})))

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        after = set(op.walk())
        count("ops-created", len(after - self._before), "Operations that were not there before")
        count("ops-erased", len(self._before - after), "Operations that are not there any more")
        self._counting.close()

    def after_failure(self, pass_: ModulePass, op: Operation) -> None:
        self._counting.close()

    def report(self, pipeline: PassNest, display: str = "pipeline") -> str:
        """The numbers in the order of the "pipeline", or as a "list" by the name of the pass."""
        lines = [_RULE, "... Pass statistics report ...".center(79).rstrip(), _RULE]
        lines += self._nest(pipeline, "") if display == "pipeline" else self._list(pipeline)
        return "\n".join(lines) + "\n"

    def _nest(self, nest: PassNest, indent: str) -> Iterator[str]:
        for element in nest.elements:
            if isinstance(element, PassNest):
                yield f"{indent}'{element.anchor}' Pipeline"
                yield from self._nest(element, indent + "  ")
            else:
                yield f"{indent}{element.name}"
                yield from _lines(self._numbers.get(id(element), {}), indent + "  ")

    def _list(self, pipeline: PassNest) -> Iterator[str]:
        sums: dict[str, Statistics] = {}
        for pass_ in _passes(pipeline):
            total = sums.setdefault(pass_.name, {})
            for name, statistic in self._numbers.get(id(pass_), {}).items():
                entry = total.setdefault(name, Statistic(0, statistic.description))
                entry.value += statistic.value
        for name in sorted(sums):
            yield name
            yield from _lines(sums[name], "  ")


def _passes(nest: PassNest) -> Iterator[ModulePass]:
    for element in nest.elements:
        if isinstance(element, PassNest):
            yield from _passes(element)
        else:
            yield element


def _lines(statistics: Statistics, indent: str) -> Iterator[str]:
    for name, statistic in statistics.items():
        about = f" - {statistic.description}" if statistic.description else ""
        yield f"{indent}(S) {statistic.value} {name}{about}"
