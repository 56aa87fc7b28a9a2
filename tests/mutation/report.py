"""The report of a run: docs/mutation.md."""

from __future__ import annotations

import textwrap
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from checks import ROOT
from mutants import Mutant


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: the check that caught it, None for a survivor, and those that ran."""

    mutant: Mutant
    caught_by: str | None
    checks: Sequence[str]


@dataclass
class Run:
    """A run over a sample of all `total` mutants, with `checks` tests to choose from."""

    total: int
    seed: int
    jobs: int
    module: str
    quick: bool
    checks: int
    budget: float
    start: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    late: int = 0
    """How many of the mutants were caught in the second round."""
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    @property
    def caught(self) -> int:
        """How many mutants were caught."""
        return sum(outcome.caught_by is not None for outcome in self.outcomes)


def load_reasons() -> dict[str, str]:
    """Why survivors are no fault, by their keys or by the start of a key (a module or function)."""
    with (ROOT / "tests/mutation" / "reasons.toml").open("rb") as stream:
        return tomllib.load(stream)["reasons"]


def reason_for(mutant: Mutant, reasons: dict[str, str]) -> str | None:
    """The reason with the longest key that the mutant's key begins with."""
    matching = [key for key in reasons if mutant.key.startswith(key)]
    return reasons[max(matching, key=len)] if matching else None


def report(run: Run) -> str:
    """The contents of docs/mutation.md."""
    return "\n".join([*_summary(run), "", *_by_module(run), "", *_by_check(run), "", *_survivors(run)]) + "\n"


def _summary(run: Run) -> list[str]:
    count = len(run.outcomes)
    share = 100 * run.caught / max(1, count)
    of = f" of modules with '{run.module}' in their names" if run.module else ""
    drawn = (
        f"All {run.total} mutants{of} ran"
        if count == run.total
        else (f"{count} of {run.total} mutants{of} were drawn at random (seed {run.seed})")
    )
    tests = (
        "lit tests of passes and snapshots of decisions (`--quick`: other tests would catch more)"
        if run.quick
        else "single tests of `tests/unit` and `tests/planted`, and lit tests of passes and timelines"
    )
    paragraphs = [
        "`make mutants` changes tiling, bufferization, memory planning and synchronisation in small ways (see "
        "`tests/mutation/mutants.py`), one at a time, and runs the tests on each. This page is what it wrote last.",
        f"{drawn}; **{run.caught} were caught, {share:.1f} %**.",
        f"The checks are {run.checks} {tests}. Those that reach the changed statement ran, the most promising first, "
        f"until one failed or {run.budget:.0f} s of processor time were used up; survivors without a known reason then "
        f"met tests that had not run, which caught {run.late} of them. The tests that take longest (random "
        f"programs through the whole pipeline) are not among them. It took {run.seconds / 60:.0f} minutes with "
        f"{run.jobs} jobs on a shared machine, {run.seconds * run.jobs / max(1, count):.1f} s per mutant and job.",
    ]
    lines = ["# Mutation testing"]
    for paragraph in paragraphs:
        lines += ["", *textwrap.wrap(paragraph, 118, break_long_words=False, break_on_hyphens=False)]
    return lines


def _by_module(run: Run) -> list[str]:
    lines = ["## Modules", "", "| module | mutants | caught |", "|---|---|---|"]
    drawn = Counter(outcome.mutant.module for outcome in run.outcomes)
    caught = Counter(o.mutant.module for o in run.outcomes if o.caught_by is not None)
    return lines + [
        f"| {_short(module)} | {count} | {100 * caught[module] / count:.0f} % |"
        for module, count in sorted(drawn.items())
    ]


def _by_check(run: Run) -> list[str]:
    """What caught mutants, by file."""
    counts = Counter(o.caught_by.split("::")[0] for o in run.outcomes if o.caught_by is not None)
    return [
        "## What caught them",
        "",
        "| tests | mutants |",
        "|---|---|",
        *(
            f"| {name} | {count} |"
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ),
    ]


def _survivors(run: Run) -> list[str]:
    reasons = load_reasons()
    lines = [
        "## Survivors",
        "",
        "| where | the line | what was changed | checks | why no test minds |",
        "|---|---|---|---|---|",
    ]
    survivors = [outcome for outcome in run.outcomes if outcome.caught_by is None]
    for outcome in sorted(survivors, key=lambda o: (o.mutant.module, o.mutant.line, o.mutant.number)):
        mutant = outcome.mutant
        where = f"{_short(mutant.module)}:{mutant.line} `{mutant.function}`"
        text, change = (part.replace("|", "\\|") for part in (mutant.text, mutant.change))
        checks = len(outcome.checks) or "none reaches it"
        reason = reason_for(mutant, reasons) or "not looked at yet"
        lines.append(f"| {where} | `{text}` | {change} | {checks} | {reason} |")
    return lines


def _short(module: str) -> str:
    return module.removeprefix("npu_mlir.")
