"""What each check reaches: the lines of the mutated modules that it runs, and how long it takes.

A check runs on a mutant only if it reaches the mutant's statement. The records are kept in `build/`, since most of them
stay true while tests are being improved; one goes when a mutated module or the file of its check changes.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from checks import ROOT, Check
from forks import Pool

CALLS = 300
"""Calls of a function by one check that are traced: later ones seldom reach anything new."""

STORE = ROOT / "build" / "mutation.json"


@dataclass(frozen=True)
class Reach:
    """The lines that a check runs, by module, and the seconds of processor time that it takes while being traced."""

    lines: dict[str, frozenset[int]]
    seconds: float


def measure(checks: Sequence[Check], modules: Sequence[ModuleType], jobs: int) -> dict[str, Reach]:
    """The reach of the checks, by name; those that fail are left out, as they say nothing about mutants."""
    source = "".join(Path(module.__file__ or "").read_text() for module in modules)
    keys = {c.name: hashlib.sha256((source + c.path.read_text()).encode()).hexdigest() for c in checks}
    stored: dict[str, Any] = json.loads(STORE.read_text()) if STORE.exists() else {}
    new = [check for check in checks if stored.get(check.name, {}).get("key") != keys[check.name]]
    print(f"{len(checks)} checks, {len(new)} of them to be traced", flush=True)
    pool = Pool(jobs)
    STORE.parent.mkdir(exist_ok=True)
    answers = pool.map(lambda check: _traced(check, modules), new, lambda check: 600.0)
    for done, (check, answer) in enumerate(answers, start=1):
        stored[check.name] = {"key": keys[check.name], "fails": "it does not end"} | (answer or {})
        if done % 50 == 0 or done == len(new):
            print(f"{done} traced", flush=True)
            STORE.write_text(json.dumps(stored))
    stored = {check.name: stored[check.name] for check in checks}
    found: dict[str, Reach] = {}
    for name, record in stored.items():
        if "fails" in record and "lines" not in record:
            print(f"left out, as it fails without any mutant: {name}: {record['fails'][-300:]}")
        else:
            lines = {module: frozenset(numbers) for module, numbers in record["lines"].items()}
            found[name] = Reach(lines, record["seconds"])
    return found


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

    start = time.process_time()
    sys.settrace(enter)
    try:
        check.run()
    except BaseException as error:
        return {"fails": f"{type(error).__name__}: {error}"}
    finally:
        sys.settrace(None)
    lines = {name: sorted(numbers) for name, numbers in seen.items() if numbers}
    return {"lines": lines, "seconds": time.process_time() - start}
