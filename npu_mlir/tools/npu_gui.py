"""npu-gui: choose passes from a list and see at once what they make of a module, in the terminal.

npu-gui in.mlir
npu-gui in.mlir --load-pass-plugin my_pass.py --my-pass

This is xDSL's interactive tool. Its own command, xdsl-gui, offers the passes and dialects of xDSL alone; here are all
those that xdsl-opt sees (the entry point `xdsl.universe`), ours and those of plugins.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools.common import ArgumentParser, run_tool
from npu_mlir.tools.pass_flags import PassFlags, parse_with_pass_flags, passes_of

if TYPE_CHECKING:
    from xdsl.interactive.app import InputApp


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status."""
    return run_tool(_run, argv)


def _run(argv: list[str]) -> int:
    flags, args = parse_with_pass_flags(_make_parser, argv)
    app = make_app(args, flags)
    if not sys.stdout.isatty():
        raise UserError("npu-gui needs a terminal; npu-opt prints what passes do")
    app.run()
    return 0


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser("npu-gui", "Choose passes and see what they make of a module.")
    parser.add_argument("file", nargs="?", metavar="FILE.mlir", help="the input; an example if missing")
    parser.epilog = "flags of passes (--PASS[='OPTION=VALUE ...']) choose them from the start"
    return parser


def make_app(args: argparse.Namespace, flags: PassFlags) -> InputApp:
    """The application, with everything that there is to choose from."""
    try:
        from xdsl.interactive.app import InputApp
    except ImportError as error:
        raise UserError(
            f"npu-gui needs packages that are not installed ({error})", notes=["pip install 'npu-mlir[gui]'"]
        ) from error

    from xdsl.universe import Universe

    from npu_mlir.dialects import DIALECTS, dialect_factory
    from npu_mlir.passes import PASSES, pass_factory
    from npu_mlir.support.files import read_text
    from npu_mlir.support.plugins import load_installed_plugins

    load_installed_plugins()
    everything = Universe.get_multiverse()
    # Ours come last: cse and others have the name of a pass of xDSL.
    dialects = everything.all_dialects | {name: dialect_factory(name) for name in DIALECTS}
    passes = everything.all_passes | {name: pass_factory(name) for name in PASSES}
    return InputApp(
        tuple(dialects.items()),
        tuple((name, factory()) for name, factory in sorted(passes.items())),
        args.file,
        None if args.file is None else read_text(args.file)[0],
        tuple(passes_of(flags)),
    )


if __name__ == "__main__":
    sys.exit(main())
