"""Let the fixpipe do what it can on the way from L0C to UB: casts and relu.

Before:

    %t = tile.load %acc[%s] ... : tensor<64x32xf32, l0c> -> tensor<16x32xf32, ub>
    %c = linalg.generic ins(%t) outs(%e0) { arith.truncf } -> tensor<16x32xf16, ub>
    %r = linalg.generic ins(%c) outs(%e1) { arith.maximumf with 0.0 } -> tensor<16x32xf16, ub>

After:

    %r = tile.load %acc[%s] ... epilogue <relu> : tensor<64x32xf32, l0c> -> tensor<16x32xf16, ub>

Leaves alone: results that something else reads as well, operations that permute or broadcast.
Runs after `tile-split-compute`, which leaves one operation in each body.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.structured.bodies import is_relu, only_op
from npu_mlir.analysis.structured.nest import is_reduction, maps_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of, steps_of
from npu_mlir.support.locations import fused


class FoldFixpipe(ModulePass):
    """Fold casts and relu into the loads from L0C."""

    name = "tile-fold-fixpipe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                fold_fixpipe(kernel)


def fold_fixpipe(kernel: tile.KernelOp) -> None:
    """Fold casts and relu into the loads from L0C of one kernel."""
    for op in list(kernel.walk()):
        if isinstance(op, tile.LoadOp) and space_of(op.source.type) is Space.L0C and op.result is not None:
            _fold(op)


def _fold(load: tile.LoadOp) -> None:
    """Take the operations behind a load into it, one after the other."""
    while (user := _only_user(load.results[0])) is not None:
        inner = only_op(user)
        cast_, relu = isinstance(inner, arith.TruncFOp), inner is not None and is_relu(inner)
        # The fixpipe sets negative values to zero before it casts, which is the same as after, but only once.
        steps = steps_of(load.epilogue)
        if not cast_ and (not relu or "relu" in steps):
            return
        if (
            cast_
            and load.tile_type.get_element_type()
            != cast("tile.TileType", load.source.type).get_element_type()
        ):
            return
        result = user.results[0]
        type_ = cast("TensorType[Attribute]", result.type)
        epilogue = tile.EpilogueAttr.of((*steps, "relu") if relu else steps)
        new = tile.LoadOp(load.source, list(load.indices), load.map, type_, None, load.pad, epilogue)
        new.attributes |= load.attributes
        new.location = fused(load, user)
        block = load.parent
        assert block is not None
        block.insert_op_before(new, load)
        new.results[0].name_hint = result.name_hint
        result.replace_all_uses_with(new.results[0])
        for op in (user, load):
            op.detach()
            op.erase()
        load = new


def _only_user(value: SSAValue) -> linalg.GenericOp | None:
    """The elementwise operation that alone reads a value, in its own shape and in the same block."""
    uses = list(value.uses)
    if len(uses) != 1 or not isinstance(uses[0].operation, linalg.GenericOp):
        return None
    user = uses[0].operation
    owner = cast("Operation", value.owner)
    maps = maps_of(user)
    plain = len(maps) == 2 and maps[0] == maps[1] and not any(is_reduction(user))
    return user if plain and user.parent is owner.parent else None


def fixpipe_does(op: Operation) -> bool:
    """Whether the fixpipe can do an operation of a body on an accumulator: a narrowing cast, or relu."""
    return isinstance(op, arith.TruncFOp) or is_relu(op)
