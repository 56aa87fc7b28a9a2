"""Start a matrix product from its bias instead of adding the bias to its result.

The cube reads the row of the bias from L1 when it starts an accumulator. That saves the vector unit a pass over the f32
result, and leaves nothing between the product and what the fixpipe can do (see `tile-fold-fixpipe`).

Before (in a kernel):

    %c = linalg.generic ins(%a, %w) outs(%zero)                  // matrix product (m, n, k)
    %d = linalg.generic [(m, n), (n)] ins(%c, %bias) { %0 = arith.addf %c, %bias ; arith.maximumf %0, 0.0 }

After:

    %b = linalg.generic [(n) -> (m, n)] ins(%bias) outs(%e)      // broadcast
    %c = linalg.generic ins(%a, %w) outs(%b)
    %d = linalg.generic [(m, n)] ins(%c) { arith.maximumf %c, 0.0 }

In a batch of products, each may have a bias of its own.

Leaves alone: products whose result is read elsewhere as well, biases along the rows of the accumulator, and
biases that lie in a column.
Changes values: by the order of a sum.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.structured.epilogues import Bias, bias_of
from npu_mlir.analysis.structured.nest import maps_of
from npu_mlir.dialects import tile
from npu_mlir.support.locations import located

Tensor = TensorType[Attribute]


class InitAccumulators(ModulePass):
    """Start matrix products from their biases."""

    name = "tile-init-accumulators"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                start_from_biases(kernel)


def start_from_biases(kernel: tile.KernelOp) -> None:
    """Start the products of one untiled kernel from their biases."""
    for op in list(kernel.body.block.ops):
        # The operation that added a bias has been replaced when its turn comes.
        if isinstance(op, linalg.GenericOp) and op.parent is not None:
            _start_from_bias(op)


def _start_from_bias(product: linalg.GenericOp) -> None:
    bias = bias_of(product)
    if bias is not None and isinstance(bias.user.inputs[bias.operand].owner, tile.LoadOp):
        _rewrite(product, bias)


def _rewrite(product: linalg.GenericOp, bias: Bias) -> None:
    type_ = cast("Tensor", product.results[0].type)
    block = cast("Block", product.parent)
    load = bias.user.inputs[bias.operand]
    row = cast("Operation", load.owner)
    if not row.is_before_in_block(product):
        row.detach()
        block.insert_op_before(row, product)
    with located(bias.user), located(bias.addition):
        empty = tensor.EmptyOp([], type_)
        broadcast = _broadcast(load, empty.tensor, bias)
    fill = cast("Operation", product.outputs[0].owner)
    block.insert_op_before(empty, product)
    block.insert_op_before(broadcast, product)
    product.operands[len(product.inputs)] = broadcast.results[0]
    _erase_unused(fill)
    _remove_addition(bias)


def _broadcast(row: SSAValue, dest: SSAValue, bias: Bias) -> linalg.GenericOp:
    type_ = cast("Tensor", dest.type)
    body = Block(arg_types=[cast("Tensor", row.type).element_type, type_.element_type])
    value: SSAValue = body.args[0]
    if bias.cast is not None:
        copy = bias.cast.clone()
        copy.operands[0] = value
        body.add_op(copy)
        value = copy.results[0]
    body.add_op(linalg.YieldOp(value))
    rank = len(type_.get_shape())
    maps = [AffineMapAttr(bias.map), AffineMapAttr(AffineMap.identity(rank))]
    parallel = IteratorTypeAttr(IteratorType.PARALLEL)
    return linalg.GenericOp([row], [dest], Region(body), maps, [parallel] * rank, [type_])


def _erase_unused(op: Operation) -> None:
    """Erase an operation that nothing reads any more, and what only it read."""
    if any(any(r.uses) for r in op.results):
        return
    operands = [v.owner for v in op.operands]
    op.detach()
    op.erase()
    for owner in operands:
        if isinstance(owner, Operation):
            _erase_unused(owner)


def _remove_addition(bias: Bias) -> None:
    """Take the addition out of the body of its operation, and the bias from the operands."""
    user, block = bias.user, bias.user.body.block
    arg = block.args[bias.operand]
    other = next(v for v in bias.addition.operands if isinstance(v, BlockArgument) and v is not arg)
    bias.addition.results[0].replace_all_uses_with(other)
    for op in (bias.addition, bias.cast):
        if op is not None:
            op.detach()
            op.erase()
    block.erase_arg(arg)
    inputs = [v for i, v in enumerate(user.inputs) if i != bias.operand]
    if _only_copies(user, bias.operand):
        user.results[0].replace_all_uses_with(inputs[0])
        _erase_unused(user)
        return
    maps = [m for i, m in enumerate(user.indexing_maps.data) if i != bias.operand]
    body = user.detach_region(user.body)
    new = linalg.GenericOp(
        inputs, list(user.outputs), body, maps, user.iterator_types, [user.results[0].type]
    )
    new.attributes |= user.attributes
    new.location = user.location
    cast("Block", user.parent).insert_op_before(new, user)
    user.results[0].replace_all_uses_with(new.results[0])
    user.detach()
    user.erase()


def _only_copies(op: linalg.GenericOp, without: int) -> bool:
    """Whether an operation, but for its operand `without`, yields its only operand as it is."""
    block = op.body.block
    maps = [m for i, m in enumerate(maps_of(op)) if i != without]
    last = block.last_op
    return (
        len(maps) == 2
        and maps[0] == maps[1]
        and block.first_op is last
        and last is not None
        and (last.operands[0] is block.args[0])
    )
