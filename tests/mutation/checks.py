"""The checks that a mutant has to survive: the tests that can run within this process, one by one.

They are the tests of pytest, each an item by itself, and the lit tests of passes, whose tools are called as functions.
A check raises if something is wrong. Property tests draw the same examples each time, and don't shrink what fails.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[2]


FILES = [
    "planted/test_bugs.py",
    "unit/test_annotate_bounds.py",
    "unit/test_bound.py",
    "unit/test_bufferize.py",
    "unit/test_choose_schedule.py",
    "unit/test_structured.py",
    "unit/test_dims.py",
    "unit/test_form_kernels.py",
    "unit/test_grouping.py",
    "unit/test_init_accumulators.py",
    "unit/test_insert_sync.py",
    "unit/test_kernel.py",
    "unit/test_load_maps.py",
    "unit/test_memory.py",
    "unit/test_outline.py",
    "unit/test_pipeline.py",
    "unit/test_plan_memory.py",
    "unit/test_programs.py",
    "unit/test_schedules.py",
    "unit/test_snapshots.py",
    "unit/test_strides.py",
    "unit/test_sync.py",
    "unit/test_sync_conflicts.py",
    "unit/test_sync_edges.py",
    "unit/test_sync_plans.py",
    "unit/test_tiling.py",
    "unit/test_tiling_cycles.py",
    "unit/test_vector_tiling.py",
]
"""The tests of what is mutated. Others run through it as well, without asking what it should do, or take long."""

SELECT = "not bug_is_named and not own_code_again and not beats_the_bound"
"""Without the tests that plant bugs of their own, and without a long one."""


@dataclass(frozen=True)
class Check:
    """A test: its name, the file that it is in, whether it runs with `--quick`, how to run it."""

    name: str
    path: Path
    quick: bool
    run: Callable[[], None]


def with_checks(action: Callable[[list[Check]], int]) -> int:
    """Call `action` with all checks, while pytest keeps ready what its tests need."""
    _be_repeatable()
    plugin = _Loop(action)
    os.chdir(ROOT)
    arguments = ["-qq", "-p", "no:cacheprovider", "--no-header", "--capture=no", "--tb=native", "-k", SELECT]
    files = [f"tests/{name}" for name in FILES]
    status = pytest.main([*arguments, "--rootdir", str(ROOT), *files], [plugin])
    assert status == 0 and plugin.result is not None, "the tests cannot be collected"
    return plugin.result


def _be_repeatable() -> None:
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
    settings.load_profile("mutants")


class _Loop:
    """Takes the place of pytest's loop over the tests."""

    def __init__(self, action: Callable[[list[Check]], int]):
        self.action = action
        self.result: int | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.result = self.action([*_lit_checks(), *(_pytest_check(item) for item in session.items)])
        return True


# ---- pytest ----------------------------------------------------------------------------------------------------------


def _pytest_check(item: pytest.Item) -> Check:
    name = item.nodeid.removeprefix("tests/")
    return Check(
        name,
        item.path,
        item.path.stem in ("test_schedules", "test_snapshots", "test_sync_plans"),
        lambda: _run_item(item),
    )


def _run_item(item: pytest.Item) -> None:
    for report in runtestprotocol(item, log=False, nextitem=None):
        if report.failed:
            raise AssertionError(report.longreprtext)


# ---- lit -------------------------------------------------------------------------------------------------------------

_RUN = re.compile(r"//\s*RUN:\s*(.*)")


def _lit_checks() -> list[Check]:
    """The lit tests of which at least one line is made of `npu-opt`, `npu-run`, `not` and `filecheck` only."""
    checks: list[Check] = []
    folders = ("passes/tile", "passes/npu_isa", "run/timeline")
    for path in sorted(p for folder in folders for p in (ROOT / "tests/lit" / folder).glob("*.mlir")):
        if any(_stages(line) for line in _run_lines(path)):
            name = str(path.relative_to(ROOT / "tests"))
            checks.append(Check(name, path, True, lambda path=path: _run_lit(path)))
    return checks


def _run_lit(path: Path) -> None:
    for line in _run_lines(path):
        text = ""
        for stage in _stages(line):
            arguments = [argument.replace("%s", str(path)) for argument in stage]
            text = _run_stage(arguments, text, both="2>&1" in line)


def _run_lines(path: Path) -> list[str]:
    lines = "\n".join(_RUN.findall(path.read_text()))
    return lines.replace("\\\n", " ").splitlines()


def _stages(line: str) -> list[list[str]]:
    """The commands of a line; none if something among them is not known here."""
    stages = [shlex.split(stage) for stage in line.replace("2>&1", "").split("|")]
    known = all(stage and stage[0] in ("npu-opt", "npu-run", "filecheck", "not") for stage in stages)
    plain = not any(part == ">" or "%" in part.replace("%s", "") for stage in stages for part in stage)
    return stages if known and plain else []


def _run_stage(arguments: list[str], text: str, both: bool) -> str:
    fails = arguments[0] == "not"
    tool, *rest = arguments[fails:]
    if tool == "filecheck":
        _filecheck(rest, text)
        return ""

    from npu_mlir.tools import npu_opt, npu_run

    out, err = _Bytes(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(out if both else err):  # type: ignore[type-var]
        status = {"npu-opt": npu_opt, "npu-run": npu_run}[tool].main(rest)
    if (status != 0) != fails:
        raise AssertionError(f"{tool} ended with {status}")
    return out.text()


class _Bytes(io.TextIOWrapper):
    """A text stream with a buffer of bytes, as standard output is."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def _filecheck(arguments: list[str], text: str) -> None:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    options = parse_argv_options(["filecheck", *arguments])
    old, sys.stdin = sys.stdin, io.StringIO(text)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            status = Matcher.from_opts(options).run()
    finally:
        sys.stdin = old
    if status != 0:
        raise AssertionError("filecheck found a difference")
