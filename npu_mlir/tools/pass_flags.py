"""Flags of passes on the command line: `--my-pass="option=value"`, in their order."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from npu_mlir.passes import PASSES
from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools.common import ArgumentParser

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PassFlags = list[tuple[str, str]]
"""Names of passes with the text of their options."""


def parse_with_pass_flags(
    make_parser: Callable[[], ArgumentParser], argv: list[str]
) -> tuple[PassFlags, argparse.Namespace]:
    """The flags of passes and the other options of a tool.

    Installed plugins are looked for only when an option is not known without them.
    """
    try:
        return _parse(make_parser, argv)
    except UserError:
        from npu_mlir.support.plugins import load_installed_plugins

        if not load_installed_plugins():
            raise
    return _parse(make_parser, argv)


def _parse(
    make_parser: Callable[[], ArgumentParser], argv: list[str]
) -> tuple[PassFlags, argparse.Namespace]:
    flags, rest = split_pass_flags(argv)
    return flags, make_parser().parse(rest, (f"--{name}" for name in PASSES))


def split_pass_flags(argv: list[str]) -> tuple[PassFlags, list[str]]:
    """The flags of passes in `argv`, and all other arguments."""
    flags: PassFlags = []
    rest: list[str] = []
    for argument in argv:
        name, _, options = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name in PASSES:
            flags.append((name, options))
        else:
            rest.append(argument)
    return flags, rest


def passes_of(flags: PassFlags) -> list[ModulePass]:
    """The passes that flags ask for."""
    if not flags:
        return []

    from npu_mlir.pass_infra.pipeline_parser import parse_pass

    return [parse_pass(name, options, f"--{name}") for name, options in flags]
