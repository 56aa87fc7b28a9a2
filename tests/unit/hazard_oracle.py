"""Hazards by brute force: which events are known to be complete before each, and who touched each byte.

The checks of the simulator keep vector clocks and the last access of each kind. Here every event has the set of all
events before it, as the bits of a number, and every byte (on chip) or element (in GM) all that read and wrote it.

Does not handle: memory that was never written, accesses outside of buffers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.ir import Operation

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.simulator.codegen import sink
from npu_mlir.simulator.codegen.generator import generate
from npu_mlir.simulator.codegen.sink import Entry, Sink
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.support.dtypes import static_shape
from npu_mlir.targets.target import Target

Event = tuple[Operation | None, tuple[int, ...]]
"""An instruction with its operands, a flag with its id; None is a barrier."""


class Trace(Sink):
    """Writes down what the checks would be called with."""

    needs_addresses = True

    def __init__(self) -> None:
        self.events: list[Event] = []

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        self.code = code

    def _note(self, op: Operation | None, *arguments: str) -> None:
        self.code.call("c", lambda *args: self.events.append((op, args)), *arguments)

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        self._note(entry.op, *entry.operands, *entry.slots)

    def set_flag(self, entry: Entry[npu_isa.SetFlagOp], event: sink.Event) -> None:
        self._note(entry.op, str(event))

    def wait_flag(self, entry: Entry[npu_isa.WaitFlagOp], event: sink.Event) -> None:
        self._note(entry.op, str(event))

    def barrier(self, entry: Entry[npu_isa.BarrierOp]) -> None:
        self._note(None)


def trace(kernel: tile.KernelOp, target: Target) -> list[Event]:
    """The events of a kernel in program order."""
    found = Trace()
    generate(Blocks(kernel, target), [found]).run([None] * len(kernel.body.block.args), 10**6)
    return found.events


def first_hazard(kernel: tile.KernelOp, target: Target) -> tuple[str, Operation | None] | None:
    """What goes wrong first ("race", "wait", "set twice", "set early", "early read"), and at which op; "left" for a
    flag that is left over."""
    order = _Order()
    memory = _Memory(kernel, target)
    for op, args in trace(kernel, target):
        if op is None:
            order.barrier()
            continue
        if isinstance(op, npu_isa.Instruction):
            event = order.add(op.PIPE)
            problem = memory.touch(op, args, event, order)
        else:
            assert isinstance(op, npu_isa.FlagInstruction)
            problem = order.flag(op, args[0])
        if problem is not None:
            return problem, op
    return ("left", None) if order.pending else None


class _Order:
    """Which events are complete before the next one of each pipe, as bits."""

    def __init__(self) -> None:
        self.count = 0
        self.before: dict[str, int] = {}
        self.everything = 0
        self.of_pipe: dict[str, int] = {}
        self.pending: dict[Any, int] = {}
        self.consumed: dict[Any, int] = {}

    def add(self, pipe: str) -> int:
        """A new event of a pipe, as a bit; it is before what follows on the pipe."""
        bit = 1 << self.count
        self.count += 1
        self.everything |= bit
        self.of_pipe[pipe] = self.of_pipe.get(pipe, 0) | bit
        self.before[pipe] = self.before.get(pipe, 0) | bit
        return bit

    def barrier(self) -> None:
        for pipe in npu_isa.Pipe:
            self.before[pipe] = self.everything

    def flag(self, op: npu_isa.FlagInstruction, event: int) -> str | None:
        src, dst = op.pipes
        key = (src, dst, event)
        if isinstance(op, npu_isa.WaitFlagOp):
            if key not in self.pending:
                return "wait"
            self.before[dst] = self.before.get(dst, 0) | self.pending.pop(key)
            self.consumed[key] = self.add(dst)
            return None
        if key in self.pending:
            return "set twice"
        if self.consumed.get(key, 0) & ~self.before.get(src, 0):
            return "set early"
        self.pending[key] = self.before.get(src, 0)
        return None


class _Memory:
    """Who read and wrote what, as bits."""

    def __init__(self, kernel: tile.KernelOp, target: Target):
        self.readers: dict[Any, int] = {}
        self.writers: dict[Any, int] = {}
        self.cube = target.cube
        stores = [op for op in kernel.walk() if isinstance(op, npu_isa.GmStore)]
        self.results = {id(op.dest) for op in stores}

    def touch(self, op: npu_isa.Instruction, args: Sequence[int], event: int, order: _Order) -> str | None:
        others = order.everything & ~order.of_pipe[op.PIPE] & ~order.before[op.PIPE]
        touched = [(write, list(cells)) for write, cells in self._cells(op, args)]
        for write, cells in touched:
            for cell in cells:
                if not write and isinstance(cell[0], int) and cell not in self.writers:
                    return "early read"
                if (self.writers.get(cell, 0) | (self.readers.get(cell, 0) if write else 0)) & others:
                    return "race"
        for write, cells in touched:
            users = self.writers if write else self.readers
            for cell in cells:
                users[cell] = users.get(cell, 0) | event
        return None

    def _cells(self, op: npu_isa.Instruction, args: Sequence[int]) -> Iterator[tuple[bool, Iterator[Any]]]:
        for access in op.accesses(self.cube):
            if access.extent is None:
                if id(access.operand) in self.results:
                    yield access.write, self._elements(op, args)
                continue
            assert isinstance(access.operand.type, npu_isa.AddrType)
            space, start = access.operand.type.space.data, args[list(op.operands).index(access.operand)]
            steps = [range(0, count * stride, stride) for count, stride in access.extent.dims if stride]
            runs = (start + sum(at) for at in itertools.product(*steps))
            yield access.write, ((space, run + i) for run in runs for i in range(access.extent.run))

    def _elements(self, op: npu_isa.Instruction, args: Sequence[int]) -> Iterator[Any]:
        assert isinstance(op, npu_isa.GmLoad | npu_isa.GmStore)
        skip = 2 if isinstance(op, npu_isa.GmStore) else 1
        memref = op.dest if isinstance(op, npu_isa.GmStore) else op.source
        extents = static_shape(memref.type)
        indices = list(args[skip : skip + len(op.indices)])
        for point in itertools.product(*map(range, ints(op.shape))):
            place = op.map.data.eval([*indices, *point], [])
            if all(0 <= at < extent for at, extent in zip(place, extents, strict=True)):
                yield (id(memref), *place)
