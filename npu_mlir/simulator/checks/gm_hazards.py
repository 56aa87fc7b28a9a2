"""Hazards in GM: arrays that are written need attention.

A result must be written completely, and not be read before. An array that several pipes touch is checked element by
element for races. Where kernels follow each other these are all arrays. An array is known again by its address or name,
whatever shape it has in a kernel. Arrays may share bytes, as a memory plan lets them: what touches one then races with
what touches the same bytes of the other, and what is written to one is no longer there in the other. A part of a larger
array, whose elements have others in between, is known by its strides as well.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.simulator.checks import hazard_messages
from npu_mlir.simulator.checks.pipe_numbers import core_of, pipe_number
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.program.gm_box import GmBox, box_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape
from npu_mlir.targets.target import Target

GmCheck = Callable[[int, Sequence[int]], None]

INSTRUCTION_BITS = 24
"""Of a mark: the instruction in its low bits, the number of its entry above them."""


class GmArray:
    """An array in GM: what is known of each element, in their order. `place` are its bytes, if these are known, and
    `offsets` where in it the elements begin, unless they lie one behind the other."""

    def __init__(self, size: int, bytes_: int, place: range | None, offsets: np.ndarray | None = None):
        self.offsets = offsets
        self.bytes = bytes_
        """Of an element."""
        self.place = place
        self.sharing: list[GmArray] = []
        """Arrays that have bytes in common with this one."""
        self.written = np.zeros(size, np.bool_)
        self.last: dict[tuple[int, bool], np.ndarray] = {}
        """For each pipe, for reads and writes: the mark of what touched each element last (see `GmMemory.mark`)."""
        self.result = False
        """Some kernel of the run writes it."""
        self.writers = 0
        """Kernels that have it as a result and are not over."""

    def touch(self, pipe: int, write: bool) -> np.ndarray:
        """The marks of a pipe's reads or writes, one for each element; zero before the first."""
        if (pipe, write) not in self.last:
            self.last[pipe, write] = np.zeros(self.written.size, np.int64)
        return self.last[pipe, write]

    def shares(self, place: range) -> bool:
        """Whether it has bytes in common with that place."""
        return self.place is not None and self.place.start < place.stop and place.start < self.place.stop

    def elements_of(self, other: GmArray, elements: np.ndarray) -> np.ndarray:
        """The elements here that share bytes with elements of another array, which are sorted; some perhaps twice."""
        assert self.place is not None and other.place is not None
        ahead, elements = other.place.start - self.place.start, elements.ravel()
        if self.offsets is not None or other.offsets is not None:
            first = elements * other.bytes if other.offsets is None else other.offsets[elements]
            return self._elements_at(((first + ahead)[:, None] + np.arange(other.bytes)).ravel())
        if other.bytes == self.bytes and ahead % self.bytes == 0:
            found = elements + ahead // self.bytes
        else:
            steps = [*range(0, other.bytes, self.bytes), other.bytes - 1]
            found = ((ahead + elements * other.bytes)[:, None] + steps).ravel() // self.bytes
        if found.size and found[0] >= 0 and found[-1] < self.written.size:
            return found
        return found[(found >= 0) & (found < self.written.size)]

    def _elements_at(self, bytes_: np.ndarray) -> np.ndarray:
        """The elements that have some of these bytes, counted from the first of its place."""
        if self.offsets is None:
            found = np.unique(bytes_ // self.bytes)
            return found[(found >= 0) & (found < self.written.size)]
        order = np.argsort(self.offsets, kind="stable")
        starts = self.offsets[order]
        at = np.searchsorted(starts, bytes_, "right") - 1
        inside = (at >= 0) & (bytes_ < starts[at] + self.bytes)
        return np.unique(order[at[inside]])


class _Argument:
    """An array as an argument of a kernel."""

    def __init__(self, array: GmArray, number: int, shape: Sequence[int], shared: bool):
        self.array = array
        self.number = number
        self.shape = shape
        self.written = array.written.reshape(shape)
        self.shared = shared
        """Several pipes touch it."""

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of each element."""
        return np.arange(self.written.size).reshape(self.shape)


class GmMemory:
    """The arrays in GM. `clocks` are the vector clocks of the pipes; `alone` says that one kernel is all that runs."""

    def __init__(self, clocks: Sequence[Sequence[int]], target: Target, alone: bool):
        self.target = target
        self.clocks = clocks
        self.alone = alone
        self.arrays: dict[Hashable, GmArray] = {}
        """By what tells them apart, and the size of an element."""
        self.views: dict[int, np.ndarray] = {}
        """By the `id` of an argument without gaps that stands for a part of a larger array: that part."""
        self.instructions: list[npu_isa.Instruction] = []
        """What works on GM, in the order in which it was met."""
        self.numbers: dict[npu_isa.Instruction, int] = {}
        """The place of each in `instructions`."""

    def number_of(self, op: npu_isa.Instruction) -> int:
        """The number of an instruction, the same whenever it is met."""
        if op not in self.numbers:
            self.numbers[op] = len(self.instructions)
            self.instructions.append(op)
        return self.numbers[op]

    def mark(self, entry: int, instruction: int) -> int:
        """What says of an element who touched it: the numbers of the entry and of its instruction. A later entry has a
        larger mark."""
        return entry << INSTRUCTION_BITS | instruction

    def first_of_race(self, marks: np.ndarray, pipe: int, other: int) -> npu_isa.Instruction | None:
        """The last of the instructions of another pipe that left these marks, if a pipe knows nothing of it yet."""
        last = int(marks.max())
        if last >> INSTRUCTION_BITS <= self.clocks[pipe][other]:
            return None
        return self.instructions[last & (1 << INSTRUCTION_BITS) - 1]

    def enter(
        self, kernel: tile.KernelOp, arguments: Sequence[Any], core: int, constant: Container[int] = ()
    ) -> KernelGm:
        """A kernel begins; see `Hazards.enter`."""
        pipes: dict[SSAValue, set[str]] = {}
        written: set[SSAValue] = set()
        for op in kernel.walk():
            if isinstance(op, npu_isa.GmLoad | npu_isa.GmStore):
                pipes.setdefault(_gm_operand(op), set()).add(op.PIPE)
                if isinstance(op, npu_isa.GmStore):
                    written.add(op.dest)
        args = list(kernel.body.block.args)
        outputs = set(args[len(args) - kernel.outputs :])
        reused = {arg for arg, of in zip(args[len(args) - kernel.outputs :], kernel.reused) if of is not None}
        used: dict[SSAValue, _Argument] = {}
        for i, arg in enumerate(args):
            if (self.alone or i in constant) and arg not in written | outputs:
                continue
            shape = static_shape(arg.type)
            array = self._array(kernel, i, arguments[i] if i < len(arguments) else None)
            if arg in outputs:
                if not array.writers:
                    array.written[...] = arg in reused
                array.writers += 1
            array.result |= arg in written | outputs
            shared = not self.alone or len(pipes.get(arg, ())) > 1
            used[arg] = _Argument(array, i, shape, shared)
        return KernelGm(self, kernel, used, core)

    def skip(self, kernel: tile.KernelOp, arguments: Sequence[Any]) -> None:
        """A kernel runs unseen: what it writes is there afterwards."""
        first = len(kernel.body.block.args) - kernel.outputs
        for number in range(first, len(arguments)):
            array = self.arrays.get(self._key(kernel, number, arguments[number]))
            if array is not None:
                array.written[...] = True

    def _key(self, kernel: tile.KernelOp, number: int, argument: Any) -> tuple[Hashable, int]:
        """What tells an array apart: itself, or the bytes where it lies, and the size of an element."""
        key: Hashable = object() if argument is None else argument
        view = self.views.get(id(argument))
        if view is not None:
            key = (byte_range(view), view.strides)
        elif isinstance(argument, np.ndarray):
            key = range(argument.ctypes.data, argument.ctypes.data + argument.nbytes)
        return key, numpy_dtype(kernel.body.block.args[number].type).itemsize

    def _array(self, kernel: tile.KernelOp, number: int, argument: Any) -> GmArray:
        what = f"argument {number} of '@{kernel.sym_name.data}'"
        key, bytes_ = self._key(kernel, number, argument)
        size = prod(static_shape(kernel.body.block.args[number].type))
        view = self.views.get(id(argument))
        place = byte_range(view) if view is not None else key if isinstance(key, range) else None
        if view is None and place is not None and len(place) != size * bytes_:
            raise SimulationError(f"{what} has {size * bytes_} bytes, not {len(place)}", loc=kernel)
        if (key, bytes_) not in self.arrays:
            offsets = None if view is None else byte_offsets(view)
            array = self.arrays[key, bytes_] = GmArray(size, bytes_, place, offsets)
            for other in self.arrays.values():
                if place is not None and other is not array and other.shares(place):
                    array.sharing.append(other)
                    other.sharing.append(array)
        array = self.arrays[key, bytes_]
        if array.written.size != size:
            raise SimulationError(
                f"{what} has {size} elements; another kernel of the run takes it for one of {array.written.size}",
                loc=kernel,
            )
        return array


def byte_offsets(view: np.ndarray) -> np.ndarray:
    """Where the elements of an array begin, in bytes from the first, in their order."""
    steps = [np.arange(n) * step for n, step in zip(view.shape, view.strides, strict=True)]
    total = np.zeros((1,) * view.ndim, np.int64)
    for axis, offsets in enumerate(steps):
        total = total + offsets.reshape([-1 if d == axis else 1 for d in range(view.ndim)])
    return np.broadcast_to(total, view.shape).reshape(-1)


def byte_range(view: np.ndarray) -> range:
    """The bytes from the first element of an array to its last."""
    last = sum((n - 1) * step for n, step in zip(view.shape, view.strides, strict=True))
    return range(view.ctypes.data, view.ctypes.data + last + view.itemsize)


class KernelGm:
    """The arguments of one execution of a kernel."""

    def __init__(self, memory: GmMemory, kernel: tile.KernelOp, used: dict[SSAValue, _Argument], core: int):
        self.memory = memory
        self.kernel = kernel
        self.used = used
        """Those that need attention."""
        self.core = core
        self.boxes: dict[npu_isa.Instruction, GmBox] = {}

    def instruction(self, op: npu_isa.Instruction, accesses: Sequence[npu_isa.Access]) -> GmCheck | None:
        """What to call with the entry's number and the operands, None if there is nothing to check."""
        if not isinstance(op, npu_isa.GmLoad | npu_isa.GmStore):
            if any(access.extent is None for access in accesses):
                raise UserError(
                    f"'{op.name}' works on GM; to be checked it has to be derived from GmLoad or GmStore",
                    loc=op,
                )
            return None
        result = self.used.get(_gm_operand(op))
        # Which position data choose, no check may depend on.
        box = self.boxes[op] = box_of(op, op.data_axis)
        if result is None:
            return None
        write, checked = isinstance(op, npu_isa.GmStore), result.array.result
        pipe = pipe_number(self.core, op.PIPE)
        instruction = self.memory.number_of(op)
        indices = slice(2, None) if write else slice(1, 1 + len(op.indices))

        def check(number: int, args: Sequence[int]) -> None:
            # The bases of the addresses stand behind the operands.
            origin = box.origin(*args[indices][: len(op.indices)])
            part = box.part_of(result.written, origin)
            if part is None:
                return
            if write and op.data_axis is None:
                part[...] = True
            elif (checked or write) and not part.all():
                raise hazard_messages.read_too_early(
                    op, result.number, _text(box, origin), self._stores(result)
                )
            if result.shared:
                mark = self.memory.mark(number, instruction)
                self._check_race(result, op, pipe, write, box, origin, mark)

        return check

    def _check_race(
        self,
        result: _Argument,
        op: npu_isa.Instruction,
        pipe: int,
        write: bool,
        box: GmBox,
        origin: Sequence[int],
        mark: int,
    ) -> None:
        array = result.array
        for (other, other_write), last in array.last.items():
            if other == pipe or not (write or other_write):
                continue
            part = box.part_of(last.reshape(result.shape), origin)
            first = self.memory.first_of_race(part, pipe, other) if part is not None else None
            if first is not None:
                elements = f"{_text(box, origin)} of argument {result.number}"
                cores = core_of(other), self.core
                raise hazard_messages.gm_race(first, op, elements, cores, self.memory.target)
        if array.sharing:
            self._check_shared(result, op, pipe, write, box, origin)
        part = box.part_of(array.touch(pipe, write).reshape(result.shape), origin)
        if part is not None:
            part[...] = mark

    def _check_shared(
        self,
        result: _Argument,
        op: npu_isa.Instruction,
        pipe: int,
        write: bool,
        box: GmBox,
        origin: Sequence[int],
    ) -> None:
        """Races with what touched other arrays that have bytes in common with this one."""
        touched = box.part_of(result.numbers, origin)
        if touched is None:
            return
        own, size = result.array.place, result.array.bytes
        assert own is not None
        place = range(own.start + int(touched.min()) * size, own.start + (int(touched.max()) + 1) * size)
        for array in result.array.sharing:
            if not array.shares(place):
                continue
            elements = array.elements_of(result.array, touched)
            for (other, other_write), last in array.last.items():
                if other == pipe or not (write or other_write) or not elements.size:
                    continue
                first = self.memory.first_of_race(last[elements], pipe, other)
                if first is not None:
                    text = f"{_text(box, origin)} of argument {result.number}"
                    cores = core_of(other), self.core
                    raise hazard_messages.gm_race(first, op, text, cores, self.memory.target)
            if write:
                array.written[elements] = False

    def stores_all_of(self, op: npu_isa.GmStore, args: Sequence[int], elements: np.ndarray) -> bool:
        """Whether every element that a store takes to GM is written; those that are clipped don't matter."""
        box = self.boxes[op]
        window = box.window(box.origin(*args[2 : 2 + len(op.indices)]))
        return window is None or bool(elements[window[1]].all())

    def end(self) -> None:
        """The kernel is over: raise if an element of a result was never written."""
        args = self.kernel.body.block.args
        for result in self.used.values():
            if result.number < len(args) - self.kernel.outputs:
                continue
            result.array.writers -= 1
            # What other cores write to it is looked at when they are through.
            if result.array.writers or result.written.all():
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

    def _stores(self, result: _Argument) -> list[Operation]:
        """The instructions that write a result."""
        arg = self.kernel.body.block.args[result.number]
        return [op for op in self.kernel.walk() if isinstance(op, npu_isa.GmStore) and op.dest is arg]


def _text(box: GmBox, origin: Sequence[int]) -> str:
    """The elements that a box covers, as a slice: `[0:8, 4]`."""
    window = box.window(origin)
    assert window is not None
    ranges: list[str] = []
    for axis, (start, dim, step) in enumerate(zip(origin, box.dims, box.steps)):
        if axis == box.whole:
            ranges.append(f"0:{box.extents[axis]}")
        elif dim is None:
            ranges.append(str(start))
        else:
            inside = window[1][dim]
            ranges.append(f"{start + inside.start * step}:{start + (inside.stop - 1) * step + 1}")
    return f"[{', '.join(ranges)}]"


def _gm_operand(op: npu_isa.GmLoad | npu_isa.GmStore) -> SSAValue:
    return op.source if isinstance(op, npu_isa.GmLoad) else op.dest
