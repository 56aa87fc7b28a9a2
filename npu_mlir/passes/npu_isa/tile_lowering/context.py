"""What all parts of the lowering share: buffers and their addresses, scalar arithmetic, provenance.

Addresses are canonical: a buffer or slot, and at most one `npu_isa.at` whose offset is a sum of products, with the
constant part in its attribute:

    tile.load %a[%i] ... (i0, d0, d1) -> (4 * i0 + d0, d1 + 3)        %a: memref<16x64xf16, l1>
  becomes
    %o = arith.muli %i, %c512
    %p = npu_isa.at %buffer + %o {constant = 6}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.rewriter import InsertPoint

from npu_mlir.analysis.affine_maps import linear
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile import Space
from npu_mlir.ir.loop_bounds import constant_index
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.target import Target

OpT = TypeVar("OpT", bound=Operation)

INDEX = IndexType()


@dataclass(frozen=True)
class PlacedBuffer:
    """An on-chip tile: the address of its first element and where its elements lie."""

    address: SSAValue
    type: MemRefType[Attribute]
    space: Space
    rows: int
    strides: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tile."""
        return self.type.get_shape()

    @property
    def element(self) -> Attribute:
        """The element type."""
        return self.type.element_type

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return tile.element_bytes(self.element)


@dataclass
class Offset:
    """A sum of scalar values times coefficients, plus a constant."""

    terms: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    constant: int = 0

    def add(self, value: SSAValue, coefficient: int) -> None:
        """Add `value * coefficient`; constants go where constants belong."""
        known = constant_index(value)
        if known is not None:
            self.constant += known * coefficient
        elif coefficient:
            self.terms[value] = self.terms.get(value, 0) + coefficient


def _leading_constants(block: Block) -> dict[int, SSAValue]:
    """The index constants that stand before everything else in a block."""
    constants: dict[int, SSAValue] = {}
    for op in block.ops:
        if not isinstance(op, arith.ConstantOp):
            break
        if isinstance(op.value, IntegerAttr) and op.result.type == INDEX:
            constants.setdefault(op.value.value.data, op.result)
    return constants


class KernelContext:
    """State of the lowering of one kernel: its buffers, and where new ops go."""

    def __init__(self, kernel: tile.KernelOp, target: Target):
        self.target = target
        self.entry = kernel.body.block
        self.source: Operation = kernel
        self._point = InsertPoint.at_start(self.entry)
        self._buffers: dict[SSAValue, PlacedBuffer] = {}
        self._constants = _leading_constants(self.entry)
        self._products: dict[tuple[Block, SSAValue, int], SSAValue] = {}

    # ---- emitting

    def lower(self, op: Operation) -> None:
        """From now on, new ops stand before `op`."""
        self.source, self._point = op, InsertPoint.before(op)

    def emit(self, op: OpT) -> OpT:
        """Insert a new op."""
        if isinstance(op, npu_isa.Instruction) and "npu.node" in self.source.attributes:
            op.attributes["npu.node"] = self.source.attributes["npu.node"]
        if self._point.insert_before is not None:
            self._point.block.insert_op_before(op, self._point.insert_before)
        else:
            self._point.block.add_op(op)
        return op

    def constant(self, value: int) -> SSAValue:
        """An index constant, made once at the kernel's start."""
        if value not in self._constants:
            op = arith.ConstantOp(IntegerAttr(value, INDEX))
            first = self.entry.first_op
            assert first is not None
            self.entry.insert_op_before(op, first)
            self._constants[value] = op.result
        return self._constants[value]

    def loop(self, extent: int) -> SSAValue:
        """Open a loop of `extent` iterations: new ops go into it from now on. Returns its induction variable."""
        body = Block(arg_types=[INDEX])
        zero, upper, one = self.constant(0), self.constant(extent), self.constant(1)
        self.emit(scf.ForOp(zero, upper, one, [], Region(body)))
        end = scf.YieldOp()
        body.add_op(end)
        self._point = InsertPoint.before(end)
        return body.args[0]

    # ---- buffers

    def add_alloc(self, op: tile.AllocOp) -> None:
        """Lower a buffer."""
        if op.address is None:
            raise UserError("the buffer has no address: run tile-plan-memory first", loc=op)
        type_ = op.buffer.type
        space = tile.space_of(type_)
        assert space is not None
        cube = self.target.cube
        new = npu_isa.BufferOp(
            tile.SpaceAttr(space), op.address.value.data, op.slot_bytes(cube), op.num_slots
        )
        new.result.name_hint = op.buffer.name_hint
        self._buffers[op.buffer] = PlacedBuffer(
            self.emit(new).result, type_, space, op.row_dims, op.strides(cube)
        )

    def add_slot(self, op: tile.SlotOp) -> None:
        """Lower the choice of a copy; a buffer of one copy is its only slot."""
        whole = self.buffer(op.buffer)
        owner = whole.address.owner
        address = whole.address
        if isinstance(owner, npu_isa.BufferOp) and owner.slots.value.data > 1:
            address = self.emit(npu_isa.SlotOp(whole.address, op.index)).result
            address.name_hint = op.result.name_hint
        self._buffers[op.result] = PlacedBuffer(address, whole.type, whole.space, whole.rows, whole.strides)

    def buffer(self, value: SSAValue) -> PlacedBuffer:
        """The buffer behind a memref."""
        found = self._buffers.get(value)
        if found is None:
            raise UserError(
                f"expected an on-chip buffer made by tile.alloc or tile.slot, got a value of type {value.type}",
                loc=self.source,
            )
        return found

    # ---- addresses

    def address(self, base: SSAValue, offset: Offset) -> SSAValue:
        """The address `offset` bytes after `base`."""
        total = self._sum(offset.terms)
        if total is None and not offset.constant:
            return base
        return self.emit(npu_isa.AtOp(base, total, offset.constant)).result

    def _sum(self, terms: Mapping[SSAValue, int]) -> SSAValue | None:
        total: SSAValue | None = None
        for value, coefficient in terms.items():
            if not coefficient:
                continue
            product = self._product(value, coefficient)
            total = product if total is None else self.emit(arith.AddiOp(total, product)).result
        return total

    def _product(self, value: SSAValue, coefficient: int) -> SSAValue:
        if coefficient == 1:
            return value
        key = (self._point.block, value, coefficient)
        if key not in self._products:
            self._products[key] = self.emit(arith.MuliOp(value, self.constant(coefficient))).result
        return self._products[key]

    def add_expression(self, offset: Offset, expr: AffineExpr, dims: Sequence[SSAValue], scale: int) -> None:
        """Add `scale * expr(dims)` to an offset; scalar code is emitted for `floordiv` and `mod`."""
        flat = linear(expr, len(dims))
        if flat is not None:
            offset.constant += flat.constant * scale
            for dim in flat.dims():
                offset.add(dims[dim], flat.coefficients[dim] * scale)
            return
        assert isinstance(expr, AffineBinaryOpExpr)
        if expr.kind is AffineBinaryOpKind.Add:
            self.add_expression(offset, expr.lhs, dims, scale)
            self.add_expression(offset, expr.rhs, dims, scale)
        elif expr.kind is AffineBinaryOpKind.Mul and isinstance(expr.rhs, AffineConstantExpr):
            self.add_expression(offset, expr.lhs, dims, scale * expr.rhs.value)
        else:
            offset.add(self._quotient(expr, dims), scale)

    def _quotient(self, expr: AffineBinaryOpExpr, dims: Sequence[SSAValue]) -> SSAValue:
        ops = {AffineBinaryOpKind.FloorDiv: arith.DivUIOp, AffineBinaryOpKind.Mod: arith.RemUIOp}
        if expr.kind not in ops or not isinstance(expr.rhs, AffineConstantExpr):
            raise UserError(f"the address {expr} is not one that scalar code is made for", loc=self.source)
        numerator = Offset()
        self.add_expression(numerator, expr.lhs, dims, 1)
        value = self._sum(numerator.terms)
        if value is None:
            value = self.constant(numerator.constant)
        elif numerator.constant:
            value = self.emit(arith.AddiOp(value, self.constant(numerator.constant))).result
        return self.emit(ops[expr.kind](value, self.constant(expr.rhs.value))).result


def split_dims(
    expr: AffineExpr, indices: int, dims: int, op: Operation
) -> tuple[tuple[int, ...], AffineExpr]:
    """An expression over (indices; dims) as coefficients of the dims and an expression over the indices alone."""
    at_indices = [AffineDimExpr(i) for i in range(indices)]
    origin: AffineExpr = expr.replace_dims_and_symbols([*at_indices, *[AffineConstantExpr(0)] * dims], [])
    at_origin = expr.replace_dims_and_symbols(
        [*[AffineConstantExpr(0)] * indices, *[AffineDimExpr(indices + d) for d in range(dims)]], []
    )
    moving = linear(at_origin, indices + dims)
    if moving is None or _mixes(expr, indices):
        raise UserError(f"the tile's dimensions enter '{expr}' other than linearly", loc=op)
    return moving.coefficients[indices:], origin


def _mixes(expr: AffineExpr, indices: int) -> bool:
    """Whether a `floordiv`, `ceildiv` or `mod` is applied to a tile dim."""
    if not isinstance(expr, AffineBinaryOpExpr):
        return False
    if expr.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        return _mixes(expr.lhs, indices) or _mixes(expr.rhs, indices)
    return any(isinstance(e, AffineDimExpr) and e.position >= indices for e in expr.dfs())
