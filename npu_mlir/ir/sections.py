"""In which order the launches of a program run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block

from npu_mlir.dialects import tile
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.support.diagnostics import UserError


def sections_before(program: tile.ProgramOp) -> dict[tile.LaunchOp, set[tile.LaunchOp]]:
    """For each launch of a program, those that may have run last before it; none for the one that comes first."""
    before: dict[tile.LaunchOp, set[tile.LaunchOp]] = {}
    _follow(program.body.block, set(), before)
    return before


def last_sections(program: tile.ProgramOp) -> set[tile.LaunchOp]:
    """The launches of a program that may be the last to run."""
    return _follow(program.body.block, set(), {})


def _follow(
    block: Block, last: Iterable[tile.LaunchOp], before: dict[tile.LaunchOp, set[tile.LaunchOp]]
) -> set[tile.LaunchOp]:
    """Go through a block behind those that ran last; returns those that may be the last then."""
    current = set(last)
    for op in block.ops:
        if isinstance(op, tile.LaunchOp):
            before.setdefault(op, set()).update(current)
            current = {op}
        elif isinstance(op, scf.ForOp):
            trips = constant_trips(op)
            if trips is not None and not trips:
                continue
            ends = _follow(op.body.block, current, before)
            if trips is None or len(trips) > 1:
                ends = _follow(op.body.block, ends, before)
            current = ends if trips else current | ends
    return current


def launches_in_order(block: Block) -> Iterator[tile.LaunchOp]:
    """The launches of a program in the order in which they run. A `UserError` for a loop whose bounds are not
    constants."""
    for op in block.ops:
        if isinstance(op, tile.LaunchOp):
            yield op
        elif isinstance(op, scf.ForOp) and any(isinstance(inner, tile.LaunchOp) for inner in op.walk()):
            trips = constant_trips(op)
            if trips is None:
                raise UserError("how often this loop launches kernels is not known without values", loc=op)
            for _ in trips:
                yield from launches_in_order(op.body.block)


WINDOW = 3
"""Sections in a row: what is in flight when one begins depends on the last two."""


def new_windows(names: Sequence[Hashable], seen: set[tuple[Hashable, ...]]) -> list[bool]:
    """For each section of a program, whether it is part of a window that is not `seen` so far, which is then added.

    >>> new_windows("abcbcbcbcb", set())
    [True, True, True, True, True, False, False, False, True, True]
    """
    # The end of a program is something that comes behind the last.
    row = [*names, None]
    new = [False] * len(row)
    for last in range(len(row)):
        first = max(last + 1 - WINDOW, 0)
        # The start of a program is a window that nothing comes before.
        window = (first == 0, *row[first : last + 1])
        if window not in seen:
            seen.add(window)
            new[first : last + 1] = [True] * (last + 1 - first)
    return new[:-1]
