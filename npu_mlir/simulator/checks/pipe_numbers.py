"""The pipes of all cores, numbered: the index of a vector clock."""

from __future__ import annotations

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.timing.pipes import EXECUTING

_NUMBER = {pipe: i for i, pipe in enumerate(EXECUTING)}


def pipe_number(core: int, pipe: Pipe) -> int:
    """The number of a pipe of a core."""
    return core * len(EXECUTING) + _NUMBER[pipe]


def core_of(number: int) -> int:
    """The core that a pipe with this number belongs to."""
    return number // len(EXECUTING)
