"""Tools for tests that start many: each command is a fork of one process that has everything loaded.

Starting Python and importing xDSL, numpy and onnx takes longer than most commands of the tests. `start` makes a
folder of programs named like the tools, for PATH. Each is a client (`client.py`) that passes its arguments,
environment, working directory and streams to a server (`server.py`), which forks, runs the tool's script
(`command.py`) and reports how it ended.

A server lives as long as the process that started it, so it never runs code that has been edited since.

Does not handle: what happens before `main` (interpreter options, `PYTHON...` variables, import errors that depend on
the order of imports), limits of resources that the caller has set. Tests of these start real processes.
"""

from __future__ import annotations

import atexit
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = ("npu-opt", "npu-compile", "npu-run", "npu-reduce", "filecheck")


LONGEST_FOLDER = 60
"""The names of sockets have at most 104 bytes on some systems."""

_running: list[subprocess.Popen[bytes]] = []
"""The servers of this process: the pipes to them close when it ends, also when it is killed."""


@atexit.register
def _stop() -> None:
    """Wait for the servers, so that their time counts as that of this process."""
    for process in _running:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)


@dataclass(frozen=True)
class Tools:
    """Programs that a server runs."""

    folder: Path
    """Holds the programs of `TOOLS`: for the front of PATH."""

    python: Path
    """Python for `-c CODE`, `-m MODULE` or a script, and arguments."""


def start(environment: Mapping[str, str]) -> Tools:
    """Start a server that ends with this process; commands with other settings of Python than those run on their own.

    Commands may be run at once: they wait until it has loaded everything.
    """
    folder = tempfile.gettempdir()
    root = Path(tempfile.mkdtemp(prefix="npu-", dir=folder if len(folder) <= LONGEST_FOLDER else "/tmp"))
    client = root / "client"
    client.write_text(f"#!{sys.executable} -IS\n{(HERE / 'client.py').read_text()}")
    client.chmod(0o755)
    tools = Tools(root / "tools", root / "python" / "python")
    for link in (*(tools.folder / name for name in TOOLS), tools.python):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(client)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(root / "socket"))
        listener.listen(128)
        # The end of its input tells the server that this process has ended, however it did.
        command = [sys.executable, str(HERE / "server.py"), str(listener.fileno()), str(root)]
        _running.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()], env=environment)
        )
    return tools
