"""npu-run: run a model or a module of any level, and compare it with a reference.

npu-run model.onnx --compare onnxruntime
npu-run model.mlir --input x=x.npy --output-dir out --report report.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npu_mlir.diagnostics import UserError, closest
from npu_mlir.tools.common import ArgumentParser, run_tool
from npu_mlir.tools.model_options import add_model_options, dims_of, name_and_value, shapes_of

if TYPE_CHECKING:
    import numpy as np

    from npu_mlir.api import Program
    from npu_mlir.comparison import Comparison

REFERENCES = ("onnxruntime", "none")


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; returns the exit status: 1 for an error or a failed comparison."""
    return run_tool(_run, argv)


def _run(argv: list[str]) -> int:
    args = _make_parser().parse(argv)
    _check_arguments(args)

    from npu_mlir.report import print_report, report_of, write_report

    program = _program(args)
    inputs = _inputs(args, program)
    if program.level == "isa":
        simulation = program.simulate(inputs)
        outputs = program.named(simulation.outputs)
    else:
        simulation = None
        outputs = program.run(inputs)
    comparisons = _compare(args, program, inputs, outputs)
    report = report_of(program, outputs, simulation, comparisons)
    print_report(report)
    if args.report:
        write_report(report, args.report)
    if args.output_dir:
        _write_outputs(outputs, Path(args.output_dir))
    return 0 if all(comparison.agrees for comparison in comparisons) else 1


def _make_parser() -> ArgumentParser:
    parser = ArgumentParser("npu-run", "Run an .onnx model or a .mlir module of any level.")
    add = parser.add_argument
    add("file", help="an .onnx file, which is compiled first, or a .mlir file of any level")
    add(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="an input, or FILE.npz with several",
    )
    add("--seed", type=int, default=0, metavar="N", help="for the inputs that are not given (default: 0)")
    add("--compare", default="none", metavar="REFERENCE", help="onnxruntime or none (default)")
    add("--reference", metavar="MODEL.onnx", help="the model that a .mlir file is compared with")
    add("--rtol", type=float, metavar="X", help="relative tolerance (default: 1e-3, with f16 2e-2)")
    add("--atol", type=float, metavar="X", help="absolute tolerance (default: 1e-5, with f16 2e-2)")
    add(
        "--emit",
        default="isa",
        metavar="LEVEL",
        help="the level to compile an .onnx file to and run (default: isa)",
    )
    add("--report", metavar="FILE.json", help="write outputs' errors, cycles and kernels as JSON")
    add("--output-dir", metavar="DIR", help="write each output as DIR/NAME.npy")
    add_model_options(parser)
    return parser


def _check_arguments(args: argparse.Namespace) -> None:
    """What can be told from the command line alone, before any work."""
    from npu_mlir.files import check_writable

    if args.compare not in REFERENCES:
        raise UserError(
            f"--compare: expected one of {', '.join(REFERENCES)}{closest(args.compare, REFERENCES)}"
        )
    if args.compare != "none" and args.file.endswith(".mlir") and args.reference is None:
        raise UserError("--compare needs --reference MODEL.onnx when a .mlir file is run")
    if args.report:
        check_writable(args.report)
    if args.output_dir and Path(args.output_dir).exists() and not Path(args.output_dir).is_dir():
        raise UserError(f"cannot write to '{args.output_dir}': it is not a directory")


def _program(args: argparse.Namespace) -> Program:
    from npu_mlir import api

    if args.file.endswith(".mlir") or args.file == "-":
        return api.load(args.file, target=args.target)
    return api.compile(
        args.file,
        target=args.target,
        emit=args.emit,
        precision=args.precision,
        dims=dims_of(args),
        shapes=shapes_of(args),
    )


def _inputs(args: argparse.Namespace, program: Program) -> dict[str, np.ndarray]:
    """The inputs that are given, and random ones for the others."""
    from npu_mlir.arrays import read_npy, read_npz

    inputs = program.random_inputs(args.seed)
    given: dict[str, np.ndarray] = {}
    for text in args.input:
        if text.endswith(".npz") and "=" not in text:
            given |= read_npz(text)
        else:
            name, path = name_and_value("--input", text)
            given[name] = read_npy(path)
    program.arrange(inputs | given)
    return inputs | given


def _compare(
    args: argparse.Namespace, program: Program, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]
) -> list[Comparison]:
    if args.compare == "none":
        return []

    from npu_mlir.comparison import TOLERANCES, Tolerance, compare, run_onnxruntime

    default = TOLERANCES[program.precision]
    tolerance = Tolerance(
        default.rtol if args.rtol is None else args.rtol, default.atol if args.atol is None else args.atol
    )
    expected = run_onnxruntime(args.reference or args.file, inputs)
    for name in outputs:
        if name not in expected:
            raise UserError(f"the reference has no output '{name}'{closest(name, expected)}")
    return [compare(name, value, expected[name], tolerance) for name, value in outputs.items()]


def _write_outputs(outputs: dict[str, np.ndarray], directory: Path) -> None:
    from npu_mlir.arrays import write_npy

    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the directory '{directory}': {error.strerror}") from error
    for name, value in outputs.items():
        write_npy(directory / f"{name.replace('/', '_')}.npy", value)


if __name__ == "__main__":
    sys.exit(main())
