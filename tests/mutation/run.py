"""`make mutants`: change the compiler in small ways and see whether the tests notice.

    make mutants MUTANTS='--count N --seed S --module PART --jobs J --report FILE.md --quick'

A sample of the mutants of tiling, bufferization, planning and synchronisation is drawn. Each runs in a process of its
own, forked from one that has everything loaded, with the function around the change compiled anew. The fast checks come
first; a mutant that passes them all has to pass the slow ones too, to survive. Running out of time counts as caught.

Survivors are listed in the report with the reason that `reasons.toml` gives for them.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from checks import ROOT, Check, fast_checks, quick_checks, slow_checks
from mutants import Mutant, mutants_of

from planting import changed

MODULES = [
    "npu_mlir/analysis/dims.py",
    "npu_mlir/analysis/grouping.py",
    "npu_mlir/analysis/memory.py",
    "npu_mlir/analysis/strides.py",
    "npu_mlir/analysis/sync.py",
    "npu_mlir/analysis/sync_edges.py",
    "npu_mlir/analysis/tiling.py",
    "npu_mlir/analysis/vector_tiling.py",
    "npu_mlir/passes/tile/*.py",
    "npu_mlir/passes/tile/tiler/*.py",
    "npu_mlir/passes/npu_isa/insert_sync.py",
]

MEMORY = 6 << 30
"""Bytes that a mutant may take: endless lists are a way to be wrong, too."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: the check that caught it, None for a survivor."""

    mutant: Mutant
    caught_by: str | None
    seconds: float


def module_names(part: str = "") -> list[str]:
    """The modules to be mutated, by their names."""
    paths = [path for pattern in MODULES for path in sorted(ROOT.glob(pattern)) if path.name != "__init__.py"]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name for name in names if part in name]


def draw(part: str, count: int, seed: int) -> tuple[list[Mutant], int]:
    """A sample of the mutants, and how many there are in all."""
    mutants: list[Mutant] = []
    for name in module_names(part):
        source = inspect.getsource(importlib.import_module(name))
        mutants += mutants_of(name, source)
    chosen = mutants if not count else random.Random(seed).sample(mutants, min(count, len(mutants)))
    return chosen, len(mutants)


STAGES = {"quick": quick_checks, "fast": fast_checks, "slow": slow_checks}


def find_problem(mutant: Mutant | None, stage: str, limits: dict[str, float]) -> str | None:
    """The first check of a stage that fails; with a mutant, one after it has been planted."""
    checks = STAGES[stage]()
    if mutant is None:
        return _first_failure(checks, limits)
    module = importlib.import_module(mutant.module)
    with changed(module, mutant.tree(), mutant.line):
        return _first_failure(checks, limits)


def _first_failure(checks: Iterable[Check], limits: dict[str, float]) -> str | None:
    def stop(signum: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    for name, check in checks:
        if limits and name not in limits:
            continue
        start = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, limits.get(name, 3600))
        try:
            check()
        except BaseException:
            if limits:
                return name
            print(f"{name}\tfails", file=sys.stderr, flush=True)
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if not limits:
            print(f"{name}\t{time.monotonic() - start}", file=sys.stderr, flush=True)
    return None


def run_forked(mutant: Mutant | None, stage: str, limits: dict[str, float]) -> tuple[str | None, str]:
    """Find the problem in a process of its own; what it wrote to standard error comes with it.

    The limits stop Python code; what hangs elsewhere is killed.
    """
    with tempfile.TemporaryFile() as problem, tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            _be_the_child(mutant, stage, limits, problem.fileno(), log.fileno())
        deadline = time.monotonic() + (sum(limits.values()) or 3600)
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "a time limit", ""
            time.sleep(0.05)
        texts: list[str] = []
        for stream in (problem, log):
            stream.seek(0)
            texts.append(stream.read().decode())
    return (None if texts[0] == "fine" else texts[0] or "a crash"), texts[1]


def _be_the_child(
    mutant: Mutant | None, stage: str, limits: dict[str, float], result: int, log: int
) -> NoReturn:
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        problem = find_problem(mutant, stage, limits)
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}"
    os.write(result, (problem or "fine").encode())
    os._exit(0)


def judge(mutant: Mutant, stages: Sequence[str], limits: dict[str, float]) -> Outcome:
    """Run the checks on a mutant, stage after stage until one catches it."""
    start = time.monotonic()
    found = (run_forked(mutant, stage, limits)[0] for stage in stages)
    return Outcome(mutant, next((problem for problem in found if problem), None), time.monotonic() - start)


def baseline(stages: Sequence[str]) -> dict[str, float]:
    """A time limit for each check, from how long it takes on what is not changed.

    Checks that fail there say nothing about mutants and are left out.
    """
    limits: dict[str, float] = {}
    for stage in stages:
        for line in run_forked(None, stage, {})[1].splitlines():
            name, tab, seconds = line.partition("\t")
            if seconds == "fails":
                print(f"left out, as it fails without any mutant: {name}")
            elif tab:
                limits[name] = 10 + 4 * float(seconds)
    return limits


def load_reasons() -> dict[str, str]:
    """Why survivors are no fault, by their keys or by the start of a key (a module or function)."""
    with (ROOT / "tests/mutation" / "reasons.toml").open("rb") as stream:
        return tomllib.load(stream)["reasons"]


def reason_for(mutant: Mutant, reasons: dict[str, str]) -> str:
    """The reason with the longest key that the mutant's key begins with."""
    matching = [key for key in reasons if mutant.key.startswith(key)]
    return reasons[max(matching, key=len)] if matching else "not looked at yet"


def report(outcomes: list[Outcome], total: int, seed: int, quick: bool) -> str:
    """The contents of docs/mutation.md."""
    survivors = [outcome.mutant for outcome in outcomes if outcome.caught_by is None]
    caught = len(outcomes) - len(survivors)
    reasons = load_reasons()
    by_check: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.caught_by is not None:
            by_check[outcome.caught_by] = by_check.get(outcome.caught_by, 0) + 1
    lines = [
        "# Mutation testing",
        "",
        "`make mutants` changes tiling, bufferization, memory planning and synchronisation in small ways (see",
        "`tests/mutation/mutants.py`) and runs the tests on each change. This file is what it wrote last.",
        "",
        f"{len(outcomes)} of {total} mutants were drawn (seed {seed}); **{caught} were caught, "
        f"{100 * caught / max(1, len(outcomes)):.1f} %**.",
        *(["Only the quick checks ran: the others would catch some of the survivors, too."] if quick else []),
        "",
        "## What caught them",
        "",
        "| check | mutants |",
        "|---|---|",
        *(f"| {name} | {count} |" for name, count in sorted(by_check.items(), key=lambda item: -item[1])),
        "",
        "## Survivors",
        "",
        "| where | the line | what was changed | why no test minds |",
        "|---|---|---|---|",
    ]
    for mutant in sorted(survivors, key=lambda mutant: (mutant.module, mutant.line)):
        where = f"{mutant.module.removeprefix('npu_mlir.')}:{mutant.line} `{mutant.function}`"
        text = mutant.text.replace("|", "\\|")
        change = mutant.change.replace("|", "\\|")
        lines.append(f"| {where} | `{text}` | {change} | {reason_for(mutant, reasons)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Draw mutants, judge them, write the report."""
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
    parser.add_argument("--quick", action="store_true", help="lit tests and decisions only: seconds each")
    args = parser.parse_args()
    _load()
    mutants, total = draw(args.module, args.count, args.seed)
    stages = ["quick"] if args.quick else ["fast", "slow"]
    limits = baseline(stages)
    print(f"{len(mutants)} of {total} mutants", flush=True)
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(lambda mutant: judge(mutant, stages, limits), mutants):
            outcomes.append(outcome)
            if outcome.caught_by is None:
                print(f"survived: {outcome.mutant.key}", flush=True)
            if len(outcomes) % 20 == 0:
                caught = sum(o.caught_by is not None for o in outcomes)
                print(f"{caught} of {len(outcomes)} caught", flush=True)
                args.report.write_text(report(outcomes, total, args.seed, args.quick))
    args.report.write_text(report(outcomes, total, args.seed, args.quick))
    caught = sum(outcome.caught_by is not None for outcome in outcomes)
    print(f"{caught} of {len(outcomes)} mutants caught, see {args.report}")
    return 0 if caught >= 0.95 * len(outcomes) else 1


def _load() -> None:
    """Import what the checks need before the forks, so that they share it."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import hypothesis
    import numpy
    import pytest

    from npu_mlir import equivalence, pipeline
    from npu_mlir.passes import PASSES, load_pass

    assert hypothesis and numpy and pytest and equivalence and pipeline
    for name in PASSES:
        load_pass(name)
    for name in module_names():
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
