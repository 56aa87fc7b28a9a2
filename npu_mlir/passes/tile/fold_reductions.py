"""tile-fold-reductions: fold long rows into the lanes of one step before the lanes are reduced.

    %r = linalg.generic [(m, n) -> (m, n), (m)] ins(%x : 19x768xf16) outs(%init : 19xf32) { extf, addf }
  becomes
    %a = linalg.generic [(m, u, l) -> (m, 64 u + l), (m, u, l)] ins(%x) outs(%e : 19x1x64xf32) { extf }
    %b = linalg.generic [(m, u, l, c) -> (m, 64 c + l + 64), (c), (m, u, l)] ins(%x, %w : 11) outs(%a) { extf, addf }
    %r = linalg.generic [(m, u, l) -> (m, u, l), (m)] ins(%b) outs(%init) { addf }

since a vector unit combines whole steps faster than it reduces the lanes of one: on ascend-910 a step takes 2 cycles
instead of 7, so rows of 768 take 31 instead of 84. What is left of a row that is no multiple of its lanes is reduced
alone. How many lanes there are follows from the target's costs (`npu_mlir.analysis.folding`).

What makes the row is taken in where nothing else reads it: a cast that widens is done by each instruction that reads,
and sums of products multiply and add in one. A cast goes in front of reductions along outer dims as well.

Runs after `tile-split-compute`, which leaves one operation in each body.
Leaves alone: rows so short that it does not pay, reductions along outer dims but for casts, and those along several
dims. Does not handle: products with a rest.
Changes values: by the order of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import projection
from npu_mlir.analysis.folding import Fold, FoldCosts, best_fold
from npu_mlir.analysis.structured.bodies import SIGNED_WIDENING, only_op
from npu_mlir.analysis.structured.nest import is_reduction, loop_extents, maps_of
from npu_mlir.analysis.structured.vector_form import REDUCTIONS
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, element_bytes, place, space_of
from npu_mlir.support.locations import located
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target

Tensor = TensorType[Attribute]

COST_KINDS = {"sum": "add", "prod": "mul"}
"""Rows of the target's table of vector costs by the kind of a reduction; others have their own names."""


class FoldReductions(ModulePass):
    """Fold long rows into lanes before these are reduced."""

    name = "tile-fold-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                for generic in [o for o in kernel.walk() if isinstance(o, linalg.GenericOp)]:
                    _fold(generic, target)


@dataclass(frozen=True)
class _Row:
    """A reduction along rows."""

    op: linalg.GenericOp
    root: Operation
    """The operation that combines."""
    kind: str
    element: Attribute
    """The type that is combined in."""
    extents: tuple[int, ...]
    row: int
    """The loop along the rows."""
    dims: list[int]
    """The loops that index the operand, in its order; the last is the row."""
    factors: list[SSAValue]
    """The operand as it is read: one tile, or two whose products are summed."""
    absorbed: list[linalg.GenericOp]
    """What made the operand, and is done on the way now."""


def _fold(op: linalg.GenericOp, target: Target) -> None:
    plain = _row_of(op)
    if plain is None:
        _widen(op)
        return
    taken = _taken_in(plain)
    ways = [_way(plain, target, taken.absorbed if taken is not None else ())]
    if taken is not None:
        ways.append(_way(taken, target))
    best = min((way for way in ways if way is not None), key=lambda way: way.cycles)
    if best.fold is not None or best.row.absorbed:
        with located(op):
            _Folder(best.row).run(best.fold)


def _widen(op: linalg.GenericOp) -> None:
    """Let a reduction along outer dims read what its operand is widened from, and widen that itself."""
    if len(op.inputs) != 1 or len(op.outputs) != 1 or not any(is_reduction(op)):
        return
    root = only_op(op)
    arg, accumulator = op.body.block.args
    if root is None or type(root) not in REDUCTIONS or set(root.operands) != {arg, accumulator}:
        return
    cast_ = _elementwise(op.inputs[0], op)
    inner = only_op(cast_) if cast_ is not None else None
    if (
        cast_ is None
        or not isinstance(inner, SIGNED_WIDENING)
        or space_of(op.outputs[0].type) is not Space.UB
    ):
        return
    block = op.body.block
    narrow = block.insert_arg(inner.operands[0].type, 0)
    wide = type(inner).create(operands=[narrow], result_types=[inner.results[0].type])
    wide.location = inner.location
    block.insert_op_before(wide, root)
    arg.replace_all_uses_with(wide.results[0])
    block.erase_arg(arg)
    op.operands[0] = cast_.inputs[0]
    _erase(cast_)


@dataclass(frozen=True)
class _Way:
    """How to reduce: what is read, how it is folded, and the cycles for a row, with those of what is taken in."""

    row: _Row
    fold: Fold | None
    cycles: int


def _way(row: _Row, target: Target, made_by: Sequence[linalg.GenericOp] = ()) -> _Way | None:
    """The cheapest way to reduce what a row is read from, which `made_by` make; None if it can't be reduced at all."""
    costs, extent, size = _costs(row, target), row.extents[row.row], element_bytes(row.element)
    fold = best_fold(extent, size, costs)
    # Products that are not folded would have to be made first.
    if fold is None and len(row.factors) > 1:
        return None
    steps = -(-extent * size // target.vector_bytes)
    making = sum(
        _slope(target, "cast" if isinstance(only_op(op), SIGNED_WIDENING) else "mul") for op in made_by
    )
    cycles = fold.cycles if fold is not None else costs.whole * steps
    return _Way(row, fold, cycles + making * steps)


def _row_of(op: linalg.GenericOp) -> _Row | None:
    """A reduction of UB along the last dim of its only operand, and along no other."""
    if len(op.inputs) != 1 or len(op.outputs) != 1 or space_of(op.outputs[0].type) is not Space.UB:
        return None
    reduced = [d for d, is_reduced in enumerate(is_reduction(op)) if is_reduced]
    dims, result = (projection(map_) for map_ in maps_of(op))
    root = only_op(op)
    if len(reduced) != 1 or not dims or result is None or root is None or type(root) not in REDUCTIONS:
        return None
    args = op.body.block.args
    if set(root.operands) != set(args) or dims[-1] != reduced[0] or len(set(dims)) != len(dims):
        return None
    if list(result) != [d for d in dims if d != reduced[0]]:
        return None
    kind = REDUCTIONS[type(root)]
    element = _element(op.outputs[0])
    return _Row(op, root, kind, element, loop_extents(op), reduced[0], list(dims), [op.inputs[0]], [])


def _taken_in(row: _Row) -> _Row | None:
    """The reduction of what the operand is made of: of a widened tile, or of the products of two; None if it is made
    of neither."""
    producer = _elementwise(row.factors[0], row.op)
    inner = only_op(producer) if producer is not None else None
    if producer is None or inner is None:
        return None
    if isinstance(inner, SIGNED_WIDENING):
        return replace(row, factors=[producer.inputs[0]], absorbed=[producer])
    if not isinstance(inner, arith.MulfOp | arith.MuliOp) or row.kind != "sum":
        return None
    args: list[SSAValue] = list(producer.body.block.args[:-1])
    if any(v not in args for v in inner.operands):
        return None
    factors, absorbed = [producer.inputs[args.index(v)] for v in inner.operands], [producer]
    for i, factor in enumerate(factors):
        cast_ = factor.owner
        if (
            isinstance(cast_, linalg.GenericOp)
            and isinstance(only_op(cast_), SIGNED_WIDENING)
            and _plain(cast_)
        ):
            factors[i] = cast_.inputs[0]
            if cast_ not in absorbed:
                absorbed.append(cast_)
    return replace(row, factors=factors, absorbed=absorbed)


def _elementwise(value: SSAValue, user: Operation) -> linalg.GenericOp | None:
    """The elementwise operation in the same block that makes a value for this use alone."""
    op = value.owner
    if not isinstance(op, linalg.GenericOp) or op.parent is not user.parent or not _plain(op):
        return None
    return op if all(use.operation is user for use in value.uses) else None


def _plain(op: linalg.GenericOp) -> bool:
    """Whether an operation reads and writes all its operands in order."""
    return not any(is_reduction(op)) and all(
        map_ == AffineMap.identity(map_.num_dims) for map_ in maps_of(op)
    )


def _slope(target: Target, kind: str) -> int:
    return target.vector.get(kind, target.vector["default"])[1]


def _costs(row: _Row, target: Target) -> FoldCosts:
    combine, reduce = _slope(target, COST_KINDS.get(row.kind, row.kind)), _slope(target, "reduce")
    start, started = combine, 2
    if len(row.factors) == 2:
        start, started, combine = _slope(target, "dup"), 0, _slope(target, "madd")
    elif _element(row.factors[0]) != row.element:
        start, started = _slope(target, "cast"), 1
    alone = len(row.factors) == 1
    return FoldCosts(target.vector_bytes, start, started, combine, reduce, reduce, may_rest=alone)


class _Folder:
    """Writes the operations that a reduction becomes.

    Lanes are tiles with a dim of 1 in front of the last one, in whose loop the map of what is read can be more than
    that loop: `u * 64 + l` reads the first 64 elements of a row that has more.
    """

    def __init__(self, row: _Row):
        self.row = row
        self.rows = [AffineExpr.dimension(d) for d in range(len(row.dims) - 1)]
        """The loops in front of the row, in the order of the operand."""
        self.widens = any(_element(factor) != row.element for factor in row.factors)

    def run(self, fold: Fold | None) -> None:
        """Replace the reduction; without a fold, by one that reads what its operand is made of."""
        row, rank = self.row, len(self.rows)
        init, dim = row.op.outputs[0], AffineExpr.dimension(rank)
        if fold is None:
            result = self._write(row.factors, [*self.rows, dim], init, self.rows, [rank])
        else:
            lanes = self._lanes(fold)
            if fold.rest:
                rest = [*self.rows, dim + fold.lanes * fold.chunks]
                init = self._write(row.factors, rest, init, self.rows, [rank], (fold.rest, dim))
            each = [*self.rows, dim, AffineExpr.dimension(rank + 1)]
            result = self._write([lanes], each, init, self.rows, [rank, rank + 1])
        row.op.results[0].replace_all_uses_with(result)
        for op in (row.op, *row.absorbed):
            if not any(op.results[0].uses):
                _erase(op)

    def _lanes(self, fold: Fold) -> SSAValue:
        """The chunks of all rows, combined."""
        row, rank, lanes = self.row, len(self.rows), fold.lanes
        shape = [row.extents[d] for d in row.dims[:-1]]
        type_ = place([*shape, 1, lanes], row.element, Space.UB)
        into = self._emit(tensor.EmptyOp([], type_))
        unit, lane = AffineExpr.dimension(rank), AffineExpr.dimension(rank + 1)
        out = [*self.rows, unit, lane]
        first = [*self.rows, unit * lanes + lane]
        second = [*self.rows, unit * lanes + lane + lanes]
        if len(row.factors) == 2:
            zero = self._emit(arith.ConstantOp(scalar_zero(row.element)))
            into, started = self._emit(linalg.FillOp([zero], [into], [type_])), 0
        elif self.widens:
            into, started = self._write(row.factors, first, into, out, starts=True), 1
        else:
            into, started = (
                self._write([*row.factors, *row.factors], [first, second], into, out, starts=True),
                2,
            )
        if fold.chunks > started:
            chunk = AffineExpr.dimension(rank + 2)
            each = chunk * lanes + lane
            if started:
                each = each + started * lanes
            window = (fold.chunks - started, chunk)
            into = self._write(row.factors, [*self.rows, each], into, out, [rank + 2], window)
        return into

    def _write(
        self,
        values: Sequence[SSAValue],
        read: Sequence[AffineExpr] | Sequence[Sequence[AffineExpr]],
        into: SSAValue,
        written: Sequence[AffineExpr],
        reduced: Sequence[int] = (),
        window: tuple[int, AffineExpr] | None = None,
        *,
        starts: bool = False,
    ) -> SSAValue:
        """Combine the values, read where `read` says (all alike or each as its own), with what there is, or with
        nothing; `window` tells the extent of a loop that no operand has for itself."""
        maps = [list(cast("Sequence[AffineExpr]", r if isinstance(r, Sequence) else read)) for r in read]
        maps = maps[: len(values)] if isinstance(read[0], Sequence) else [maps[0]] * len(values)
        inputs = list(values)
        if window is not None:
            extent, loop = window
            inputs.append(self._emit(tensor.EmptyOp([], TensorType(self.row.element, [extent]))))
            maps.append([loop])
        rank = 1 + max(d for exprs in (*maps, written) for expr in exprs for d in expr.used_dims())
        block = Block(arg_types=[*(_element(v) for v in inputs), self.row.element])
        block.add_op(linalg.YieldOp(self._body(block, len(values), starts)))
        kinds = [IteratorType.REDUCTION if d in reduced else IteratorType.PARALLEL for d in range(rank)]
        op = linalg.GenericOp(
            inputs,
            [into],
            Region(block),
            [AffineMapAttr(AffineMap(rank, 0, tuple(exprs))) for exprs in (*maps, written)],
            [IteratorTypeAttr(kind) for kind in kinds],
            [cast("Tensor", into.type)],
        )
        return self._emit(op)

    def _body(self, block: Block, count: int, starts: bool) -> SSAValue:
        """`acc + x` or `acc + x * y`; to start with, `x` or `x + y`."""
        row = self.row
        values = [self._widened(block, arg) for arg in block.args[:count]]
        if starts:
            return values[0] if count == 1 else self._combined(block, values[0], values[1])
        if count == 2:
            product = arith.MulfOp if isinstance(row.root, arith.AddfOp) else arith.MuliOp
            values = [_append(block, product(values[0], values[1]))]
        return self._combined(block, block.args[-1], values[0])

    def _widened(self, block: Block, value: SSAValue) -> SSAValue:
        if value.type == self.row.element:
            return value
        widen = arith.ExtFOp if isinstance(self.row.element, AnyFloat) else arith.ExtSIOp
        return _append(block, widen.create(operands=[value], result_types=[self.row.element]))

    def _combined(self, block: Block, left: SSAValue, right: SSAValue) -> SSAValue:
        root = self.row.root
        return _append(
            block,
            type(root).create(
                operands=[left, right], result_types=[self.row.element], properties=dict(root.properties)
            ),
        )

    def _emit(self, op: Operation) -> SSAValue:
        block = self.row.op.parent
        assert block is not None
        block.insert_op_before(op, self.row.op)
        return op.results[0]


def _erase(op: linalg.GenericOp) -> None:
    """Erase an operation that nothing reads, and the tensor that it would have written."""
    dest = op.outputs[0].owner
    op.detach()
    op.erase()
    if isinstance(dest, tensor.EmptyOp) and not any(dest.results[0].uses):
        dest.detach()
        dest.erase()


def _append(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]


def scalar_zero(element: Attribute) -> FloatAttr | IntegerAttr:
    """The number 0 of a float or integer type."""
    if isinstance(element, AnyFloat):
        return FloatAttr(0.0, element)
    assert isinstance(element, IntegerType)
    return IntegerAttr(0, element)


def _element(value: SSAValue) -> Attribute:
    return cast("Tensor", value.type).element_type
