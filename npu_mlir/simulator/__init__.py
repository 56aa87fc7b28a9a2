"""The simulator: executes and times modules at the level of instructions.

Its rooms, bottom up; a module imports only from its own room and those before it:

    errors        what is reported about a program that is wrong
    program       what a kernel consists of: sites, blocks and their costs, the extents of operands
    codegen       a kernel as one Python function, put together by sinks
    timing        when things happen: the pipes
    execution     what instructions compute
    checks        races, flags, memory that was never written
    attribution   where time goes
    debugger      a prompt before instructions
    run           kernels on cores, one behind the other or side by side
    measure       one kernel that is not in its program yet
    simulate      the host function and its launches
"""

from __future__ import annotations

from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.run import Executed, Run
from npu_mlir.simulator.simulate import KernelStats, Launch, SimulationResult, simulate

ROOMS = (
    "errors",
    "program",
    "codegen",
    "timing",
    "execution",
    "checks",
    "attribution",
    "debugger",
    "run",
    "linked",
    "measure",
    "simulate",
)
"""The order of the rooms: `tests/unit/test_rooms.py` holds it."""

__all__ = [
    "ROOMS",
    "Executed",
    "KernelStats",
    "Launch",
    "Run",
    "SimulationError",
    "SimulationResult",
    "simulate",
]
