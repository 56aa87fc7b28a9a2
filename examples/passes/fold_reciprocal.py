"""fold-reciprocal: a reciprocal and a product are one division.

    npu_isa.vbinary div %t<1>, imm 1.0 : f32, %t<1> over [2048] : f32
    npu_isa.vbinary mul %t<1>, %t<1>, %x<1> over [2048] : f32
  becomes
    npu_isa.vbinary div %t<1>, %x<1>, %t<1> over [2048] : f32

That is how `graph.reciprocal` and `graph.mul` arrive at the last level. It stands before npu-isa-insert-sync, where
program order says everything. The division rounds once instead of twice, so the pass declares a tolerance, to which
`--check-equivalence` holds it.

Does not handle: a reciprocal that is read again, or that is not next to its product.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npu_mlir.dialects.npu_isa import VBinaryOp
from npu_mlir.support.tolerance import Tolerance


class FoldReciprocal(ModulePass):
    """Fold a reciprocal into the product that overwrites it."""

    name = "fold-reciprocal"
    runs_after: ClassVar[str] = "convert-tile-to-npu-isa"
    tolerance: ClassVar[Tolerance] = Tolerance(rtol=1e-6, atol=1e-6)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for division in [o for o in op.walk() if isinstance(o, VBinaryOp)]:
            product = division.next_op
            if is_reciprocal(division) and is_product_of(product, division):
                fold(division, product)


def is_reciprocal(op: VBinaryOp) -> bool:
    """Whether an instruction is `1 / x`."""
    is_one = isinstance(op.imm, FloatAttr) and op.imm.value.data == 1
    return (
        op.kind.data == "div" and is_one and op.imm_position is not None and op.imm_position.value.data == 0
    )


def is_product_of(op: Operation | None, reciprocal: VBinaryOp) -> bool:
    """Whether an instruction multiplies by the reciprocal and writes the product where the reciprocal was."""
    if not isinstance(op, VBinaryOp) or op.kind.data != "mul" or op.imm is not None:
        return False
    same_place = op.dest is reciprocal.dest and op.operand_strides[0] == reciprocal.operand_strides[0]
    reads_once = [source is reciprocal.dest for source in op.sources].count(True) == 1
    at_its_place = all(
        strides == reciprocal.operand_strides[0]
        for source, strides in zip(op.sources, op.operand_strides[1:], strict=True)
        if source is reciprocal.dest
    )
    return same_place and reads_once and at_its_place and op.shape == reciprocal.shape


def fold(division: VBinaryOp, product: VBinaryOp) -> None:
    """Put one division in place of both."""
    dest, *strides = product.operand_strides
    ((numerator, steps),) = [
        (source, s) for source, s in zip(product.sources, strides, strict=True) if source is not division.dest
    ]
    quotient = VBinaryOp(
        "div",
        product.dest,
        [numerator, division.sources[0]],
        [int(n) for n in product.shape.iter_values()],
        [dest, steps, division.operand_strides[1]],
        list(product.types.data),
    )
    quotient.attributes.update(product.attributes)
    quotient.location = product.location
    block = product.parent
    assert block is not None
    block.insert_op_before(quotient, product)
    block.erase_op(product)
    block.erase_op(division)
