"""Run the conformance suite of ONNX: python tests/conformance/run.py [-k PATTERN] [--jobs N] [--list CLASS] [--update]

Prints how many cases are in each class (`verdicts.py` says which there are), why cases are refused, and what is wrong.
Ends with status 1 if a case is in a worse class than in `results.txt`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "examples")]

from conformance import operators, results  # noqa: E402
from conformance.suite import Case, case_named, dense_cases, matching  # noqa: E402
from conformance.verdicts import CLASSES, Verdict, judge  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit status."""
    options = _parser().parse_args(arguments)
    cases = matching(dense_cases(), options.k)
    known = results.read(options.results)
    verdicts: dict[str, Verdict] = {}
    for name, verdict in _verdicts(cases, options.jobs):
        verdicts[name] = verdict
        if options.verbose:
            print(f"{name} {verdict.kind} {verdict.reason}", flush=True)
        if options.fail_fast and results.worse({name: verdict}, known):
            break
    if options.list:
        _print_class(options.list, verdicts)
    else:
        print(results.summary(verdicts))
    return _conclude(verdicts, known, options)


def _conclude(verdicts: dict[str, Verdict], known: dict[str, Verdict], options: argparse.Namespace) -> int:
    worse, changed = results.worse(verdicts, known), results.changed(verdicts, known)
    if options.update and not worse:
        # Cases that were not run stay as they are; those that the suite no longer has go.
        kept = known if options.k else {}
        results.write({**kept, **verdicts}, options.results)
        if options.results == results.FILE:
            operators.write()
        print(f"\n{options.results.name}: {len(changed)} cases have changed")
    elif changed and not worse and not options.list:
        print(
            f"\n{len(changed)} cases are in another class than in {options.results.name}; --update writes them:"
        )
        print("\n".join(changed[:20]))
    if worse:
        print("\nworse than before:", *worse, sep="\n", file=sys.stderr)
    return 1 if worse else 0


def _print_class(kind: str, verdicts: dict[str, Verdict]) -> None:
    for name, verdict in sorted(verdicts.items()):
        if verdict.kind == kind:
            print(f"{name} {verdict.reason}".rstrip())


def _verdicts(cases: Sequence[Case], jobs: int) -> Iterator[tuple[str, Verdict]]:
    """The verdicts as they come, in so many processes; the largest models first."""
    if jobs == 1:
        yield from ((case.name, judge(case)) for case in cases)
        return
    order = sorted(cases, key=lambda case: case.kind != "real")
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        futures = [pool.submit(_judge_named, case.name) for case in order]
        yield from (future.result() for future in as_completed(futures))


def _judge_named(name: str) -> tuple[str, Verdict]:
    case = case_named(name)
    assert case is not None
    return name, judge(case)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Run the conformance suite of ONNX to instructions.")
    parser.add_argument(
        "-k", metavar="PATTERN", default="", help="cases whose names contain it; a|b for several"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="in N processes")
    parser.add_argument(
        "--fail-fast", action="store_true", help="stop at the first case that is worse than before"
    )
    parser.add_argument(
        "--list", choices=CLASSES, metavar="CLASS", help="print the cases of a class, with reasons"
    )
    parser.add_argument(
        "--results", type=Path, default=results.FILE, metavar="FILE", help="the verdicts to compare with"
    )
    parser.add_argument("--update", action="store_true", help="write results.txt, unless a case got worse")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each case as it ends")
    return parser


if __name__ == "__main__":
    sys.exit(main())
