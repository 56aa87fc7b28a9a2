"""What the simulator reports about a program that is wrong."""

from __future__ import annotations

from xdsl.ir import Operation

from npu_mlir.diagnostics import UserError


class SimulationError(UserError):
    """A program that misuses the machine: a race, a flag, memory that was never written or doesn't exist."""


def describe(op: Operation) -> str:
    """An instruction in a message: its text and the graph op that it comes from."""
    text = " ".join(str(op).split())
    origin = op.attributes.get("npu.loc")
    return f"{text} (from {origin})" if origin is not None else text
