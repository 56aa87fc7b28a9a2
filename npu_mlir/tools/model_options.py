"""The options of tools that compile a model: target, shapes, precision; and compiling as they say."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from npu_mlir.frontends import is_module_file
from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools.common import ArgumentParser, name_and_value
from npu_mlir.tools.pass_flags import PassFlags, passes_of
from npu_mlir.tools.target_settings import add_settings, change_machine

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from npu_mlir.api import ModelSource, Program
    from npu_mlir.pass_infra.pass_manager import PassInstrument

MOST_DIGITS = 20
"""Of the extent of a dimension."""

PASSES_HELP = (
    "passes that say where they belong (runs_after) can be added by their flags: --PASS[='OPTION=VALUE ...']"
)
"""What the help of such a tool ends with."""


def add_model_options(parser: ArgumentParser) -> None:
    """Add the options that say how a model is compiled."""
    add = parser.add_argument
    add("--target", metavar="NAME|FILE.toml", help="the machine to compile for (default: ascend-910)")
    add_settings(parser)
    add("--dim", action="append", default=[], metavar="NAME=N", help="the size of a named dynamic dimension")
    add("--shape", action="append", default=[], metavar="INPUT=1x3x48x192", help="the shape of an input")
    add("--precision", metavar="f32|f16", help="the type that floats are computed in (default: f32)")
    add(
        "--fast-math",
        action="store_true",
        help="formulas of functions may be off by more than 1 ulp in f16, 4 in f32; the report says by how much",
    )
    add("--fallback", metavar="host", help="leave nodes that cannot be compiled to the host (off by default)")
    add("--prefetch", metavar="8MiB|off", help="how far ahead to bring weights to L2 (default: 16MiB)")
    add(
        "--link",
        action=argparse.BooleanOptionalAction,
        help="run launches that follow each other as one program (default), or each alone",
    )
    add(
        "-O",
        dest="effort",
        type=int,
        choices=(1, 2, 3),
        help="choose schedules by an estimate (1), also measure the best (2, the default), or many (3)",
    )
    add(
        "--unroll",
        metavar="N",
        help="write out recurrences and loops of up to N steps (default: as few as pays off)",
    )
    add(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy|NUMBER",
        help="an input, or FILE.npz with several",
    )
    add("--bake", action="append", default=[], metavar="NAME", help="make an input a constant: its --input")
    add(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="where to leave a reproducer if a pass fails",
    )
    parser.epilog = PASSES_HELP


def read_model(args: argparse.Namespace, file: str) -> ModelSource:
    """The program in a file, before any pass."""
    from npu_mlir import api

    if is_module_file(file):
        for option in ("dim", "shape", "precision", "fallback", "bake", "unroll"):
            if getattr(args, option):
                raise UserError(f"--{option} is for a model; in '{file}' it is decided already")
    source = api.read(
        file,
        target=args.target,
        precision=args.precision or "f32",
        dims=dims_of(args),
        shapes=shapes_of(args),
        bake=baked_of(args),
        fallback=args.fallback,
        unroll=unroll_of(args),
        prefetch=args.prefetch,
        fast_math=args.fast_math,
        link=args.link,
        effort=args.effort,
    )
    change_machine(source.program.module, args)
    return source


def compile_model(
    args: argparse.Namespace,
    source: ModelSource,
    file: str,
    emit: str,
    flags: PassFlags,
    instruments: Sequence[PassInstrument] = (),
    reached: Callable[[str], None] | None = None,
) -> Program:
    """Take the program of a file to a level, with the passes that flags add; a crash leaves a reproducer."""
    from npu_mlir.pass_infra.reproducer import reproduced
    from npu_mlir.pipeline import joined

    extra = passes_of(flags)
    # Standard input cannot be read again.
    kept = source.program.module.clone() if file == "-" else None

    def original() -> ModuleOp:
        return read_model(args, file).program.module if kept is None else kept

    def pipeline() -> str:
        return str(joined(source.pipelines(emit, extra)))

    with reproduced(original, pipeline, args.mlir_pass_pipeline_crash_reproducer):
        return source.lower(emit, instruments, extra, reached)


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


def unroll_of(args: argparse.Namespace) -> int | None:
    """The `--unroll` option."""
    if args.unroll is not None and not args.unroll.isdecimal():
        raise UserError(f"--unroll {args.unroll}: expected how many steps are written out")
    return None if args.unroll is None else int(args.unroll)


def baked_of(args: argparse.Namespace) -> dict[str, np.ndarray | float]:
    """The values of inputs that `--bake` names."""
    given = {name: text for name, text in map(_input, args.input) if name in args.bake}
    for name in args.bake:
        if name not in given:
            raise UserError(f"--bake {name} needs the value: --input {name}=NUMBER, or a .npy file")
    return {name: value_of(text) for name, text in given.items()}


def _input(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def value_of(text: str) -> np.ndarray | float:
    """What stands behind NAME= in `--input`: a number, or the array in a file."""
    from npu_mlir.support.arrays import read_npy

    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return read_npy(text)


def _size(text: str, option: str) -> int:
    # No number of more digits is an extent, and Python refuses to read one of very many.
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise UserError(f"{option}: expected an integer of at least 0, got '{text}'")
    return int(text)
