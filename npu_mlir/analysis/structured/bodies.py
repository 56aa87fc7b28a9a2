"""What the body of a `linalg.generic` computes.

^bb0(%a: f16, %b: f16, %acc: f32):            multiply_add: MultiplyAdd(Factor(0, (extf,)), Factor(1, (extf,)), ...)
  %x = arith.extf %a : f16 to f32
  %y = arith.extf %b : f16 to f32
  %p = arith.mulf %x, %y : f32
  %s = arith.addf %acc, %p : f32              the operands of the addition, and of the product, in any order
  linalg.yield %s : f32
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, f32, i1, i32
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from npu_mlir.dialects.tile import may_multiply

SIGNED_WIDENING = (arith.ExtFOp, arith.ExtSIOp)
"""Casts that the cube and the vector unit do on an operand of a multiply-add that they read."""

CASTS = (
    *SIGNED_WIDENING,
    arith.ExtUIOp,
    arith.TruncFOp,
    arith.TruncIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.FPToUIOp,
)
"""Casts between element types."""

FIXPIPE_CASTS = (arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp)
"""Casts that the fixpipe does on the result that it moves."""

_PRODUCTS: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: arith.MulfOp,
    arith.AddiOp: arith.MuliOp,
}
"""The product that an addition accumulates."""


def body_ops(op: GenericOp) -> list[Operation]:
    """The operations of the body without constants and the terminator."""
    return [o for o in op.body.block.ops if not isinstance(o, arith.ConstantOp | YieldOp)]


def yielded(block: Block) -> SSAValue | None:
    """The value that a body yields, None if it yields several or none."""
    last = block.last_op
    return last.operands[0] if isinstance(last, YieldOp) and len(last.operands) == 1 else None


# ---- multiply-add ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Factor:
    """A side of a product: the number of the operand, and the casts on the way to the product, first to last."""

    operand: int
    casts: tuple[Operation, ...]
    element: Attribute
    """The type of the operand's elements."""

    @property
    def is_read(self) -> bool:
        """Whether a unit reads it for itself: as it is, or widened as a signed number."""
        return self.element != i1 and all(isinstance(op, SIGNED_WIDENING) for op in self.casts)


@dataclass(frozen=True)
class MultiplyAdd:
    """`acc + cast(a) * cast(b)`: the factors in the order of the product, and the two operations."""

    factors: tuple[Factor, Factor]
    product: Operation
    total: Operation

    @property
    def operands(self) -> tuple[int, int]:
        """The numbers of the two operands."""
        return self.factors[0].operand, self.factors[1].operand

    @property
    def is_one_instruction(self) -> bool:
        """Whether a unit that multiplies and adds does it all: it reads each factor as it is or widened."""
        return all(factor.is_read for factor in self.factors)


def accumulated_product(block: Block) -> tuple[Operation, Operation] | None:
    """The product and the addition of a body that yields `acc + x * y`, whatever x and y are; None for others.

    The accumulator, the last argument, may be read elsewhere as well.
    """
    value, acc = yielded(block), block.args[-1] if block.args else None
    total = value.owner if value is not None else None
    if not isinstance(total, Operation) or type(total) not in _PRODUCTS or total.parent is not block:
        return None
    others = [v for v in total.operands if v is not acc]
    if len(others) != 1:
        return None
    product = others[0].owner
    if not isinstance(product, _PRODUCTS[type(total)]) or product.parent is not block:
        return None
    return product, total


def multiply_add(block: Block) -> MultiplyAdd | None:
    """A body as `acc + cast(a) * cast(b)`, a and b different operands; None for any other.

    Operations of the body that do not count towards the result are not looked at.
    """
    found = accumulated_product(block)
    if found is None:
        return None
    product, total = found
    left, right = (_factor(value, block) for value in product.operands)
    if left is None or right is None or left.operand == right.operand:
        return None
    return MultiplyAdd((left, right), product, total)


def _factor(value: SSAValue, block: Block) -> Factor | None:
    casts: list[Operation] = []
    while isinstance(value.owner, CASTS):
        casts.insert(0, value.owner)
        value = value.owner.operands[0]
    if not isinstance(value, BlockArgument) or value.block is not block or value is block.args[-1]:
        return None
    return Factor(value.index, tuple(casts), value.type)


def is_multiply_add(op: GenericOp) -> bool:
    """Whether the body is `acc + a * b` as a unit computes it: `a` and `b`, the two inputs, are read as they are or
    widened."""
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return False
    found = multiply_add(op.body.block)
    return found is not None and found.is_one_instruction


def narrowed(value: SSAValue) -> SSAValue:
    """The value that a unit reads in place of one that is widened as a signed number."""
    while isinstance(value.owner, SIGNED_WIDENING) and value.owner.operands[0].type != i1:
        value = value.owner.operands[0]
    return value


def copied_input(block: Block) -> int | None:
    """The number of the operand that a body yields as it is or widened as a signed number, None if it does more."""
    value = yielded(block)
    source = narrowed(value) if value is not None else None
    if not isinstance(source, BlockArgument) or source.block is not block or source is block.args[-1]:
        return None
    return source.index


def accumulator_type(element: Attribute) -> Attribute:
    """The type that the cube sums numbers of a type in: f32 or i32; wider types are left as they are."""
    if isinstance(element, AnyFloat):
        return f32 if element.bitwidth < 32 else element
    return i32 if isinstance(element, IntegerType) and element.bitwidth < 32 else element


def is_cube_product(op: GenericOp) -> bool:
    """Whether the cube computes the body: a multiply-add of factors of one type, one that there are cubes for, that is
    summed in 32 bits."""
    if not is_multiply_add(op):
        return False
    left, right, accumulator = (arg.type for arg in op.body.block.args)
    return left == right and may_multiply(left) and accumulator in (f32, i32)


# ---- casts that round and saturate -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundingCast:
    """`fptosi(roundeven(min(max(source, low), high)))`, the limits being those of the integers: the operations that end
    a body, the cast last."""

    source: SSAValue
    ops: tuple[Operation, ...]


def rounding_cast(block: Block) -> RoundingCast | None:
    """What a body ends with, if that is a cast which rounds to nearest even and saturates: one instruction."""
    value = yielded(block)
    end = value.owner if value is not None else None
    if not isinstance(end, arith.FPToSIOp) or not isinstance(type_ := end.results[0].type, IntegerType):
        return None
    if type_.width.data > 16:
        return None
    least, most = -(1 << (type_.width.data - 1)), (1 << (type_.width.data - 1)) - 1
    ops: list[Operation] = [end]
    value = end.operands[0]
    for kind, limit in ((math.RoundEvenOp, None), (arith.MinimumfOp, most), (arith.MaximumfOp, least)):
        op = value.owner
        if not isinstance(op, kind) or op.parent is not block or not value.has_one_use():
            return None
        if limit is not None and not any(is_number(number, limit) for number in constant_operands(op)):
            return None
        value = next(v for v in op.operands if not isinstance(v.owner, arith.ConstantOp))
        ops.insert(0, op)
    return RoundingCast(value, tuple(ops))


# ---- single operations -----------------------------------------------------------------------------------------------


def is_number(attr: Attribute, number: float) -> bool:
    """Whether a constant is this number."""
    return isinstance(attr, FloatAttr | IntegerAttr) and attr.value.data == number


def constant_operands(op: Operation) -> list[Attribute]:
    """The constants among the operands of an operation."""
    return [v.owner.value for v in op.operands if isinstance(v.owner, arith.ConstantOp)]


def is_relu(op: Operation) -> bool:
    """Whether an operation is the maximum of a value and the constant zero."""
    if not isinstance(op, arith.MaximumfOp | arith.MaxSIOp):
        return False
    found = constant_operands(op)
    return len(found) == 1 and is_number(found[0], 0)


def only_op(op: GenericOp) -> Operation | None:
    """The one operation of a body, constants apart; None if there are more or none."""
    ops = body_ops(op)
    return ops[0] if len(ops) == 1 else None
