"""What the simulator says about a hazard: both instructions, the bytes, and the flags that would help.

    k.mlir:9:5: error: race between MTE2 and V: bytes 0 to 128 of ub, which MTE2 writes, are read by V with no flag
      between them: npu_isa.vunary relu ... (of 'relu0')
    k.mlir:8:5: note: written by MTE2: npu_isa.load_ub ... (of 'relu0')
    note: fix: npu_isa.set_flag [MTE2, V, 0] behind the former, npu_isa.wait_flag [MTE2, V, 0] before the latter

Each instruction is named with its location and the graph op that it comes from. Ranges of bytes exclude their end;
those of strided accesses are hulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from typing import Protocol

from xdsl.ir import Operation

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Extent, Pipe
from npu_mlir.simulator.errors import SimulationError, describe
from npu_mlir.support.diagnostics import Note
from npu_mlir.targets.target import Target


class Use(Protocol):
    """An on-chip operand of an instruction."""

    op: npu_isa.Instruction
    write: bool
    extent: Extent
    buffer: npu_isa.BufferOp


class Touch(Use, Protocol):
    """An on-chip operand at an address."""

    address: int


# ---- races ---------------------------------------------------------------------------------------------------------


def race(first: Touch, second: Touch, target: Target) -> SimulationError:
    """Two accesses of different pipes with no order, one of them a write."""
    src, dst = first.op.PIPE, second.op.PIPE
    low = max(first.address, second.address)
    high = min(first.address + first.extent.end, second.address + second.extent.end)
    does = "writes" if first.write else "reads"
    done = {(True, False): "are read", (False, True): "are overwritten", (True, True): "are written again"}
    return SimulationError(
        f"race between {src} and {dst}: bytes {low} to {high} of {_space(first.buffer)}, which {src} {does}, "
        f"{done[first.write, second.write]} by {dst} with no flag between them: {describe(second.op)}",
        loc=second.op,
        notes=[_first(first.op, first.write), _missing_flag(first.op, second.op, target)],
    )


def gm_race(
    first: npu_isa.Instruction,
    second: npu_isa.Instruction,
    elements: str,
    cores: tuple[int, int],
    target: Target,
) -> SimulationError:
    """Two accesses of an argument in GM with no order, by one core or by two."""
    src, dst = str(first.PIPE), str(second.PIPE)
    write = isinstance(first, npu_isa.GmStore)
    fix = _missing_flag(first, second, target)
    if cores[0] != cores[1]:
        src, dst = f"{src} of core {cores[0]}", f"{dst} of core {cores[1]}"
        fix = "fix: other elements for one of the cores; no flag goes from one core to another"
    return SimulationError(
        f"race between {src} and {dst} in GM: elements {elements}, part of which {src} "
        f"{'writes' if write else 'reads'}, are {'written' if isinstance(second, npu_isa.GmStore) else 'read'} by "
        f"{dst} with no flag between them: {describe(second)}",
        loc=second,
        notes=[_first(first, write), fix],
    )


def _first(op: npu_isa.Instruction, write: bool) -> Note:
    return Note(f"{'written' if write else 'read'} by {op.PIPE}: {describe(op)}", op)


def _missing_flag(first: npu_isa.Instruction, second: npu_isa.Instruction, target: Target) -> str:
    events = [_free_event(op, first.PIPE, second.PIPE, target) for op in (first, second)]
    event = None if None in events else max(e for e in events if e is not None)
    if event is None:
        return f"fix: npu_isa.barrier between the two; no id from {first.PIPE} to {second.PIPE} is free for a flag"
    flag = f"[{first.PIPE}, {second.PIPE}, {event}]"
    fix = f"fix: npu_isa.set_flag {flag} behind the former, npu_isa.wait_flag {flag} before the latter"
    if _is_before(first, second):
        return fix
    return f"{fix}, which is in a later iteration: so another set before the loop, and another wait behind it"


def _kernel_of(op: Operation) -> Operation:
    around = op
    while (parent := around.parent_op()) is not None and not isinstance(around, tile.KernelOp):
        around = parent
    return around


def _free_event(op: Operation, src: Pipe, dst: Pipe, target: Target) -> int | None:
    """The first event id of two pipes behind those that the kernel uses."""
    flags = [
        f for f in _kernel_of(op).walk() if isinstance(f, npu_isa.FlagInstruction) and f.pipes == (src, dst)
    ]
    event = max((f.event.value.data + f.slots.value.data for f in flags), default=0)
    return event if event < target.event_ids else None


def _is_before(first: Operation, second: Operation) -> bool:
    """Whether an op stands before another in the text; of another kernel, it does."""
    return next(op for op in _kernel_of(first).walk() if op is first or op is second) is first


# ---- memory --------------------------------------------------------------------------------------------------------


def outside(use: Use, address: int, start: int) -> SimulationError:
    """An access that leaves its slot, which begins at the byte `start`."""
    offset, end, size = address - start, use.extent.end, use.buffer.bytes.value.data
    fix = (
        f"an address from 0 to {size - end} bytes behind the slot's start"
        if end <= size
        else f"slots of {end} bytes"
    )
    return SimulationError(
        f"{use.op.PIPE} {'writes' if use.write else 'reads'} bytes {offset} to {offset + end} of a buffer whose "
        f"slots have {size}: {describe(use.op)}",
        loc=use.op,
        notes=[_slot(use.buffer, start), f"fix: {fix}"],
    )


def unwritten(
    touch: Touch, start: int, missing: int, writers: Sequence[npu_isa.Instruction]
) -> SimulationError:
    """A read of bytes that hold nothing; `writers` write to other bytes of the buffer, or write what is not whole."""
    op, low = touch.op, touch.address
    notes: list[str | Note] = [_slot(touch.buffer, start)]
    notes += [
        Note(f"{w.PIPE} writes to this buffer, but not all that is read: {describe(w)}", w) for w in writers
    ]
    return SimulationError(
        f"{op.PIPE} reads {missing} bytes that no instruction wrote, among bytes {low} to {low + touch.extent.end} of "
        f"{_space(touch.buffer)}: {describe(op)}",
        loc=op,
        notes=[*notes, f"fix: write them before, or let {op.PIPE} read what is written"],
    )


def _slot(buffer: npu_isa.BufferOp, start: int) -> Note:
    return Note(f"the slot begins at byte {start} of {_space(buffer)}: {describe(buffer)}", buffer)


def _space(buffer: npu_isa.BufferOp) -> str:
    return str(buffer.result.type.space.data)


def read_too_early(
    op: npu_isa.Instruction, number: int, box: str, stores: Sequence[Operation]
) -> SimulationError:
    """A load of elements of a result before they are written."""
    return SimulationError(
        f"{op.PIPE} reads elements {box} of argument {number}, a result, before they are written: {describe(op)}",
        loc=op,
        notes=[*_stores(stores), f"fix: write them before {op.PIPE} reads them"],
    )


def never_written(
    kernel: tile.KernelOp,
    result: int,
    missing: int,
    size: int,
    first: Sequence[int],
    stores: Sequence[Operation],
) -> SimulationError:
    """Elements of a result that nothing was stored to."""
    return SimulationError(
        f"{missing} of {size} elements of result {result} of '@{kernel.sym_name.data}' are never written, the first at "
        f"{list(first)}",
        loc=kernel,
        notes=_stores(stores),
    )


def _stores(stores: Sequence[Operation]) -> list[str | Note]:
    return [Note(f"stored to by {describe(op)}", op) for op in stores]


# ---- flags ---------------------------------------------------------------------------------------------------------


def wait_without_set(op: npu_isa.WaitFlagOp, event: int, last: Operation | None) -> SimulationError:
    """A wait that would never end; `last` is the wait that consumed the flag before."""
    src, dst = op.pipes
    sets = [f for f in _kernel_of(op).walk() if isinstance(f, npu_isa.SetFlagOp) and f.pipes == op.pipes]
    notes: list[str | Note] = [] if last is None else [Note(f"waited for before by {describe(last)}", last)]
    notes += [Note(f"{src} sets flags for {dst} here: {describe(f)}", f) for f in sets[:3]]
    notes += [Note(f"{dst} executes this next: {describe(o)}", o) for o in _guarded(op, dst)]
    return SimulationError(
        f"{dst} waits for flag {event} of {src}, which nothing before sets: {describe(op)}",
        loc=op,
        notes=[*notes, f"fix: npu_isa.set_flag [{src}, {dst}, {event}] behind what {src} has to do first"],
    )


def _guarded(op: npu_isa.WaitFlagOp, pipe: Pipe) -> list[npu_isa.Instruction]:
    """The next instruction of a pipe behind a wait, if there is one in the text."""
    behind = dropwhile(lambda other: other is not op, _kernel_of(op).walk())
    return [o for o in behind if isinstance(o, npu_isa.Instruction) and pipe == o.PIPE][:1]


def set_while_pending(op: npu_isa.SetFlagOp, event: int, before: Operation) -> SimulationError:
    """A flag that is set twice."""
    src, dst = op.pipes
    return SimulationError(
        f"flag {event} from {src} to {dst} is set while it is still pending: {describe(op)}",
        loc=op,
        notes=[
            Note(f"set before by {src}: {describe(before)}", before),
            f"fix: npu_isa.wait_flag [{src}, {dst}, {event}] between the two, or another id",
        ],
    )


def set_too_early(op: npu_isa.SetFlagOp, event: int, wait: Operation, target: Target) -> SimulationError:
    """A flag that is set again, perhaps before the last wait has consumed it."""
    src, dst = op.pipes
    free = _free_event(op, dst, src, target)
    flag = f"[{dst}, {src}, {'...' if free is None else free}]"
    return SimulationError(
        f"flag {event} from {src} to {dst} is set again while the last wait may not have consumed it: {describe(op)}",
        loc=op,
        notes=[
            Note(f"waited for by {dst}: {describe(wait)}", wait),
            f"fix: npu_isa.set_flag {flag} behind that wait, npu_isa.wait_flag {flag} before this set; or another id",
        ],
    )


def left_pending(op: npu_isa.SetFlagOp, event: int) -> SimulationError:
    """A flag that nobody waits for."""
    src, dst = op.pipes
    waits = [f for f in _kernel_of(op).walk() if isinstance(f, npu_isa.WaitFlagOp) and f.pipes == op.pipes]
    return SimulationError(
        f"flag {event} from {src} to {dst} is still set at the end of the kernel: {describe(op)}",
        loc=op,
        notes=[
            *(Note(f"{dst} waits for flags of {src} here: {describe(f)}", f) for f in waits[:3]),
            f"fix: npu_isa.wait_flag [{src}, {dst}, {event}] behind it",
        ],
    )


def unknown_event(op: npu_isa.FlagInstruction, event: int, target: Target) -> SimulationError:
    """An event id that the target lacks."""
    free = _free_event(op, *op.pipes, target)
    fix = f"one from 0 to {target.event_ids - 1}"
    return SimulationError(
        f"{target.name} has {target.event_ids} event ids per pair of pipes, not {event}: {describe(op)}",
        loc=op,
        notes=[f"fix: {fix}" if free is None else f"fix: {fix}; {free} is free"],
    )
