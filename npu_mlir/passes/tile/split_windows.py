"""tile-split-windows: reduce windows one axis after the other, beginning with their first elements.

Before:

    %f = linalg.fill ins(-inf) outs(%e : tensor<2x56x64xf16, ub>)
    %r = linalg.generic {(h, w, c, y, x) -> (2 * h + y, 2 * w + x, c), (y, x), (h, w, c)}
      ins(%t, %window : tensor<5x113x64xf16, ub>, tensor<3x3xf16>) outs(%f) { arith.maximumf }

After:

    %0 = linalg.generic {(a, b, c) -> (2 * a, b, c), (2 * a + 1, b, c), (a, b, c)}
      ins(%t, %t) outs(%e0 : tensor<2x113x64xf16, ub>) { arith.maximumf }
    %1 = linalg.generic {(a, b, c, y) -> (2 * a + y + 2, b, c), (y), (a, b, c)}
      ins(%t, %rest : ..., tensor<1xf16>) outs(%0) { arith.maximumf }
    %2 = ...                                   // the same along w, from %1 to the result

A window of n x m elements takes n + m - 2 steps for each element of the result where windows overlap much, and no more
than n * m - 1 where not, while `fill` and reduction take n * m + 1. Along an outer axis, whole rows of the tile are
combined, however narrow the result is.

Why values stay the same: maxima, minima and sums of integers are what they are in any order, and their neutral element
changes nothing. Changes values: sums of floats, by their order. What these start from is added all the same, as a sum
of zeros has a sign.

Leaves alone: reductions over anything but windows of one tile, those that would take more steps, what the cube does.
Runs after `tile-split-compute`, which leaves one operation in each body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import inf, prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, IntegerType, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import Linear, affine_expression, linear_map, projection
from npu_mlir.analysis.structured.bodies import is_number, only_op
from npu_mlir.analysis.structured.nest import init_of, is_reduction, is_shape_only, loop_extents, maps_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, place, space_of
from npu_mlir.support.locations import located

Tensor = TensorType[Attribute]

MOST_AXES = 3
"""Axes of a window up to which their orders are tried: those of volumes."""


class SplitWindows(ModulePass):
    """Reduce windows one axis after the other."""

    name = "tile-split-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                split_windows(kernel)


def split_windows(kernel: tile.KernelOp) -> None:
    """Split all reductions over windows of one kernel."""
    for op in list(kernel.walk()):
        if isinstance(op, linalg.GenericOp) and space_of(op.outputs[0].type) is Space.UB:
            windows = _windows(op)
            if windows is not None:
                with located(op):
                    _Splitter(windows).run()


@dataclass(frozen=True)
class _Axis:
    """A coordinate that slides: `stride * loop + step * position (+ constant)`."""

    coordinate: int
    loop: int
    position: int


@dataclass(frozen=True)
class _Windows:
    """A reduction over windows of one tile."""

    op: linalg.GenericOp
    combine: Operation
    operand: int
    coordinates: tuple[Linear, ...]
    axes: tuple[_Axis, ...]
    extents: tuple[int, ...]
    fresh: bool
    """Whether the result starts from nothing but the neutral element."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tile."""
        return cast("Tensor", self.op.inputs[self.operand].type).get_shape()

    def without(self, done: Sequence[_Axis]) -> list[int]:
        """The extents of the tile when some axes are reduced."""
        reduced = {axis.coordinate: self.extents[axis.loop] for axis in done}
        return [reduced.get(c, size) for c, size in enumerate(self.shape)]

    def steps(self, order: Sequence[_Axis]) -> int:
        """Elements that are computed when axes are reduced one after the other."""
        total = 0
        for i, axis in enumerate(order):
            last = i == len(order) - 1
            combined = self.extents[axis.position] - (self.fresh or not last)
            total += combined * prod(self.without(order[: i + 1]))
        return total


def _windows(op: linalg.GenericOp) -> _Windows | None:
    """The parts of a reduction over windows, None for any other operation."""
    reduced = [d for d, is_reduced in enumerate(is_reduction(op)) if is_reduced]
    combine = only_op(op)
    if not reduced or combine is None or type(combine) not in _NEUTRAL:
        return None
    read = [i for i in range(len(op.inputs)) if not is_shape_only(op, i)]
    maps = [linear_map(m) for m in maps_of(op)]
    if len(read) != 1 or maps[read[0]] is None or projection(maps_of(op)[-1]) is None:
        return None
    args = op.body.block.args
    if set(combine.operands) != {args[read[0]], args[-1]} or len(combine.operands) != 2:
        return None
    if args[read[0]].type != args[-1].type:
        return None
    coordinates = tuple(cast("list[Linear]", maps[read[0]]))
    extents = loop_extents(op)
    axes = _axes(coordinates, reduced)
    if axes is None or len(axes) > MOST_AXES or any(extents[axis.position] < 2 for axis in axes):
        return None
    return _Windows(op, combine, read[0], coordinates, tuple(axes), extents, _is_fresh(op, combine))


def _axes(coordinates: Sequence[Linear], reduced: Sequence[int]) -> list[_Axis] | None:
    """The axes of a window; None if a summed loop is none, or a loop is in several coordinates."""
    axes: list[_Axis] = []
    for i, expr in enumerate(coordinates):
        positions = [d for d in expr.dims() if d in reduced]
        loops = [d for d in expr.dims() if d not in reduced]
        if len(positions) == len(loops) == 1 and min(expr.coefficients[d] for d in expr.dims()) > 0:
            axes.append(_Axis(i, loops[0], positions[0]))
        elif positions or (expr.dims() and expr.dim() is None):
            return None
    used = [d for expr in coordinates for d in expr.dims()]
    if sorted(axis.position for axis in axes) != sorted(reduced) or len(set(used)) != len(used):
        return None
    return axes


def _is_fresh(op: linalg.GenericOp, combine: Operation) -> bool:
    """Whether a reduction starts from its neutral element alone, which nothing else reads."""
    fill = init_of(op)
    if not isinstance(fill, linalg.FillOp) or not op.outputs[0].has_one_use():
        return False
    constant = fill.inputs[0].owner
    if not isinstance(constant, arith.ConstantOp) or constant.result.type != combine.results[0].type:
        return False
    neutral = _NEUTRAL[type(combine)](constant.result.type)
    return neutral is not None and is_number(constant.value, neutral)


def _least(type_: Attribute) -> float:
    return -inf if isinstance(type_, AnyFloat) else -(1 << (_width(type_) - 1))


def _most(type_: Attribute) -> float:
    return inf if isinstance(type_, AnyFloat) else (1 << (_width(type_) - 1)) - 1


def _width(type_: Attribute) -> int:
    assert isinstance(type_, IntegerType)
    return type_.width.data


_NEUTRAL: dict[type[Operation], Callable[[Attribute], float | None]] = {
    arith.MaximumfOp: _least,
    arith.MaxSIOp: _least,
    arith.MinimumfOp: _most,
    arith.MinSIOp: _most,
    arith.MaxUIOp: lambda type_: 0,
    arith.AddiOp: lambda type_: 0,
    arith.AddfOp: lambda type_: None,
}
"""What changes nothing, by the operation that combines elements and their type; None where it is not left out."""


class _Splitter:
    """Splits one reduction."""

    def __init__(self, windows: _Windows):
        self.windows = windows
        self.op = windows.op

    def run(self) -> None:
        """Reduce the axes in the order that takes the fewest steps, unless all at once take fewer."""
        windows = self.windows
        order = min(permutations(windows.axes), key=windows.steps)
        at_once = prod(windows.extents) + (prod(windows.without(windows.axes)) if windows.fresh else 0)
        if windows.steps(order) >= at_once:
            return
        value = windows.op.inputs[windows.operand]
        for i, axis in enumerate(order[:-1]):
            value = self._intermediate(value, order[:i], axis)
        self._last(value, order[:-1], order[-1])

    def _slide(self, axis: _Axis, loop: int, position: int, count: int, first: int) -> Linear:
        """The coordinate of an axis, from the element `first` of the window on."""
        expr = self.windows.coordinates[axis.coordinate]
        step = expr.coefficients[axis.position]
        factors = {loop: expr.coefficients[axis.loop], position: step}
        return Linear(tuple(factors.get(d, 0) for d in range(count)), expr.constant + first * step)

    def _intermediate(self, value: SSAValue, done: Sequence[_Axis], axis: _Axis) -> SSAValue:
        """A tile with one more axis reduced; its loops are its coordinates."""
        shape = self.windows.without([*done, axis])
        element = cast("Tensor", value.type).element_type
        rank = len(shape)

        def read(first: int) -> AffineMap:
            exprs = [Linear(tuple(int(d == c) for d in range(rank + 1)), 0) for c in range(rank)]
            exprs[axis.coordinate] = self._slide(axis, axis.coordinate, rank, rank + 1, first)
            return AffineMap(rank + 1, 0, tuple(affine_expression(e) for e in exprs))

        empty = tensor.EmptyOp([], place(shape, element, Space.UB))
        self._emit(empty)
        written = AffineMap(rank + 1, 0, AffineMap.identity(rank).results)
        position = AffineMap(rank + 1, 0, (affine_expression(Linear((0,) * rank + (1,), 0)),))
        start = self._pair(value, [read(0), read(1), position], empty.tensor, written)
        rest = self.windows.extents[axis.position] - 2
        return self._rest(value, [read(2), position], rest, start, written, rank) if rest else start

    def _last(self, value: SSAValue, done: Sequence[_Axis], axis: _Axis) -> None:
        """The last axis, in the loops of the original operation without the positions of the others."""
        windows, count = self.windows, len(self.windows.extents)
        gone = {a.position for a in windows.axes} - {axis.position}
        loops = [d for d in range(count) if d not in gone]
        at = loops.index(axis.position)
        reduced = {a.coordinate: a.loop for a in done}

        def plain(dim: int) -> Linear:
            return Linear(tuple(int(d == dim) for d in loops), 0)

        def map_(exprs: Sequence[Linear]) -> AffineMap:
            return AffineMap(len(loops), 0, tuple(affine_expression(e) for e in exprs))

        def read(first: int) -> AffineMap:
            exprs = [
                plain(reduced[c])
                if c in reduced
                else Linear(tuple(expr.coefficients[d] for d in loops), expr.constant)
                for c, expr in enumerate(windows.coordinates)
            ]
            exprs[axis.coordinate] = self._slide(axis, loops.index(axis.loop), at, len(loops), first)
            return map_(exprs)

        written = map_([plain(dim) for dim in projection(maps_of(self.op)[-1]) or []])
        position = map_([plain(axis.position)])
        start, first = self.op.outputs[0], 0
        if windows.fresh:
            fill = cast("linalg.FillOp", start.owner)
            start = self._pair(value, [read(0), read(1), position], fill.outputs[0], written)
            first = 2
        rest = windows.extents[axis.position] - first
        if rest:
            start = self._rest(value, [read(first), position], rest, start, written, at)
        read_before = [
            v.owner for v in self.op.operands if isinstance(v.owner, tensor.EmptyOp | linalg.FillOp)
        ]
        self.op.results[0].replace_all_uses_with(start)
        for old in (self.op, *read_before):
            if not any(result.uses for result in old.results):
                old.detach()
                old.erase()

    def _pair(
        self, value: SSAValue, maps: Sequence[AffineMap], out: SSAValue, written: AffineMap
    ) -> SSAValue:
        """The first two elements of each window, combined; the loop over positions has one iteration."""
        return self._generic([value, value, self._extent(value, 1)], maps, out, written, None, (0, 1))

    def _rest(
        self,
        value: SSAValue,
        maps: Sequence[AffineMap],
        count: int,
        start: SSAValue,
        written: AffineMap,
        position: int,
    ) -> SSAValue:
        """`count` more elements of each window, combined with what there is."""
        return self._generic([value, self._extent(value, count)], maps, start, written, position, (0, 2))

    def _extent(self, value: SSAValue, count: int) -> SSAValue:
        """What tells how many positions there are."""
        extents = tensor.EmptyOp([], TensorType(cast("Tensor", value.type).element_type, [count]))
        self._emit(extents)
        return extents.tensor

    def _generic(
        self,
        inputs: Sequence[SSAValue],
        maps: Sequence[AffineMap],
        out: SSAValue,
        written: AffineMap,
        reduced: int | None,
        combined: tuple[int, int],
    ) -> SSAValue:
        """One instruction: the operation of the reduction on two of its arguments."""
        element = self.windows.combine.results[0].type
        block = Block(arg_types=[element] * (len(inputs) + 1))
        body = self.windows.combine.clone()
        body.operands[0], body.operands[1] = (block.args[i] for i in combined)
        block.add_ops([body, linalg.YieldOp(body.results[0])])
        kinds = [
            IteratorTypeAttr(IteratorType.REDUCTION if d == reduced else IteratorType.PARALLEL)
            for d in range(written.num_dims)
        ]
        new = linalg.GenericOp(
            inputs, [out], Region(block), [AffineMapAttr(m) for m in (*maps, written)], kinds, [out.type]
        )
        self._emit(new)
        return new.results[0]

    def _emit(self, op: Operation) -> None:
        block = self.op.parent
        assert block is not None
        block.insert_op_before(op, self.op)
