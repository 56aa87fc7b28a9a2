"""The simulator: executes and times modules at the level of instructions."""

from __future__ import annotations

from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.simulate import KernelStats, Launch, SimulationResult, simulate

__all__ = ["KernelStats", "Launch", "SimulationError", "SimulationResult", "simulate"]
