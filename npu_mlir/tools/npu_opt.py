"""npu-opt: run passes on `.mlir` files, like mlir-opt.

npu-opt --pass-pipeline='builtin.module(func.func(canonicalize),tile-choose-schedule)' in.mlir
npu-opt --canonicalize --tile-choose-schedule="target=toy" in.mlir -o out.mlir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npu_mlir.diagnostics import UserError, render
from npu_mlir.passes import PASSES
from npu_mlir.tools.common import ArgumentParser, run_tool

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npu_mlir.pass_manager import PassInstrument, PassManager
    from npu_mlir.pass_pipeline import Nest

SPLIT_MARKER = "// -----"


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status."""
    return run_tool(_run, argv)


def _run(argv: list[str]) -> int:
    pass_flags, rest = _split_pass_flags(argv)
    args = _make_parser().parse(rest, (f"--{name}" for name in PASSES))
    if args.list_passes:
        return _list_passes()
    pipeline = _make_pipeline(args.pass_pipeline, args.lower_to, pass_flags)

    from npu_mlir.files import check_writable, read_text

    check_writable(args.output)
    text, name = read_text(args.file)
    return _process(args, pipeline, text, name)


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser("npu-opt", "Run passes on a .mlir file and print the result.")
    parser.epilog = "Each pass has a flag --PASS-NAME[='option=value ...']; --list-passes shows them."
    add = parser.add_argument
    add("file", nargs="?", default="-", help="the input; standard input if missing or -")
    add("-o", dest="output", default="-", metavar="FILE", help="where to write; standard output by default")
    add("--pass-pipeline", metavar="TEXT", help="the passes to run: 'builtin.module(PASS,...)'")
    add("--lower-to", metavar="LEVEL",
        help="run the default pipeline from the module's level to graph, linalg, tile, tile-memref or isa")  # fmt: skip
    add("--list-passes", action="store_true", help="list the passes with their options")
    add("--verify-each", type=_boolean, nargs="?", const=True, default=True, metavar="BOOL",
        help="run the verifier after each pass (the default)")  # fmt: skip
    add(
        "--split-input-file",
        action="store_true",
        help=f"process the parts between {SPLIT_MARKER} lines alone",
    )
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    add("--check-equivalence", type=int, nargs="?", const=0, metavar="SEED",
        help="run the module before and after each pass; a changed result is an error")  # fmt: skip
    add("--mlir-print-ir-before-all", action="store_true", help="print the IR before each pass")
    add("--mlir-print-ir-after-all", action="store_true", help="print the IR after each pass")
    add("--mlir-print-ir-after-failure", action="store_true", help="print the IR when a pass fails")
    add("--mlir-print-op-generic", action="store_true", help="print operations in their generic form")
    return parser


def _boolean(text: str) -> bool:
    values = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return values[text.lower()]


def _split_pass_flags(argv: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The pass flags in `argv` as (pass name, options), in their order, and all other arguments."""
    flags: list[tuple[str, str]] = []
    rest: list[str] = []
    for argument in argv:
        name, _, options = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name in PASSES:
            flags.append((name, options))
        else:
            rest.append(argument)
    return flags, rest


def _make_pipeline(text: str | None, lower_to: str | None, flags: list[tuple[str, str]]) -> Nest | None:
    if text is not None and flags:
        raise UserError(f"--pass-pipeline and --{flags[0][0]} exclude each other")
    if lower_to is not None and (text is not None or flags):
        raise UserError("--lower-to excludes other passes")
    if text is None and not flags:
        return None

    from npu_mlir.pass_pipeline import ROOT_ANCHOR, Nest, parse_pass, parse_pipeline

    if text is not None:
        return parse_pipeline(text)
    return Nest(ROOT_ANCHOR, tuple(parse_pass(name, options, f"--{name}") for name, options in flags))


def _process(args: argparse.Namespace, pipeline: Nest | None, text: str, name: str) -> int:
    """Run the pipeline on the input and write the output: all of it, or nothing if something was wrong."""
    from npu_mlir.module_io import save_module

    if args.split_input_file:
        return _process_parts(args, pipeline, text, name)
    module = _process_module(args, pipeline, text, name)
    save_module(module, args.output, generic=args.mlir_print_op_generic)
    return 0


def _process_parts(args: argparse.Namespace, pipeline: Nest | None, text: str, name: str) -> int:
    """Process each part of the input alone; a wrong one is reported and left out."""
    from npu_mlir.files import write_atomically
    from npu_mlir.module_io import module_text

    outputs: list[str] = []
    failed = False
    for part in _split(text):
        try:
            module = _process_module(args, pipeline, part, name)
            outputs.append(module_text(module, generic=args.mlir_print_op_generic))
        except UserError as error:
            if args.debug:
                raise
            print(render(error), file=sys.stderr)
            failed = True
    if not failed or args.output == "-":
        write_atomically(args.output, f"{SPLIT_MARKER}\n".join(outputs))
    return 1 if failed else 0


def _process_module(args: argparse.Namespace, pipeline: Nest | None, text: str, name: str) -> ModuleOp:
    from npu_mlir.dialects import make_context
    from npu_mlir.module_io import parse_with_weights
    from npu_mlir.verification import verify

    ctx = make_context()
    ctx.allow_unregistered = args.allow_unregistered_dialect
    module = parse_with_weights(ctx, text, name)
    verify(module)
    if args.lower_to is not None:
        from npu_mlir.pipeline import pipeline_to

        pipeline = pipeline_to(module, args.lower_to)
    if pipeline is not None:
        _make_manager(args, pipeline).run(ctx, module)
        if not args.verify_each:
            verify(module)
    return module


def _make_manager(args: argparse.Namespace, pipeline: Nest) -> PassManager:
    from npu_mlir.pass_manager import IRPrinter, PassManager

    instruments: list[PassInstrument] = []
    before, after = args.mlir_print_ir_before_all, args.mlir_print_ir_after_all
    on_failure = args.mlir_print_ir_after_failure
    if before or after or on_failure:
        instruments.append(IRPrinter(sys.stderr, before, after, on_failure))
    if args.check_equivalence is not None:
        from npu_mlir.equivalence import EquivalenceChecker

        # Behind the printers, so that the IR that is wrong is shown as well.
        instruments.append(EquivalenceChecker(args.check_equivalence))
    return PassManager(pipeline, args.verify_each, instruments)


def _split(text: str) -> list[str]:
    """The parts of the input; blank lines before each keep the line numbers those of the file."""
    parts: list[str] = []
    lines_before = 0
    for part in text.split(SPLIT_MARKER):
        parts.append("\n" * lines_before + part)
        lines_before += part.count("\n")
    return parts


def _list_passes() -> int:
    from npu_mlir.pass_listing import describe_passes

    print(describe_passes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
