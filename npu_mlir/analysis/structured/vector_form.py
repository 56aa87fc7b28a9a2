"""Which vector instruction the body of a `linalg.generic` is.

    ^bb0(%in: f32, %out: f32):                 VectorForm(VBinaryOp, "mul", (0, 2.0 : f32))
      %two = arith.constant 2.0 : f32
      %r = arith.mulf %in, %two : f32
      linalg.yield %r : f32

A source is the number of an operand of the generic or a constant. Bodies of more than one instruction are the
business of `tile-split-compute`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npu_mlir.analysis.structured.bodies import accumulated_product, is_number, narrowed, rounding_cast
from npu_mlir.dialects.npu_isa import (
    VBinaryOp,
    VCastOp,
    VCmpOp,
    VDupOp,
    VectorInstruction,
    VMaddOp,
    VReduceOp,
    VSelectOp,
    VUnaryOp,
)
from npu_mlir.support.diagnostics import UserError

VectorOperand: TypeAlias = int | Attribute


@dataclass(frozen=True)
class VectorForm:
    """An instruction, and what it reads: numbers of operands and at most one constant."""

    instruction: type[VectorInstruction]
    kind: str
    sources: tuple[VectorOperand, ...]
    unsigned: bool = False
    """Whether the instruction takes its operands as integers without a sign."""


UNARY: dict[type[Operation], str] = {
    math.ExpOp: "exp",
    math.LogOp: "log",
    math.SqrtOp: "sqrt",
    math.AbsFOp: "abs",
    math.AbsIOp: "abs",
    arith.NegfOp: "neg",
    math.RoundEvenOp: "rint",
}

BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.AddiOp: "add",
    arith.SubfOp: "sub",
    arith.SubiOp: "sub",
    arith.MulfOp: "mul",
    arith.MuliOp: "mul",
    arith.DivfOp: "div",
    arith.DivSIOp: "div",
    arith.MaximumfOp: "max",
    arith.MaxSIOp: "max",
    arith.MinimumfOp: "min",
    arith.MinSIOp: "min",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
}

REDUCTIONS: dict[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.AddiOp: "sum",
    arith.MulfOp: "prod",
    arith.MuliOp: "prod",
    arith.MaximumfOp: "max",
    arith.MaxSIOp: "max",
    arith.MinimumfOp: "min",
    arith.MinSIOp: "min",
}

BOOLEAN: dict[type[Operation], str] = {
    arith.AddiOp: "xor",
    arith.SubiOp: "xor",
    arith.MuliOp: "and",
    arith.MaxSIOp: "and",
    arith.MinSIOp: "or",
    arith.MaxUIOp: "or",
    arith.MinUIOp: "and",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
}
"""On i1: arithmetic modulo 2, in which true is -1 where it has a sign."""

BOOLEAN_REDUCTIONS = {"or": "max", "and": "min"}
"""On i1, any is the maximum and all is the minimum."""

UNSIGNED: dict[type[Operation], str] = {
    arith.DivUIOp: "div",
    arith.MaxUIOp: "max",
    arith.MinUIOp: "min",
}

CAST_KINDS: dict[type[Operation], str] = {
    arith.ExtFOp: "cast",
    arith.TruncFOp: "cast",
    arith.SIToFPOp: "cast",
    arith.FPToSIOp: "cast",
    arith.FPToUIOp: "cast",
    arith.ExtSIOp: "cast",
    arith.TruncIOp: "cast",
    arith.UIToFPOp: "ucast",
    arith.ExtUIOp: "ucast",
}

FLOAT_COMPARISONS = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le", 13: "ne"}
"""By the number of the `arith.cmpf` predicate: oeq, ogt, oge, olt, ole, une."""

INTEGER_COMPARISONS = {
    0: "eq",
    1: "ne",
    2: "lt",
    3: "le",
    4: "gt",
    5: "ge",
    6: "lt",
    7: "le",
    8: "gt",
    9: "ge",
}
"""By the number of the `arith.cmpi` predicate: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge."""

_FIRST_UNSIGNED = 6

BOOLEAN_COMPARISONS = INTEGER_COMPARISONS | {2: "gt", 3: "ge", 4: "lt", 5: "le"}
"""On i1, true is less than false if it has a sign: it is -1."""


def classify(op: GenericOp) -> VectorForm:
    """The instruction that the body of `op` is."""
    return _Body(op).form()


class _Body:
    def __init__(self, op: GenericOp):
        self.op = op
        self.out = len(op.inputs)
        last = op.body.block.last_op
        if len(op.outputs) != 1 or last is None or len(last.operands) != 1:
            raise UserError("a vector operation has one result", loc=op)
        self.result = last.operands[0]
        self.reducing = any(t.data != IteratorType.PARALLEL for t in op.iterator_types)

    def form(self) -> VectorForm:
        source = self.source(self.result)
        if isinstance(source, int):
            return VectorForm(VUnaryOp, "copy", (source,))
        if source is not None:
            return VectorForm(VDupOp, "dup", (source,))
        root = self.result.owner
        assert isinstance(root, Operation)
        if self.reducing:
            return self.accumulation(root)
        rounding = rounding_cast(self.op.body.block)
        if rounding is not None:
            return VectorForm(VCastOp, "rcast", self.sources([rounding.source]))
        return self.multiply_add() or self.elementwise(root)

    def source(self, value: SSAValue) -> VectorOperand | None:
        """The operand or constant that `value` is, None for a value computed in the body."""
        owner = value.owner
        if isinstance(owner, arith.ConstantOp):
            return owner.value
        if not isinstance(value, BlockArgument) or value.block is not self.op.body.block:
            if isinstance(owner, Operation) and owner.parent is self.op.body.block:
                return None
            raise UserError("a scalar that is not a constant cannot enter a vector instruction", loc=self.op)
        operand = self.op.operands[value.index]
        if isinstance(operand.owner, arith.ConstantOp):
            return operand.owner.value
        return value.index

    def sources(self, values: Sequence[SSAValue]) -> tuple[VectorOperand, ...]:
        found = [self.source(v) for v in values]
        sources = tuple(s for s in found if s is not None)
        if len(sources) != len(found):
            raise UserError(
                "the body is more than one vector instruction: run tile-split-compute first", loc=self.op
            )
        return sources

    def accumulation(self, root: Operation) -> VectorForm:
        """`out = op(out, in)` or `out = out + a * b`."""
        multiply_add = self.multiply_add()
        if multiply_add is not None:
            return multiply_add
        unsigned = type(root) in UNSIGNED
        kind = REDUCTIONS.get(type(root)) or (UNSIGNED.get(type(root)) if unsigned else None)
        if root.results[0].type == _I1:
            kind = BOOLEAN_REDUCTIONS.get(BOOLEAN.get(type(root), ""))
        if kind is None or kind == "div":
            raise self.unknown(root)
        sources = [s for s in self.sources([narrowed(v) for v in root.operands]) if s != self.out]
        if len(sources) != 1 or not isinstance(sources[0], int):
            raise UserError("a vector reduction accumulates one operand: out = op(out, in)", loc=self.op)
        return VectorForm(VReduceOp, kind, (sources[0],), unsigned)

    def multiply_add(self) -> VectorForm | None:
        """`out + a * b`, the factors widened or not."""
        found = accumulated_product(self.op.body.block)
        if found is None or found[0].results[0].type == _I1:
            return None
        product, _ = found
        factors = self.sources([narrowed(v) for v in product.operands])
        if not all(isinstance(f, int) for f in factors):
            raise UserError("multiply-add takes no constant factor", loc=self.op)
        return VectorForm(VMaddOp, "madd", factors)

    def elementwise(self, root: Operation) -> VectorForm:
        sources = self.sources(root.operands)
        match root:
            case arith.CmpfOp():
                return VectorForm(VCmpOp, self.comparison(root, FLOAT_COMPARISONS), sources)
            case arith.CmpiOp():
                kinds = BOOLEAN_COMPARISONS if root.lhs.type == _I1 else INTEGER_COMPARISONS
                unsigned = root.predicate.value.data >= _FIRST_UNSIGNED and root.lhs.type != _I1
                return VectorForm(VCmpOp, self.comparison(root, kinds), sources, unsigned)
            case arith.SelectOp():
                return VectorForm(VSelectOp, "select", sources)
            case _:
                pass
        if type(root) in UNARY:
            return VectorForm(VUnaryOp, UNARY[type(root)], sources)
        if type(root) in CAST_KINDS:
            return VectorForm(VCastOp, CAST_KINDS[type(root)], sources, isinstance(root, arith.FPToUIOp))
        if root.results[0].type == _I1 and type(root) in BOOLEAN:
            return self.binary(root, BOOLEAN[type(root)], sources)
        if type(root) in UNSIGNED and root.results[0].type != _I1:
            return VectorForm(VBinaryOp, UNSIGNED[type(root)], sources, unsigned=True)
        if type(root) not in BINARY or root.results[0].type == _I1:
            raise self.unknown(root)
        return self.binary(root, BINARY[type(root)], sources)

    def binary(self, root: Operation, kind: str, sources: tuple[VectorOperand, ...]) -> VectorForm:
        operands = tuple(s for s in sources if isinstance(s, int))
        constants = [s for s in sources if not isinstance(s, int)]
        if len(constants) == 1:
            if kind == "max" and isinstance(root.results[0].type, AnyFloat) and is_number(constants[0], 0):
                return VectorForm(VUnaryOp, "relu", operands)
            if kind == "xor" and root.results[0].type == _I1 and not is_number(constants[0], 0):
                return VectorForm(VUnaryOp, "not", operands)
        return VectorForm(VBinaryOp, kind, sources)

    def comparison(self, root: arith.CmpfOp | arith.CmpiOp, kinds: dict[int, str]) -> str:
        predicate = root.predicate.value.data
        if predicate not in kinds:
            raise UserError(
                f"the vector unit has no instruction for '{root.name}' with predicate {predicate}",
                loc=self.op,
            )
        return kinds[predicate]

    def unknown(self, root: Operation) -> UserError:
        what = "reduction by" if self.reducing else "instruction for"
        return UserError(f"the vector unit has no {what} '{root.name}'", loc=self.op)


_I1 = IntegerType(1)
