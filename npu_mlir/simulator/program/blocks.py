"""The blocks of a kernel: what one execution amounts to, and how often they are executed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.simulator.program.machine_limits import check_machine
from npu_mlir.targets.cost import Cost, cost_of
from npu_mlir.targets.target import Target

INLINED_FROM = 500
"""How often an entry is executed, on average, in a kernel that is worth computing the time in place for: writing and
compiling that code takes as long as so many calls."""


@dataclass
class BlockInfo:
    """What one execution of a block amounts to, without the blocks inside."""

    instructions: int = 0
    flags: int = 0
    works: list[npu_isa.CubeWork] = field(default_factory=list[npu_isa.CubeWork])
    busy: dict[Pipe, int] = field(default_factory=dict[Pipe, int])
    """Cycles that instructions occupy each pipe."""

    @property
    def steps(self) -> int:
        """What counts against the budget."""
        return 1 + self.instructions + self.flags


class Blocks:
    """The blocks of a kernel, and what its instructions cost on a target.

    Raises a `SimulationError` if the target lacks a path or memory that the kernel uses.
    """

    def __init__(self, kernel: tile.KernelOp, target: Target):
        check_machine(kernel, target)
        self.kernel = kernel
        self.target = target
        self.costs: dict[npu_isa.Instruction, Cost] = {}
        self.infos = {block: self._info(block) for block in blocks_within(kernel.body.block)}
        """In the order of the text."""

    def _info(self, block: Block) -> BlockInfo:
        info = BlockInfo()
        for op in block.ops:
            if isinstance(op, npu_isa.Instruction):
                info.instructions += 1
                work = op.work()
                cost = self.costs[op] = cost_of(work, self.target)
                info.busy[op.PIPE] = info.busy.get(op.PIPE, 0) + cost.occupancy
                if isinstance(work, npu_isa.CubeWork):
                    info.works.append(work)
            elif isinstance(op, npu_isa.SetFlagOp | npu_isa.WaitFlagOp):
                info.flags += 1
        return info

    @property
    def long(self) -> bool:
        """Whether the time of the kernel is worth computing in place."""
        entries = sum(info.steps for info in self.infos.values())
        executed = sum(info.steps * _executions(block) for block, info in self.infos.items())
        return executed >= INLINED_FROM * entries


def _executions(block: Block) -> int:
    """How often a block is executed, at most; loops whose bounds are not constant are taken for long ones."""
    count, op = 1, block.parent_op()
    while op is not None and not isinstance(op, tile.KernelOp):
        if isinstance(op, scf.ForOp):
            trips = constant_trips(op)
            count *= INLINED_FROM if trips is None else len(trips)
        op = op.parent_op()
    return count


def blocks_within(block: Block) -> Iterator[Block]:
    """A block and those inside, in the order of the text."""
    yield block
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from blocks_within(inner)


def pipes_of(block: Block) -> set[Pipe]:
    """The pipes that get entries in a block and those inside."""
    pipes: set[Pipe] = set()
    for op in block.walk():
        if isinstance(op, npu_isa.Instruction):
            pipes.add(op.PIPE)
        elif isinstance(op, npu_isa.SetFlagOp | npu_isa.WaitFlagOp):
            pipes.add(op.pipes[isinstance(op, npu_isa.WaitFlagOp)])
    return pipes
