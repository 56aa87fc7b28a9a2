"""What a kernel needs of a machine: its memories, paths and steps of the fixpipe."""

from __future__ import annotations

from xdsl.ir import Operation

from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import BufferOp, FixpipeGmOp, FixpipeUbOp, Instruction, MoveWork, Work
from npu_mlir.simulator.errors import SimulationError, describe
from npu_mlir.targets.target import Target


def check_machine(kernel: tile.KernelOp, target: Target) -> dict[Operation, Work]:
    """Raise unless the target has every path and scale that the kernel uses, and memory where its buffers are; the work
    of each instruction of the kernel."""
    works: dict[Operation, Work] = {}
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
            works[op] = op.work()
            _check_path(op, works[op], target)
            _check_scale(op, target)
    return works


def _check_path(op: Instruction, work: Work, target: Target) -> None:
    if isinstance(work, MoveWork) and work.path not in target.rates:
        source, dest = work.path.split("_")
        raise SimulationError(f"{target.name} has no path from {source} to {dest}: {describe(op)}", loc=op)


def _check_scale(op: Instruction, target: Target) -> None:
    if not isinstance(op, FixpipeGmOp | FixpipeUbOp) or op.epilogue is None or op.epilogue.scale is None:
        return
    if isinstance(op, FixpipeGmOp):
        accumulator, result = op.accumulator, op.gm_type.element_type
    else:
        accumulator, result = op.element, op.dest_element
    if not target.scales(accumulator, result):
        raise SimulationError(
            f"the fixpipe of {target.name} does not scale {accumulator} to {result}: {describe(op)}", loc=op
        )
