"""Run a command in a fork of the server as if Python had just been started for it."""

from __future__ import annotations

import atexit
import io
import os
import runpy
import signal
import sys
import threading
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from server import Request

BINARIES = Path(sys.executable).parent

FLUSH_FAILED = 120
"""Python's exit status if what is left for standard output can't be written."""


def run(request: Request) -> NoReturn:
    """Run the command to the end of this process."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.umask(request.umask)
    os.chdir(request.directory)
    arguments = (
        request.arguments if request.name == "python" else [str(BINARIES / request.name), *request.arguments]
    )
    if not can_run(arguments, request.environment):
        os.execve(sys.executable, [sys.executable, *arguments], request.environment)
    os.environb.clear()
    os.environb.update(request.environment)
    renew_streams()
    status = status_of(arguments)
    status = finish(status)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def can_run(arguments: list[str], environment: dict[bytes, bytes]) -> bool:
    """Whether Python would start for the command as it has started for the server."""
    option = arguments[0] if arguments else "-"
    return settings(environment) == settings(os.environb) and (
        option in ("-c", "-m") or not option.startswith("-")
    )


def settings(environment: os._Environ[bytes] | dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The variables that Python reads at its start."""
    return {
        name: value for name, value in environment.items() if name.startswith((b"PYTHON", b"LC_", b"LANG"))
    }


def renew_streams() -> None:
    """Python's streams on the descriptors that have been put in the place of the server's."""
    old = (sys.stdin, sys.stdout, sys.stderr)
    for number, stream in enumerate(old):
        unbuffered = number > 0 and stream.write_through
        binary = open(number, "wb" if number else "rb", 0 if unbuffered else -1, closefd=False)  # noqa: SIM115
        new = io.TextIOWrapper(
            binary,
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=number == 2 or binary.isatty(),
            write_through=unbuffered,
        )
        name = ("stdin", "stdout", "stderr")[number]
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def status_of(arguments: list[str]) -> int:
    """Run the program; its exit status, below 0 if it ends by a signal."""
    try:
        run_main(*arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        frames = without_server(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def run_main(what: str, *arguments: str) -> None:
    """Run `-c CODE`, `-m MODULE` or a script as the main module."""
    sys.argv = [what, *arguments]
    if what == "-m":
        sys.argv.pop(0)
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = ModuleType("__main__")
    if what == "-c":
        sys.argv.pop(1)
        sys.path[0] = ""
        source, name = arguments[0].encode(), "<string>"
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(what))
        source, name = Path(what).read_bytes(), what
        main.__file__ = what
    exec(compile(source, name, "exec"), main.__dict__)


def without_server(frames: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that the program would have had on its own."""
    while frames is not None and frames.tb_frame.f_code.co_filename in (
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    ):
        frames = frames.tb_next
    return frames


def finish(status: int) -> int:
    """End what a program leaves to be done; the exit status."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    try:
        if not sys.stdout.closed:
            sys.stdout.flush()
    except (OSError, ValueError):
        traceback.print_exc()
        status = FLUSH_FAILED
    if not sys.stderr.closed:
        sys.stderr.flush()
    return status
