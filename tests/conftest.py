"""Property tests draw new examples on each run of a developer, and the same ones in CI, where a run must mean something
about the change and not about the draw. After `make test`, the results of lit stand in the summary as well."""

from __future__ import annotations

import os
from pathlib import Path

from _pytest.terminal import TerminalReporter
from hypothesis import settings

import lit_results

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Show what lit has found, if the results are in the file that LIT_RESULTS names."""
    path = os.environ.get("LIT_RESULTS")
    if not path or not Path(path).exists():
        return
    counts, lines = lit_results.summary(Path(path))
    terminalreporter.write_sep("=", "lit")
    for line in lines:
        terminalreporter.write_line(line)
    terminalreporter.write_sep("=", "lit and pytest")
    pytest_counts = {
        key: len(terminalreporter.stats.get(key, [])) for key in ("passed", "failed", "error", "skipped")
    }
    failed = counts["failed"] + pytest_counts["failed"] + pytest_counts["error"]
    passed, skipped = (counts[key] + pytest_counts[key] for key in ("passed", "skipped"))
    terminalreporter.write_line(f"total: {passed} passed, {failed} failed, {skipped} skipped")
