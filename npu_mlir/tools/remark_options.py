"""The options of mlir-opt that show remarks, for npu-opt and npu-compile."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from contextlib import contextmanager

from npu_mlir.support.diagnostics import UserError

_KINDS = {"passed": "Passed", "missed": "Missed", "failed": "Failure", "analyse": "Analysis"}
"""The kinds of remarks by their names in options."""

DEFAULT_FILE = "mlir-remarks.yaml"


def add_remark_options(add: Callable[..., argparse.Action]) -> None:
    """Add the options."""
    add(
        "--remarks-filter",
        metavar="REGEX",
        help="show the remarks of the passes whose name matches, of all kinds",
    )
    for kind in _KINDS:
        add(f"--remarks-filter-{kind}", metavar="REGEX", help=f"show such remarks, of the kind '{kind}'")
    add(
        "--remark-format",
        choices=("emitRemark", "yaml"),
        default="emitRemark",
        metavar="KIND",
        help="emitRemark (default): on standard error; yaml: into a file, as LLVM's tools read it",
    )
    add("--remarks-output-file", metavar="FILE", help=f"the file of --remark-format=yaml ({DEFAULT_FILE})")


@contextmanager
def remarks_shown(args: argparse.Namespace) -> Generator[None]:
    """Within, the remarks that the options ask for are shown, or collected and written at the end."""
    given = {kind: getattr(args, f"remarks_filter_{kind}") for kind in _KINDS}
    texts = {kind: [text for text in (args.remarks_filter, own) if text] for kind, own in given.items()}
    if not any(texts.values()):
        if args.remark_format == "yaml" or args.remarks_output_file is not None:
            raise UserError("remarks need a filter, such as --remarks-filter='.*'")
        yield
        return

    from npu_mlir.support.files import check_writable, write_atomically
    from npu_mlir.support.remarks import Remark, RemarkKind, reporting, yaml_document

    filters = {RemarkKind(_KINDS[kind]): "|".join(parts) for kind, parts in texts.items() if parts}
    if args.remark_format != "yaml":
        if args.remarks_output_file is not None:
            raise UserError("--remarks-output-file needs --remark-format=yaml")
        with reporting(filters):
            yield
        return
    path = args.remarks_output_file or DEFAULT_FILE
    check_writable(path)
    documents: list[str] = []

    def collect(remark: Remark) -> None:
        documents.append(yaml_document(remark))

    try:
        with reporting(filters, collect):
            yield
    finally:
        write_atomically(path, "".join(documents))
