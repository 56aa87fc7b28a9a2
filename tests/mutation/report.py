"""The report of a run: docs/mutation.md."""

from __future__ import annotations

import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field

from checks import ROOT
from mutants import Mutant


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: the check that caught it, None for a survivor, and how many ran."""

    mutant: Mutant
    caught_by: str | None
    checks: int


@dataclass
class Run:
    """A run over a sample of all `total` mutants, with `checks` tests to choose from."""

    total: int
    seed: int
    jobs: int
    module: str
    quick: bool
    checks: int
    start: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    @property
    def caught(self) -> int:
        """How many mutants were caught."""
        return sum(outcome.caught_by is not None for outcome in self.outcomes)


def load_reasons() -> dict[str, str]:
    """Why survivors are no fault, by their keys or by the start of a key (a module or function)."""
    with (ROOT / "tests/mutation" / "reasons.toml").open("rb") as stream:
        return tomllib.load(stream)["reasons"]


def reason_for(mutant: Mutant, reasons: dict[str, str]) -> str:
    """The reason with the longest key that the mutant's key begins with."""
    matching = [key for key in reasons if mutant.key.startswith(key)]
    return reasons[max(matching, key=len)] if matching else "not looked at yet"


def report(run: Run) -> str:
    """The contents of docs/mutation.md."""
    return "\n".join([*_summary(run), "", *_by_module(run), "", *_by_check(run), "", *_survivors(run)]) + "\n"


def _summary(run: Run) -> list[str]:
    count = len(run.outcomes)
    share = 100 * run.caught / max(1, count)
    return [
        "# Mutation testing",
        "",
        "`make mutants` changes tiling, bufferization, memory planning and synchronisation in small ways (see",
        "`tests/mutation/mutants.py`) and runs the tests on each change. This file is what it wrote last.",
        "",
        f"{'All' if count == run.total else f'{count} of'} {run.total} mutants"
        + (f" of modules with '{run.module}' in their names" if run.module else "")
        + (" ran" if count == run.total else f" were drawn (seed {run.seed})")
        + f"; **{run.caught} were caught, {share:.1f} %**.",
        "",
        f"There are {run.checks} checks: "
        + (
            "the lit tests of passes and the snapshots of decisions."
            if run.quick
            else "single tests of `tests/unit` and `tests/planted`, and the lit tests of passes and runs."
        )
        + " Those that reach the changed",
        "statement ran until one failed. It took "
        f"{run.seconds / 60:.0f} minutes, {run.seconds * run.jobs / max(1, count):.1f} seconds per mutant and job.",
        *(
            ["", "Only the quick checks ran: the others would catch some of the survivors, too."]
            if run.quick
            else []
        ),
    ]


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
        lines.append(
            f"| {where} | `{text}` | {change} | {outcome.checks or 'none reaches it'} | {reason_for(mutant, reasons)} |"
        )
    return lines


def _short(module: str) -> str:
    return module.removeprefix("npu_mlir.")
