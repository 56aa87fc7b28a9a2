"""Values, decoded: every instruction becomes one function of addresses, with views of memory made once per address.

The functions compute what `npu_mlir.interpreters.npu_isa` says. L0A and L0B hold what the cube computes with: floats
of 16 bits are widened when they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import Space
from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.dtypes import numpy_dtype
from npu_mlir.interpreters.npu_isa import accumulator_type
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.npu_isa.functions import BINARY, COMPARE, REDUCE, UNARY, compute_type, convert
from npu_mlir.simulator.gm_box import GmBox

Run = Callable[..., None]
"""An instruction: its operands are addresses, GM arrays, indices, and the condition of an mmad."""

Thunk = Callable[[], Any]

CACHE_LIMIT = 4096
"""Addresses per instruction whose views are kept."""


class L0:
    """L0A and L0B in the type that the cube computes with, a memory per element type."""

    def __init__(self, core: Core):
        self.core = core
        self.memory: dict[tuple[Space, np.dtype[Any]], np.ndarray] = {}

    def matrix(self, space: Space, address: int, rows: int, columns: int, element: Attribute) -> np.ndarray:
        """A padded matrix as `Core.matrix`, in the cube's type."""
        dtype = numpy_dtype(element)
        wide = cube_type(dtype)
        memory = self.memory.get((space, dtype))
        if memory is None:
            size = self.core.memory[space].size // dtype.itemsize
            memory = self.memory[space, dtype] = np.full(size, 0xFF, np.uint8).astype(wide)
        # Raises where the matrix does not fit its memory.
        rows, columns = self.core.matrix(space, address, rows, columns, dtype).shape
        start = address // dtype.itemsize
        return memory[start : start + rows * columns].reshape(rows, columns)


def cube_type(element: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which products of `element` are summed exactly as the cube does: integers below 2**53 in f64."""
    return np.dtype(np.float64) if element.kind in "iu" else compute_type(element)


class Decoder:
    """Makes the functions of a kernel's instructions."""

    def __init__(self, core: Core):
        self.core = core
        self.l0 = L0(core)

    def decode(self, op: npu_isa.Instruction) -> Run:
        """The function that executes `op`. Its arguments are the operands in their order."""
        match op:
            case npu_isa.GmLoad():
                return _gm_load(self.core, op)
            case npu_isa.GmStore():
                return _gm_store(self.core, op)
            case npu_isa.FixpipeUbOp():
                return _fixpipe_ub(self.core, op)
            case npu_isa.L0Load():
                return _l0_load(self.core, self.l0, op)
            case npu_isa.MmadOp():
                return _mmad(self.core, self.l0, op)
            case npu_isa.VectorInstruction():
                return _vector(self.core, op)
            case _:
                raise TypeError(f"no decoded form of {op.name}")


def _cached(prepare: Callable[..., Thunk]) -> Run:
    """Run what `prepare` makes of the addresses, made once for each combination of them."""
    cache: dict[Any, Thunk] = {}

    def run(*addresses: int) -> None:
        thunk = cache.get(addresses)
        if thunk is None:
            if len(cache) >= CACHE_LIMIT:
                cache.clear()
            thunk = cache[addresses] = prepare(*addresses)
        thunk()

    return run


# ---- GM --------------------------------------------------------------------------------------------------------------


def _gm_load(core: Core, op: npu_isa.GmLoad) -> Run:
    box = GmBox(op)
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


def _gm_store(core: Core, op: npu_isa.GmStore) -> Run:
    box = GmBox(op)
    strides, space = ints(op.strides), op.SPACE
    dtype = accumulator_type(box.dtype) if space is Space.L0C else box.dtype
    zeros = (0,) * len(box.shape)
    views: dict[int, np.ndarray] = {}

    def run(source: int, dest: np.ndarray, *indices: int) -> None:
        tile = views.get(source)
        if tile is None:
            tile = views[source] = core.view(space, source, box.shape, strides, dtype)
        origin = box.origin(*indices)
        if box.inside(origin):
            np.copyto(box.view(dest, origin, zeros, box.shape), tile, casting="unsafe")
            return
        parts = box.parts(dest, origin, tile)
        if parts is not None:
            np.copyto(parts[0], parts[1], casting="unsafe")

    return run


# ---- between on-chip memories ----------------------------------------------------------------------------------------


def _fixpipe_ub(core: Core, op: npu_isa.FixpipeUbOp) -> Run:
    shape, dtype = ints(op.shape), numpy_dtype(op.element)
    source_strides, dest_strides = ints(op.source_strides), ints(op.dest_strides)

    def prepare(source: int, dest: int) -> Thunk:
        block = core.view(Space.L0C, source, shape, source_strides, dtype)
        return partial(np.copyto, core.view(Space.UB, dest, shape, dest_strides, dtype), block)

    return _cached(prepare)


def _l0_load(core: Core, l0: L0, op: npu_isa.L0Load) -> Run:
    shape, strides, dtype = ints(op.shape), ints(op.strides), numpy_dtype(op.element)
    rows, columns = op.matrix

    def prepare(source: int, dest: int) -> Thunk:
        block = core.view(Space.L1, source, shape, strides, dtype)
        matrix = l0.matrix(op.SPACE, dest, rows, columns, op.element)
        inner = _split(matrix[:rows, :columns], shape, op.rows.value.data)
        if matrix.shape == (rows, columns):
            return partial(np.copyto, inner, block)

        def padded() -> None:
            matrix[rows:] = 0
            matrix[:, columns:] = 0
            np.copyto(inner, block)

        return padded

    return _cached(prepare)


def _split(matrix: np.ndarray, shape: Sequence[int], rows: int) -> np.ndarray:
    """A view of a matrix whose rows and columns are split into the dims that they were flattened from."""
    strides: list[int] = []
    for step, extents in zip(matrix.strides, (shape[:rows], shape[rows:])):
        strides += [step * prod(extents[i + 1 :]) for i in range(len(extents))]
    return np.lib.stride_tricks.as_strided(matrix, shape, strides)


# ---- cube ------------------------------------------------------------------------------------------------------------


def _mmad(core: Core, l0: L0, op: npu_isa.MmadOp) -> Run:
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
                l0.matrix(Space.L0A, a, m, k, op.element),
                l0.matrix(Space.L0B, b, k, n, op.element),
                core.matrix(Space.L0C, c, m, n, wide),
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


# ---- vector ----------------------------------------------------------------------------------------------------------


def _vector(core: Core, op: npu_isa.VectorInstruction) -> Run:
    shape, strides = ints(op.shape), op.operand_strides
    types = [numpy_dtype(t) for t in op.types.data]
    make = _VECTOR[type(op)]

    def prepare(*addresses: int) -> Thunk:
        dest, *sources = (
            core.view(Space.UB, address, shape, steps, dtype)
            for address, steps, dtype in zip(addresses, strides, types, strict=True)
        )
        if op.imm is not None and op.imm_position is not None:
            sources.insert(op.imm_position.value.data, immediate(op.imm))
        return make(op, dest, sources)

    return _cached(prepare)


def immediate(attr: Attribute) -> np.ndarray:
    """An immediate operand."""
    return np.array(constant_value(attr), numpy_dtype(attr.type))  # type: ignore[attr-defined]


def _in_place(ufunc: Any, dest: np.ndarray, sources: Sequence[np.ndarray]) -> Thunk:
    """A function on the type that the elements are computed in, rounded once to that of the destination."""
    wide = compute_type(dest.dtype)
    if not isinstance(ufunc, np.ufunc):
        return lambda: np.copyto(dest, ufunc(*[s.astype(wide) for s in sources]), casting="unsafe")
    if wide == dest.dtype:
        return partial(ufunc, *sources, out=dest)
    widened = [s.astype(wide) if s.ndim == 0 else s for s in sources]
    return partial(ufunc, *widened, out=dest, dtype=wide, casting="unsafe")


def _elementwise(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    kind: str = op.kind.data
    if kind == "copy":
        return partial(np.copyto, dest, sources[0])
    if kind == "relu":
        return _in_place(np.maximum, dest, [sources[0], np.zeros((), dest.dtype)])
    if kind == "not":
        return _in_place(np.logical_not if dest.dtype == np.bool_ else np.invert, dest, sources)
    if kind == "div" and dest.dtype.kind not in "iu":
        return _in_place(np.divide, dest, sources)
    return _in_place((UNARY | BINARY)[kind], dest, sources)


def _compare(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    return partial(COMPARE[op.kind.data], *sources, out=dest)


def _select(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    mask, a, b = sources
    return lambda: np.copyto(dest, np.where(mask, a, b))


def _cast(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    source, unsigned = sources[0], op.kind.data == "ucast"
    kinds = source.dtype.kind, dest.dtype.kind
    if "b" in kinds or (unsigned and "i" in kinds):
        return lambda: np.copyto(dest, convert(np.ascontiguousarray(source), dest.dtype, unsigned))
    return partial(np.copyto, dest, source, casting="unsafe")


def _duplicate(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    return partial(dest.fill, sources[0][()])


def _reduce(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    ufunc, wide = REDUCE[op.kind.data], compute_type(dest.dtype)
    fixed, once = _accumulator(op, dest)
    source = sources[0]

    def run() -> None:
        values = source if source.dtype == wide else source.astype(wide)
        if fixed:
            values = ufunc.reduce(values, axis=fixed, dtype=wide, keepdims=True)
        ufunc(once, values, out=once, dtype=wide, casting="unsafe")

    return run


def _madd(op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    wide = compute_type(dest.dtype)
    fixed, once = _accumulator(op, dest)
    a, b = sources

    def run() -> None:
        values = np.multiply(a, b, dtype=wide)
        if fixed:
            values = np.add.reduce(values, axis=fixed, keepdims=True)
        np.add(once, values, out=once, dtype=wide, casting="unsafe")

    return run


def _accumulator(op: Any, dest: np.ndarray) -> tuple[tuple[int, ...], np.ndarray]:
    """The dims along which the destination does not move, and the destination with those dims of extent 1."""
    steps = op.operand_strides[0]
    fixed = tuple(d for d, step in enumerate(steps) if step == 0)
    return fixed, dest[(*(slice(0, 1) if step == 0 else slice(None) for step in steps), ...)]


_VECTOR: dict[type[npu_isa.VectorInstruction], Callable[[Any, np.ndarray, list[np.ndarray]], Thunk]] = {
    npu_isa.VUnaryOp: _elementwise,
    npu_isa.VBinaryOp: _elementwise,
    npu_isa.VMaddOp: _madd,
    npu_isa.VCmpOp: _compare,
    npu_isa.VSelectOp: _select,
    npu_isa.VCastOp: _cast,
    npu_isa.VReduceOp: _reduce,
    npu_isa.VDupOp: _duplicate,
}
