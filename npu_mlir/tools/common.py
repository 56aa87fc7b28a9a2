"""What the command lines share: options that explain themselves, errors without traceback, exit status 1."""

from __future__ import annotations

import argparse
import errno
import gc
import io
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO, cast

from npu_mlir import __version__
from npu_mlir.support.diagnostics import UserError, closest, render
from npu_mlir.support.files import protecting_inputs

REPRODUCER = "--mlir-pass-pipeline-crash-reproducer"
PLUGIN_OPTIONS = ("--load-pass-plugin", "--load-dialect-plugin")


_PHRASES = (
    (r"^argument (\S+): expected one argument$", r"\1: expected a value"),
    (r"^argument (\S+): expected (\d+) arguments$", r"\1: expected \2 values"),
    (r"^argument (\S+): ignored explicit argument (.*)$", r"\1 takes no value, got \2"),
    (r"^argument (\S+): invalid int value: (.*)$", r"\1: expected an integer, got \2"),
    (r"^argument (\S+): invalid float value: (.*)$", r"\1: expected a number, got \2"),
    (r"^argument (\S+): invalid choice: ('.*') \(choose from (.*)\)$", r"\1: expected one of \3, got \2"),
    (r"^argument ", ""),
)
"""What argparse says, in the words of our other messages."""


class ArgumentParser(argparse.ArgumentParser):
    """argparse with errors as `UserError` and a suggestion for a misspelt option."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self.add_argument("--version", action="version", version=f"{prog} (npu-mlir) {__version__}")
        self.add_argument(
            *PLUGIN_OPTIONS,
            action="append",
            metavar="FILE.py",
            help="passes, dialects, instructions and costs in a Python file",
        )
        self.add_argument("--debug", action="store_true", help="show the Python traceback of an error")

    def error(self, message: str) -> NoReturn:
        for pattern, replacement in _PHRASES:
            message = re.sub(pattern, replacement, message)
        raise UserError(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse would not tell if it can't be written.
        (file or sys.stderr).write(message)

    def parse(self, argv: Sequence[str], further_options: Iterable[str] = ()) -> argparse.Namespace:
        """Parse `argv`; `further_options` are ones that the tool has handled before, for suggestions."""
        args, unknown = self.parse_known_args([self._with_value(argument) for argument in argv])
        if unknown:
            option = unknown[0].partition("=")[0]
            known = [*self._option_string_actions, *further_options]
            what = "option" if option.startswith("-") else "argument"
            raise UserError(f"unknown {what} '{option}'{closest(option, known)}")
        return args

    def _with_value(self, argument: str) -> str:
        """Give an option whose value may be left out its default value: the next argument is none.

        A long option may begin with one hyphen, as in LLVM's tools.
        """
        if f"-{argument.partition('=')[0]}" in self._option_string_actions:
            argument = f"-{argument}"
        action = self._option_string_actions.get(argument)
        return f"{argument}={action.const}" if action is not None and action.nargs == "?" else argument


def run_tool(body: Callable[[list[str]], int], argv: Sequence[str] | None) -> int:
    """Run a tool's `body` on its arguments: the exit status, after printing the error if there was one."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    try:
        with collector_off(), protecting_inputs(), _flushed():
            return body(_take_plugins(arguments))
    except UserError as error:
        if "--debug" in arguments:
            raise
        _complain(render(error))
        return 1
    except BrokenPipeError:
        # The reader of our output is gone, and knows.
        _drop_output()
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _STREAM_ERRORS:
            raise
        _drop_output()
        _complain(f"error: cannot write to standard output: {(error.strerror or str(error)).lower()}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if argv is None:
            # The process ends, which is one more occasion to search what is built.
            gc.freeze()


_STREAM_ERRORS = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT)
"""What writing to a stream may fail with; errors of files name them."""


class _ClosedStream(io.RawIOBase):
    """Standard output when there is none: nothing can be written, which is said once."""

    said = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        if not self.said:
            self.said = True
            raise OSError(errno.EBADF, "it is closed")
        return len(data)


def _prepare_streams() -> None:
    """Make streams of those that were closed when Python started (None), and let them take any text."""
    if cast("object", sys.stdout) is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ClosedStream()), "utf-8")
    if cast("object", sys.stderr) is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (it stays open)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _flushed() -> Generator[None]:
    """What was printed within has been written at the end, also when the parser of options ends the process."""
    try:
        yield
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def _complain(text: str) -> None:
    """Print an error, if anybody can be told."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop_output() -> None:
    """Keep Python from complaining about what it can't write when it ends."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        if stream is sys.stdout:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (it stays open)


@contextmanager
def collector_off() -> Generator[None]:
    """Within, cyclic garbage is not collected: IR that lives is all cycles, which a collection walks for nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def keep_what_is_built() -> None:
    """Turn the collector on again, for work that leaves garbage; it never looks at what there is now."""
    gc.freeze()
    gc.enable()


def _take_plugins(arguments: list[str]) -> list[str]:
    """Load the plugins that are asked for; the other arguments.

    It comes before anything else is parsed: the passes of a plugin have flags.
    """
    rest: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        option, equals, path = argument.partition("=")
        if option not in PLUGIN_OPTIONS and f"-{option}" not in PLUGIN_OPTIONS:
            rest.append(argument)
            continue
        path = path if equals else next(remaining, "")
        if not path:
            raise UserError(f"{option} needs a file: {option} my_pass.py")

        from npu_mlir.support.plugins import load_plugin_file

        load_plugin_file(path)
    return rest


def name_and_value(option: str, text: str) -> tuple[str, str]:
    """Split NAME=VALUE; a name may have an equals sign in it, a value has none."""
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise UserError(f"{option} {text}: expected NAME=VALUE")
    return name, value
