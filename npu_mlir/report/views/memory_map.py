"""When each slot of each buffer holds something, from the recorded entries of a kernel.

A life of a slot begins with a write and ends with its last read before the slot is filled anew:

    load -> %u ...... vunary reads %u ......... load -> %u ...... vunary reads %u
    |------- life 0 ---------------|            |------- life 1 ---------------|
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import AddrType, BufferOp, Instruction
from npu_mlir.simulator.attribution.recording import Recording
from npu_mlir.simulator.program.sites import sites_of
from npu_mlir.targets.module_target import target_of


@dataclass(frozen=True)
class DrawnBuffer:
    """A buffer of a kernel."""

    space: str
    address: int
    bytes: int
    """Of one slot."""
    slots: int
    name: str


@dataclass(frozen=True)
class Life:
    """A time in which a slot of a buffer holds something that is needed."""

    buffer: int
    slot: int
    start: int
    end: int


@dataclass(frozen=True)
class MemoryMap:
    """All buffers of a kernel, and the lives of their slots in order of their start."""

    buffers: list[DrawnBuffer]
    lives: list[Life]


@dataclass
class _Slot:
    start: int
    end: int
    reader: str = ""
    """The pipe of the last access if that was a read."""


@dataclass(frozen=True)
class _Touch:
    """An address operand of an instruction: its buffer, and whether it is read and written."""

    buffer: int
    reads: bool
    writes: bool


def memory_map(kernel: tile.KernelOp, recording: Recording) -> MemoryMap:
    """The lives of all slots in one run."""
    operations = [op for op in kernel.walk() if isinstance(op, BufferOp)]
    numbers = {op: i for i, op in enumerate(operations)}
    buffers = [_buffer(op) for op in operations]
    sites = list(sites_of(kernel))
    module = kernel.parent_op()
    assert isinstance(module, ModuleOp)
    cube = target_of(module).cube
    touches = [_touches(op, numbers, cube) if isinstance(op, Instruction) else [] for op in sites]
    pipes = [op.PIPE if isinstance(op, Instruction) else "" for op in sites]
    open_: dict[tuple[int, int], _Slot] = {}
    lives: list[Life] = []
    for site, start, end, addresses in zip(
        recording.site, recording.start, recording.end, recording.slots, strict=True
    ):
        for touch, address in zip(touches[site], addresses, strict=True):
            buffer = buffers[touch.buffer]
            key = (touch.buffer, (address - buffer.address) // max(1, buffer.bytes))
            _access(open_, lives, key, touch, pipes[site], start, end)
    lives += [Life(*key, slot.start, slot.end) for key, slot in open_.items()]
    return MemoryMap(buffers, sorted(lives, key=lambda life: life.start))


def used_bytes(map_: MemoryMap, space: str) -> list[tuple[int, int]]:
    """How many bytes of a memory hold something, as (time, bytes) where that changes."""
    changes: dict[int, int] = {}
    for life in map_.lives:
        buffer = map_.buffers[life.buffer]
        if buffer.space == space and life.end > life.start:
            changes[life.start] = changes.get(life.start, 0) + buffer.bytes
            changes[life.end] = changes.get(life.end, 0) - buffer.bytes
    result: list[tuple[int, int]] = []
    used = 0
    for time in sorted(changes):
        if changes[time]:
            used += changes[time]
            result.append((time, used))
    return result


def _access(
    open_: dict[tuple[int, int], _Slot],
    lives: list[Life],
    key: tuple[int, int],
    touch: _Touch,
    pipe: str,
    start: int,
    end: int,
) -> None:
    slot = open_.get(key)
    if slot is not None and touch.writes and slot.reader and (slot.reader != pipe or not touch.reads):
        lives.append(Life(*key, slot.start, slot.end))
        slot = None
    if slot is None:
        slot = open_[key] = _Slot(start, end)
    slot.end = max(slot.end, end)
    slot.reader = "" if touch.writes else pipe


def _buffer(op: BufferOp) -> DrawnBuffer:
    type_ = op.result.type
    assert isinstance(type_, AddrType)
    name = op.result.name_hint or ""
    return DrawnBuffer(
        str(type_.space.data), op.address.value.data, op.bytes.value.data, op.slots.value.data, name
    )


def _touches(op: Instruction, numbers: dict[BufferOp, int], cube: tile.Cube) -> list[_Touch]:
    """The address operands of an instruction in their order."""
    accesses = op.accesses(cube)
    result: list[_Touch] = []
    for i, value in enumerate(op.operands):
        if not isinstance(value.type, AddrType):
            continue
        own = [a.write for a in accesses if a.operand is value]
        if any(v is value for v in op.operands[:i]):
            # An operand that is given twice counts once, with all of its accesses.
            own = []
        result.append(_Touch(numbers[_buffer_of(value)], False in own, True in own))
    return result


def _buffer_of(value: SSAValue) -> BufferOp:
    owner = value.owner
    while not isinstance(owner, BufferOp):
        assert isinstance(owner, npu_isa.SlotOp | npu_isa.AtOp)
        owner = owner.buffer.owner if isinstance(owner, npu_isa.SlotOp) else owner.base.owner
    return owner


def peak(buffers: Sequence[DrawnBuffer], space: str) -> int:
    """The first byte of a memory behind all of its buffers."""
    return max((b.address + b.bytes * b.slots for b in buffers if b.space == space), default=0)
