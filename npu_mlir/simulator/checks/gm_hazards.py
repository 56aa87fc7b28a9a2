"""Hazards in GM: only arguments of the kernel that are written need attention.

A result must be written completely, and not be read before. A result that several pipes touch is checked element by
element for races.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.simulator.checks import hazard_messages
from npu_mlir.simulator.program.gm_box import GmBox, box_of
from npu_mlir.simulator.timing.pipes import EXECUTING
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import static_shape
from npu_mlir.targets.target import Target

GmCheck = Callable[[int, Sequence[int]], None]
_NUMBER = {pipe: i for i, pipe in enumerate(EXECUTING)}


class _Result:
    """A GM argument that the kernel writes."""

    def __init__(self, number: int, shape: Sequence[int], shared: bool):
        self.number = number
        self.written = np.zeros(shape, np.bool_)
        self.shared = shared
        """Several pipes touch it."""
        self.last: dict[tuple[int, bool], np.ndarray] = {}
        """For each pipe, for reads and writes: the number of the entry that touched each element last."""
        self.ops: dict[tuple[int, bool], npu_isa.Instruction] = {}

    def touch(self, pipe: int, write: bool) -> np.ndarray:
        if (pipe, write) not in self.last:
            self.last[pipe, write] = np.zeros(self.written.shape, np.int64)
        return self.last[pipe, write]


class GmMemory:
    """The GM arguments of one run of a kernel. `clocks` are the vector clocks of the pipes."""

    def __init__(self, kernel: tile.KernelOp, clocks: Sequence[Sequence[int]], target: Target):
        self.kernel = kernel
        self.target = target
        self.clocks = clocks
        self.boxes: dict[npu_isa.Instruction, GmBox] = {}
        pipes: dict[SSAValue, set[str]] = {}
        written: set[SSAValue] = set()
        for op in kernel.walk():
            if isinstance(op, npu_isa.GmLoad | npu_isa.GmStore):
                pipes.setdefault(_gm_operand(op), set()).add(op.PIPE)
                if isinstance(op, npu_isa.GmStore):
                    written.add(op.dest)
        args = list(kernel.body.block.args)
        written |= set(args[len(args) - kernel.outputs :])
        self.results: dict[SSAValue, _Result] = {
            arg: _Result(i, static_shape(arg.type), len(pipes.get(arg, ())) > 1)
            for i, arg in enumerate(args)
            if arg in written
        }

    def instruction(self, op: npu_isa.Instruction, accesses: Sequence[npu_isa.Access]) -> GmCheck | None:
        """What to call with the entry's number and the operands, None if there is nothing to check."""
        if not isinstance(op, npu_isa.GmLoad | npu_isa.GmStore):
            if any(access.extent is None for access in accesses):
                raise UserError(
                    f"'{op.name}' works on GM; to be checked it has to be derived from GmLoad or GmStore",
                    loc=op,
                )
            return None
        result = self.results.get(_gm_operand(op))
        box = self.boxes[op] = box_of(op)
        if result is None:
            return None
        write = isinstance(op, npu_isa.GmStore)
        pipe = _NUMBER[op.PIPE]
        indices = slice(2, None) if write else slice(1, 1 + len(op.indices))

        def check(number: int, args: Sequence[int]) -> None:
            # The bases of the addresses stand behind the operands.
            origin = box.origin(*args[indices][: len(op.indices)])
            part = box.part_of(result.written, origin)
            if part is None:
                return
            if write:
                part[...] = True
            elif not part.all():
                raise hazard_messages.read_too_early(
                    op, result.number, _text(box, origin), self._stores(result)
                )
            if result.shared:
                self._check_race(result, op, pipe, write, box, origin, number)

        return check

    def _check_race(
        self,
        result: _Result,
        op: npu_isa.Instruction,
        pipe: int,
        write: bool,
        box: GmBox,
        origin: Sequence[int],
        number: int,
    ) -> None:
        for (other, other_write), last in result.last.items():
            if other == pipe or not (write or other_write):
                continue
            part = box.part_of(last, origin)
            if part is not None and part.max() > self.clocks[pipe][other]:
                first = result.ops[other, other_write]
                raise hazard_messages.gm_race(first, op, result.number, _text(box, origin), self.target)
        part = box.part_of(result.touch(pipe, write), origin)
        result.ops[pipe, write] = op
        if part is not None:
            part[...] = number

    def stores_all_of(self, op: npu_isa.GmStore, args: Sequence[int], elements: np.ndarray) -> bool:
        """Whether every element that a store takes to GM is written; those that are clipped don't matter."""
        box = self.boxes[op]
        window = box.window(box.origin(*args[2 : 2 + len(op.indices)]))
        return window is None or bool(elements[window[1]].all())

    def end(self) -> None:
        """Raise if an element of a result was never written."""
        args = self.kernel.body.block.args
        for result in self.results.values():
            if result.number < len(args) - self.kernel.outputs or result.written.all():
                continue
            first = np.unravel_index(int(np.argmin(result.written)), result.written.shape)
            missing = result.written.size - int(np.count_nonzero(result.written))
            number = result.number - (len(args) - self.kernel.outputs)
            raise hazard_messages.never_written(
                self.kernel,
                number,
                missing,
                result.written.size,
                [int(i) for i in first],
                self._stores(result),
            )

    def _stores(self, result: _Result) -> list[Operation]:
        """The instructions that write a result."""
        arg = self.kernel.body.block.args[result.number]
        return [op for op in self.kernel.walk() if isinstance(op, npu_isa.GmStore) and op.dest is arg]


def _text(box: GmBox, origin: Sequence[int]) -> str:
    """The elements that a box covers, as a slice: `[0:8, 4]`."""
    window = box.window(origin)
    assert window is not None
    ranges: list[str] = []
    for start, dim, step in zip(origin, box.dims, box.steps):
        if dim is None:
            ranges.append(str(start))
        else:
            inside = window[1][dim]
            ranges.append(f"{start + inside.start * step}:{start + (inside.stop - 1) * step + 1}")
    return f"[{', '.join(ranges)}]"


def _gm_operand(op: npu_isa.GmLoad | npu_isa.GmStore) -> SSAValue:
    return op.source if isinstance(op, npu_isa.GmLoad) else op.dest
