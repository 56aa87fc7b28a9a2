"""The progress bar: on a terminal, for what takes long, and gone when it is over."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHES = """
import time
from npu_mlir.tools.progress import progress_bar
with progress_bar("launches") as move:
    for i in range({count}):
        time.sleep({seconds})
        if move is not None:
            move(i + 1, {count})
print("done")
"""


def output_of(command: list[str], terminal: bool) -> tuple[str, str]:
    """What a command writes to standard output, and to standard error: a terminal or a pipe."""
    if not terminal:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout, done.stderr
    reader, writer = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer, env=environment) as process:
        os.close(writer)
        seen = b""
        # Linux reports the end of the other side as an error.
        while chunk := _read(reader):
            seen += chunk
        assert process.stdout is not None
        printed = process.stdout.read().decode()
        assert process.wait(60) == 0
    os.close(reader)
    return printed, seen.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("terminal", "seconds", "shown"), [(True, 0.4, True), (True, 0.01, False), (False, 0.4, False)]
)
def test_when_the_bar_is_shown(terminal: bool, seconds: float, shown: bool):
    """Only on a terminal, only when it takes longer than two seconds; it leaves no line behind."""
    program = LAUNCHES.format(count=8, seconds=seconds)
    printed, seen = output_of([sys.executable, "-c", program], terminal)
    assert printed == "done\n"
    assert ("launches" in seen) is shown
    if shown:
        assert "%" in seen and seen.endswith("\x1b[2K")
    else:
        assert seen.strip() == ""


def test_npu_run_moves_the_bar(tmp_path: Path):
    """Each launch of a program does, here without the delay."""
    program = tmp_path / "slow.py"
    program.write_text(
        "import sys\n"
        "from npu_mlir.tools import npu_run, progress\n"
        "progress.DELAY = 0\n"
        "sys.exit(npu_run.main(sys.argv[1:]))\n"
    )
    model = Path(__file__).parents[1] / "lit" / "inputs" / "softmax.mlir"
    command = [sys.executable, str(program), str(model), "--emit", "isa", "--timing-only"]
    printed, seen = output_of(command, terminal=True)
    assert "target ascend-910" in printed and "launches" in seen and "100%" in seen
