"""What the command lines share: options that explain themselves, errors without traceback, exit status 1."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from npu_mlir import __version__
from npu_mlir.diagnostics import UserError, closest, render


class ArgumentParser(argparse.ArgumentParser):
    """argparse with errors as `UserError` and a suggestion for a misspelt option."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self.add_argument("--version", action="version", version=f"{prog} (npu-mlir) {__version__}")
        self.add_argument("--debug", action="store_true", help="show the Python traceback of an error")

    def error(self, message: str) -> NoReturn:
        raise UserError(message)

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
    try:
        return body(arguments)
    except UserError as error:
        if "--debug" in arguments:
            raise
        print(render(error), file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output is gone; keep Python from complaining when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
