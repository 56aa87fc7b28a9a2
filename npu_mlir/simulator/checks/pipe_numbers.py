"""The pipes of all cores, numbered: the index of a vector clock."""

from __future__ import annotations

from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.timing.pipes import EXECUTING

ORDERED = (*EXECUTING, Pipe.S)
"""The pipes that touch memory: also the scalar unit, which reads."""

_NUMBER = {pipe: i for i, pipe in enumerate(ORDERED)}


def pipe_number(core: int, pipe: Pipe) -> int:
    """The number of a pipe of a core."""
    return core * len(ORDERED) + _NUMBER[pipe]


def core_of(number: int) -> int:
    """The core that a pipe with this number belongs to."""
    return number // len(ORDERED)
