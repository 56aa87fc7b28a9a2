"""The cube: a contraction becomes `mmad`, the fill of its accumulator the condition to start from zero.

    linalg.fill ins(%zero) outs(%acc)
    scf.for %k = %c0 to %c512 step %c64 {
      linalg.generic ins(%a0, %b0 : l0a, l0b) outs(%acc : l0c) { mulf, addf }
    }
  becomes
    scf.for %k = %c0 to %c512 step %c64 {
      %first = arith.cmpi eq, %k, %c0
      npu_isa.mmad %acc, %a0, %b0 init %first
    }

Does not handle: a fill with anything but zero, a filled accumulator that no contraction follows, batch dims (those of
all three operands: they are loops by now).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from npu_mlir.analysis.affine_maps import plain_dims, projection
from npu_mlir.analysis.structured.bodies import copied_input, is_multiply_add
from npu_mlir.analysis.structured.nest import is_reduction, is_zero_fill
from npu_mlir.analysis.structured.roles import LoopRoles, loop_roles
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.ir.loop_bounds import constant_trips
from npu_mlir.passes.npu_isa.tile_lowering.context import KernelContext
from npu_mlir.support.diagnostics import UserError


def is_start(op: GenericOp) -> bool:
    """Whether an operation broadcasts a row from L1 to an accumulator: its contraction starts from a bias."""
    return in_accumulator(op) and len(op.inputs) == 1


def in_accumulator(op: GenericOp | FillOp) -> bool:
    """Whether an operation writes to L0C: it is the cube's."""
    return space_of(op.outputs[0].type) is Space.L0C


class Accumulators:
    """Which contractions start from zero: each fill in L0C and the first contraction on its buffer after it."""

    def __init__(self, kernel: tile.KernelOp):
        self._fill: dict[Operation, Operation] = {}
        self._open: dict[SSAValue, Operation] = {}
        for op in kernel.walk():
            match op:
                case FillOp() if in_accumulator(op):
                    self._add_fill(op)
                case GenericOp() if is_start(op):
                    self._add_fill(op)
                case GenericOp() if in_accumulator(op):
                    self._add_contraction(op)
                case _:
                    pass
        for fill in self._open.values():
            raise _useless_fill(fill)

    def _add_fill(self, op: FillOp | GenericOp) -> None:
        buffer = _whole(op.outputs[0])
        if buffer in self._open:
            raise _useless_fill(self._open[buffer])
        self._open[buffer] = op

    def _add_contraction(self, op: GenericOp) -> None:
        fill = self._open.pop(_whole(op.outputs[0]), None)
        if fill is not None:
            self._fill[op] = fill

    def bias(self, op: Operation) -> SSAValue | None:
        """The row that a contraction starts from; None if it starts from zero or its accumulator."""
        fill = self._fill.get(op)
        return fill.inputs[0] if isinstance(fill, GenericOp) else None

    def loops_since_fill(self, op: Operation) -> list[scf.ForOp] | None:
        """The loops around a contraction that its accumulator's fill is outside of; None if no fill precedes it."""
        fill = self._fill.get(op)
        if fill is None:
            return None
        loops: list[scf.ForOp] = []
        around = op.parent_op()
        while around is not None and around is not fill.parent_op():
            if isinstance(around, scf.ForOp):
                loops.append(around)
            around = around.parent_op()
        if around is None:
            raise UserError(
                "the first contraction on this accumulator is outside of the loop of its fill", loc=op
            )
        return loops[::-1]


def row_dims(value: SSAValue) -> int:
    """How many leading dims of an accumulator are its rows."""
    alloc = _whole(value).owner
    return alloc.rows.value.data if isinstance(alloc, tile.AllocOp) and alloc.rows is not None else 1


def _whole(value: SSAValue) -> SSAValue:
    return value.owner.buffer if isinstance(value.owner, tile.SlotOp) else value


def _useless_fill(op: Operation) -> UserError:
    return UserError("a filled accumulator that no contraction adds to", loc=op)


def check_fill(op: FillOp) -> None:
    """Accept only zero: what the cube can start from."""
    if not is_zero_fill(op):
        raise UserError("an accumulator in L0C can only start from the constant zero", loc=op)


def check_start(op: GenericOp) -> None:
    """Accept only copies of one row, as long as the accumulator's."""
    acc, row = _shape(op.outputs[0]), prod(_shape(op.inputs[0]))
    if row != prod(_shape(op.inputs[0])[-1:]):
        raise UserError("the row that an accumulator in L0C starts from lies in a column", loc=op)
    # Dims of 1, of which a row has any number in front, may be read at 0.
    read = [e for e in op.indexing_maps.data[0].data.results if not isinstance(e, AffineConstantExpr)]
    source, dest = plain_dims(read), projection(op.indexing_maps.data[1].data)
    copies = copied_input(op.body.block) == 0
    rows = row_dims(op.outputs[0])
    varies = {d for d, n in zip(dest or (), acc[:rows], strict=False) if n > 1}
    if source is None or dest is None or not copies or varies & set(source) or row != prod(acc[rows:]):
        raise UserError("an accumulator in L0C can only start from copies of one row", loc=op)


def lower_contraction(ctx: KernelContext, op: GenericOp, accumulators: Accumulators) -> None:
    """Lower a contraction."""
    if not is_multiply_add(op):
        raise UserError("the cube computes out + a * b only; this body is something else", loc=op)
    a, b = (ctx.buffer(v) for v in op.inputs)
    c = ctx.buffer(op.outputs[0])
    if (a.space, b.space) != (Space.L0A, Space.L0B):
        raise UserError(f"the cube multiplies L0A by L0B, not {a.space} by {b.space}", loc=op)
    if a.element != b.element:
        raise UserError(f"the cube multiplies factors of one type, not {a.element} by {b.element}", loc=op)
    sizes = _matrix_sizes(op)
    loops = accumulators.loops_since_fill(op)
    init, zero = None, None
    if loops is not None:
        init = _first_iteration(ctx, loops)
        zero = UnitAttr() if init is None else None
    row = accumulators.bias(op)
    bias = ctx.buffer(row) if row is not None else None
    start = (bias.address, bias.element) if bias is not None else (None, None)
    ctx.emit(npu_isa.MmadOp(c.address, a.address, b.address, sizes, a.element, c.element, init, zero, *start))


def _matrix_sizes(op: GenericOp) -> tuple[int, int, int]:
    """The m, k, n of the product; raises unless the operands' dims stand in the order the cube wants."""
    a, b, c = (projection(m.data) for m in op.indexing_maps)
    if a is None or b is None or c is None:
        raise UserError("the cube's operands must be indexed by plain dimensions", loc=op)
    reduced = {d for d, is_summed in enumerate(is_reduction(op)) if is_summed}
    roles = loop_roles(a, b, reduced, len(op.iterator_types)) or LoopRoles((), (), (), ())
    m, k = ([d for d in a if d in group] for group in (roles.m, roles.k))
    n = [d for d in b if d in roles.n]
    if a != m + k or b != k + n or c != m + n:
        raise UserError(
            f"the cube needs (m k) x (k n) -> (m n), got {tuple(a)} x {tuple(b)} -> {tuple(c)}", loc=op
        )
    extents = dict(zip(a, _shape(op.inputs[0]), strict=True)) | dict(
        zip(b, _shape(op.inputs[1]), strict=True)
    )
    return _extent(m, extents), _extent(k, extents), _extent(n, extents)


def _extent(dims: Sequence[int], extents: dict[int, int]) -> int:
    return prod(extents[d] for d in dims)


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("tile.TileType", value.type).get_shape()


def _first_iteration(ctx: KernelContext, loops: Sequence[scf.ForOp]) -> SSAValue | None:
    """Whether all of `loops` are in their first iteration; None for always."""
    result: SSAValue | None = None
    for loop in loops:
        if (trips := constant_trips(loop)) is not None and len(trips) == 1:
            continue
        first = ctx.emit(arith.CmpiOp(loop.body.block.args[0], loop.lb, "eq")).result
        result = first if result is None else ctx.emit(arith.AndIOp(result, first)).result
    return result
