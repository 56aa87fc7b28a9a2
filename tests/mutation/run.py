"""`make mutants`: change the compiler in small ways and see whether the tests notice.

    make mutants MUTANTS='--count N --seed S --module PART --jobs J --report FILE.md --quick'

A sample of the mutants of tiling, bufferization, planning and synchronisation is drawn. Each runs in a process of its
own, forked from one that has everything loaded, with the function around the change compiled anew. On it run the checks
that reach the changed statement, until one fails: first those that cost least for what they have caught so far. A
mutant survives if none fails within `BUDGET`; survivors without a known reason get that time twice. Taking several
times the time that a check needs counts as caught.

Survivors are listed in the report with the reason that `reasons.toml` gives for them.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import inspect
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from checks import ROOT, Check, with_checks
from forks import Pool
from mutants import Mutant, mutants_of
from reach import Reach, measure
from report import Outcome, Run, load_reasons, reason_for, report

from planting import changed

MODULES = [
    "npu_mlir/analysis/dims.py",
    "npu_mlir/analysis/grouping.py",
    "npu_mlir/analysis/memory.py",
    "npu_mlir/analysis/strides.py",
    "npu_mlir/analysis/structured/*.py",
    "npu_mlir/analysis/sync*.py",
    "npu_mlir/analysis/tiling.py",
    "npu_mlir/analysis/vector_tiling.py",
    "npu_mlir/passes/tile/*.py",
    "npu_mlir/passes/tile/candidates/*.py",
    "npu_mlir/passes/tile/tiler/*.py",
    "npu_mlir/passes/npu_isa/insert_sync.py",
]

BUDGET = 30.0
"""Seconds of processor time of the checks that run on a mutant: what survives them, others seldom catch."""


def module_names(part: str = "") -> list[str]:
    """The modules to be mutated, by their names."""
    paths = [path for pattern in MODULES for path in sorted(ROOT.glob(pattern)) if path.name != "__init__.py"]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name for name in names if part in name]


def draw(part: str, count: int, seed: int) -> tuple[list[Mutant], int]:
    """A sample of the mutants, and how many there are in all."""
    mutants: list[Mutant] = []
    for name in module_names(part):
        mutants += mutants_of(name, inspect.getsource(importlib.import_module(name)))
    chosen = mutants if not count else random.Random(seed).sample(mutants, min(count, len(mutants)))
    return chosen, len(mutants)


_NONE = frozenset[int]()


class Judge:
    """Decides which checks run on a mutant, in which order, and learns from what they catch."""

    def __init__(self, checks: Sequence[Check], reach: dict[str, Reach]):
        self.checks = {c.name: c for c in checks}
        self.reach = reach
        self.runs: Counter[str] = Counter()
        self.catches: Counter[str] = Counter()

    def checks_for(self, mutant: Mutant, without: Collection[str] = ()) -> list[str]:
        """The checks that reach a mutant, the most promising first, as many as there is time for.

        A check that reaches little beside the mutant's module is about that. Those of one file are much alike: each
        that comes makes the others of its file less promising.
        """
        lines = set(mutant.lines)
        prices: dict[str, float] = {}
        for name, reach in self.reach.items():
            if name in without:
                continue
            here = reach.lines.get(mutant.module, _NONE)
            if lines & here:
                prices[name] = self._price(name) * sqrt(sum(map(len, reach.lines.values())) / len(here))
        chosen: list[str] = []
        before, left = Counter[Path](), BUDGET
        while prices:
            name = min(prices, key=lambda n: prices[n] * (1 + before[self.checks[n].path]))
            del prices[name]
            if self.reach[name].seconds <= left:
                left -= self.reach[name].seconds
                before[self.checks[name].path] += 1
                chosen.append(name)
        return chosen

    def _price(self, name: str) -> float:
        return self.reach[name].seconds * (self.runs[name] + 2) / (self.catches[name] + 1)

    def limit(self, name: str) -> float:
        """Seconds of processor time that a check may take."""
        return 2 + 3 * self.reach[name].seconds

    def run(self, mutant: Mutant, without: Collection[str] = ()) -> dict[str, Any]:
        """Run checks on a mutant: which ones ran, and whether the last of them failed."""
        ran: list[str] = []
        module = importlib.import_module(mutant.module)
        with changed(module, mutant.tree(), mutant.line):
            for name in self.checks_for(mutant, without):
                ran.append(name)
                problem = self._problem(name)
                if problem is not None:
                    return {"ran": ran, "caught": name, "how": problem}
        return {"ran": ran, "caught": None}

    def _problem(self, name: str) -> str | None:
        late = False

        def stop(signum: int, frame: object) -> None:
            nonlocal late
            late = True
            raise TimeoutError

        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, self.limit(name))
        try:
            self.checks[name].run()
        except BaseException as error:
            return f"{type(error).__name__}: {error}"[-2000:]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return "too late" if late else None

    def learn(self, answer: dict[str, Any]) -> None:
        """Count what ran and what it caught."""
        self.runs.update(answer["ran"])
        if answer["caught"]:
            self.catches[answer["caught"]] += 1


def judge_all(judge: Judge, mutants: Sequence[Mutant], run: Run, path: Path, verbose: bool) -> None:
    """Judge the mutants one after the other; what is known goes into the report every now and then."""

    def deadline(mutant: Mutant) -> float:
        return 60 + 10 * sum(judge.limit(name) for name in judge.checks_for(mutant))

    for mutant, answer in Pool(run.jobs).map(judge.run, mutants, deadline):
        answer = answer or {"ran": [], "caught": "a crash or no end", "how": ""}
        judge.learn(answer)
        run.outcomes.append(Outcome(mutant, answer["caught"], answer["ran"]))
        if answer["caught"] is None:
            print(f"survived {len(answer['ran'])} checks: {mutant.line} {mutant.key}", flush=True)
        elif verbose:
            print(f"{answer['caught']}: {mutant.line} {mutant.key}\n    {answer['how']}", flush=True)
        if len(run.outcomes) % 20 == 0:
            run.seconds = time.monotonic() - run.start
            print(f"{run.caught} of {len(run.outcomes)} caught, {run.seconds:.0f} s", flush=True)
            path.write_text(report(run))
    judge_again(judge, run)
    run.seconds = time.monotonic() - run.start
    path.write_text(report(run))


def judge_again(judge: Judge, run: Run) -> None:
    """Run on survivors without a reason the tests for which there was no time."""
    reasons = load_reasons()
    left = [o for o in run.outcomes if o.caught_by is None and reason_for(o.mutant, reasons) is None]
    pool = Pool(run.jobs)
    for outcome, answer in pool.map(
        lambda o: judge.run(o.mutant, o.checks), left, lambda o: 60 + 10 * BUDGET
    ):
        if answer is not None:
            run.outcomes.remove(outcome)
            checks = [*outcome.checks, *answer["ran"]]
            run.outcomes.append(Outcome(outcome.mutant, answer["caught"], checks))
            run.late += answer["caught"] is not None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Mutation testing of tiling, bufferization, planning and sync."
    )
    parser.add_argument("--count", type=int, default=300, help="how many mutants to draw; 0: all of them")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--module", default="", help="only modules with this in their names")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at a time")
    parser.add_argument(
        "--report", type=Path, default=ROOT / "docs" / "mutation.md", help="where the report goes"
    )
    parser.add_argument("--quick", action="store_true", help="lit tests and decisions only")
    parser.add_argument("--verbose", action="store_true", help="say of each mutant what caught it, and how")
    return parser.parse_args()


def main() -> int:
    """Draw mutants, judge them, write the report."""
    args = _arguments()
    _load()

    def action(checks: list[Check]) -> int:
        checks = [check for check in checks if check.quick or not args.quick]
        mutants, total = draw(args.module, args.count, args.seed)
        modules = [importlib.import_module(name) for name in module_names()]
        judge = Judge(checks, measure(checks, modules, args.jobs))
        gc.collect()
        gc.freeze()
        print(f"{len(mutants)} of {total} mutants", flush=True)
        run = Run(total, args.seed, args.jobs, args.module, args.quick, len(judge.reach), BUDGET)
        judge_all(judge, mutants, run, args.report, args.verbose)
        print(f"{run.caught} of {len(run.outcomes)} mutants caught in {run.seconds:.0f} s, see {args.report}")
        return 0 if run.caught >= 0.95 * len(run.outcomes) else 1

    return with_checks(action)


def _load() -> None:
    """Import what the checks need before the forks, so that they share it."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from npu_mlir import pipeline
    from npu_mlir.passes import PASSES, load_pass
    from npu_mlir.tools import npu_opt, npu_run
    from npu_mlir.validation import equivalence

    assert equivalence and pipeline and npu_opt and npu_run
    for name in PASSES:
        load_pass(name)
    for name in module_names():
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
