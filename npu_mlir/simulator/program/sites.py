"""The sites of a kernel: its instructions, sets, waits and barriers, in program order.

The observer numbers what it sees in this order; pictures and reports find the operation and its text by the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from npu_mlir.dialects import npu_isa

Site = npu_isa.Instruction | npu_isa.SetFlagOp | npu_isa.WaitFlagOp | npu_isa.BarrierOp


def sites_of(op: Operation) -> Iterator[Site]:
    """The sites within an operation."""
    for nested in op.walk():
        if isinstance(nested, Site):
            yield nested


def site_lines(lines: Sequence[str], op: Operation) -> list[int]:
    """Where the sites stand in the printed `lines` of the operation that holds them."""
    names = {site.name for site in sites_of(op)}
    return [i for i, line in enumerate(lines) if line.lstrip().partition(" ")[0] in names]


def site_texts(op: Operation) -> list[str]:
    """The text of each site in the printed operation, so that values have the names that they have there."""
    lines = str(op).splitlines()
    return [lines[i].strip() for i in site_lines(lines, op)]
