"""The checks that a mutant has to survive, the fastest first. Each raises if something is wrong.

They are part of the test suite, run within one process: the programs of the planted bugs with every pass checked, the
lit tests of passes (by calling the tools as functions), and files of unit tests.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FAST = [
    "test_memory",
    "test_sync",
    "test_strides",
    "test_dims",
    "test_tiling",
    "test_tile_lowering",
    "test_insert_sync",
]
"""Files of unit tests in the order in which they run; those that do not exist are left out."""

SLOW = ["test_bound", "test_pipeline"]

Check = tuple[str, Callable[[], None]]


def quick_checks() -> Iterator[Check]:
    """What takes seconds: lit tests and the decisions of the compiler."""
    for path in sorted((ROOT / "tests/lit/passes").glob("*/*.mlir")):
        if path.parent.name in ("tile", "npu_isa"):
            yield f"lit {path.name}", lambda path=path: run_lit(path)
    yield "decisions", lambda: run_pytest(["test_snapshots"])


def fast_checks() -> Iterator[Check]:
    """What finds most mutants."""
    yield from quick_checks()
    from programs import PROGRAMS

    for program in PROGRAMS:
        yield f"program {program}", lambda program=program: _compile(program)
    yield "unit tests", lambda: run_pytest(FAST)
    yield "random programs", lambda: run_pytest(["test_pipeline_random"], examples=4)


def slow_checks() -> Iterator[Check]:
    """What the survivors of the fast checks have to pass as well."""
    yield "random programs, more of them", lambda: run_pytest(["test_pipeline_random"], examples=15)
    yield "more unit tests", lambda: run_pytest(SLOW)


def _compile(program: str) -> None:
    from test_bugs import compile_checked

    for precision in ("f32", "f16"):
        compile_checked(program, precision)


def run_pytest(names: list[str], examples: int = 4) -> None:
    """Run files of unit tests up to the first failure."""
    import pytest

    files = [str(path) for name in names if (path := ROOT / "tests/unit" / f"{name}.py").exists()]
    os.environ["NPU_MLIR_EXAMPLES"] = str(examples)
    os.chdir(ROOT)
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--rootdir", str(ROOT), *files]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = pytest.main(arguments)
    if status != 0:
        raise AssertionError(f"pytest ended with {status}")


_RUN = re.compile(r"//\s*RUN:\s*(.*)")


def run_lit(path: Path) -> None:
    """Run the lines of a lit test that are made of `npu-opt`, `not` and `filecheck` only."""
    for line in _run_lines(path):
        stages = [shlex.split(stage) for stage in line.replace("2>&1", "").split("|")]
        if any(stage[0] not in ("npu-opt", "filecheck", "not") or ">" in stage for stage in stages):
            continue
        text = ""
        for stage in stages:
            arguments = [argument.replace("%s", str(path)) for argument in stage]
            text = _run_stage(arguments, text, both="2>&1" in line)


def _run_lines(path: Path) -> list[str]:
    lines = "\n".join(_RUN.findall(path.read_text()))
    return lines.replace("\\\n", " ").splitlines()


def _run_stage(arguments: list[str], text: str, both: bool) -> str:
    fails = arguments[0] == "not"
    tool, *rest = arguments[fails:]
    if tool == "filecheck":
        _filecheck(rest, text)
        return ""

    from npu_mlir.tools.npu_opt import main

    out, err = _Bytes(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(out if both else err):  # type: ignore[type-var]
        status = main(rest)
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
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = _matcher(Matcher, options, text).run()
    if status != 0:
        raise AssertionError("filecheck found a difference")


def _matcher(matcher: type, options: object, text: str) -> object:
    old, sys.stdin = sys.stdin, io.StringIO(text)
    try:
        return matcher.from_opts(options)
    finally:
        sys.stdin = old
