"""The options of tools that compile a model: target, shapes, precision."""

from __future__ import annotations

import argparse

from npu_mlir.diagnostics import UserError
from npu_mlir.tools.common import ArgumentParser


def add_model_options(parser: ArgumentParser) -> None:
    """Add the options that say how a model is compiled."""
    add = parser.add_argument
    add("--target", metavar="NAME|FILE.toml", help="the machine to compile for (default: ascend-910)")
    add("--dim", action="append", default=[], metavar="NAME=N", help="the size of a named dynamic dimension")
    add("--shape", action="append", default=[], metavar="INPUT=1x3x48x192", help="the shape of an input")
    add("--precision", default="f32", metavar="f32|f16", help="the type that floats are computed in")


def dims_of(args: argparse.Namespace) -> dict[str, int]:
    """The `--dim` options."""
    pairs = [name_and_value("--dim", text) for text in args.dim]
    return {name: _size(text, f"--dim {name}={text}") for name, text in pairs}


def shapes_of(args: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    """The `--shape` options; an empty shape is a scalar."""
    pairs = [name_and_value("--shape", text) for text in args.shape]
    return {
        name: tuple(_size(size, f"--shape {name}={text}") for size in text.split("x")) if text else ()
        for name, text in pairs
    }


def name_and_value(option: str, text: str) -> tuple[str, str]:
    """Split NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"{option} {text}: expected NAME=VALUE")
    return name, value


def _size(text: str, option: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise UserError(f"{option}: expected a positive integer, got '{text}'")
    return int(text)
