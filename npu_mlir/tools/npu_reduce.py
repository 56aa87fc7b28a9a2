"""npu-reduce: make a module that shows a problem as small as possible.

npu-reduce in.mlir --pass-pipeline='builtin.module(my-pass)' --check-equivalence -o small.mlir
npu-reduce in.mlir --test ./script -o small.mlir
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npu_mlir.support.diagnostics import UserError
from npu_mlir.tools.common import ArgumentParser, keep_what_is_built, run_tool
from npu_mlir.tools.target_settings import add_settings, change_machine

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from npu_mlir.validation.reducer import Problem


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status."""
    return run_tool(_run, argv)


def _run(argv: list[str]) -> int:
    args = _make_parser().parse(argv)
    if (args.test is None) == (args.pass_pipeline is None and args.lower_to is None):
        raise UserError("give either --test, or --pass-pipeline or --lower-to")

    from npu_mlir.dialects.context import make_context
    from npu_mlir.ir.module_io import load_module, save_module
    from npu_mlir.ir.verification import verify
    from npu_mlir.support.files import check_outputs
    from npu_mlir.validation.reducer import reduce_module

    check_outputs({"-o": args.output}, [args.file])
    ctx = make_context()
    ctx.allow_unregistered = args.allow_unregistered_dialect
    module = load_module(ctx, args.file)
    verify(module)
    change_machine(module, args)
    keep_what_is_built()
    result = reduce_module(module, _problem(args, ctx, module), args.max_tests, _report)
    save_module(result.module, args.output)
    before, after = (sum(1 for _ in m.walk()) for m in (module, result.module))
    print(f"reduced {before} operations to {after} in {result.tests} tests", file=sys.stderr)
    return 0


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser("npu-reduce", "Reduce a .mlir file to a small one that shows the same problem.")
    add = parser.add_argument
    add_settings(parser)
    add("file", nargs="?", default="-", help="the input; standard input if missing or -")
    add("-o", dest="output", default="-", metavar="FILE", help="where to write; standard output by default")
    add(
        "--test",
        metavar="COMMAND",
        help="a command that exits with status 1 on a file that shows the problem",
    )
    add("--pass-pipeline", metavar="TEXT", help="passes that fail on the input: 'builtin.module(PASS,...)'")
    add("--lower-to", metavar="LEVEL", help="the default pipeline to this level fails on the input")
    add("--check-equivalence", type=int, nargs="?", const=0, metavar="SEED",
        help="a pass that changes what the module computes fails")  # fmt: skip
    add("--max-tests", type=int, default=3000, metavar="N", help="stop after so many tests (default: 3000)")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    return parser


def _problem(args: argparse.Namespace, ctx: Context, module: ModuleOp) -> Problem:
    from npu_mlir.validation.reducer import PipelineProblem, ScriptProblem

    if args.test is not None:
        if args.check_equivalence is not None:
            raise UserError("--check-equivalence needs passes; --test has none")
        command = shlex.split(args.test)
        if not command:
            raise UserError("--test: the command is empty")
        return ScriptProblem(command)

    from npu_mlir.pass_infra.pipeline_parser import parse_pipeline
    from npu_mlir.pipeline import pipeline_to

    if args.pass_pipeline is not None:
        pipeline = parse_pipeline(args.pass_pipeline)
    else:
        pipeline = pipeline_to(module, args.lower_to)
    problem = PipelineProblem(ctx, pipeline, module, args.check_equivalence)
    message = problem.error.message if isinstance(problem.error, UserError) else repr(problem.error)
    print(f"reducing for: {message}", file=sys.stderr)
    return problem


def _report(tests: int, size: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{size} operations after {tests} tests ", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
