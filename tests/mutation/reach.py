"""What each check reaches: the lines of the mutated modules that it runs, and how long it takes.

A check runs on a mutant only if it reaches the mutant's statement. The records are kept in `build/`, since most of them
stay true while tests are being improved. One is made anew when the file of its check has changed; where a function has
changed, all of it counts as reached by what reached some of it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from checks import ROOT, Check
from forks import Pool
from mutants import functions_of

CALLS = 300
"""Calls of a function by one check that are traced: later ones seldom reach anything new."""

Functions = dict[str, tuple[int, str]]
"""First line and text of the functions of a module."""

STORE = ROOT / "build" / "mutation.json"


@dataclass(frozen=True)
class Reach:
    """The lines that a check runs, by module, and the seconds of processor time that it takes."""

    lines: dict[str, frozenset[int]]
    seconds: float


def measure(checks: Sequence[Check], modules: Sequence[ModuleType], jobs: int) -> dict[str, Reach]:
    """The reach of the checks, by name; those that fail are left out, as they say nothing about mutants."""
    functions = {module.__name__: functions_of(inspect.getsource(module)) for module in modules}
    stored: dict[str, Any] = json.loads(STORE.read_text()) if STORE.exists() else {}
    keys = {check.name: _hash(check.path.read_text()) for check in checks}
    new = [check for check in checks if stored.get(check.name, {}).get("key") != keys[check.name]]
    print(f"{len(checks)} checks, {len(new)} of them to be traced", flush=True)
    STORE.parent.mkdir(exist_ok=True)
    answers = Pool(jobs).map(lambda check: _traced(check, modules), new, lambda check: 600.0)
    for done, (check, answer) in enumerate(answers, start=1):
        record = answer or {"fails": "it does not end"}
        if "lines" in record:
            record["lines"] = {m: _by_function(functions[m], lines) for m, lines in record["lines"].items()}
        stored[check.name] = record | {"key": keys[check.name]}
        if done % 50 == 0 or done == len(new):
            print(f"{done} traced", flush=True)
            STORE.write_text(json.dumps(stored))
    found: dict[str, Reach] = {}
    for check in checks:
        record = stored[check.name]
        if "fails" in record:
            print(f"left out, as it fails without any mutant: {check.name}: {record['fails'][-300:]}")
            continue
        lines = {m: _lines(functions.get(m, {}), reached) for m, reached in record["lines"].items()}
        found[check.name] = Reach(lines, record["seconds"])
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _by_function(functions: Functions, lines: Sequence[int]) -> dict[str, Any]:
    """The lines by function, counted from its first, with what tells whether the function has changed since."""
    found: dict[str, Any] = {}
    for name, (first, text) in functions.items():
        inside = [line - first for line in lines if first <= line < first + len(text.splitlines())]
        if inside:
            found[name] = [_hash(text), inside]
    return found


def _lines(functions: Functions, reached: dict[str, Any]) -> frozenset[int]:
    """The lines of functions that were reached: all of a function that has changed since."""
    lines: set[int] = set()
    for name, (key, inside) in reached.items():
        first, text = functions.get(name, (0, ""))
        if key == _hash(text):
            lines.update(first + line for line in inside)
        else:
            lines.update(range(first, first + len(text.splitlines())))
    return frozenset(lines)


def _traced(check: Check, modules: Sequence[ModuleType]) -> dict[str, Any]:
    """Run a check while its steps through the modules are recorded."""
    names = {module.__file__: module.__name__ for module in modules}
    seen: dict[str, set[int]] = {name: set() for name in names.values()}
    calls = Counter[CodeType]()

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        name = names.get(frame.f_code.co_filename)
        if name is None:
            return None
        calls[frame.f_code] += 1
        if calls[frame.f_code] > CALLS:
            return None
        lines = seen[name]
        lines.add(frame.f_lineno)

        def step(frame: FrameType, event: str, arg: object) -> Any:
            lines.add(frame.f_lineno)
            return step

        return step

    sys.settrace(enter)
    try:
        check.run()
        sys.settrace(None)
        start = time.process_time()
        check.run()
    except BaseException as error:
        return {"fails": f"{type(error).__name__}: {error}"}
    finally:
        sys.settrace(None)
    lines = {name: sorted(numbers) for name, numbers in seen.items() if numbers}
    return {"lines": lines, "seconds": time.process_time() - start}
