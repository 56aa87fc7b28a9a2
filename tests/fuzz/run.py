"""Fuzz the compiler: python tests/fuzz/run.py [--minutes N] [--graphs N] [--mutants N] [--seed N] [--emit LEVEL]

or one case of it: --case KIND:SEED

Random ONNX graphs go to instructions and are compared with onnxruntime (`graphs.py`); inputs of the tools are damaged
(`mutants.py`). Prints how cases end, and each kind of finding with a case cut down; all of that is in build/fuzz as
well. Ends with status 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fuzz.graphs import GraphCase, random_graph  # noqa: E402
from fuzz.judge import Outcome, is_same, judge_graph  # noqa: E402
from fuzz.mutants import Mutants  # noqa: E402
from fuzz.reduce import printed, reduce_graph  # noqa: E402
from npu_mlir.support.levels import LEVELS  # noqa: E402

OUTPUT = HERE.parent.parent / "build" / "fuzz"


@dataclass
class Findings:
    """How cases ended, and the first case of each kind of finding."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    found: Counter[str] = field(default_factory=Counter[str])

    def add(self, what: str, seed: int, outcome: Outcome, describe: Callable[[], str]) -> None:
        """Count an outcome; print the first finding of its kind."""
        self.outcomes[f"{what} {outcome.kind}"] += 1
        if outcome.kind == "refused":
            self.reasons[outcome.signature] += 1
        if not outcome.is_finding:
            return
        key = f"{outcome.kind}: {outcome.signature}"
        self.found[key] += 1
        if self.found[key] > 1:
            print(f"==== {what}:{seed} {key}, once more: {outcome.text[-200:]}", flush=True)
            return
        text = f"==== {what}:{seed} {key}\n{outcome.text}\n{describe()}\n"
        print(text, flush=True)
        OUTPUT.mkdir(parents=True, exist_ok=True)
        with (OUTPUT / "findings.txt").open("a") as file:
            file.write(text + "\n")

    def print_summary(self, reasons: int = 40) -> None:
        """Print all counts."""
        for name, count in sorted(self.outcomes.items()):
            print(f"{count:7} {name}")
        print("\nrefused because:")
        for name, count in self.reasons.most_common(reasons):
            print(f"{count:7} {name}")
        print(f"\n{len(self.found)} kinds of findings")
        for name, count in self.found.most_common():
            print(f"{count:7} {name}")


def run_graph(seed: int, findings: Findings, emit: str) -> None:
    """Judge the graph of a seed."""
    case = random_graph(seed)
    if case is None:
        findings.outcomes["graphs none"] += 1
        return
    outcome = judge_graph(case, emit)
    what = "graph" if emit == "isa" else f"graph-at-{emit}"
    findings.add(what, seed, outcome, lambda: _reduced(case, outcome, emit))


def _reduced(case: GraphCase, outcome: Outcome, emit: str) -> str:
    def fails(smaller: GraphCase) -> bool:
        other = judge_graph(smaller, emit)
        return is_same(other, outcome)

    return printed(case if outcome.kind == "hang" else reduce_graph(case, fails))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit status."""
    options = _parser().parse_args(arguments)
    os.nice(max(0, 10 - os.nice(0)))
    findings = Findings()
    print(f"seed {options.seed}")
    # Whoever ends it gets to know what it did.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        mutants = Mutants(Path(folder))
        for kind, seed in _cases(options):
            if kind == "graph":
                run_graph(seed, findings, options.emit)
            else:
                outcome = mutants.judge(seed)
                findings.add("mutant", seed, outcome, partial(mutants.reduced, outcome))
    findings.print_summary()
    return 1 if findings.found else 0


def _cases(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Kinds of cases with their seeds, until there are enough or the time is over."""
    if options.case:
        kind, _, seed = options.case.partition(":")
        yield kind, int(seed)
        return
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    for number in range(max(options.graphs, options.mutants)):
        if time.monotonic() > end:
            return
        if number < options.graphs:
            yield "graph", options.seed + number
        if number < options.mutants:
            yield "mutant", options.seed + number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Fuzz the compiler.")
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--graphs", type=int, default=1 << 40)
    parser.add_argument("--mutants", type=int, default=1 << 40)
    parser.add_argument("--emit", choices=LEVELS, default="isa", help="how far graphs are compiled")
    parser.add_argument("--case", help="graph:SEED or mutant:SEED, to run a single case")
    return parser


if __name__ == "__main__":
    sys.exit(main())
