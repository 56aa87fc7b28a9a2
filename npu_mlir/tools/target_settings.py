"""`--set NAME=VALUE`: numbers of the machine that a module is for, given on the command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from npu_mlir.tools.common import name_and_value

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def add_settings(parser: argparse.ArgumentParser | argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the option."""
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a number of the machine: l1=512KiB, gm_l1=128, vector.exp=13,2,18",
    )


def change_machine(module: ModuleOp, args: argparse.Namespace) -> None:
    """Change the numbers of the module's machine that the options name."""
    if not args.settings:
        return

    from npu_mlir.targets.module_target import change_target

    change_target(module, dict(name_and_value("--set", text) for text in args.settings))
