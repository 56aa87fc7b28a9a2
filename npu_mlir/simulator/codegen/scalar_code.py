"""Scalar operations of a kernel as Python expressions.

    %q = arith.muli %p, %c64              v5 = v3 * 64
    %s = npu_isa.slot %x[%count]          v6 = 4096 + v4 % 2 * 1024

Constants and buffers are literals. Where only time is asked for, most values are not needed at all (see
`timing_values`), and sums with constants are written where they are used.

Does not handle: scalars that are loaded from memory, floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from npu_mlir.analysis.affine_maps import python_expression
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.registry import elementwise_function
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.support.diagnostics import UserError

_INFIX: dict[type[Operation], str] = {
    arith.AddiOp: "{} + {}",
    arith.SubiOp: "{} - {}",
    arith.MuliOp: "{} * {}",
    arith.FloorDivSIOp: "{} // {}",
    arith.DivUIOp: "{} // {}",
    arith.RemUIOp: "{} % {}",
    arith.CeilDivSIOp: "-(-{} // {})",
    arith.CeilDivUIOp: "-(-{} // {})",
    arith.MinSIOp: "min({}, {})",
    arith.MinUIOp: "min({}, {})",
    arith.MaxSIOp: "max({}, {})",
    arith.MaxUIOp: "max({}, {})",
    arith.AndIOp: "{} & {}",
    arith.OrIOp: "{} | {}",
    arith.XOrIOp: "{} ^ {}",
    arith.SelectOp: "{1} if {0} else {2}",
    arith.IndexCastOp: "{}",
}
"""Exact for the index values that programs have (no overflow, unsigned ones not negative)."""

_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


class ScalarCode:
    """The scalar values of a kernel in generated code."""

    def __init__(self, source: SourceWriter, needed: set[SSAValue] | None):
        self.source = source
        self.needed = needed
        """The values that matter, None for all."""
        self.values: dict[SSAValue, str] = {}
        self.bases: dict[SSAValue, SSAValue] = {}
        """The buffer or slot that an address lies in."""
        self._sums: dict[str, tuple[str, int]] = {}

    def needs(self, value: SSAValue) -> bool:
        """Whether the value has to be computed."""
        return self.needed is None or value in self.needed

    def define(self, value: SSAValue) -> str:
        """A variable for a value."""
        self.values[value] = name = self.source.name("v")
        return name

    def parts(self, value: SSAValue) -> tuple[str, int]:
        """A value as a variable, or an empty name, plus a constant."""
        text = self.values[value]
        literal = text.strip("()")
        if literal.lstrip("-").isdecimal():
            return "", int(literal)
        return self._sums.get(text, (text, 0))

    def base(self, op: Operation, value: SSAValue) -> SSAValue | None:
        """The slot that an address lies in, None if the value is not an address."""
        if not isinstance(value.type, npu_isa.AddrType):
            return None
        if value not in self.bases:
            raise UserError("an address has to come from npu_isa.buffer, npu_isa.slot or npu_isa.at", loc=op)
        return self.bases[value]

    def emit(self, op: Operation) -> bool:
        """Compute the result of an operation; whether the scalar unit has to issue it."""
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                self.values[op.result] = literal(op.value.value.data)
                return False
            case arith.ConstantOp():
                self.values[op.result] = self.source.bind("k", constant_value(op.value))
                return False
            case npu_isa.BufferOp():
                self.values[op.result] = str(op.address.value.data)
                self.bases[op.result] = op.result
                return False
            case _:
                if any(map(self.needs, op.results)):
                    self._compute(op)
                elif not _known(op):
                    _function(op)
                return True

    def _compute(self, op: Operation) -> None:
        match op:
            case npu_isa.SlotOp():
                buffer = op.buffer.owner
                assert isinstance(buffer, npu_isa.BufferOp)
                slots, size = buffer.slots.value.data, buffer.bytes.value.data
                index = self.values[op.index]
                self._assign(op.result, f"{self.values[op.buffer]} + {index} % {slots} * {size}")
                self.bases[op.result] = op.result
            case npu_isa.AtOp():
                terms = [self.values[v] for v in op.operands]
                if op.constant.value.data:
                    terms.append(str(op.constant.value.data))
                self._assign(op.result, " + ".join(terms))
                if op.base in self.bases:
                    self.bases[op.result] = self.bases[op.base]
            case affine.ApplyOp():
                names = [self.values[v] for v in op.mapOperands]
                map_ = op.map.data
                dims, symbols = names[: map_.num_dims], names[map_.num_dims :]
                self._assign(op.result, python_expression(map_.results[0], dims, symbols))
            case arith.CmpiOp():
                lhs, rhs = self.values[op.lhs], self.values[op.rhs]
                self._assign(op.result, f"{lhs} {_PREDICATES[op.predicate.value.data]} {rhs}")
            case arith.AddiOp() if self.needed is not None and self._add(op):
                pass
            case _:
                self._compute_other(op)

    def _compute_other(self, op: Operation) -> None:
        operands = [self.values[v] for v in op.operands]
        if type(op) in _INFIX:
            self._assign(op.results[0], _INFIX[type(op)].format(*operands))
            return
        self._assign(op.results[0], f"{self.source.bind('f', _function(op))}({', '.join(operands)})")

    def _assign(self, value: SSAValue, text: str) -> None:
        self.source.line(f"{self.define(value)} = {text}")

    def _add(self, op: arith.AddiOp) -> bool:
        """A sum of a variable and constants, which needs no variable."""
        (a, x), (b, y) = self.parts(op.lhs), self.parts(op.rhs)
        if a and b:
            return False
        text = f"({a or b} + {literal(x + y)})" if a or b else literal(x + y)
        self._sums[text] = a or b, x + y
        self.values[op.result] = text
        return True


def literal(value: int) -> str:
    """An integer that can stand in any expression."""
    return str(value) if value >= 0 else f"({value})"


def _known(op: Operation) -> bool:
    return type(op) in _INFIX or isinstance(op, npu_isa.SlotOp | npu_isa.AtOp | affine.ApplyOp | arith.CmpiOp)


def _function(op: Operation) -> Callable[..., Any]:
    """What computes an operation that has no expression; a `UserError` if nothing does."""
    function = elementwise_function(op)
    if function is None or len(op.results) != 1:
        raise UserError(f"the scalar unit has no '{op.name}'", loc=op)
    return function


def timing_values(kernel: tile.KernelOp) -> set[SSAValue]:
    """The values that time depends on: event ids, bounds of loops, conditions, and what these are computed from."""
    work: list[SSAValue] = []
    for op in kernel.walk():
        match op:
            case scf.ForOp():
                work += (op.lb, op.ub, op.step)
            case scf.IfOp():
                work.append(op.cond)
            case npu_isa.SetFlagOp() | npu_isa.WaitFlagOp() if op.index is not None:
                work.append(op.index)
            case _:
                pass
    needed: set[SSAValue] = set()
    while work:
        value = work.pop()
        if value not in needed:
            needed.add(value)
            work += _sources(value)
    return needed


def _sources(value: SSAValue) -> Iterator[SSAValue]:
    """The values that a value is directly computed from."""
    owner = value.owner
    if isinstance(value, OpResult) and isinstance(owner, scf.ForOp):
        yield owner.body.block.args[1 + value.index]
    elif isinstance(value, OpResult) and isinstance(owner, scf.IfOp):
        for region in (owner.true_region, owner.false_region):
            if region.blocks and region.block.last_op is not None:
                yield region.block.last_op.operands[value.index]
    elif isinstance(owner, Operation):
        yield from owner.operands
    elif (
        isinstance(value, BlockArgument) and isinstance(loop := owner.parent_op(), scf.ForOp) and value.index
    ):
        yield loop.iter_args[value.index - 1]
        if owner.last_op is not None:
            yield owner.last_op.operands[value.index - 1]
