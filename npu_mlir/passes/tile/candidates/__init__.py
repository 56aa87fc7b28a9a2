"""The schedules that `tile-choose-schedule` considers for a kernel, the best first: all policy is here.

A contraction takes the best tilings of `analysis.tiling_search`, a chain of two those of `analysis.chain_tiling`, a
vector kernel the largest tiles, innermost dims whole, that leave a few of them to overlap; all then smaller and smaller
ones, for as long as they don't fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from npu_mlir.passes.tile.candidates.candidate import ScheduleCandidate
from npu_mlir.passes.tile.candidates.chain import chain_candidates
from npu_mlir.passes.tile.candidates.contraction import contraction_candidates
from npu_mlir.passes.tile.candidates.vector import vector_candidates
from npu_mlir.passes.tile.kernel import Kernel
from npu_mlir.passes.tile.operand_heat import Cold
from npu_mlir.targets.target import Target


def candidates(kernel: Kernel, target: Target, cold: Cold | None = None) -> Iterator[ScheduleCandidate]:
    """The candidates for a kernel, without those that equal the one before; none if no tile of its product fits. `cold`
    are the arguments that come from HBM on a machine with L2, all if it is None."""
    contractions = kernel.contractions
    match contractions:
        case []:
            found = vector_candidates(kernel, target)
        case [contraction]:
            found = contraction_candidates(kernel, contraction, target, cold)
        case _:
            found = chain_candidates(kernel, target)
    return (next(equal) for _, equal in groupby(found, key=lambda candidate: candidate.schedule))


__all__ = ["ScheduleCandidate", "candidates"]
