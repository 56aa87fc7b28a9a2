"""Who can tell how long a kernel takes: the simulator, which stands above passes, is given to them here.

with measured_by(kernel_cycles):        the pass manager
    ...
    measure = present_measure()         a pass; None where nobody can tell
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npu_mlir.dialects import tile
    from npu_mlir.targets.target import Target

Measure = Callable[["tile.KernelOp", "Target", "frozenset[int] | None"], "int | None"]
"""Takes a kernel whose memory is planned, alone in a module and changed by this; the target; and the arguments that
come from HBM on a machine with L2, None for all. Returns its cycles, or None if it can't be lowered."""

_measures: list[Measure] = []


def present_measure() -> Measure | None:
    """What measures kernels at present."""
    return _measures[-1] if _measures else None


@contextmanager
def measured_by(measure: Measure) -> Generator[None]:
    """Within, kernels can be measured."""
    _measures.append(measure)
    try:
        yield
    finally:
        _measures.pop()
