"""tile-split-epilogues: end what follows a product where the cube's own core has to hand it over.

Where cube and vector unit are cores of their own, a product reaches the vector unit through GM. What the cube starts
from (a bias) and what the fixpipe does on the way out (a scale, relu, casts) then belong to the product, and it is the
narrowed result that goes through GM:

    %p = linalg.generic ins(%x, %w) ...                                       // matrix product, f32
    %y = linalg.generic ins(%p, %bias, %r) { addf, truncf, addf, maximumf }   // f16
  becomes
    %p = linalg.generic ins(%x, %w) ...
    %q = linalg.generic ins(%p, %bias) { addf, truncf }                       // f16, of the cube's kernel
    %y = linalg.generic ins(%q, %r) { addf, maximumf }

Leaves alone: machines whose fixpipe reaches UB, operations that the cube's side does whole or not at all, results of
products that are read several times.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, UnknownLoc
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.structured.bodies import body_ops
from npu_mlir.analysis.structured.epilogues import Prefix, prefix_of
from npu_mlir.analysis.structured.nest import sums_products
from npu_mlir.support.locations import PROVENANCE, fused, located, node_of
from npu_mlir.targets.module_target import target_of


class SplitEpilogues(ModulePass):
    """Split operations that read products behind what the cube's side does, on machines with separate cores."""

    name = "tile-split-epilogues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if not target.split_cores:
            return
        for product in list(op.walk()):
            if not isinstance(product, linalg.GenericOp) or not sums_products(product):
                continue
            uses = list(product.results[0].uses)
            if len(uses) != 1 or not isinstance(user := uses[0].operation, linalg.GenericOp):
                continue
            prefix = prefix_of(product, user, target)
            if prefix is not None and not prefix.is_whole(user):
                _split(product, user, prefix)


def _split(product: linalg.GenericOp, user: linalg.GenericOp, prefix: Prefix) -> None:
    """Put the prefix into an operation of its own, and let the other one read its result."""
    number = list(user.inputs).index(product.results[0])
    taken = [number, *prefix.operands]
    block = cast("Block", user.parent)
    with located(user):
        first = _first(user, prefix, taken)
    block.insert_ops_before([cast("tensor.EmptyOp", first.outputs[0].owner), first], user)
    _shorten(user, prefix, taken, first.results[0])


def _first(user: linalg.GenericOp, prefix: Prefix, taken: list[int]) -> linalg.GenericOp:
    """The operation that does the prefix, on the operands of these numbers."""
    shape = cast("TensorType[Attribute]", user.results[0].type).get_shape()
    type_ = TensorType(prefix.value.type, shape)
    args = user.body.block.args
    body = Block(arg_types=[*(args[n].type for n in taken), prefix.value.type])
    mapping: dict[SSAValue, SSAValue] = {args[n]: arg for n, arg in zip(taken, body.args, strict=False)}
    for op in prefix.ops:
        for operand in op.operands:
            if isinstance(operand.owner, ConstantOp) and operand.owner.parent is user.body.block:
                body.add_op(operand.owner.clone(mapping))
        body.add_op(op.clone(mapping))
    body.add_op(linalg.YieldOp(mapping[prefix.value]))
    maps = [*(user.indexing_maps.data[n] for n in taken), user.indexing_maps.data[-1]]
    empty = tensor.EmptyOp([], type_)
    inputs = [user.inputs[n] for n in taken]
    first = linalg.GenericOp(inputs, [empty.tensor], Region(body), maps, user.iterator_types, [type_])
    _come_from(first, user)
    return first


def _come_from(new: linalg.GenericOp, old: linalg.GenericOp) -> None:
    """Give one of the two parts of an operation its attributes, and the nodes that its own body comes from."""
    new.attributes |= old.attributes
    where = fused(*body_ops(new))
    if isinstance(where, UnknownLoc):
        new.location = old.location
        return
    new.location = where
    new.attributes.pop(PROVENANCE, None)
    node = node_of(new)
    if node is not None and PROVENANCE in old.attributes:
        new.attributes[PROVENANCE] = StringAttr(node)


def _shorten(user: linalg.GenericOp, prefix: Prefix, taken: list[int], value: SSAValue) -> None:
    """Let an operation read what the prefix has made of the operands that only the prefix read."""
    block = user.body.block
    arg = block.insert_arg(prefix.value.type, 0)
    prefix.value.replace_all_uses_with(arg)
    for op in reversed(prefix.ops):
        op.detach()
        op.erase()
    for n in sorted(taken, reverse=True):
        block.erase_arg(block.args[n + 1])
    kept = [n for n in range(len(user.inputs)) if n not in taken]
    inputs = [value, *(user.inputs[n] for n in kept)]
    # The prefix works on the result's own shape, so its result is read by the result's map.
    maps = [user.indexing_maps.data[-1], *(user.indexing_maps.data[n] for n in (*kept, len(user.inputs)))]
    body = user.detach_region(user.body)
    new = linalg.GenericOp(
        inputs, list(user.outputs), body, maps, user.iterator_types, [user.results[0].type]
    )
    _come_from(new, user)
    cast("Block", user.parent).insert_op_before(new, user)
    user.results[0].replace_all_uses_with(new.results[0])
    user.detach()
    user.erase()
