"""Locations that rewrites keep: what a pattern inserts comes from where the op comes from that it matched.

xDSL's rewriter leaves new ops without a location. While a pass runs, `kept_by_patterns` makes every `PatternRewriter`
hand the location and the provenance (`npu.loc`) of the matched op on; the walker that a pass uses doesn't matter.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

PROVENANCE = "npu.loc"


def inherit_location(new: Operation, old: Operation) -> None:
    """Give `new`, and all in it, what it doesn't know about where it comes from."""
    origin = old.attributes.get(PROVENANCE)
    if origin is not None:
        new.attributes.setdefault(PROVENANCE, origin)
    if old.location is UNKNOWN_LOC:
        return
    for op in new.walk():
        if op.location is UNKNOWN_LOC:
            op.location = old.location


@contextmanager
def kept_by_patterns() -> Generator[None]:
    """Within, ops that a `PatternRewriter` inserts inherit the location of the op that it matched."""
    insert = PatternRewriter.insert

    def insert_located(
        self: PatternRewriter, op: Operation | Sequence[Operation], insertion_point: InsertPoint | None = None
    ) -> Operation | Sequence[Operation]:
        inserted = insert(self, op, insertion_point)  # pyright: ignore[reportArgumentType]
        matched = self._current_operation  # pyright: ignore[reportPrivateUsage]
        if matched is not None:
            for new in (op,) if isinstance(op, Operation) else op:
                inherit_location(new, matched)
        return inserted

    PatternRewriter.insert = insert_located  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        PatternRewriter.insert = insert
