"""What the simulator reports about a program that is wrong."""

from __future__ import annotations

from xdsl.ir import Operation

from npu_mlir.dialects import npu_isa
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import PROVENANCE, closest_node
from npu_mlir.support.node_names import shown


class SimulationError(UserError):
    """A program that misuses the machine: a race, a flag, memory that was never written or doesn't exist."""


def describe(op: Operation) -> str:
    """An instruction in a message: its text, and the graph op that it or what it is in comes from."""
    text = " ".join(str(op).split())
    node = None if PROVENANCE in op.attributes else closest_node(op)
    return f"{text} (of '{shown(node)}')" if node else text


def wait_without_set(op: npu_isa.WaitFlagOp, event: int) -> SimulationError:
    """The error for a wait that would never end."""
    src, dst = op.pipes
    message = f"{dst} waits for flag {event} of {src}, which no instruction before it sets: {describe(op)}"
    return SimulationError(message, loc=op)
