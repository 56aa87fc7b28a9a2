"""What is wrong with a program although its values come out right in program order.

- A race: two accesses of different pipes to the same bytes, one of them a write, that no flag or barrier orders. Each
  pipe has a vector clock: how many entries of every other pipe are known to be complete before its next one. A set
  copies the clock of its pipe, the wait merges the copy. What the scalar unit has read or waited for, everything that
  it issues afterwards knows. Memory has a `TrackedAccess` per operand of an instruction
  and address, with the number of its last execution, and a list of the accesses of other pipes that it can conflict
  with, found when either is first seen. The last one of each suffices, as pipes are in order.
- A flag that is waited for and not set, set again while pending or possibly before the last wait consumed it, or left
  pending at the end.
- A read of bytes that nothing wrote (see `written`), results of which elements are never written.
- An access outside of its slot.

All is independent of data and time. Clocks, flags and what touched memory outlive a kernel (`Hazards`); slots of
buffers and what is found out about the instructions are those of one execution (`KernelChecks`). GM operands are in
`gm_hazards`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Elements, Extent, Pipe
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import Space
from npu_mlir.simulator.checks import hazard_messages
from npu_mlir.simulator.checks.gm_hazards import GmMemory, KernelGm
from npu_mlir.simulator.checks.initialized import SlotBytes, spread
from npu_mlir.simulator.checks.pipe_numbers import ORDERED, pipe_number
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.program.extents import overlap
from npu_mlir.targets.target import Target

BUCKETS = 32
"""Parts of a memory by which accesses are sorted, to find those that may overlap."""

HazardCheck = Callable[..., None]


class TrackedAccess:
    """An operand of an instruction at one address."""

    __slots__ = (
        "address",
        "buffer",
        "bytes",
        "clean",
        "conflicts",
        "extent",
        "last",
        "op",
        "pipe",
        "slot",
        "write",
    )

    def __init__(self, operand: Operand, pipe: int, address: int, slot: SlotBytes):
        self.op = operand.op
        self.pipe = pipe
        self.write = operand.write
        self.address = address
        self.extent = operand.extent
        self.buffer = operand.buffer
        self.slot = slot
        self.bytes = slot.view(address, operand.extent)
        self.clean = -1
        """The version of the slot for which all bytes were seen to be written."""
        self.last = 0
        """The number of the pipe's entry that made this access last."""
        self.conflicts: list[TrackedAccess] = []


@dataclass
class Operand:
    """An on-chip operand: where its address and the start of its slot stand among the arguments of a check; its
    elements, if its instruction works element by element."""

    op: npu_isa.Instruction
    address: int
    base: int
    buffer: npu_isa.BufferOp
    write: bool
    extent: Extent
    elements: Elements | None
    accesses: dict[int, TrackedAccess]


@dataclass(slots=True)
class Execution:
    """An instruction with the addresses of one of its executions."""

    accesses: list[TrackedAccess]
    conflicts: list[TrackedAccess]
    """Of all its accesses."""
    known: int
    """How many accesses were known when the conflicts were found."""
    clean: int = -1
    """The version of all slots for which everything that it reads was seen to be written."""


@dataclass
class Flags:
    """The flags between two pipes, by event."""

    pending: dict[int, tuple[list[int], npu_isa.SetFlagOp]] = field(
        default_factory=dict[int, tuple[list[int], npu_isa.SetFlagOp]]
    )
    """The clock of the pipe that set it, then."""
    consumed: dict[int, tuple[int, Operation]] = field(default_factory=dict[int, tuple[int, Operation]])
    """The entry of the last wait."""


class Hazards:
    """What is known of the pipes and memories of a machine, while kernels run on it.

    `alone` says that one kernel is all that runs, so that what only matters to another need not be kept.
    """

    def __init__(self, target: Target, cores: int = 1, alone: bool = True):
        self.target = target
        pipes = cores * len(ORDERED)
        self.clocks = [[0] * pipes for _ in range(pipes)]
        self.issued = [0] * pipes
        self.flags = defaultdict[tuple[int, int], Flags](Flags)
        """By the pipes that set them and wait for them."""
        self.seen: dict[tuple[int, Space, int], list[TrackedAccess]] = {}
        """The accesses that touch each bucket of each memory of each core."""
        self.known = 0
        """How many accesses there are."""
        self.version = 0
        """How often poison was written to some slot."""
        self.gm = GmMemory(self.clocks, target, alone)
        self.open: dict[int, KernelChecks] = {}
        """The last kernel of each core."""
        self.gaps = set[int]()
        """Cores whose last kernel ran unseen."""

    def enter(
        self,
        kernel: tile.KernelOp,
        arguments: Sequence[Any] = (),
        core: int = 0,
        constant: Container[int] = (),
    ) -> KernelChecks:
        """A kernel begins on a core, and what ran there before is over.

        `arguments` are its arrays in GM, or whatever stands for them: equal ones are the same array, None is one that
        nothing else has, a `range` one with these bytes. Those whose numbers are `constant` nothing writes. Raises a
        `SimulationError` if a result of the kernel before was not written completely.
        """
        if core in self.open:
            self.open[core].gm.end()
        gap = core in self.gaps
        self.gaps.discard(core)
        self.open[core] = KernelChecks(self, self.gm.enter(kernel, arguments, core, constant), core, gap)
        return self.open[core]

    def skip(self, kernel: tile.KernelOp, arguments: Sequence[Any], core: int = 0) -> None:
        """A kernel runs as `enter` says, but nothing of it is looked at; what ran before it is complete for those that
        come after."""
        if core in self.open:
            before = self.open.pop(core)
            before.gm.end()
            before.barrier()
        # What was set for it is gone, and what comes next may wait for what it sets.
        for flags in self.flags.values():
            flags.pending.clear()
        self.gaps.add(core)
        self.gm.skip(kernel, arguments)

    def end(self, complete: bool = True) -> None:
        """All is over: no flag may be pending; if it is `complete`, every element of the results is written."""
        for flags in self.flags.values():
            for event, (_, op) in flags.pending.items():
                raise hazard_messages.left_pending(op, event)
        if complete:
            for kernel in self.open.values():
                kernel.gm.end()
        # No cycles are left behind: bitmaps are large, and go at once.
        for accesses in self.seen.values():
            for access in accesses:
                access.conflicts.clear()


class KernelChecks:
    """The checks of one execution of a kernel on a core. Its buffers hold nothing at first."""

    def __init__(self, hazards: Hazards, gm: KernelGm, core: int, gap: bool = False):
        self.hazards = hazards
        self.target = hazards.target
        self.gm = gm
        self.core = core
        self.gap = gap
        """The kernel before ran unseen: what is waited for and not set may have been set by it."""
        self.pipes = {pipe: pipe_number(core, pipe) for pipe in ORDERED}
        self.slots: dict[tuple[npu_isa.BufferOp, int], SlotBytes] = {}

    # ---- instructions

    def instruction(self, op: npu_isa.Instruction, bases: Sequence[SSAValue | None]) -> HazardCheck:
        """What to call with the operands of each execution of `op`, followed by the base of each address among them."""
        accesses = op.accesses(self.target.cube)
        operands = self._operands(op, accesses, bases)
        pipe, hazards = self.pipes[op.PIPE], self.hazards
        clock, issued = hazards.clocks[pipe], hazards.issued
        gm = self.gm.instruction(op, accesses)
        fill = self._fill(op, operands)
        pick = itemgetter(*[o.address for o in operands]) if operands else lambda args: ()
        executions: dict[Any, Execution] = {}

        def check(*args: int) -> None:
            number = issued[pipe] = issued[pipe] + 1
            addresses = pick(args)
            execution = executions.get(addresses)
            if execution is None or execution.known != hazards.known:
                execution = executions[addresses] = self._execution(operands, args)
            for other in execution.conflicts:
                if other.last > clock[other.pipe]:
                    raise self._race(execution, other)
            for access in execution.accesses:
                access.last = number
            if execution.clean != hazards.version:
                fill(execution, args)
            if gm is not None:
                gm(number, args)

        if op.PIPE is not Pipe.S:
            return check

        def check_read(*args: int) -> None:
            check(*args)
            self._known_to_all(clock)

        return check_read

    def _fill(
        self, op: npu_isa.Instruction, operands: Sequence[Operand]
    ) -> Callable[[Execution, Sequence[int]], None]:
        """Take what an execution writes for written, if what it reads is."""
        reads = [o for o in operands if not o.write]
        writes = [o for o in operands if o.write]
        optional = _optional_read(op)

        def fill(execution: Execution, args: Sequence[int]) -> None:
            clean, poisoned = True, False
            for operand in reads:
                access = operand.accesses[args[operand.address]]
                if access.clean == access.slot.version:
                    continue
                if access.bytes.all():
                    access.clean = access.slot.version
                elif optional is not None and operand is reads[-1] and args[optional]:
                    clean = False
                else:
                    poisoned = True
            if poisoned:
                self._poison(op, reads, writes, args)
                return
            for operand in writes:
                access = operand.accesses[args[operand.address]]
                if access.clean != access.slot.version:
                    access.bytes[...] = True
                    access.clean = access.slot.version
            if clean:
                execution.clean = self.hazards.version

        return fill

    def _execution(self, operands: Sequence[Operand], args: Sequence[int]) -> Execution:
        """What an execution at these addresses touches, and what that conflicts with."""
        accesses = [o.accesses.get(args[o.address]) or self._first(o, args) for o in operands]
        conflicts = [other for access in accesses for other in access.conflicts]
        return Execution(accesses, conflicts, self.hazards.known)

    def _race(self, execution: Execution, other: TrackedAccess) -> SimulationError:
        access = next(access for access in execution.accesses if other in access.conflicts)
        return hazard_messages.race(other, access, self.target)

    def _operands(
        self, op: npu_isa.Instruction, accesses: Sequence[npu_isa.Access], bases: Sequence[SSAValue | None]
    ) -> list[Operand]:
        position = {value: i for i, value in enumerate(op.operands)}
        # The bases stand behind the operands, one for each operand that has one.
        base_position: dict[int, int] = {}
        for i, base in enumerate(bases):
            if base is not None:
                base_position[i] = len(op.operands) + len(base_position)
        result: list[Operand] = []
        for access, elements in zip(accesses, op.elements() or repeat(None, len(accesses)), strict=True):
            if access.extent is None:
                continue
            i = position[access.operand]
            base = bases[i]
            assert base is not None
            buffer = _buffer_of(base)
            operand = Operand(op, i, base_position[i], buffer, access.write, access.extent, elements, {})
            result.append(operand)
        return result

    def _first(self, operand: Operand, args: Sequence[int]) -> TrackedAccess:
        """The access of an operand at an address that has not been seen so far."""
        address, base = args[operand.address], args[operand.base]
        size = operand.buffer.bytes.value.data
        if address < base or address + operand.extent.end > base + size:
            raise hazard_messages.outside(operand, address, base)
        slot = self.slots.get((operand.buffer, base))
        if slot is None:
            slot = self.slots[operand.buffer, base] = SlotBytes(base, size)
        access = TrackedAccess(operand, self.pipes[operand.op.PIPE], address, slot)
        operand.accesses[address] = access
        self.hazards.known += 1
        space = operand.buffer.result.type.space.data
        size = max(1, self.target.capacity(space) // BUCKETS)
        near: dict[int, TrackedAccess] = {}
        for bucket in range(address // size, (address + operand.extent.end - 1) // size + 1):
            here = self.hazards.seen.setdefault((self.core, space, bucket), [])
            near |= {id(other): other for other in here if other.pipe != access.pipe}
            here.append(access)
        for other in near.values():
            if (other.write or access.write) and overlap(address, access.extent, other.address, other.extent):
                access.conflicts.append(other)
                other.conflicts.append(access)
        return access

    def _poison(
        self, op: npu_isa.Instruction, reads: list[Operand], writes: list[Operand], args: Sequence[int]
    ) -> None:
        """Hand poison on from the sources to the destination, or raise where that is not possible."""
        unwritten = [o for o in reads if not o.accesses[args[o.address]].bytes.all()]
        if isinstance(op, npu_isa.GmStore):
            access = unwritten[0].accesses[args[unwritten[0].address]]
            size = op.source_element_bits() // 8
            elements = access.slot.elements(access.address, ints(op.shape), ints(op.strides), size)
            if self.gm.stores_all_of(op, args, elements):
                return
        blocks = [block for o in (*reads, *writes) if (block := _elements(o, args)) is not None]
        if not blocks:
            raise self._unwritten(unwritten[0], args)
        target = writes[0].accesses[args[writes[0].address]]
        if not spread(blocks[-1], blocks[:-1]):
            target.slot.version += 1
            self.hazards.version += 1

    def _unwritten(self, operand: Operand, args: Sequence[int]) -> SimulationError:
        access = operand.accesses[args[operand.address]]
        missing = int(access.bytes.size - np.count_nonzero(access.bytes))
        every = (other for accesses in self.hazards.seen.values() for other in accesses)
        writers = {id(o.op): o.op for o in every if o.write and o.buffer is access.buffer}
        return hazard_messages.unwritten(access, access.slot.start, missing, list(writers.values())[-2:])

    # ---- flags

    def set_flag(self, op: npu_isa.SetFlagOp) -> HazardCheck:
        """What to call with the event id."""
        src, dst = (self.pipes[pipe] for pipe in op.pipes)
        flags, limit = self.hazards.flags[src, dst], self.target.event_ids
        clock, issued = self.hazards.clocks[src], self.hazards.issued

        def check(event: int) -> None:
            if event >= limit:
                raise hazard_messages.unknown_event(op, event, self.target)
            if event in flags.pending:
                raise hazard_messages.set_while_pending(op, event, flags.pending[event][1])
            consumed = flags.consumed.get(event)
            if consumed is not None and consumed[0] > clock[dst]:
                raise hazard_messages.set_too_early(op, event, consumed[1], self.target)
            at_set = clock.copy()
            at_set[src] = issued[src]
            flags.pending[event] = (at_set, op)

        return check

    def wait_flag(self, op: npu_isa.WaitFlagOp) -> HazardCheck:
        """What to call with the event id."""
        src, dst = (self.pipes[pipe] for pipe in op.pipes)
        flags, limit = self.hazards.flags[src, dst], self.target.event_ids
        clock, issued = self.hazards.clocks[dst], self.hazards.issued

        def check(event: int) -> None:
            if event >= limit:
                raise hazard_messages.unknown_event(op, event, self.target)
            pending = flags.pending.pop(event, None)
            if pending is None and not self.gap:
                _, last = flags.consumed.get(event, (0, None))
                raise hazard_messages.wait_without_set(op, event, last)
            for i, known in enumerate(pending[0]) if pending is not None else ():
                if known > clock[i]:
                    clock[i] = known
            issued[dst] += 1
            flags.consumed[event] = (issued[dst], op)
            if op.pipes[1] is Pipe.S:
                self._known_to_all(clock)

        return check

    def _known_to_all(self, scalar: Sequence[int]) -> None:
        """The scalar unit, whose clock this is, issues nothing before what it does is over."""
        number = self.pipes[Pipe.S]
        for pipe in self.pipes.values():
            clock = self.hazards.clocks[pipe]
            clock[:] = map(max, clock, scalar)
            clock[number] = self.hazards.issued[number]

    def barrier(self) -> None:
        """Everything issued to this core so far is complete."""
        for pipe in self.pipes.values():
            clock = self.hazards.clocks[pipe]
            for other in self.pipes.values():
                clock[other] = self.hazards.issued[other]


def _optional_read(op: npu_isa.Instruction) -> int | None:
    """The operand number of the condition under which an mmad does not read its accumulator."""
    if isinstance(op, npu_isa.MmadOp) and op.init is not None:
        return list(op.operands).index(op.init)
    return None


def _buffer_of(base: SSAValue) -> npu_isa.BufferOp:
    owner = base.owner
    if isinstance(owner, npu_isa.SlotOp):
        owner = owner.buffer.owner
    assert isinstance(owner, npu_isa.BufferOp)
    return owner


def _elements(operand: Operand, args: Sequence[int]) -> np.ndarray | None:
    """The state of the bytes of each element of an operand, if its instruction works element by element."""
    if operand.elements is None:
        return None
    access, elements = operand.accesses[args[operand.address]], operand.elements
    return access.slot.elements(access.address, elements.shape, elements.strides, elements.size)
