"""The blocks of a kernel: what one execution amounts to, and how often they are executed.

On a machine with L2, what a load takes depends on where its operand is when the kernel begins (`Heat`): it may always
hit, always miss, or miss as long as some loops are in their first iterations and hit from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Block

from npu_mlir.analysis.gm_boxes import argument_of, loops_that_repeat
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.simulator.program.machine_limits import check_machine
from npu_mlir.targets.cost import Cost, cost_of, l2_cost
from npu_mlir.targets.target import Target

INLINED_FROM = 500
"""How often an entry is executed, on average, in a kernel that is worth computing the time in place for: writing and
compiling that code takes as long as so many calls."""


@dataclass(frozen=True)
class Heat:
    """Where the arguments of a kernel are when it begins."""

    ready: tuple[int | None, ...]
    """For each: 0 in L2, None in HBM, else when a prefetch has brought it to L2, in cycles of the clock."""
    fits: bool
    """All of them fit L2 together: what was loaded once is there."""


class LoadCost(NamedTuple):
    """What a load takes that doesn't always take the same."""

    hit: Cost
    miss: Cost
    loops: tuple[scf.ForOp, ...]
    """It may miss as long as all of these are in their first iterations."""
    ready: int
    """When a prefetch has brought its operand to L2, in cycles of the clock; `NEVER` without one."""
    argument: int | None
    """Of the kernel, that is loaded."""
    bytes: int


NEVER = 1 << 62
"""A time that no program reaches."""


class Traffic(NamedTuple):
    """What an instruction moves between the core and GM in one execution."""

    argument: int | None
    """Of the kernel."""
    bytes: int
    load: bool
    hit: bool
    """Found in L2; of one with a `LoadCost`, where it doesn't miss."""


@dataclass
class BlockInfo:
    """What one execution of a block amounts to, without the blocks inside."""

    instructions: int = 0
    flags: int = 0
    works: list[npu_isa.CubeWork] = field(default_factory=list[npu_isa.CubeWork])
    busy: dict[Pipe, int] = field(default_factory=dict[Pipe, int])
    """Cycles that instructions occupy each pipe; those of loads that may hit or miss when they hit."""
    transfers: list[Traffic] = field(default_factory=list[Traffic])

    @property
    def steps(self) -> int:
        """What counts against the budget."""
        return 1 + self.instructions + self.flags


class Blocks:
    """The blocks of a kernel, and what its instructions cost on a target, with GM as one flat memory (no `heat`) or
    behind L2.

    Raises a `SimulationError` if the target lacks a path or memory that the kernel uses.
    """

    def __init__(self, kernel: tile.KernelOp, target: Target, heat: Heat | None = None):
        self.kernel = kernel
        self.target = target
        self._works = check_machine(kernel, target)
        self._variants: dict[Heat | None, Blocks] = {heat: self}
        self._forms = ScalarForms()
        self._counts: dict[Block, int] = {}
        """How often each block is executed, once that is known; the same wherever the arguments are."""
        self._repeating: dict[npu_isa.GmLoad, tuple[scf.ForOp, ...]] = {}
        self._set(heat)

    def at(self, heat: Heat | None) -> Blocks:
        """The same kernel with its arguments elsewhere."""
        found = self._variants.get(heat)
        if found is None:
            found = copy(self)
            if heat is None or all(ready in (0, None) for ready in heat.ready):
                self._variants[heat] = found
            found._set(heat)
        return found

    def _set(self, heat: Heat | None) -> None:
        self.heat = heat
        self._costs: dict[npu_isa.Instruction, Cost] = {}
        self._loads: dict[npu_isa.Instruction, LoadCost] = {}
        self._missing: set[npu_isa.Instruction] = set()
        self.__dict__.pop("infos", None)

    @property
    def costs(self) -> dict[npu_isa.Instruction, Cost]:
        """What each instruction takes."""
        assert self.infos
        return self._costs

    @property
    def loads(self) -> dict[npu_isa.Instruction, LoadCost]:
        """Loads that don't always take the same; `costs` has what they take when they hit."""
        assert self.infos
        return self._loads

    @property
    def missing(self) -> set[npu_isa.Instruction]:
        """Loads that always miss."""
        assert self.infos
        return self._missing

    @cached_property
    def infos(self) -> dict[Block, BlockInfo]:
        """What an execution of each block amounts to, in the order of the text."""
        return {block: self._info(block) for block in blocks_within(self.kernel.body.block)}

    def _info(self, block: Block) -> BlockInfo:
        info = BlockInfo()
        for op in block.ops:
            work = self._works.get(op)
            if work is not None and isinstance(op, npu_isa.Instruction):
                info.instructions += 1
                cost = self._costs[op] = self._cost(op, work)
                info.busy[op.PIPE] = info.busy.get(op.PIPE, 0) + cost.occupancy
                if isinstance(work, npu_isa.CubeWork):
                    info.works.append(work)
                elif isinstance(work, npu_isa.MoveWork) and isinstance(op, npu_isa.GmLoad | npu_isa.GmStore):
                    info.transfers.append(self._traffic(op, work))
            elif isinstance(op, npu_isa.SetFlagOp | npu_isa.WaitFlagOp):
                info.flags += 1
        return info

    def _cost(self, op: npu_isa.Instruction, work: npu_isa.Work) -> Cost:
        if self.heat is None:
            return cost_of(work, self.target)
        hit = l2_cost(work, self.target, True)
        if not isinstance(op, npu_isa.GmLoad):
            return hit
        ready = self._ready(op)
        if ready == 0:
            return hit
        miss = l2_cost(work, self.target, False)
        loops = self._loops(op) if self.heat.fits else ()
        if ready is None and not loops:
            self._missing.add(op)
            return miss
        size = work.bytes if isinstance(work, npu_isa.MoveWork) else 0
        ready = NEVER if ready is None else ready
        self._loads[op] = LoadCost(hit, miss, loops, ready, argument_of(op), size)
        return hit

    def _loops(self, op: npu_isa.GmLoad) -> tuple[scf.ForOp, ...]:
        if op not in self._repeating:
            # What data choose may be another row each time.
            self._repeating[op] = () if op.data_axis is not None else loops_that_repeat(op, self._forms)
        return self._repeating[op]

    def _ready(self, op: npu_isa.GmLoad) -> int | None:
        assert self.heat is not None
        number = argument_of(op)
        return None if number is None else self.heat.ready[number]

    def _traffic(self, op: npu_isa.GmLoad | npu_isa.GmStore, work: npu_isa.MoveWork) -> Traffic:
        hit = self.heat is not None and op not in self._missing
        return Traffic(argument_of(op), work.bytes, isinstance(op, npu_isa.GmLoad), hit)

    @cached_property
    def loaded(self) -> set[int | None]:
        """The arguments that loads read."""
        return {argument_of(op) for op in self.kernel.walk() if isinstance(op, npu_isa.GmLoad)}

    @cached_property
    def long(self) -> bool:
        """Whether the time of the kernel is worth computing in place."""
        entries = sum(info.steps for info in self.infos.values())
        executed = sum(info.steps * self._executions(block) for block, info in self.infos.items())
        return executed >= INLINED_FROM * entries

    def _executions(self, block: Block) -> int:
        """How often a block is executed, at most; loops whose bounds are not constant are taken for long ones."""
        found = self._counts.get(block)
        if found is None:
            found, op = 1, block.parent_op()
            if isinstance(op, scf.ForOp):
                trips = constant_trips(op)
                found = INLINED_FROM if trips is None else len(trips)
            if op is not None and op is not self.kernel and op.parent is not None:
                found *= self._executions(op.parent)
            self._counts[block] = found
        return found


def blocks_within(block: Block) -> Iterator[Block]:
    """A block and those inside, in the order of the text."""
    yield block
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from blocks_within(inner)


def pipes_of(block: Block) -> set[Pipe]:
    """The pipes with a queue that get entries in a block and those inside."""
    pipes: set[Pipe] = set()
    for op in block.walk():
        if isinstance(op, npu_isa.Instruction):
            pipes.add(op.PIPE)
        elif isinstance(op, npu_isa.SetFlagOp | npu_isa.WaitFlagOp):
            pipes.add(op.pipes[isinstance(op, npu_isa.WaitFlagOp)])
    return pipes - {Pipe.S}
