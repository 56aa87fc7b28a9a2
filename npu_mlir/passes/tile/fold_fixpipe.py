"""Let the fixpipe do what it can on the way from L0C to UB: a scale, relu, casts.

Before:

    %t = tile.load %acc[%s] ... : tensor<64x32xi32, l0c> -> tensor<16x32xi32, ub>
    %f = linalg.generic ins(%t) outs(%e0) { arith.sitofp } -> tensor<16x32xf32, ub>
    %m = linalg.generic ins(%f) outs(%e1) { arith.mulf with 0.001 } -> tensor<16x32xf32, ub>
    %r = linalg.generic ins(%m) outs(%e2) { arith.maximumf with 0.0 } -> tensor<16x32xf32, ub>
    %c = linalg.generic ins(%r) outs(%e3) { arith.truncf } -> tensor<16x32xf16, ub>

After, on a machine whose fixpipe scales i32 to f16:

    %c = tile.load %acc[%s] ... epilogue <scale 0.001, relu> : tensor<64x32xi32, l0c> -> tensor<16x32xf16, ub>

Leaves alone: results that something else reads as well, operations that permute or broadcast, types that the machine's
fixpipe doesn't scale, a scale behind relu.
Runs after `tile-split-compute`, which leaves one operation in each body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.structured.bodies import SIGNED_WIDENING
from npu_mlir.analysis.structured.fixpipe import Drained, chain_of, drained
from npu_mlir.analysis.structured.nest import is_reduction, maps_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.support.locations import fused
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class FoldFixpipe(ModulePass):
    """Fold a scale, relu and casts into the loads from L0C."""

    name = "tile-fold-fixpipe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                fold_fixpipe(kernel, target)


def fold_fixpipe(kernel: tile.KernelOp, target: Target) -> None:
    """Fold a scale, relu and casts into the loads from L0C of one kernel."""
    for op in list(kernel.walk()):
        if isinstance(op, tile.LoadOp) and space_of(op.source.type) is Space.L0C and op.result is not None:
            _fold(op, target)


def _fold(load: tile.LoadOp, target: Target) -> None:
    """Take as many of the operations behind a load into it as the fixpipe can do."""
    state = _state_of(load)
    behind: list[linalg.GenericOp] = []
    folded, count = state, 0
    for user, ops in _users(load.results[0]):
        after = drained(state, ops)
        if after is None:
            break
        state = after
        behind.append(user)
        if state.is_possible(target):
            folded, count = state, len(behind)
    if count:
        _replace(load, behind[:count], folded)


def _state_of(load: tile.LoadOp) -> Drained:
    """What a load does of its own."""
    accumulator = cast("tile.TileType", load.source.type).get_element_type()
    element = load.tile_type.get_element_type()
    return Drained(accumulator, element, tile.steps_of(load.epilogue), element != accumulator)


def _replace(load: tile.LoadOp, behind: Sequence[linalg.GenericOp], state: Drained) -> None:
    """Have a load do the operations behind it."""
    result = behind[-1].results[0]
    type_ = cast("TensorType[Attribute]", result.type)
    epilogue = tile.EpilogueAttr.of(state.steps)
    new = tile.LoadOp(load.source, list(load.indices), load.map, type_, None, load.pad, epilogue)
    new.attributes |= load.attributes
    for user in behind:
        load.location = fused(load, user)
    new.location = load.location
    block = load.parent
    assert block is not None
    block.insert_op_before(new, load)
    new.results[0].name_hint = result.name_hint
    result.replace_all_uses_with(new.results[0])
    for op in (*reversed(behind), load):
        op.detach()
        op.erase()


def _users(value: SSAValue) -> Iterator[tuple[linalg.GenericOp, Sequence[Operation]]]:
    """The elementwise operations behind a value, each of which alone reads the one before, and their bodies; none that
    widens."""
    while (user := _only_user(value)) is not None:
        ops = chain_of(user)
        if not ops or any(isinstance(op, SIGNED_WIDENING) for op in ops):
            return
        yield user, ops
        value = user.results[0]


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
