"""The options of npu-opt, in groups, and what can be told about them from the command line alone."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from npu_mlir.passes import PASSES, is_pass
from npu_mlir.support.diagnostics import UserError, closest
from npu_mlir.tools.common import ArgumentParser
from npu_mlir.tools.pass_flags import PassFlags
from npu_mlir.tools.remark_options import add_remark_options
from npu_mlir.tools.target_settings import add_settings

if TYPE_CHECKING:
    from npu_mlir.ir.printing import PrintOptions

Add = Callable[..., argparse.Action]

SPLIT_MARKER = "// -----"


class OptParser(ArgumentParser):
    """npu-opt's parser, whose help ends with all passes and their options."""

    def __init__(self) -> None:
        super().__init__("npu-opt", "Run passes on a .mlir file and print the result.")
        self.usage = "npu-opt [FILE] [-o FILE] [--PASS[='OPTION=VALUE ...'] ...] [OPTION ...]"
        _add_general(self.add_argument)
        add_settings(self)
        _add_queries(self.add_argument_group("questions").add_argument)
        _add_checks(self.add_argument_group("checks").add_argument)
        _add_printing(self.add_argument_group("how the IR is printed").add_argument)
        _add_dumps(self.add_argument_group("the IR around passes, on standard error").add_argument)
        add_remark_options(self.add_argument_group("remarks").add_argument)
        _add_reports(self.add_argument_group("measurements and reproducers").add_argument)

    def format_help(self) -> str:
        from npu_mlir.pass_infra.pass_listing import describe_passes

        passes = "\n".join(f"  --{line}" if line[0] != " " else f"  {line}" for line in describe_passes())
        return f"{super().format_help()}\npasses, run in the order of their flags:\n{passes}\n"


def _add_general(add: Add) -> None:
    add("file", nargs="?", default="-", metavar="FILE", help="the input; standard input if missing or -")
    add("-o", dest="output", default="-", metavar="FILE", help="where to write; standard output by default")
    add(
        "--pass-pipeline", metavar="TEXT", help="the passes to run: 'builtin.module(func.func(PASS,...),...)'"
    )
    add("--lower-to", metavar="LEVEL",
        help="run the default pipeline from the module's level to graph, linalg, tile, tile-memref or isa; "
        "passes that say where they belong can be added by their flags")  # fmt: skip
    add("--split-input-file", nargs="?", const=SPLIT_MARKER, metavar="MARKER",
        help=f"process the parts between lines with the marker ({SPLIT_MARKER}) alone")  # fmt: skip
    add(
        "--output-split-marker",
        default=SPLIT_MARKER,
        metavar="MARKER",
        help="what stands between parts of the output",
    )
    _add_flag(add, "--fast-math", "formulas of functions may be off by more than 1 ulp in f16, 4 in f32")
    add("--irdl-file", metavar="FILE", help="dialects defined in IRDL")
    _add_flag(add, "--allow-unregistered-dialect", "accept operations of unknown dialects")
    _add_flag(add, "--mlir-disable-threading", "nothing changes: there is one thread")
    _add_flag(add, "--no-implicit-module", "the file holds one operation, which is not put into a module")


def _add_queries(add: Add) -> None:
    add("--list-passes", action="store_true", help="list the passes with their options")
    add("--show-dialects", action="store_true", help="list the dialects")
    _add_flag(add, "--dump-pass-pipeline", "print the pipeline before it runs, to standard error")


def _add_checks(add: Add) -> None:
    _add_flag(add, "--verify-each", "run the verifier after each pass (the default)", default=True)
    _add_flag(add, "--verify-roundtrip", "the module has to be the same when it is printed and parsed again")
    add("--verify-diagnostics", nargs="?", const="all", choices=("all", "only-expected"), metavar="WHICH",
        help="check that messages are what comments expect: expected-error @+1 {{text}}; "
        "only-expected lets others pass")  # fmt: skip
    add("--check-equivalence", type=int, nargs="?", const=0, metavar="SEED",
        help="run the module before and after each pass; a changed result is an error")  # fmt: skip


def _add_printing(add: Add) -> None:
    _add_flag(add, "--mlir-print-op-generic", "operations in their generic form")
    _add_flag(add, "--mlir-print-debuginfo", "locations behind operations")
    _add_flag(add, "--mlir-print-local-scope", "everything in place, without aliases (always so)")
    add("--mlir-elide-elementsattrs-if-larger", type=_count, metavar="N",
        help="leave out dense constants with more elements")  # fmt: skip
    add("--mlir-elide-resource-strings-if-larger", type=_count, metavar="N",
        help="leave out resources whose text is longer")  # fmt: skip
    _add_flag(add, "--mlir-print-skip-regions", "{...} for every region")
    _add_flag(add, "--mlir-print-unique-ssa-ids", "names of values that are unique in the whole text")
    _add_flag(add, "--mlir-print-value-users", "comments that name the users of each value")
    _add_flag(add, "--mlir-use-nameloc-as-prefix", "values named after the location of their operation")


def _add_dumps(add: Add) -> None:
    for when in ("before", "after"):
        add(
            f"--mlir-print-ir-{when}",
            action="append",
            default=[],
            metavar="PASS[,PASS]",
            help=f"{when} these passes",
        )
        _add_flag(add, f"--mlir-print-ir-{when}-all", f"{when} each pass")
    _add_flag(
        add, "--mlir-print-ir-after-change", "after passes only if they changed something; alone, after each"
    )
    _add_flag(add, "--mlir-print-ir-after-failure", "when a pass fails")
    _add_flag(add, "--mlir-print-ir-diff", "what each pass changed, as a coloured diff")
    _add_flag(add, "--mlir-print-ir-module-scope", "the whole module, not only what the pass runs on")
    add("--mlir-print-ir-tree-dir", type=Path, metavar="DIR", help="into files in a tree of directories")


def _add_reports(add: Add) -> None:
    _add_flag(add, "--mlir-timing", "how long parser, passes, verifier and printer take")
    add(
        "--mlir-timing-display",
        choices=("list", "tree"),
        default="tree",
        metavar="KIND",
        help="tree (default) or list",
    )
    add(
        "--mlir-output-format",
        choices=("text", "json"),
        default="text",
        metavar="KIND",
        help="of --mlir-timing: text (default) or json",
    )
    add("--mlir-pass-pipeline-crash-reproducer", metavar="FILE", help="write a reproducer if a pass fails")
    _add_flag(
        add, "--mlir-pass-pipeline-local-reproducer", "with the pass that fails alone, on the IR before it"
    )
    add("--mlir-generate-reproducer", metavar="FILE", help="write a reproducer in any case")
    _add_flag(
        add, "--mlir-pass-statistics", "what each pass counted, and the operations that it made and erased"
    )
    add(
        "--mlir-pass-statistics-display",
        choices=("list", "pipeline"),
        default="pipeline",
        metavar="KIND",
        help="pipeline (default) or list",
    )
    add(
        "--mlir-debug-counter",
        action="append",
        default=[],
        metavar="NAME-skip=N,NAME-count=N",
        help="do only some of the actions pass-execution and apply-pattern",
    )
    _add_flag(add, "--mlir-print-debug-counter", "how many actions there were")
    _add_flag(add, "--run-reproducer", "run the pipeline that the input, a reproducer, names")


def _add_flag(add: Add, name: str, text: str, default: bool = False) -> None:
    """A flag that may have a value, as in LLVM's tools: --flag=false."""
    add(name, type=_boolean, nargs="?", const=True, default=default, metavar="BOOL", help=text)


def _boolean(text: str) -> bool:
    values = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return values[text.lower()]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number that is not negative, got '{text}'")
    return int(text)


def check_options(args: argparse.Namespace, pass_flags: PassFlags) -> None:
    """Options that exclude or need each other."""
    if args.pass_pipeline is not None and pass_flags:
        raise UserError(f"--pass-pipeline and --{pass_flags[0][0]} exclude each other")
    has_passes = args.pass_pipeline is not None or bool(pass_flags)
    if not has_passes and args.lower_to is None and not args.run_reproducer:
        _check_not_idle(args)
    if args.lower_to is not None and args.pass_pipeline is not None:
        raise UserError("--lower-to and --pass-pipeline exclude each other")
    if args.run_reproducer and (has_passes or args.lower_to is not None):
        raise UserError("--run-reproducer excludes other passes: the reproducer has its own")
    if args.mlir_pass_pipeline_local_reproducer and args.mlir_pass_pipeline_crash_reproducer is None:
        raise UserError(
            "--mlir-pass-pipeline-local-reproducer needs --mlir-pass-pipeline-crash-reproducer=FILE"
        )
    for when in ("before", "after"):
        _check_pass_names(f"--mlir-print-ir-{when}", split_names(getattr(args, f"mlir_print_ir_{when}")))
    _check_tree_directory(args)


def _check_not_idle(args: argparse.Namespace) -> None:
    """Options that say something about passes, without any."""
    for name in ("check_equivalence", "mlir_generate_reproducer", "mlir_pass_pipeline_crash_reproducer"):
        if getattr(args, name) is not None:
            raise UserError(f"--{name.replace('_', '-')} needs passes to run")


def _check_tree_directory(args: argparse.Namespace) -> None:
    directory = args.mlir_print_ir_tree_dir
    if directory is None:
        return
    if not wants_dumps(args):
        raise UserError("--mlir-print-ir-tree-dir needs another --mlir-print-ir-... option")
    if directory.exists() and not directory.is_dir():
        raise UserError(f"--mlir-print-ir-tree-dir: '{directory}' is not a directory")


def wants_dumps(args: argparse.Namespace) -> bool:
    """Whether IR is to be printed around passes."""
    names = args.mlir_print_ir_before + args.mlir_print_ir_after
    everything = args.mlir_print_ir_before_all or args.mlir_print_ir_after_all
    return bool(names or everything or args.mlir_print_ir_after_change or args.mlir_print_ir_after_failure)


def split_names(values: Iterable[str]) -> tuple[str, ...]:
    """The names that the values of an option give, separated by commas."""
    return tuple(name.strip() for value in values for name in value.split(","))


def _check_pass_names(option: str, names: Iterable[str]) -> None:
    for name in names:
        if not is_pass(name):
            raise UserError(f"{option}: unknown pass '{name}'{closest(name, PASSES)}")


def print_options(args: argparse.Namespace) -> PrintOptions:
    """How to print IR."""
    from npu_mlir.ir.printing import PrintOptions

    return PrintOptions(
        generic=args.mlir_print_op_generic,
        debuginfo=args.mlir_print_debuginfo,
        elide_elements=args.mlir_elide_elementsattrs_if_larger,
        elide_resources=args.mlir_elide_resource_strings_if_larger,
        skip_regions=args.mlir_print_skip_regions,
        unique_ids=args.mlir_print_unique_ssa_ids,
        name_locations=args.mlir_use_nameloc_as_prefix,
        value_users=args.mlir_print_value_users,
    )
