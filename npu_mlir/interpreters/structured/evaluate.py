"""Evaluating a structured operation over its whole iteration space.

Three ways, in order of preference:

- a contraction is a matrix product (`contraction`);
- a reduction whose body combines the output with a value that does not depend on it (`acc + f(x)`) evaluates `f` for
  all iterations and reduces with the NumPy function of the combiner. Sums of 16-bit floats are kept in f32;
- anything else runs the body once per point of the reduction space, on all parallel iterations together. With no
  reduction that is one evaluation.

Reduction loops that slide a window (`2 * h + k`), or whose space is too large to hold, are iterated over.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from npu_mlir.analysis.structured.nest import extents_of
from npu_mlir.interpreters import sums
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, Step
from npu_mlir.interpreters.structured.body import arguments_of, compile_values
from npu_mlir.interpreters.structured.contraction import match_contraction
from npu_mlir.interpreters.structured.iteration_space import IterationSpace
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype, static_shape

LARGEST_SPACE = 1 << 25
"""Iterations that may be evaluated at once in a reduction."""

COMBINERS: dict[str, np.ufunc] = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


def structured_step(interp: Interpreter, op: LinalgStructuredOperation) -> Step:
    """The operation made ready to run; a plan is made per combination of operand shapes (one when they are static)."""
    plans: dict[tuple[tuple[int, ...], ...], Step] = {}
    types = [operand.type for operand in op.operands]
    static = [static_shape(t) for t in types]
    if all(size >= 0 for shape in static for size in shape):
        step: Step | None = None

        def run_static(args: Results) -> Results:
            nonlocal step
            if step is None:
                step = _plan(_space(interp, op, static))
            return step(args)

        return run_static

    def run_dynamic(args: Results) -> Results:
        shapes = tuple(np.shape(arg) for arg in args)
        if shapes not in plans:
            plans[shapes] = _plan(_space(interp, op, list(shapes)))
        return plans[shapes](args)

    return run_dynamic


def _space(
    interp: Interpreter, op: LinalgStructuredOperation, shapes: list[tuple[int, ...]]
) -> IterationSpace:
    maps = [attr.data for attr in op.get_indexing_maps().data]
    iterators = [attr.data for attr in op.get_iterator_types().data]
    return IterationSpace(
        interp,
        op.body.block,
        maps,
        len(op.inputs),
        _extents(maps, shapes, len(iterators)),
        [d for d, kind in enumerate(iterators) if kind != IteratorType.PARALLEL],
        shapes,
        [numpy_dtype(operand.type) for operand in op.operands],
        any(isinstance(out.type, MemRefType) for out in op.outputs),
    )


def _extents(maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]], num_loops: int) -> tuple[int, ...]:
    extents = extents_of(zip((map_.results for map_ in maps), shapes, strict=True), num_loops)
    if None in extents:
        raise UserError(f"no operand dimension gives the extent of loop d{extents.index(None)}")
    return tuple(n for n in extents if n is not None)


def _plan(space: IterationSpace) -> Step:
    if space.reduced and 0 not in space.extents:
        contraction = match_contraction(space)
        if contraction is not None:
            return contraction
        combined = [_combiner(space, k) for k in range(len(space.yielded()))]
        if None not in combined:
            return _plan_reduction(space, [c for c in combined if c is not None])
    return _plan_loop(space)


def _combiner(space: IterationSpace, k: int) -> tuple[np.ufunc, SSAValue] | None:
    """For an output that is `combine(acc, value)`, `value` independent of all outputs: the two."""
    op = space.yielded()[k].owner
    acc = space.block.args[space.num_inputs + k]
    if isinstance(op, Block) or op.name not in COMBINERS or acc not in op.operands:
        return None
    value = op.operands[1] if op.operands[0] is acc else op.operands[0]
    if any(index >= space.num_inputs for index in arguments_of(space.block, [value])):
        return None
    return COMBINERS[op.name], value


def _plan_loop(space: IterationSpace) -> Step:
    """The body runs once per point of the reduction space."""
    body = compile_values(space.interp, space.block, space.yielded())
    views, finish, indices, n = space.views(), space.finisher(), space.indices(), space.num_inputs
    if not space.reduced:

        def once(args: Results) -> Results:
            values = body([view(arg) for view, arg in zip(views, args, strict=True)], indices)
            return finish(values, args[n:])

        return once

    def loop(args: Results) -> Results:
        arrays = [view(arg) for view, arg in zip(views, args, strict=True)]
        outputs: Sequence[Any] = arrays[n:]
        for inputs, index in _points([arrays[:n], indices], space.extents, space.reduced):
            outputs = body([*inputs, *outputs], index)
        return finish(outputs, args[n:])

    return loop


def _points(
    groups: Sequence[Sequence[np.ndarray]], extents: Sequence[int], dims: Sequence[int]
) -> Iterator[list[list[np.ndarray]]]:
    """The groups of arrays at each point of the sub-space of `dims`, whose axes keep size 1."""
    rank = len(extents)
    for point in itertools.product(*[range(extents[d]) for d in dims]):
        yield [[_at(array, dims, point, rank) for array in group] for group in groups]


def _at(array: np.ndarray, dims: Sequence[int], point: Sequence[int], rank: int) -> np.ndarray:
    index = [slice(None)] * rank
    for d, i in zip(dims, point, strict=True):
        if array.shape[d] > 1:
            index[d] = slice(i, i + 1)
    return array[tuple(index)]


def _plan_reduction(space: IterationSpace, combined: list[tuple[np.ufunc, SSAValue]]) -> Step:
    body = compile_values(space.interp, space.block, [value for _, value in combined])
    views, finish, indices, n = space.views(), space.finisher(), space.indices(), space.num_inputs
    looped = _looped_dims(space)
    axes = tuple(d for d in space.reduced if d not in looped)
    reducers = [
        _Reducer(ufunc, axes, space.extents, dtype)
        for (ufunc, _), dtype in zip(combined, space.dtypes[n:], strict=True)
    ]

    def step(args: Results) -> Results:
        arrays = [view(arg) for view, arg in zip(views, args, strict=True)]
        totals: list[Any] = [None] * len(reducers)
        for inputs, index in _points([arrays[:n], indices], space.extents, looped):
            values = body(inputs, index)
            totals = [
                reducer.add(total, value)
                for reducer, total, value in zip(reducers, totals, values, strict=True)
            ]
        results = [
            reducer.combine(init, total)
            for reducer, init, total in zip(reducers, arrays[n:], totals, strict=True)
        ]
        return finish(results, args[n:])

    return step


def _looped_dims(space: IterationSpace) -> list[int]:
    """The reduction dims to iterate over: those of sliding windows, and the largest while the space is too large."""
    plain = [
        {expr.position for expr in map_.results if isinstance(expr, AffineDimExpr)} for map_ in space.maps
    ]
    used = [{d for expr in map_.results for d in expr.used_dims()} for map_ in space.maps]
    inputs = range(space.num_inputs)
    looped = [d for d in space.reduced if any(d in used[k] and d not in plain[k] for k in inputs)]
    rest = sorted((d for d in space.reduced if d not in looped), key=lambda d: -space.extents[d])
    while rest and math.prod(n for d, n in enumerate(space.extents) if d not in looped) > LARGEST_SPACE:
        looped.append(rest.pop(0))
    return sorted(looped)


class _Reducer:
    """Reduces values over some axes and accumulates the results."""

    def __init__(self, ufunc: np.ufunc, axes: tuple[int, ...], extents: Sequence[int], dtype: np.dtype[Any]):
        self.ufunc = ufunc
        self.axes = axes
        self.extents = extents
        self.dtype = dtype
        self.wide = np.dtype(np.float32) if dtype.kind not in "iub" and dtype.itemsize < 4 else dtype

    def add(self, total: Any, value: Any) -> Any:
        value = np.asarray(value, self.wide)
        if self.axes:
            value = self._spread(value)
            value = sums.reduce(self.ufunc, value, self.axes, self.wide)
        return value if total is None else self.ufunc(total, value)

    def combine(self, init: np.ndarray, total: Any) -> np.ndarray:
        result = self.ufunc(init.astype(self.wide, copy=False), total)
        return result.astype(self.dtype, copy=False)

    def _spread(self, value: np.ndarray) -> np.ndarray:
        """The value with its full extent along the reduced axes."""
        shape = value.shape or (1,) * len(self.extents)
        full = tuple(
            n if d in self.axes else size for d, (n, size) in enumerate(zip(self.extents, shape, strict=True))
        )
        return value if full == value.shape else np.broadcast_to(value, full)
