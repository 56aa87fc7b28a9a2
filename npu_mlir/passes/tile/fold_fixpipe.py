"""Let the fixpipe do what it can on the way from L0C to UB: a scale, relu, casts.

Before:

    %t = tile.load %acc[%s] ... : tensor<64x32xi32, l0c> -> tensor<16x32xi32, ub>
    %f = linalg.generic ins(%t) outs(%e0) { arith.sitofp } -> tensor<16x32xf32, ub>
    %m = linalg.generic ins(%f) outs(%e1) { arith.mulf with 0.001 } -> tensor<16x32xf32, ub>
    %r = linalg.generic ins(%m) outs(%e2) { arith.maximumf with 0.0 } -> tensor<16x32xf32, ub>
    %c = linalg.generic ins(%r) outs(%e3) { arith.truncf } -> tensor<16x32xf16, ub>

After, on a machine whose fixpipe scales i32 to f16:

    %c = tile.load %acc[%s] ... epilogue <scale 0.001, relu> : tensor<64x32xi32, l0c> -> tensor<16x32xf16, ub>

A row of factors, one for each column, is loaded to L1 instead of UB: `epilogue <scales> scales %row`.

Leaves alone: results that something else reads as well, operations that permute or broadcast, types that the machine's
fixpipe doesn't scale, a scale behind relu.
Runs after `tile-split-compute`, which leaves one operation in each body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import linear_map, projection
from npu_mlir.analysis.structured.bodies import SIGNED_WIDENING
from npu_mlir.analysis.structured.fixpipe import Drained, chain_of, drained, rows_of
from npu_mlir.analysis.structured.nest import is_reduction, maps_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, place, space_of
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
    for user, ops, rows in _users(load.results[0], _columns_of(load)):
        after = drained(state, ops, rows)
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
    row, along = (load.scales, load.scale_dims) if state.row is None else _row_in_l1(state.row)
    new = tile.LoadOp(load.source, list(load.indices), load.map, type_, None, load.pad, epilogue, row, along)
    new.attributes |= load.attributes
    for user in behind:
        load.location = fused(load, user)
    new.location = load.location
    block = load.parent
    assert block is not None
    # A row may be loaded behind the accumulators, but in front of what reads it.
    block.insert_op_before(new, load if new.scales is None else behind[-1])
    new.results[0].name_hint = result.name_hint
    result.replace_all_uses_with(new.results[0])
    read = [v.owner for op in behind for v in op.inputs]
    for op in (*reversed(behind), load):
        op.detach()
        op.erase()
    for owner in read:
        if isinstance(owner, tile.LoadOp) and owner.parent is not None and not owner.results[0].uses:
            owner.detach()
            owner.erase()


def _row_in_l1(arg: SSAValue) -> tuple[SSAValue, Sequence[int]]:
    """A row of factors, an argument of a body, in L1 where it has been loaded to UB, and its dims in the tile."""
    assert isinstance(arg, BlockArgument)
    user = cast("linalg.GenericOp", arg.block.parent_op())
    old = cast("tile.LoadOp", user.inputs[arg.index].owner)
    type_ = cast("TensorType[Attribute]", old.results[0].type)
    new = tile.LoadOp(
        old.source,
        list(old.indices),
        old.map,
        place(type_.get_shape(), type_.element_type, Space.L1),
        None,
        old.pad,
    )
    new.location = old.location
    cast("Block", old.parent).insert_op_before(new, old)
    maps = maps_of(user)
    whole, dims = projection(maps[-1]), projection(maps[arg.index])
    assert whole is not None and dims is not None
    return new.results[0], [whole.index(d) for d in dims]


def _columns_of(load: tile.LoadOp) -> frozenset[int]:
    """The dims of what a load brings from L0C that are columns there."""
    value = load.source
    while True:
        owner = value.owner
        if isinstance(owner, scf.ForOp):
            value = cast("Operation", owner.body.block.last_op).operands[cast("OpResult", value).index]
        elif isinstance(owner, linalg.GenericOp) and len(owner.inputs) == 2:
            break
        else:
            return frozenset()
    a = {d for e in maps_of(owner)[0].results for d in e.used_dims()}
    out = projection(maps_of(owner)[-1])
    exprs = linear_map(load.map.data)
    if out is None or exprs is None:
        return frozenset()
    moving = {d - len(load.indices) for e, o in zip(exprs, out, strict=True) if o not in a for d in e.dims()}
    return frozenset(d for d in moving if d >= 0)


def _users(
    value: SSAValue, columns: frozenset[int]
) -> Iterator[tuple[linalg.GenericOp, Sequence[Operation], frozenset[SSAValue]]]:
    """The elementwise operations behind a value, each of which alone reads the one before, their bodies, and the rows
    from GM that they read; none that widens."""
    while (user := _only_user(value)) is not None:
        rows = frozenset(
            row
            for row in rows_of(user, value, columns)
            if isinstance(row, BlockArgument) and _is_loaded(user.inputs[row.index])
        )
        ops = chain_of(user, rows)
        if not ops or any(isinstance(op, SIGNED_WIDENING) for op in ops):
            return
        yield user, ops, rows
        value = user.results[0]


def _is_loaded(value: SSAValue) -> bool:
    """Whether a value is a tile as it was loaded from GM."""
    return isinstance(value.owner, tile.LoadOp) and space_of(value.owner.source.type) is Space.GM


def _only_user(value: SSAValue) -> linalg.GenericOp | None:
    """The elementwise operation that alone reads a value, in its own shape and in the same block."""
    uses = list(value.uses)
    if len(uses) != 1 or not isinstance(uses[0].operation, linalg.GenericOp):
        return None
    user = uses[0].operation
    owner = cast("Operation", value.owner)
    maps = maps_of(user)
    read = [i for i, v in enumerate(user.inputs) if v is value]
    plain = len(read) == 1 and maps[read[0]] == maps[-1] and not any(is_reduction(user))
    return user if plain and user.parent is owner.parent else None
