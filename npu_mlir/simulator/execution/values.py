"""Values, decoded: every instruction becomes one function of addresses, with views of memory made once per address.

The functions compute what `npu_mlir.interpreters.npu_isa` says. L0A and L0B hold what the cube computes with: floats
of 16 bits are widened when they are loaded, those in f16 already when L1 is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f16
from xdsl.ir import Attribute, SSAValue

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import Relu, Space, Step, steps_of
from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.errors import index_among
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.npu_isa import scales_of, stored, use_core
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.npu_isa.functions import compute_type, epilogue
from npu_mlir.simulator.codegen.sink import Entry, Sink
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.execution import halves
from npu_mlir.simulator.execution.halves import HALF, SINGLE
from npu_mlir.simulator.execution.vector_values import VECTOR_INSTRUCTIONS, vector
from npu_mlir.simulator.execution.view_cache import Run, Thunk, cached
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.simulator.program.gm_box import box_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype


def _is_in_l1(value: SSAValue) -> bool:
    return isinstance(value.type, npu_isa.AddrType) and value.type.space.data is Space.L1


class L1Widened:
    """The f16 numbers in L1 as f32 ones: loads to L0 take many times what was loaded to L1 once."""

    def __init__(self, core: Core):
        self.halves = core.memory[Space.L1].view(HALF)
        self.memory = self.halves.astype(SINGLE)

    def view(self, address: int, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
        """The elements that an instruction with these strides finds at an address."""
        return np.ndarray(tuple(shape), SINGLE, self.memory.data, 2 * address, tuple(4 * s for s in strides))

    def refreshing(self, start: int, end: int) -> Thunk:
        """What to do when these bytes have changed."""
        part = slice(start // 2, -(-end // 2))
        return halves.widening(self.memory[part], self.halves[part])


class L0:
    """L0A and L0B in the type that the cube computes with, a memory per element type."""

    def __init__(self, core: Core):
        self.core = core
        self.near: L1Widened | None = None
        """L1 in that type, if something loads f16 numbers from there."""
        self.memory: dict[tuple[Space, np.dtype[Any]], np.ndarray] = {}

    def matrix(self, space: Space, address: int, sides: tuple[int, int], element: Attribute) -> np.ndarray:
        """A padded matrix as `Core.matrix`, in the cube's type."""
        dtype = numpy_dtype(element)
        wide = cube_type(dtype)
        memory = self.memory.get((space, dtype))
        if memory is None:
            memory = self.memory[space, dtype] = self.core.memory[space].view(dtype).astype(wide)
        # Raises where the matrix does not fit its memory.
        rows, columns = self.core.matrix(space, address, sides, element).shape
        start = address // dtype.itemsize
        return memory[start : start + rows * columns].reshape(rows, columns)


def cube_type(element: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which products of `element` are summed exactly as the cube does: integers below 2**53 in f64."""
    return np.dtype(np.float64) if element.kind in "iu" else compute_type(element)


class Decoder:
    """Makes the functions of instructions, of those of `module` if it is known."""

    def __init__(self, core: Core, module: ModuleOp | None = None):
        self.core = core
        self.l0 = L0(core)
        self._interpreter: Interpreter | None = None
        if module is not None and any(
            isinstance(op, npu_isa.L0Load) and op.element == f16 for op in module.walk()
        ):
            self.l0.near = L1Widened(core)

    def decode(self, op: npu_isa.Instruction) -> Run:
        """The function that executes `op`. Its arguments are the operands in their order."""
        make = _DECODED.get(type(op))
        run = self._interpreted(op) if make is None else make(self.core, self.l0, op)
        return run if self.l0.near is None else self._followed(op, run, self.l0.near)

    def _followed(self, op: npu_isa.Instruction, run: Run, near: L1Widened) -> Run:
        """The function, and behind it what keeps L1's other form up to date."""
        if isinstance(op, npu_isa.L0Load | npu_isa.MmadOp) or not any(map(_is_in_l1, op.operands)):
            return run
        written = [
            (list(op.operands).index(access.operand), access.extent.end)
            for access in op.accesses(self.core.target.cube)
            if access.write and access.extent is not None and _is_in_l1(access.operand)
        ]
        if not written:
            return run

        refresh = cached(near.refreshing)

        def followed(*operands: Any) -> Any:
            result = run(*operands)
            for number, size in written:
                refresh(operands[number], operands[number] + size)
            return result

        return followed

    def _interpreted(self, op: npu_isa.Instruction) -> Run:
        """By the meaning that the interpreter has for the instruction: for those of plugins."""
        for operand in op.operands:
            if isinstance(operand.type, npu_isa.AddrType) and operand.type.space.data in (
                Space.L0A,
                Space.L0B,
            ):
                raise UserError(
                    f"'{op.name}' works on {operand.type.space.data}, which its meaning alone does not reach",
                    loc=op,
                    notes=["give it a decoded form: npu_mlir.simulator.execution.values.decoded"],
                )
        if self._interpreter is None:
            self._interpreter = Interpreter(ModuleOp([]))
            use_core(self._interpreter, self.core)
        step = self._interpreter.step(op)

        def run(*operands: Any) -> None:
            step(operands)

        return run


Make = Callable[[Core, L0, Any], Callable[..., Any]]
_DECODED: dict[type[npu_isa.Instruction], Make] = {}


def decoded(*instructions: type[npu_isa.Instruction]) -> Callable[[Make], Make]:
    """Register the decorated function `(core, l0, op) -> run` as what decodes these instructions.

    Those without one are executed by their meaning in the interpreter: as right, but slower.
    """

    def register(make: Make) -> Make:
        _DECODED.update(dict.fromkeys(instructions, make))
        return make

    return register


@decoded(*VECTOR_INSTRUCTIONS)
def _vector(core: Core, l0: L0, op: npu_isa.VectorInstruction) -> Run:
    return vector(core, op)


# ---- GM --------------------------------------------------------------------------------------------------------------


@decoded(npu_isa.LoadL1Op, npu_isa.LoadUbOp, npu_isa.GatherUbOp)
def _gm_load(core: Core, l0: L0, op: npu_isa.GmLoad) -> Run:
    box = box_of(op)
    strides, space = ints(op.strides), op.SPACE
    pad = box.dtype.type(0 if op.pad is None else constant_value(op.pad))
    zeros = (0,) * len(box.shape)
    views: dict[int, np.ndarray] = {}

    def run(source: np.ndarray, *operands: int) -> None:
        dest = operands[-1]
        tile = views.get(dest)
        if tile is None:
            tile = views[dest] = core.view(space, dest, box.shape, strides, box.dtype)
        origin = box.origin(*operands[:-1])
        if box.inside(origin):
            np.copyto(tile, box.view(source, origin, zeros, box.shape))
            return
        tile[...] = pad
        parts = box.parts(source, origin, tile)
        if parts is not None:
            np.copyto(parts[1], parts[0])

    return run


@decoded(npu_isa.ReadIndexOp)
def _read_index(core: Core, l0: L0, op: npu_isa.ReadIndexOp) -> Callable[[int], int]:
    dtype, extent = numpy_dtype(op.element), op.extent.value.data
    memory = core.memory[Space.UB]

    def run(source: int) -> int:
        return index_among(int(memory[source : source + dtype.itemsize].view(dtype)[0]), extent, op)

    return run


@decoded(npu_isa.StoreUbOp, npu_isa.ScatterUbOp, npu_isa.FixpipeGmOp)
def _gm_store(core: Core, l0: L0, op: npu_isa.GmStore) -> Run:
    box = box_of(op)
    strides, space = ints(op.strides), op.SPACE
    dtype, steps = stored(op)
    scaled = isinstance(op, npu_isa.FixpipeGmOp) and op.scales is not None
    count = len(op.indices)
    zeros = (0,) * len(box.shape)
    views: dict[int, np.ndarray] = {}

    def run(source: int, dest: np.ndarray, *rest: int) -> None:
        tile = views.get(source)
        if tile is None:
            tile = views[source] = core.view(space, source, box.shape, strides, dtype)
        origin = box.origin(*rest[:count])
        if steps:
            row = scales_of(core, cast("npu_isa.FixpipeGmOp", op), rest[-1]) if scaled else None
            tile = epilogue(tile, steps, dest.dtype, row)
        if box.inside(origin):
            np.copyto(box.view(dest, origin, zeros, box.shape), tile, casting="unsafe")
            return
        parts = box.parts(dest, origin, tile)
        if parts is not None:
            np.copyto(parts[0], parts[1], casting="unsafe")

    return run


# ---- between on-chip memories ----------------------------------------------------------------------------------------


@decoded(npu_isa.FixpipeUbOp)
def _fixpipe_ub(core: Core, l0: L0, op: npu_isa.FixpipeUbOp) -> Run:
    shape, dtype, result = ints(op.shape), numpy_dtype(op.element), numpy_dtype(op.dest_element)
    source_strides, dest_strides = ints(op.source_strides), ints(op.dest_strides)
    steps = steps_of(op.epilogue)

    def prepare(source: int, dest: int, row: int = 0) -> Thunk:
        block = core.view(Space.L0C, source, shape, source_strides, dtype)
        out = core.view(Space.UB, dest, shape, dest_strides, result)
        return _drain(core, block, out, steps, scales_of(core, op, row) if op.scales is not None else None)

    return cached(prepare)


@decoded(npu_isa.CopyL1Op, npu_isa.CopyUbOp)
def _local_copy(core: Core, l0: L0, op: npu_isa.LocalCopy) -> Run:
    shape, dtype = ints(op.shape), numpy_dtype(op.element)
    source_strides, dest_strides = ints(op.source_strides), ints(op.dest_strides)

    def prepare(source: int, dest: int) -> Thunk:
        block = core.view(op.SOURCE, source, shape, source_strides, dtype)
        return partial(np.copyto, core.view(op.DEST, dest, shape, dest_strides, dtype), block)

    return cached(prepare)


def _drain(
    core: Core, block: np.ndarray, out: np.ndarray, steps: tuple[Step, ...], row: np.ndarray | None
) -> Thunk:
    """Copy accumulators after these steps of the fixpipe, with a cast; as `epilogue`, with one call where one does."""
    if steps in ((), (Relu(),)) and (block.dtype, out.dtype) == (SINGLE, HALF):
        return halves.narrowing(core, out, block, bool(steps))
    match steps:
        case ():
            return partial(np.copyto, out, block, casting="unsafe")
        case (Relu(),):
            return partial(np.maximum, block, block.dtype.type(0), out=out, casting="unsafe")
        case _:
            return lambda: np.copyto(out, epilogue(block, steps, out.dtype, row), casting="unsafe")


@decoded(npu_isa.LoadL0AOp, npu_isa.LoadL0BOp)
def _l0_load(core: Core, l0: L0, op: npu_isa.L0Load) -> Run:
    shape, strides, dtype = ints(op.shape), ints(op.strides), numpy_dtype(op.element)
    rows, columns = op.matrix

    def prepare(source: int, dest: int) -> Thunk:
        block = core.view(Space.L1, source, shape, strides, dtype)
        if l0.near is not None and dtype == HALF:
            block = l0.near.view(source, shape, strides)
        matrix = l0.matrix(op.SPACE, dest, op.matrix, op.element)
        inner = _split(matrix[:rows, :columns], shape, op.rows.value.data)
        if matrix.shape == (rows, columns):
            return partial(np.copyto, inner, block)

        def padded() -> None:
            matrix[rows:] = 0
            matrix[:, columns:] = 0
            np.copyto(inner, block)

        return padded

    return cached(prepare)


def _split(matrix: np.ndarray, shape: Sequence[int], rows: int) -> np.ndarray:
    """A view of a matrix whose rows and columns are split into the dims that they were flattened from."""
    strides: list[int] = []
    for step, extents in zip(matrix.strides, (shape[:rows], shape[rows:])):
        strides += [step * prod(extents[i + 1 :]) for i in range(len(extents))]
    return np.lib.stride_tricks.as_strided(matrix, shape, strides)


# ---- cube ------------------------------------------------------------------------------------------------------------


@decoded(npu_isa.MmadOp)
def _mmad(core: Core, l0: L0, op: npu_isa.MmadOp) -> Run:
    if op.bias is None:
        return _product(core, l0, op)
    product, (m, _, n) = _product(core, l0, op), op.mkn
    row_type = numpy_dtype(op.bias_element)

    def run(c: int, a: int, b: int, *init_and_bias: int) -> None:
        product(c, a, b, *init_and_bias[:-1])
        if op.zero is not None or init_and_bias[0]:
            total = core.matrix(Space.L0C, c, (m, n), op.accumulator)
            total[:m, :n] += core.view(Space.L1, init_and_bias[-1], (n,), (1,), row_type)

    return run


def _product(core: Core, l0: L0, op: npu_isa.MmadOp) -> Run:
    m, k, n = op.mkn
    wide = numpy_dtype(op.accumulator)
    always = op.zero is not None
    scratch: list[np.ndarray] = []
    cache: dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def run(c: int, a: int, b: int, init: bool = always) -> None:
        key = (c, a, b)
        views = cache.get(key)
        if views is None:
            views = cache[key] = (
                l0.matrix(Space.L0A, a, (m, k), op.element),
                l0.matrix(Space.L0B, b, (k, n), op.element),
                core.matrix(Space.L0C, c, (m, n), op.accumulator),
            )
            if not scratch:
                scratch.append(np.empty(views[2].shape, views[0].dtype))
        left, right, total = views
        if init and left.dtype == wide:
            np.matmul(left, right, out=total)
            return
        product = np.matmul(left, right, out=scratch[0])
        if init:
            total[...] = product
        else:
            np.add(total, product, out=total, casting="unsafe")

    return run


# ---- the sink --------------------------------------------------------------------------------------------------------


class Values(Sink):
    """Computes what the instructions of a kernel do with data: a call each, of what `decode` makes of it."""

    needs_addresses = True

    def __init__(self, decode: Callable[[npu_isa.Instruction], Run]):
        self.decode = decode

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        self.code = code

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        name = self.code.bind("x", self.decode(entry.op))
        results = "".join(f"{result} = " for result in entry.results)
        self.code.line(f"{results}{name}({', '.join(entry.operands)})")
