"""npu-run: run a model or a module of any level, and compare it with a reference.

npu-run model.onnx --compare onnxruntime
npu-run model.mlir --input x=x.npy --output-dir out --report report.json
npu-run model.onnx --timing-only --attribution --html report.html --trace trace.json
npu-run --diff before.json after.json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from npu_mlir.frontends import check_reference, is_module_file, reference_for
from npu_mlir.support.diagnostics import UserError, closest, printable
from npu_mlir.targets.l2 import DEFAULT_L2, L2_STATES
from npu_mlir.tools.common import ArgumentParser, keep_what_is_built, name_and_value, run_tool
from npu_mlir.tools.model_options import add_model_options, baked_of, compile_model, read_model, value_of
from npu_mlir.tools.pass_flags import PassFlags, parse_with_pass_flags
from npu_mlir.tools.progress import progress_bar

if TYPE_CHECKING:
    import numpy as np

    from npu_mlir.api import Program
    from npu_mlir.frontends.frontend import Reference
    from npu_mlir.report.report import Report
    from npu_mlir.simulator import SimulationResult
    from npu_mlir.support.tolerance import Tolerance
    from npu_mlir.validation.comparison import Comparison
    from npu_mlir.validation.intermediates import Intermediates

LevelTexts = dict[str, str]
"""The text of a module at each level, with locations."""


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status: 1 for an error or a failed comparison."""
    return run_tool(_run, argv)


def _run(argv: list[str]) -> int:
    flags, args = parse_with_pass_flags(_make_parser, argv)
    _check_arguments(args, flags)
    # Before NumPy is loaded: tiles are too small for a second thread to pay, and sums shall not depend on it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if args.diff:
        from npu_mlir.report.views.diff import print_diff

        print_diff(*args.diff)
        return 0

    from npu_mlir.report.report import report_of
    from npu_mlir.report.views.tables import print_report, print_timelines
    from npu_mlir.validation.intermediates import Intermediates

    levels = LevelTexts()
    program = _program(args, flags, levels)
    _check_level(args, program)
    inputs = None if args.timing_only else _inputs(args, program)
    simulation = None
    outputs: dict[str, np.ndarray] = {}
    inside = Intermediates() if args.compare_all or args.dump_tensor else None
    if program.level == "isa":
        simulation = _simulate(args, program, inputs, inside)
        if inputs is not None:
            outputs = program.named(simulation.outputs)
    elif inputs is not None:
        outputs = program.run(inputs)
    comparisons = [] if inputs is None else _compare(args, program, inputs, outputs)
    report = report_of(program, outputs, simulation, comparisons)
    # Files come first: a reader of standard output may close it early.
    _write_files(args, program, report, simulation, levels)
    print_report(report, explain=args.attribution, waterfall=args.waterfall)
    if simulation is not None and args.timeline:
        print_timelines(simulation)
    arrays = list(outputs.items()) if args.output_dir else []
    if inside is not None:
        arrays += _dumped(args, inside)
    if args.output_dir or args.dump_tensor:
        _write_arrays(arrays, Path(args.output_dir or "."))
    agrees = all(comparison.agrees for comparison in comparisons)
    if inside is not None and inputs is not None and args.compare_all:
        agrees &= _compare_inside(args, inside, program, inputs)
    return 0 if agrees else 1


def _write_files(
    args: argparse.Namespace,
    program: Program,
    report: Report,
    simulation: SimulationResult | None,
    levels: LevelTexts,
) -> None:
    """Write what `--report`, `--trace` and `--html` ask for."""
    from npu_mlir.report.report import write_report

    if args.report:
        write_report(report, args.report)
    if simulation is not None and args.trace:
        from npu_mlir.report.views.trace import write_trace

        write_trace(program.module, simulation, args.trace)
    if simulation is not None and args.html:
        from npu_mlir.report.views.html import write_html

        write_html(args.file, program.module, report, simulation, levels, args.html)


def _dumped(args: argparse.Namespace, inside: Intermediates) -> list[tuple[str, np.ndarray]]:
    """The values within the model that are asked for, by name."""
    dumped: list[tuple[str, np.ndarray]] = []
    for node in args.dump_tensor:
        found = inside.of(node)
        for i, result in enumerate(found):
            dumped.append((node if len(found) == 1 else f"{node}.{i}", result.value))
        nodes = " + ".join(map(printable, found[0].nodes))
        print(f"{printable(node)}: what {printable(found[0].kernel)} leaves, which computes {nodes}")
    return dumped


def _compare_inside(
    args: argparse.Namespace, inside: Intermediates, program: Program, inputs: dict[str, np.ndarray]
) -> bool:
    """Compare values within the model; whether all of them agree."""
    from npu_mlir.report.views.tables import print_checks
    from npu_mlir.validation.intermediates import compare_all

    checks = compare_all(
        inside.results, _reference(args), {**inputs, **baked_of(args)}, _tolerance(args, program)
    )
    print_checks(checks)
    return not any(check.deviates for check in checks)


def _simulate(
    args: argparse.Namespace,
    program: Program,
    inputs: dict[str, np.ndarray] | None,
    inside: Intermediates | None,
) -> SimulationResult:
    keep_what_is_built()
    record = bool(args.trace or args.html or args.timeline)
    explain = record or bool(args.report or args.attribution or args.waterfall)
    # A bar would move over the prompt of the debugger.
    with nullcontext() if args.breaks else progress_bar("launches") as progress:
        return program.simulate(
            inputs,
            check=not (args.no_check or args.timing_only),
            explain=explain,
            record=record,
            progress=progress,
            watch=inside.collect if inside is not None else None,
            breaks=args.breaks,
            l2=args.l2,
        )


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser("npu-run", "Run a model or a .mlir module of any level.")
    add = parser.add_argument
    add("file", nargs="?", help="a model (.onnx), which is compiled first, or a .mlir file of any level")
    add("--seed", type=int, default=0, metavar="N", help="for the inputs that are not given (default: 0)")
    add(
        "--compare",
        default="none",
        metavar="REFERENCE",
        help="onnxruntime, one of a plugin, or none (default)",
    )
    add("--reference", metavar="MODEL", help="the model that a .mlir file is compared with")
    add("--rtol", type=float, metavar="X", help="relative tolerance (default: 1e-3, with f16 2e-2)")
    add("--atol", type=float, metavar="X", help="absolute tolerance (default: 1e-5, with f16 2e-2)")
    add(
        "--emit",
        metavar="LEVEL",
        help="the level to compile to and run (default: isa for a model, that of a .mlir file itself)",
    )
    add(
        "--compare-all",
        action="store_true",
        help="also compare every value in memory; name the first that deviates",
    )
    add(
        "--dump-tensor",
        action="append",
        default=[],
        metavar="NODE",
        help="write what the kernel that computes a node leaves in memory, to NODE.npy in the output directory",
    )
    add(
        "--break",
        dest="breaks",
        action="append",
        default=[],
        metavar="KERNEL|NODE|CYCLE",
        help="stop there and open a prompt: step, memory, pipes, flags (help lists the commands)",
    )
    add("--timing-only", action="store_true", help="cycles alone: no inputs, weights, outputs or checks")
    add(
        "--l2",
        metavar="|".join(L2_STATES),
        help="what L2 has at first, on a machine with one: nothing, what the program leaves there, or off: no L2 "
        f"(default: {DEFAULT_L2})",
    )
    add("--no-check", action="store_true", help="don't look for races, misused flags and unwritten memory")
    add("--timeline", action="store_true", help="print when each instruction of each kernel starts and ends")
    add("--attribution", action="store_true", help="also show where the cycles went")
    add(
        "--waterfall", action="store_true", help="also show the way from ideal cycles to cycles, step by step"
    )
    add("--report", metavar="FILE.json", help="write errors, cycles, kernels and their attribution as JSON")
    add(
        "--trace",
        metavar="FILE.json",
        help="write a trace for ui.perfetto.dev: a track per pipe, 1 us = 1 cycle",
    )
    add("--html", metavar="FILE.html", help="write a page with timeline, roofline, memory map and IR")
    add("--diff", nargs=2, metavar=("A.json", "B.json"), help="compare two reports, and run nothing")
    add("--output-dir", metavar="DIR", help="write each output as DIR/NAME.npy")
    add_model_options(parser)
    return parser


def _check_arguments(args: argparse.Namespace, flags: PassFlags) -> None:
    """What can be told from the command line alone, before any work."""
    if args.diff:
        if args.file is not None or flags:
            what = f"--{flags[0][0]}" if flags else "the model"
            raise UserError(f"--diff compares two reports and runs nothing: leave out {what}")
        return
    if args.file is None:
        raise UserError("no file to run")
    _check_timing_only(args)
    _check_comparison(args)
    _check_paths(args)
    if args.output_dir and Path(args.output_dir).exists() and not Path(args.output_dir).is_dir():
        raise UserError(f"cannot write to '{args.output_dir}': it is not a directory")


def _check_comparison(args: argparse.Namespace) -> None:
    """A comparison needs a reference, and a model for it to run."""
    if args.compare != "none":
        check_reference(args.compare, "--compare")
    asked = {"--compare-all": args.compare_all, "--compare": args.compare != "none"}
    for option, given in asked.items():
        if given and args.reference is None and is_module_file(args.file):
            raise UserError(f"{option} needs --reference MODEL.onnx when a .mlir file is run")
    if args.reference is not None and not any(asked.values()):
        raise UserError(
            "--reference is what --compare onnxruntime or --compare-all compares with: add one of them"
        )


def _check_paths(args: argparse.Namespace) -> None:
    """Files to write: each can be written, none is read, and none is meant for two things."""
    from npu_mlir.support.files import check_outputs

    names = ("report", "trace", "html", "mlir_pass_pipeline_crash_reproducer")
    outputs = {f"--{name.replace('_', '-')}": getattr(args, name) for name in names}
    for option, path in outputs.items():
        if path == "-":
            raise UserError(f"{option}: standard output is for the tables, name a file")
    read = [part for text in args.input for part in _tails(text)]
    check_outputs(outputs, [args.file, args.reference, *read])


def _name_and_path(text: str, names: Iterable[str]) -> tuple[str, str]:
    """Split NAME=PATH. Both may have equals signs in them: an input that the model has decides."""
    name = max((name for name in names if text.startswith(f"{name}=")), key=len, default=None)
    if name is not None:
        return name, text[len(name) + 1 :]
    name_and_value("--input", text)
    name, _, path = text.partition("=")
    return name, path


def _tails(text: str) -> list[str]:
    """What may be the path in NAME=PATH: all of it, or what stands behind one of its equals signs."""
    return [text, *(text[i + 1 :] for i, c in enumerate(text) if c == "=")]


def _check_timing_only(args: argparse.Namespace) -> None:
    """Outputs need values, which a run for time alone does not compute."""
    if not args.timing_only:
        return
    asked = {
        "--input": args.input,
        "--output-dir": args.output_dir,
        "--compare": args.compare != "none",
        "--compare-all": args.compare_all,
        "--dump-tensor": args.dump_tensor,
    }
    for option, given in asked.items():
        if given:
            raise UserError(f"--timing-only computes no values: leave out {option}")


def _check_level(args: argparse.Namespace, program: Program) -> None:
    if program.level == "isa":
        return
    for option in (
        "breaks",
        "dump_tensor",
        "compare_all",
        "timing_only",
        "timeline",
        "attribution",
        "waterfall",
        "trace",
        "html",
        "l2",
    ):
        if getattr(args, option):
            name = f"--{option.replace('_', '-').replace('breaks', 'break')}"
            raise UserError(
                f"{name}: only instructions can be simulated, the module is at the level '{program.level}'",
                notes=["--emit isa takes it to the instructions"],
            )


def _program(args: argparse.Namespace, flags: PassFlags, levels: LevelTexts) -> Program:
    """The program; for a page, the text of each level that it passes is kept."""
    source = read_model(args, args.file)

    def keep(level: str) -> None:
        if args.html:
            from npu_mlir.ir.printing import PrintOptions, op_text

            levels[level] = op_text(source.program.module, PrintOptions(debuginfo=True))

    if source.level is not None:
        keep(source.level)
    return compile_model(args, source, args.file, args.emit or source.level or "isa", flags, reached=keep)


def _inputs(args: argparse.Namespace, program: Program) -> dict[str, np.ndarray]:
    """The inputs that are given, and random ones for the others."""
    import numpy as np

    from npu_mlir.support.arrays import read_npz

    inputs = program.random_inputs(args.seed)
    types = {signature.name: signature.dtype for signature in program.inputs}
    given: dict[str, np.ndarray] = {}
    for text in args.input:
        if text.endswith(".npz") and "=" not in text:
            given |= read_npz(text)
            continue
        name, path = _name_and_path(text, [*inputs, *args.bake])
        if name not in args.bake:
            value = value_of(path)
            number = not hasattr(value, "dtype") and name in types
            given[name] = np.full(inputs[name].shape, value, types[name]) if number else np.asarray(value)
    program.arrange(inputs | given)
    return inputs | given


def _compare(
    args: argparse.Namespace, program: Program, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]
) -> list[Comparison]:
    if args.compare == "none":
        return []

    from npu_mlir.validation.comparison import compare

    tolerance = _tolerance(args, program)
    expected = _reference(args).outputs({**inputs, **baked_of(args)})
    for name in outputs:
        if name not in expected:
            raise UserError(f"the reference has no output '{name}'{closest(name, expected)}")
    return [compare(name, value, expected[name], tolerance) for name, value in outputs.items()]


def _reference(args: argparse.Namespace) -> Reference:
    """What is asked for, or what the frontend of the model names."""
    return reference_for(args.reference or args.file, None if args.compare == "none" else args.compare)


def _tolerance(args: argparse.Namespace, program: Program) -> Tolerance:
    """What is asked for, or the default of the precision."""
    from npu_mlir.support.tolerance import TOLERANCES, Tolerance

    default = TOLERANCES[program.precision]
    return Tolerance(
        default.rtol if args.rtol is None else args.rtol, default.atol if args.atol is None else args.atol
    )


def _write_arrays(arrays: Sequence[tuple[str, np.ndarray]], directory: Path) -> None:
    """Write outputs and values within the model, each to a file of its own, which is named if its name is another."""
    from npu_mlir.support.arrays import file_names, write_npy

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the directory '{directory}': {error.strerror}") from error
    for (name, value), stem in zip(arrays, file_names([name for name, _ in arrays]), strict=True):
        if stem != name.replace("/", "_"):
            print(f"{printable(name)} is in {stem}.npy")
        write_npy(directory / f"{stem}.npy", value)


if __name__ == "__main__":
    sys.exit(main())
