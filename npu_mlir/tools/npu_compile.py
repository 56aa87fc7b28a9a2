"""npu-compile: take a model to any level.

npu-compile model.onnx -o model.mlir
npu-compile model.onnx --emit linalg --shape x=1x3x48x192 --precision f16
npu-compile model.onnx --load-pass-plugin my_pass.py --my-pass -o model.mlir
npu-compile --list-ops
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from npu_mlir.tools.common import REPRODUCER, ArgumentParser, run_tool
from npu_mlir.tools.model_options import add_model_options, compile_model, read_model
from npu_mlir.tools.pass_flags import parse_with_pass_flags
from npu_mlir.tools.remark_options import add_remark_options, remarks_shown

if TYPE_CHECKING:
    from npu_mlir.pass_infra.pass_manager import PassInstrument


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status."""
    return run_tool(_run, argv)


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser("npu-compile", "Compile a model to NPU instructions or to a level before them.")
    add = parser.add_argument
    add("model", help="a model (.onnx), or a .mlir file of an earlier level")
    add(
        "-o",
        dest="output",
        default="-",
        metavar="OUT.mlir",
        help="where to write; standard output by default",
    )
    add("--list-ops", action=_ListOps, help="list the operators of ONNX, and what of them is supported")
    add("--emit", default="isa", metavar="LEVEL", help="graph, linalg, tile, tile-memref or isa (default)")
    add("--check-equivalence", type=int, nargs="?", const=0, metavar="SEED",
        help="run the module before and after each pass; a changed result is an error")  # fmt: skip
    add_model_options(parser)
    add_remark_options(parser.add_argument_group("remarks").add_argument)
    return parser


class _ListOps(argparse.Action):
    """Prints the operators and ends the process, as `--help` does."""

    def __init__(self, **options: Any):
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from npu_mlir.frontends.onnx.operators import operators

        for operator in operators():
            print(*operator.lines(), sep="\n")
        parser.exit()


def _run(argv: list[str]) -> int:
    flags, args = parse_with_pass_flags(_make_parser, argv)

    from npu_mlir.support.files import check_outputs

    reproducer = args.mlir_pass_pipeline_crash_reproducer
    check_outputs({"-o": args.output, REPRODUCER: reproducer}, [args.model])

    from npu_mlir.ir.module_io import save_module

    source = read_model(args, args.model)
    instruments = _instruments(args.check_equivalence)
    with remarks_shown(args):
        program = compile_model(args, source, args.model, args.emit, flags, instruments)
    save_module(program.module, args.output)
    if args.fallback:
        from npu_mlir.report.host_work import host_work, summary

        print(summary(host_work(program.module)), file=sys.stderr)
    return 0


def _instruments(seed: int | None) -> list[PassInstrument]:
    if seed is None:
        return []

    from npu_mlir.validation.equivalence import EquivalenceChecker

    return [EquivalenceChecker(seed)]


if __name__ == "__main__":
    sys.exit(main())
