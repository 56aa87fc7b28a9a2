"""A repair of xDSL's named linalg ops: products of narrow values that are summed in a wider type.

    linalg.matmul ins(%x, %y : tensor<4x8xf16>, tensor<8x2xf16>) outs(%z : tensor<4x2xf32>)

has the meaning of upstream, `acc + extf(x) * extf(y)`, but xDSL gives it the body `acc + x * y`, which does not verify.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, Operation

NAMES = frozenset({"linalg.matmul"})
"""The ops that xDSL gives such a body."""


def extend_factors(op: Operation) -> None:
    """Make the body of a product `acc + ext(x) * ext(y)` if the factors are not of the accumulator's type."""
    region = op.regions[0]
    x, y, accumulator = region.block.args
    type_ = accumulator.type
    if x.type == type_ and y.type == type_:
        return
    is_float = isinstance(type_, AnyFloat)
    extension: type[arith.ExtFOp | arith.ExtSIOp] = arith.ExtFOp if is_float else arith.ExtSIOp
    block = Block(arg_types=[x.type, y.type, type_])
    left, right = (extension.create(operands=[arg], result_types=[type_]) for arg in block.args[:2])
    product = (arith.MulfOp if is_float else arith.MuliOp)(left, right)
    total = (arith.AddfOp if is_float else arith.AddiOp)(product, block.args[2])
    block.add_ops([left, right, product, total, YieldOp(total)])
    region.detach_block(region.block)
    region.add_block(block)
