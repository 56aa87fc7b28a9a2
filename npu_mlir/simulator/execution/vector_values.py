"""Values of vector instructions, decoded. Floats of 16 bits are computed in f32 and rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import Space
from npu_mlir.interpreters import sums
from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.npu_isa.functions import (
    BINARY,
    COMPARE,
    REDUCE,
    UNARY,
    compute_type,
    convert,
    rounded,
)
from npu_mlir.simulator.execution import halves
from npu_mlir.simulator.execution.halves import HALF, SINGLE
from npu_mlir.simulator.execution.view_cache import Run, Thunk, cached
from npu_mlir.support.dtypes import numpy_dtype


def vector(core: Core, op: npu_isa.VectorInstruction) -> Run:
    """A vector instruction as a function of the addresses of its operands, in bytes of UB, destination first."""
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
        return make(core, op, dest, sources)

    return cached(prepare)


def immediate(attr: Attribute) -> np.ndarray:
    """An immediate operand."""
    return np.array(constant_value(attr), numpy_dtype(attr.type))  # type: ignore[attr-defined]


def _in_place(core: Core, ufunc: Any, dest: np.ndarray, sources: Sequence[np.ndarray]) -> Thunk:
    """A function on the type that the elements are computed in, rounded once to that of the destination."""
    wide = compute_type(dest.dtype)
    if (
        isinstance(ufunc, np.ufunc)
        and dest.size >= halves.SMALL
        and {s.dtype for s in (dest, *sources)} == {HALF}
    ):
        return _on_halves(core, ufunc, dest, sources)
    if not isinstance(ufunc, np.ufunc):
        return lambda: np.copyto(dest, ufunc(*[s.astype(wide) for s in sources]), casting="unsafe")
    if wide == dest.dtype:
        return partial(ufunc, *sources, out=dest)
    widened = [s.astype(wide) if s.ndim == 0 else s for s in sources]
    return partial(ufunc, *widened, out=dest, dtype=wide, casting="unsafe")


def _on_halves(core: Core, ufunc: np.ufunc, dest: np.ndarray, sources: Sequence[np.ndarray]) -> Thunk:
    """A function on f16 numbers, for which all of them are f32 numbers on the way."""
    before, wide = zip(*(_widened(core, i, source) for i, source in enumerate(sources)), strict=True)
    result = core.scratch(0, dest.size).reshape(dest.shape)
    narrow = halves.narrowing(core, dest, result)

    def run() -> None:
        for widen in before:
            widen()
        ufunc(*wide, out=result)
        narrow()

    return run


def _widened(core: Core, number: int, source: np.ndarray) -> tuple[Thunk, np.ndarray]:
    """What makes f32 numbers of f16 ones, in scratch memory of this number, and where they are then."""
    if source.ndim == 0:
        return lambda: None, source.astype(SINGLE)
    once = source[tuple(slice(0, 1) if step == 0 else slice(None) for step in source.strides)]
    wide = core.scratch(number, once.size).reshape(once.shape)
    return halves.widening(wide, once), wide


def _elementwise(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    kind: str = op.kind.data
    if kind == "copy":
        return partial(np.copyto, dest, sources[0])
    if kind == "relu":
        return _limited(core, np.maximum, dest, [sources[0], np.zeros((), dest.dtype)])
    if kind == "not":
        return _in_place(core, np.logical_not if dest.dtype == np.bool_ else np.invert, dest, sources)
    if kind == "div" and dest.dtype.kind not in "iu":
        return _in_place(core, np.divide, dest, sources)
    if kind in ("max", "min"):
        return _limited(core, BINARY[kind], dest, sources)
    return _in_place(core, (UNARY | BINARY)[kind], dest, sources)


def _transposed(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    return partial(np.copyto, dest, sources[0])


def _limited(core: Core, ufunc: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    """A maximum or minimum, often with a number."""
    found = None
    if sources[1].ndim == 0 and dest.dtype == sources[0].dtype == HALF:
        found = (halves.at_least if ufunc is np.maximum else halves.at_most)(dest, *sources)
    return found or _in_place(core, ufunc, dest, sources)


def _compare(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    return partial(COMPARE[op.kind.data], *sources, out=dest)


def _select(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    mask, a, b = sources
    return lambda: np.copyto(dest, np.where(mask, a, b))


def _cast(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    source, unsigned = sources[0], op.kind.data == "ucast"
    if op.kind.data == "rcast":
        return lambda: np.copyto(dest, rounded(source, dest.dtype))
    kinds = source.dtype.kind, dest.dtype.kind
    if "b" in kinds or (unsigned and "i" in kinds):
        return lambda: np.copyto(dest, convert(np.ascontiguousarray(source), dest.dtype, unsigned))
    if (source.dtype, dest.dtype) == (HALF, SINGLE):
        return halves.widening(dest, source)
    if (source.dtype, dest.dtype) == (SINGLE, HALF):
        return halves.narrowing(core, dest, source)
    return partial(np.copyto, dest, source, casting="unsafe")


def _duplicate(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    return partial(dest.fill, sources[0][()])


def _reduce(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    ufunc, wide = REDUCE[op.kind.data], compute_type(dest.dtype)
    fixed, once = _accumulator(op, dest)
    source = sources[0]
    # Not sums, whose order follows that in memory.
    exact = source.dtype == HALF and op.kind.data in ("max", "min")
    widen, wider = _widened(core, 0, source) if exact else (None, source)

    def run() -> None:
        if widen is not None:
            widen()
        values = wider if wider.dtype == wide else wider.astype(wide)
        if fixed:
            values = sums.reduce(ufunc, values, fixed, wide)
        ufunc(once, values, out=once, dtype=wide, casting="unsafe")

    return run


def _madd(core: Core, op: Any, dest: np.ndarray, sources: list[np.ndarray]) -> Thunk:
    wide = compute_type(dest.dtype)
    fixed, once = _accumulator(op, dest)
    a, b = sources

    def run() -> None:
        values = np.multiply(a, b, dtype=wide)
        if fixed:
            values = sums.reduce(np.add, values, fixed)
        np.add(once, values, out=once, dtype=wide, casting="unsafe")

    return run


def _accumulator(op: Any, dest: np.ndarray) -> tuple[tuple[int, ...], np.ndarray]:
    """The dims along which the destination does not move, and the destination with those dims of extent 1."""
    steps = op.operand_strides[0]
    fixed = tuple(d for d, step in enumerate(steps) if step == 0)
    return fixed, dest[(*(slice(0, 1) if step == 0 else slice(None) for step in steps), ...)]


_VECTOR: dict[type[npu_isa.VectorInstruction], Callable[[Core, Any, np.ndarray, list[np.ndarray]], Thunk]] = {
    npu_isa.VUnaryOp: _elementwise,
    npu_isa.VTransposeOp: _transposed,
    npu_isa.VBinaryOp: _elementwise,
    npu_isa.VMaddOp: _madd,
    npu_isa.VCmpOp: _compare,
    npu_isa.VSelectOp: _select,
    npu_isa.VCastOp: _cast,
    npu_isa.VReduceOp: _reduce,
    npu_isa.VDupOp: _duplicate,
}

VECTOR_INSTRUCTIONS = tuple(_VECTOR)
"""The instructions that `vector` decodes."""
