"""What got faster or slower between two reports, and why: by kernel, and by cause along the critical paths.

Kernels are matched by the graph ops that they compute; what only one of the reports has is new or gone.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from npu_mlir.report.report import SCHEMA
from npu_mlir.report.views.terminal import PlainConsole
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.files import read_text
from npu_mlir.support.node_names import shown


@dataclass(frozen=True)
class Change:
    """The cycles of something before and after; None where it does not exist."""

    name: str
    before: int | None
    after: int | None
    causes: dict[str, int]
    """What its cycles changed by, by cause; empty if one of the reports does not explain its cycles."""

    @property
    def difference(self) -> int:
        """Cycles more than before."""
        return (self.after or 0) - (self.before or 0)


def read_report(path: str) -> dict[str, Any]:
    """A report of `npu-run --report` with cycles; anything else is a `UserError`."""
    text, name = read_text(path)
    try:
        report = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"'{name}' is not JSON: line {error.lineno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:
        raise UserError(f"'{name}' is not JSON that can be read: {error}") from error
    schema = report.get("schema") if isinstance(report, dict) else None
    if schema != SCHEMA:
        found = f"its schema is '{schema}'" if schema else "it names no schema"
        raise UserError(f"'{name}' is not a report that can be compared: {found}, expected '{SCHEMA}'")
    if report.get("cycles", 0) is None:
        raise UserError(f"'{name}' has no cycles: the module was not at the level isa")
    _check(report, _REPORT, name, "")
    kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
    for i, launch in enumerate(report["launches"]):
        if launch["kernel"] not in kernels:
            raise _damaged(name, f"launches[{i}].kernel", f"'{launch['kernel']}' is not among the kernels")
    return report


_REPORT: dict[str, Any] = {
    "cycles": int,
    "target": str,
    "precision": str,
    "kernels": [{"name": str, "attribution": (None, {"critical": {str: int}})}],
    "launches": [{"kernel": str, "graph_ops": str, "cycles": int}],
}
"""What of a report is compared: the type of each entry; `[x]` is a list of x, `(None, x)` is x or nothing."""


def _check(value: Any, expected: Any, name: str, where: str) -> None:
    """A `UserError` that says where, unless a value is as expected."""
    if isinstance(expected, tuple):
        if value is not None:
            _check(value, expected[1], name, where)
    elif isinstance(expected, type):
        if not isinstance(value, expected) or isinstance(value, bool):
            raise _damaged(name, where, f"expected {_KINDS[expected]}, got {json.dumps(value)[:40]}")
    elif not isinstance(value, type(expected)):
        raise _damaged(name, where, f"expected {_KINDS[type(expected)]}, got {json.dumps(value)[:40]}")
    elif isinstance(expected, list):
        for i, entry in enumerate(value):
            _check(entry, expected[0], name, f"{where}[{i}]")
    elif str in expected:
        for key, entry in value.items():
            _check(entry, expected[str], name, f"{where}.{key}")
    else:
        for key, inner in expected.items():
            if key not in value:
                raise _damaged(name, f"{where}.{key}".lstrip("."), "it is missing")
            _check(value[key], inner, name, f"{where}.{key}".lstrip("."))


_KINDS: dict[type, str] = {int: "an integer", str: "a string", list: "a list", dict: "an object"}


def _damaged(name: str, where: str, what: str) -> UserError:
    return UserError(f"'{name}' is a damaged report: {where}: {what}")


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """All kernels, those that changed most first."""
    old, new = _by_graph_ops(before), _by_graph_ops(after)
    result: list[Change] = []
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name), new.get(name)
        causes: dict[str, int] = {}
        if a is not None and b is not None and a[1] and b[1]:
            causes = {c: b[1][c] - a[1][c] for c in dict.fromkeys([*a[1], *b[1]]) if a[1][c] != b[1][c]}
        result.append(Change(name, a[0] if a else None, b[0] if b else None, causes))
    return sorted(result, key=lambda change: -abs(change.difference))


def _by_graph_ops(report: dict[str, Any]) -> dict[str, tuple[int, Counter[str]]]:
    """Cycles and causes of all launches that compute the same graph ops."""
    kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
    result: dict[str, tuple[int, Counter[str]]] = {}
    for launch in report["launches"]:
        name = launch["graph_ops"] or launch["kernel"]
        cycles, causes = result.get(name, (0, Counter[str]()))
        explained = _explained(kernels[launch["kernel"]], launch.get("variant", 0))
        if explained is not None:
            causes.update(explained["critical"])
        result[name] = (cycles + launch["cycles"], causes)
    return result


def _explained(kernel: dict[str, Any], variant: int) -> dict[str, Any] | None:
    """One launch of a kernel like this one, explained."""
    variants = kernel.get("variants", [])
    if not variant:
        return kernel["attribution"]
    return variants[variant - 1].get("attribution") if variant <= len(variants) else None


def _traffic(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What of L2 and HBM is otherwise."""
    a, b = before.get("memory"), after.get("memory")
    if not a and not b:
        return []
    lines = [f"L2: {a['l2'] if a else 'none'} -> {b['l2'] if b else 'none'}"]
    lines = lines if lines[0] != f"L2: {b['l2'] if b else 'none'} -> {a['l2'] if a else 'none'}" else []
    if a and b:
        for name, words in (("hits", "from L2"), ("misses", "from HBM"), ("prefetched", "prefetched")):
            if a[name] != b[name]:
                lines.append(f"bytes {words}: {a[name]:,} -> {b[name]:,}")
    return lines


def print_diff(before_path: str, after_path: str) -> None:
    """Print what changed between two reports."""
    before, after = read_report(before_path), read_report(after_path)
    console = PlainConsole()
    for what in ("target", "precision"):
        if before[what] != after[what]:
            console.print(f"{what}: {before[what]} -> {after[what]}")
    for line in _traffic(before, after):
        console.print(line)
    console.print(_total(before, after))
    changed = [change for change in changes(before, after) if change.difference]
    if not changed:
        console.print("No kernel takes more or fewer cycles.")
        return
    table = Table("graph ops", title="What changed, in cycles")
    for column in ("before", "after", "change"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("because of", overflow="fold")
    for change in changed:
        cells = [f"{x:,}" if x is not None else "-" for x in (change.before, change.after)]
        table.add_row(shown(change.name), *cells, f"{change.difference:+,}", _because(change))
    console.print(table)
    causes = Counter[str]()
    for change in changed:
        causes.update(change.causes)
    if any(causes.values()):
        listed = sorted(((c, n) for c, n in causes.items() if n), key=lambda entry: -abs(entry[1]))
        console.print("By cause: " + ", ".join(f"{cause} {cycles:+,}" for cause, cycles in listed))


def _because(change: Change) -> str:
    if change.before is None:
        return "new"
    if change.after is None:
        return "gone"
    largest = sorted(change.causes.items(), key=lambda entry: -abs(entry[1]))[:3]
    return ", ".join(f"{cause} {cycles:+,}" for cause, cycles in largest)


def _total(before: dict[str, Any], after: dict[str, Any]) -> str:
    a, b = before["cycles"], after["cycles"]
    share = f" ({100 * (b - a) / a:+.1f} %)" if a else ""
    return f"cycles: {a:,} -> {b:,}{share}"
