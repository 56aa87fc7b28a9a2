"""What a kernel needs of a machine: its memories and paths."""

from __future__ import annotations

from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import BufferOp, Instruction, MoveWork
from npu_mlir.simulator.errors import SimulationError, describe
from npu_mlir.targets.target import Target


def check_machine(kernel: tile.KernelOp, target: Target) -> None:
    """Raise unless the target has every path that the kernel uses, and memory where its buffers are."""
    for op in kernel.walk():
        if isinstance(op, BufferOp):
            space = op.result.type.space.data
            end = op.address.value.data + op.bytes.value.data * op.slots.value.data
            if end > target.capacity(space):
                raise SimulationError(
                    f"the buffer ends at byte {end} of {space}, which has {target.capacity(space)} on {target.name}",
                    loc=op,
                )
        elif isinstance(op, Instruction):
            _check_path(op, target)


def _check_path(op: Instruction, target: Target) -> None:
    work = op.work()
    if isinstance(work, MoveWork) and work.path not in target.rates:
        source, dest = work.path.split("_")
        raise SimulationError(f"{target.name} has no path from {source} to {dest}: {describe(op)}", loc=op)
