"""A prompt between the instructions of a simulated kernel.

    k0: cycle 57, V, of 'relu1'
      npu_isa.vunary relu %u<1>, %u<1> over [32] : f32
    (npu) mem ub 0 f32 4
    [-16. -15. -14. -13.]
    (npu) step

The scalar unit issues instructions in order and values are computed as they are issued, so at the prompt everything
before the shown instruction has been executed. The cycle is the first in which its pipe can get to it. Commands are
read from standard input: from a terminal or a script.
"""

from __future__ import annotations

import cmd
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Operation

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile import Space
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.simulator.attribution.attribution import loc_of
from npu_mlir.simulator.codegen.sink import Entry, Event, Sink
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.simulator.timing.pipes import CoreClock
from npu_mlir.support.diagnostics import UserError, printable
from npu_mlir.support.node_names import parts, shown

TYPES = {
    "f16": np.float16,
    "f32": np.float32,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "i1": np.bool_,
}
"""Element types of the command `mem`."""

OBSERVABLE = ("l1", "l0c", "ub")
"""Memories whose bytes have a meaning; fragments in L0A and L0B are opaque."""


class Debugger(cmd.Cmd, Sink):
    """Stops before the instructions that a break point matches, and after steps."""

    prompt = "(npu) "
    needs_addresses = True

    def __init__(self, points: Sequence[str], core: Core, stdin: IO[str] | None = None):
        super().__init__(stdin=stdin or sys.stdin)
        self.use_rawinput = False
        if not self.stdin.isatty():
            self.prompt = ""
        self.core = core
        self.points = list(points)
        self.steps = 0
        """Instructions to execute before the next stop; 0 for as many as come."""
        self.kernel: tile.KernelOp | None = None
        self.clock: CoreClock | None = None
        self.arguments: Sequence[Any] = ()
        self.launches = 0
        self.entered: str | None = None
        """The kernel for whose name has been stopped, in this launch."""
        self.passed: set[str] = set()
        """Cycles that have been stopped at, in this launch."""
        self.here: tuple[Operation, int, tuple[int, ...]] | None = None

    # ---- called by the simulator

    def enter(self, kernel: tile.KernelOp, clock: CoreClock, arguments: Sequence[Any]) -> None:
        """A launch begins, for which code is written next."""
        self.kernel, self.clock, self.arguments = kernel, clock, arguments
        self.launches += 1
        self.entered = None
        self.passed.clear()

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        self.code = code

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        self._pause(entry)

    def set_flag(self, entry: Entry[npu_isa.SetFlagOp], event: Event) -> None:
        self._pause(entry)

    def wait_flag(self, entry: Entry[npu_isa.WaitFlagOp], event: Event) -> None:
        self._pause(entry)

    def barrier(self, entry: Entry[npu_isa.BarrierOp]) -> None:
        self._pause(entry)

    def _pause(self, entry: Entry[Any]) -> None:
        self.code.call("b", self.before(entry.op), entry.now(), *entry.operands)

    def before(self, op: Operation) -> Callable[..., None]:
        """The function that is called before each execution of an operation with the time and its operands."""
        name = self.kernel.sym_name.data if self.kernel is not None else ""
        nodes = parts(loc_of(op))

        pipe = op.PIPE if isinstance(op, npu_isa.Instruction) else None
        if isinstance(op, npu_isa.SetFlagOp | npu_isa.WaitFlagOp):
            pipe = op.pipes[isinstance(op, npu_isa.WaitFlagOp)]
        clock = self.clock.pipes[pipe] if self.clock is not None and pipe is not None else None

        def stop(now: int, *operands: int) -> None:
            if clock is not None:
                now = max(now, clock.free)
            if self.steps:
                self.steps -= 1
                hit = not self.steps
            else:
                hit = any(self.matches(point, name, nodes, now) for point in self.points)
            if hit:
                self.here = op, now, operands
                self.show()
                self.cmdloop()

        return stop

    def matches(self, point: str, kernel: str, nodes: Sequence[str], now: int) -> bool:
        """Whether a break point means this place: a cycle and a kernel count once a launch, a node at each of its
        instructions."""
        if point.isdecimal():
            if now < int(point) or point in self.passed:
                return False
            self.passed.add(point)
            return True
        if point == kernel:
            first = self.entered != point
            self.entered = point
            return first
        return point in nodes

    def unused(self, module_kernels: Sequence[tile.KernelOp]) -> None:
        """Raise a `UserError` for a break point that nothing can match."""
        names = {op.sym_name.data for op in module_kernels}
        nodes = {part for kernel in module_kernels for op in kernel.walk() for part in parts(loc_of(op))}
        for point in self.points:
            if not point.isdecimal() and point not in names | nodes:
                raise UserError(
                    f"--break {point}: there is no kernel and no node of that name",
                    notes=[f"the kernels: {', '.join(sorted(names))}"],
                )

    # ---- commands

    def show(self) -> None:
        """Say where we are."""
        assert self.here is not None and self.kernel is not None
        op, now, _ = self.here
        pipe = op.PIPE if isinstance(op, npu_isa.Instruction) else op.name.removeprefix("npu_isa.")
        origin = shown(loc_of(op))
        self.write(
            f"{self.kernel.sym_name.data}: cycle {now}, {pipe}" + (f", of '{origin}'" if origin else "")
        )
        self.write(f"  {' '.join(str(op).split())}")

    def write(self, text: str) -> None:
        """Print a line of the session."""
        print("\n".join(map(printable, text.split("\n"))), file=self.stdout)

    def do_where(self, line: str) -> None:
        """where: the next instruction, and the values of its operands"""
        self.show()
        assert self.here is not None
        op, _, operands = self.here
        for value, number in zip(op.operands, operands, strict=False):
            if isinstance(value.type, npu_isa.AddrType | IndexType | IntegerType):
                self.write(f"  {value.type} = {number}")

    def do_step(self, line: str) -> bool:
        """step [N]: execute one instruction, or N"""
        self.steps = int(line) if line.isdecimal() and int(line) else 1
        return True

    def do_continue(self, line: str) -> bool:
        """continue: run to the next break point"""
        return True

    def do_break(self, line: str) -> None:
        """break KERNEL|NODE|CYCLE: another break point; without one, list them"""
        if line:
            self.points.append(line)
        self.write(f"break at {', '.join(self.points) or 'nothing'}")

    def do_clear(self, line: str) -> None:
        """clear [POINT]: remove a break point, or all"""
        self.points = [point for point in self.points if line and point != line]

    def do_pipes(self, line: str) -> None:
        """pipes: until when each pipe is occupied, and when all that it was given is complete"""
        assert self.clock is not None and self.here is not None
        for pipe, state in self.clock.pipes.items():
            queued = sum(start > self.here[1] for start in state.starts)
            self.write(
                f"  {pipe:4} free {state.free:8}  complete {state.done:8}  busy {state.busy:8}  queued {queued}"
            )

    def do_flags(self, line: str) -> None:
        """flags: those that are set and not waited for, and when they are raised"""
        assert self.clock is not None
        pending = [
            f"  [{src}, {dst}, {event}] raised at {raised}"
            for ((core, src), (_, dst)), flags in self.clock.clock.flags.items()
            for event, raised in flags.items()
            if core == self.clock.core
        ]
        self.write("\n".join(pending) or "  none")

    def do_mem(self, line: str) -> None:
        """mem SPACE ADDRESS TYPE COUNT: elements of l1, l0c or ub, for instance: mem ub 0 f32 8"""
        words = line.split()
        if len(words) != 4 or not (words[1].isdecimal() and words[3].isdecimal()):
            self.write("expected: mem SPACE ADDRESS TYPE COUNT")
            return
        space, address, kind, count = words[0], int(words[1]), words[2], int(words[3])
        if space not in OBSERVABLE or kind not in TYPES:
            self.write(f"SPACE is one of {', '.join(OBSERVABLE)}, TYPE one of {', '.join(TYPES)}")
            return
        memory = self.core.memory[Space(space)]
        dtype = np.dtype(TYPES[kind])
        end = address + count * dtype.itemsize
        if end > memory.nbytes:
            self.write(f"{space} ends at {memory.nbytes}")
            return
        self.write(str(memory.view(np.uint8)[address:end].view(dtype)))

    def do_gm(self, line: str) -> None:
        """gm [N]: the shapes of the arrays in GM, or the contents of the N-th"""
        if line.isdecimal() and int(line) < len(self.arguments):
            self.write(str(self.arguments[int(line)]))
            return
        for i, array in enumerate(self.arguments):
            if array is not None:
                self.write(f"  {i}: {'x'.join(map(str, array.shape))} {array.dtype}")

    def do_quit(self, line: str) -> bool:
        """quit: stop the simulation"""
        raise KeyboardInterrupt

    do_s, do_c, do_w, do_p, do_f, do_m, do_b, do_q = (
        do_step,
        do_continue,
        do_where,
        do_pipes,
        do_flags,
        do_mem,
        do_break,
        do_quit,
    )

    def do_EOF(self, line: str) -> bool:
        """The end of a script: go on to the end of the program."""
        self.points.clear()
        return True

    def emptyline(self) -> bool:
        """Do nothing again."""
        return False

    def default(self, line: str) -> None:
        """Say what is known."""
        self.write(f"unknown command '{line}'; help lists them")
