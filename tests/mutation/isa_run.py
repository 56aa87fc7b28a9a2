"""`make mutants-isa`: change compiled kernels in small ways and see whether the simulator notices.

    make mutants-isa MUTANTS='--case softmax --report FILE.md'

Every kernel of every program of `isa_cases` runs on random inputs with all checks, first as it is, when nothing may be
reported, then with each of its mutants (see `isa_mutants`). A mutant shows if the simulator reports something or a
result has other bytes. One that doesn't is run with other numbers of trips of all loops (see `isa_kernels`). If it
doesn't show then either, it is equivalent, as far as this can tell.

Programs of several kernels are linked, too, and the flags between their sections changed (see `isa_boundaries`).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isa_boundaries import BoundaryMutant, judged_boundaries, linked_cases
from isa_cases import CASES, Case, compiled
from isa_kernels import MOST, TRIPS, Kernel, Verdict, kernels_of
from isa_mutants import KINDS, Mutant

VERDICTS = ("hazard", "values", "trips", "equivalent")
BOUNDARY_KINDS = ("pair", "all", "stored")
TITLES = (
    "Program",
    "Target",
    "Loops",
    "Pairs removed",
    "Addresses shifted",
    "Slots swapped",
    "Redundant pairs",
)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant of a program's kernel."""

    case: Case
    kernel: Kernel
    mutant: Mutant
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.case.name}, {self.kernel.name}: {self.mutant.kind}, {self.mutant.text}"


def judged(case: Case) -> Iterator[Outcome]:
    """Judge all mutants of a program, of which nothing may be reported as it is."""
    for kernel in kernels_of(compiled(case)):
        report = kernel.expected.report
        if report is not None:
            raise AssertionError(f"{case.name}: {kernel.name} is reported without a change: {report.message}")
        for mutant in kernel.mutants:
            yield Outcome(case, kernel, mutant, kernel.judge(mutant))


def is_equivalent(outcome: Outcome) -> bool:
    """Whether a mutant shows in no way."""
    return outcome.verdict.kind == "equivalent"


def page(outcomes: Sequence[Outcome], boundaries: Sequence[BoundaryMutant]) -> str:
    """The page of the documentation."""
    kernels = {id(o.kernel) for o in outcomes}
    names = list(dict.fromkeys(o.case.name for o in outcomes))
    rows = [row([o for o in outcomes if o.case.name == name], name) for name in names]
    trips = ", ".join(map(str, TRIPS[:-1])) + f" and {TRIPS[-1]}"
    return f"""# Mutants of instructions

Written by `make mutants-isa`. It compiles programs and changes their kernels: the sets and waits of a range of event
ids are removed, a single use of an address is shifted by 32 bytes, a single use of a slot takes the other slot. A
mutant shows as a *hazard* that the simulator reports, or by other *values*, or else with other numbers of *trips*:
each loop runs {trips} times, in all combinations of up to {MOST} iterations with which the unchanged kernel is right.
A mutant that shows in no way is *equivalent*; a pair of which that is so is redundant. Of the unchanged programs
nothing is reported.

{len(outcomes)} mutants of {len(kernels)} kernels in {len(names)} programs:

{_table(TITLES, [*rows, row(outcomes, "all")])}

## Shown by other numbers of trips

The loops run too seldom for these pairs to matter: once, or twice over two slots.

{_listed([o for o in outcomes if o.verdict.kind == "trips"])}

## Equivalent

{_listed([o for o in outcomes if is_equivalent(o)])}

## Flags between sections

Kernels linked to one program, in which the flags at the start of a section go: those between two pipes, or all. Or what
the next section begins with is said to be stored an iteration earlier. All of GM counts as one there, whoever stores
and loads what; so other flags often order the same, and the change doesn't show.

{_boundaries(boundaries)}
"""


def _boundaries(mutants: Sequence[BoundaryMutant]) -> str:
    """Of each program and kind of change, how many show, of how many."""
    rows = []
    for name in [*dict.fromkeys(m.case.name for m in mutants), "all"]:
        own = [m for m in mutants if name in ("all", m.case.name)]
        counts = [(sum(m.report is not None for m in own if m.kind == kind), kind) for kind in BOUNDARY_KINDS]
        of = Counter(m.kind for m in own)
        cells = [f"{shown} of {of[kind]}" if of[kind] else "" for shown, kind in counts]
        rows.append([name, own[0].case.target if name != "all" else "", *cells])
    return _table(("Program", "Target", "Two pipes", "All flags of a section", "Stored too early"), rows)


def row(outcomes: Sequence[Outcome], name: str) -> list[str]:
    """Of each kind of mutant, how many there are and how they show."""
    targets = {o.case.target for o in outcomes}
    kernels = {id(o.kernel): o.kernel for o in outcomes}.values()
    one = len({o.case.name for o in outcomes}) == 1
    cells = [name, ", ".join(targets) if one else "", ", ".join(map(_loops, kernels)) if one else ""]
    for kind in KINDS:
        counts = Counter(o.verdict.kind for o in outcomes if o.mutant.kind == kind)
        cells.append(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]))
    return [*cells, str(sum(o.mutant.kind == "pair" and is_equivalent(o) for o in outcomes))]


def _loops(kernel: Kernel) -> str:
    return " x ".join(map(str, kernel.loops)) or "none"


def _listed(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [
            o.case.name,
            o.kernel.name,
            _loops(o.kernel),
            f"{o.mutant.kind}: `{o.mutant.text}`",
            _trips(o.verdict),
        ]
        for o in outcomes
    ]
    return _table(("Program", "Kernel", "Loops", "Mutant", "Shows at"), rows) if rows else "None."


def _trips(verdict: Verdict) -> str:
    return " x ".join(map(str, verdict.trips)) or "no number"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(args: Sequence[str]) -> int:
    """Run, and fail if a mutant shows in no way."""
    parser = argparse.ArgumentParser(description="Mutation testing of the simulator's checks.")
    parser.add_argument("--case", default="", help="only programs with this in their names")
    parser.add_argument("--report", type=Path, help="write a page in Markdown")
    options = parser.parse_args(args)
    outcomes: list[Outcome] = []
    for case in CASES:
        if options.case in case.name:
            own = list(judged(case))
            outcomes += own
            print("; ".join(row(own, case.name)), flush=True)
    boundaries: list[BoundaryMutant] = []
    for case, module in linked_cases(options.case):
        boundaries += judged_boundaries(case, module)
    if options.report:
        options.report.write_text(page(outcomes, boundaries))
    equivalent = [o for o in outcomes if is_equivalent(o)]
    print(f"{len(outcomes)} mutants, {len(equivalent)} show in no way")
    for outcome in equivalent:
        print(outcome)
    return 1 if equivalent else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
