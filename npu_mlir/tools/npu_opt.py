"""npu-opt: run passes on `.mlir` files, like mlir-opt.

npu-opt --pass-pipeline='builtin.module(func.func(canonicalize),tile-choose-schedule)' in.mlir
npu-opt --canonicalize --graph-set-precision="precision=f16" in.mlir -o out.mlir
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from npu_mlir.support.debug_counter import describe, limited, parse_counters
from npu_mlir.support.diagnostics import SourceLocation, UserError, handling, register_source, render, warn
from npu_mlir.tools.common import REPRODUCER, run_tool
from npu_mlir.tools.npu_opt_options import (
    OptParser,
    check_options,
    print_options,
    split_names,
    wants_dumps,
)
from npu_mlir.tools.pass_flags import PassFlags, parse_with_pass_flags, passes_of
from npu_mlir.tools.remark_options import remarks_shown
from npu_mlir.tools.target_settings import change_machine

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npu_mlir.pass_infra.instruments.pass_statistics import PassStatistics
    from npu_mlir.pass_infra.instruments.timing import Timing
    from npu_mlir.pass_infra.pass_manager import PassInstrument
    from npu_mlir.pass_infra.pipeline_parser import PassNest
    from npu_mlir.support.debug_counter import Counter


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status."""
    return run_tool(_run, argv)


def _run(argv: list[str]) -> int:
    pass_flags, args = parse_with_pass_flags(OptParser, argv)
    if args.list_passes:
        return _list_passes()
    if args.show_dialects:
        return _show_dialects()
    check_options(args, pass_flags)
    pipeline = _make_pipeline(args, pass_flags)
    job = _Job(args, pipeline, _make_timing(args), parse_counters(args.mlir_debug_counter))

    from npu_mlir.support.files import check_outputs, read_text

    outputs = {
        "-o": args.output,
        REPRODUCER: args.mlir_pass_pipeline_crash_reproducer,
        "--mlir-generate-reproducer": args.mlir_generate_reproducer,
    }
    check_outputs(outputs, [args.file, args.irdl_file])
    text, name = read_text(args.file)
    try:
        with remarks_shown(args):
            return job.run(text, name)
    finally:
        if job.timing is not None:
            report = job.timing.json if args.mlir_output_format == "json" else job.timing.report
            print(report(args.mlir_timing_display), file=sys.stderr)


def _make_pipeline(args: argparse.Namespace, flags: PassFlags) -> PassNest | None:
    """The passes that the command line names, if it names any."""
    if args.pass_pipeline is None and not flags:
        return None

    from npu_mlir.pass_infra.pipeline_parser import ROOT_ANCHOR, PassNest, parse_pipeline

    if args.pass_pipeline is not None:
        return parse_pipeline(args.pass_pipeline, any_root=args.no_implicit_module)
    return PassNest(ROOT_ANCHOR, tuple(passes_of(flags)))


def _make_timing(args: argparse.Namespace) -> Timing | None:
    if not args.mlir_timing:
        return None

    from npu_mlir.pass_infra.instruments.timing import Timing

    return Timing()


@dataclass
class _Job:
    """What the command line asks for, done on an input."""

    args: argparse.Namespace
    pipeline: PassNest | None
    timing: Timing | None
    counters: dict[str, Counter]

    def run(self, text: str, name: str) -> int:
        """Run the pipeline on the input and write the output: all of it, or nothing if something was wrong."""
        if self.args.split_input_file is not None:
            return self._run_parts(_split(text, self.args.split_input_file, name), name)
        if self.args.verify_diagnostics is not None:
            return self._run_parts([text], name)

        from npu_mlir.ir.module_io import save_module

        module = self._process(text, name)
        with self._timed("Output"):
            if self.args.no_implicit_module:
                self._write(self._text(module))
            else:
                save_module(module, self.args.output, print_options(self.args))
        return 0

    def _run_parts(self, parts: list[str], name: str) -> int:
        """Process each part of the input alone; a wrong one is reported and left out."""
        outputs: list[str] = []
        failed = False
        for part in parts:
            output, good = self._run_part(part, name)
            outputs += [] if output is None else [output]
            failed |= not good
        if not failed or self.args.output == "-":
            self._write(f"{self.args.output_split_marker}\n".join(outputs))
        return 1 if failed else 0

    def _run_part(self, part: str, name: str) -> tuple[str | None, bool]:
        """The output for a part of the input, and whether all was as it should be."""
        if self.args.verify_diagnostics is not None:
            return self._verify_diagnostics(part, name)
        try:
            return self._text(self._process(part, name)), True
        except UserError as error:
            if self.args.debug:
                raise
            print(render(error), file=sys.stderr)
            return None, False

    def _verify_diagnostics(self, part: str, name: str) -> tuple[str | None, bool]:
        """Process a part and compare the messages with the expected ones."""
        from npu_mlir.support.expected_diagnostics import DiagnosticVerifier, render_mismatches

        register_source(name, part)
        try:
            verifier = DiagnosticVerifier(part, name, self.args.verify_diagnostics == "only-expected")
        except UserError as error:
            print(render(error), file=sys.stderr)
            return None, False
        output = None
        try:
            with handling(verifier.add):
                output = self._text(self._process(part, name))
        except UserError as error:
            verifier.add(error)
        mismatches = verifier.mismatches()
        if mismatches:
            print(render_mismatches(mismatches), file=sys.stderr)
        return output, not mismatches

    def _process(self, text: str, name: str) -> ModuleOp:
        """Parse, verify, run the passes."""
        from npu_mlir.dialects.context import make_context
        from npu_mlir.ir.module_io import parse_with_weights
        from npu_mlir.ir.verification import verify

        ctx = make_context()
        ctx.allow_unregistered = self.args.allow_unregistered_dialect
        if self.args.irdl_file is not None:
            from npu_mlir.ir.irdl_files import register_irdl

            register_irdl(ctx, self.args.irdl_file)
        implicit = not self.args.no_implicit_module

        def parse() -> ModuleOp:
            module = parse_with_weights(ctx, text, name, implicit_module=implicit)
            change_machine(module, self.args)
            if self.args.fast_math:
                from npu_mlir.support.accuracy import allow_fast
                from npu_mlir.support.levels import level_of

                allow_fast(module, level_of(module))
            return module

        with self._timed("Parser"):
            module = parse()
        with self._timed("(V) Verifier"):
            verify(module)
        if self.args.verify_roundtrip:
            from npu_mlir.validation.roundtrip import check_roundtrip

            check_roundtrip(ctx, module)
        pipeline, verify_each = self._pipeline_for(module, text, name)
        if pipeline is not None:
            self._run_passes(ctx, module, pipeline, verify_each, parse)
            if not verify_each:
                verify(module)
        return module

    def _pipeline_for(self, module: ModuleOp, text: str, name: str) -> tuple[PassNest | None, bool]:
        """The passes to run on this module, and whether to verify after each."""
        pipeline, verify_each = self.pipeline, self.args.verify_each
        if self.args.run_reproducer:
            from npu_mlir.pass_infra.pipeline_parser import parse_pipeline
            from npu_mlir.pass_infra.reproducer import read_reproducer

            pipeline_text, verify_each = read_reproducer(text, name)
            pipeline = parse_pipeline(pipeline_text, f"pipeline in {name}")
        elif self.args.lower_to is not None:
            from npu_mlir.pipeline import pipeline_to

            extra = [] if pipeline is None else cast("list[ModulePass]", list(pipeline.elements))
            pipeline = pipeline_to(module, self.args.lower_to, extra=extra)
        if pipeline is not None and self.args.dump_pass_pipeline:
            print(pipeline.describe(), file=sys.stderr)
        return pipeline, verify_each

    def _run_passes(
        self,
        ctx: Context,
        module: ModuleOp,
        pipeline: PassNest,
        verify_each: bool,
        original: Callable[[], ModuleOp],
    ) -> None:
        """Run the pipeline; `original` makes the module of the input again, for reproducers."""
        from npu_mlir.pass_infra.pass_manager import PassManager
        from npu_mlir.pass_infra.reproducer import ReproducerWriter

        reproducer = ReproducerWriter(
            original,
            str(pipeline),
            verify_each,
            self.args.mlir_pass_pipeline_crash_reproducer,
            local=self.args.mlir_pass_pipeline_local_reproducer,
        )
        if self.args.mlir_generate_reproducer is not None:
            reproducer.write(self.args.mlir_generate_reproducer)
        statistics = self._statistics()
        instruments = [*reproducer.instruments(), *self._instruments(), *statistics]
        try:
            with limited(self.counters):
                PassManager(pipeline, verify_each, instruments, self.timing).run(ctx, module)
        except UserError as error:
            reproducer.write_for(error)
            raise
        finally:
            for instrument in statistics:
                display = self.args.mlir_pass_statistics_display
                print(instrument.report(pipeline, display), file=sys.stderr)
            if self.args.mlir_print_debug_counter:
                print(describe(self.counters), file=sys.stderr)

    def _statistics(self) -> list[PassStatistics]:
        if not self.args.mlir_pass_statistics:
            return []

        from npu_mlir.pass_infra.instruments.pass_statistics import PassStatistics

        return [PassStatistics()]

    def _instruments(self) -> list[PassInstrument]:
        args = self.args
        instruments: list[PassInstrument] = []
        if wants_dumps(args):
            instruments.append(_make_printer(args))
        if args.mlir_print_ir_diff:
            from npu_mlir.pass_infra.instruments.ir_diff import IRDiffPrinter

            instruments.append(IRDiffPrinter(print_options(args)))
        if args.check_equivalence is not None:
            from npu_mlir.validation.equivalence import EquivalenceChecker

            # Behind the printers, so that the IR that is wrong is shown as well.
            instruments.append(EquivalenceChecker(args.check_equivalence))
        return instruments

    def _text(self, module: ModuleOp) -> str:
        from npu_mlir.ir.module_io import module_text
        from npu_mlir.ir.printing import op_text

        options = print_options(self.args)
        op = module.body.block.first_op
        if self.args.no_implicit_module and op is not None and op is module.body.block.last_op:
            return op_text(op, options)
        return module_text(module, options)

    def _write(self, text: str) -> None:
        from npu_mlir.support.files import write_atomically

        write_atomically(self.args.output, text)

    def _timed(self, name: str) -> AbstractContextManager[None]:
        return nullcontext() if self.timing is None else self.timing.scope(name)


def _make_printer(args: argparse.Namespace) -> PassInstrument:
    """What prints the IR around passes."""
    from npu_mlir.pass_infra.instruments.ir_printer import IRPrinter, Selection

    before, after = split_names(args.mlir_print_ir_before), split_names(args.mlir_print_ir_after)
    after_all = args.mlir_print_ir_after_all or (args.mlir_print_ir_after_change and not after)
    return IRPrinter(
        Selection(before, args.mlir_print_ir_before_all),
        Selection(after, after_all),
        only_changes=args.mlir_print_ir_after_change,
        on_failure=args.mlir_print_ir_after_failure,
        module_scope=args.mlir_print_ir_module_scope,
        directory=args.mlir_print_ir_tree_dir,
        options=print_options(args),
    )


def _split(text: str, marker: str, name: str) -> list[str]:
    """The parts of the input; blank lines before each keep the line numbers those of the file."""
    register_source(name, text)
    lines = text.split("\n")
    ends = [i for i, line in enumerate(lines) if line.rstrip() == marker]
    for i, line in enumerate(lines):
        if re.fullmatch(r"//\s*-{3,}\s*", line) and i not in ends:
            warn(
                f"this looks like the marker between parts, '{marker}', but is not one",
                loc=SourceLocation(name, i + 1, 1),
            )
    starts = [0, *(end + 1 for end in ends)]
    return ["\n" * a + "\n".join(lines[a:b]) + "\n" for a, b in zip(starts, [*ends, len(lines)], strict=True)]


def _list_passes() -> int:
    from npu_mlir.pass_infra.pass_listing import describe_passes

    print("\n".join(describe_passes()))
    return 0


def _show_dialects() -> int:
    from npu_mlir.dialects import DIALECTS

    print(f"Available Dialects: {','.join(sorted(DIALECTS))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
