"""The committed verdicts, one case a line: name, class, reason. A case may get better, never worse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import onnx

from conformance.verdicts import CLASSES, EXACTLY, GOOD, Verdict

FILE = Path(__file__).parent / "results.txt"

Verdicts = Mapping[str, Verdict]


def read(path: Path = FILE) -> dict[str, Verdict]:
    """The verdicts in a file, by case.

    Git merges two versions of the file by keeping the lines of both (.gitattributes): the better one of two counts.
    """
    verdicts: dict[str, Verdict] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.startswith("#"):
            name, kind, *reason = line.split(" ", 2)
            verdict = Verdict(kind, *reason)
            verdicts[name] = min(verdict, verdicts.get(name, verdict), key=lambda verdict: verdict.rank)
    return verdicts


def write(verdicts: Verdicts, path: Path = FILE) -> None:
    """Write the verdicts, sorted by case."""
    lines = [f"# make conformance, of the suite in onnx {onnx.__version__}: case, class, reason"]
    for name, verdict in sorted(verdicts.items()):
        lines.append(f"{name} {verdict.kind} {verdict.reason}".rstrip())
    path.write_text("\n".join(lines) + "\n")


def worse(verdicts: Verdicts, known: Verdicts) -> list[str]:
    """The cases that are in a worse class than they were known to be in; a line about each."""
    return [
        f"{name}: {known[name].kind} has become {verdict.kind} ({verdict.reason})"
        for name, verdict in sorted(verdicts.items())
        if name in known and verdict.rank > known[name].rank
    ]


def changed(verdicts: Verdicts, known: Verdicts) -> list[str]:
    """The cases that are new or in another class; a line about each."""
    return [
        f"{name}: {known[name].kind if name in known else 'new'} -> {verdict.kind}"
        for name, verdict in sorted(verdicts.items())
        if name not in known or verdict.kind != known[name].kind
    ]


def summary(verdicts: Verdicts, reasons: int = 30) -> str:
    """Counts by class, the most frequent reasons of refusals, and what is wrong by name."""
    counts = Counter(verdict.kind for verdict in verdicts.values())
    good = sum(counts[kind] for kind in GOOD)
    lines = [f"{kind:12} {counts[kind]:5}" for kind in CLASSES]
    lines.append(f"{good} of {len(verdicts)} dense cases count: {', '.join(GOOD)}")
    exact = [name for name, verdict in verdicts.items() if verdict.reason.startswith(EXACTLY)]
    if exact:
        lines.append(
            f"{len(exact)} of them against exact values, not the suite's: {', '.join(sorted(exact))}"
        )
    refused = Counter(_general(verdict.reason) for verdict in verdicts.values() if verdict.kind == "refused")
    if refused:
        lines += ["", "refused:"]
        lines += [f"{count:5} {reason}" for reason, count in refused.most_common(reasons)]
        rest = sum(refused.values()) - sum(count for _, count in refused.most_common(reasons))
        lines += [f"{rest:5} for {len(refused) - reasons} other reasons"] if rest else []
    wrong = [
        f"{name}: {verdict.reason}" for name, verdict in sorted(verdicts.items()) if verdict.kind == "wrong"
    ]
    return "\n".join([*lines, *(["", "wrong:", *wrong] if wrong else [])])


def _general(reason: str) -> str:
    """A reason without numbers and names."""
    return re.sub(r"'[^']*'", "'…'", re.sub(r"(?<![A-Za-z_])\d+", "#", reason))
