"""Load what no section writes ahead of the boundary: weights, while the section before is still at work.

What stands at the top of a kernel moves in front of its `tile.boundary`. Of what a loop loads tile by tile, the first
`tiles` tiles are loaded there, and the loop leaves them out.

Before:

    tile.boundary
    tile.load %bias[] into %b
    scf.for %i = %c0 to %c512 step %c64 {
      %n = affine.apply affine_map<(d0) -> (d0 floordiv 64)> (%i)
      %s = tile.slot %w[%n]
      tile.load %X[%i] into %x
      tile.load %W[%i] into %s
      ...

After:

    tile.load %bias[] into %b
    %s0 = tile.slot %w[%c0]
    tile.load %W[%c0] into %s0
    tile.boundary
    scf.for %i = %c0 to %c512 step %c64 {
      %n = affine.apply affine_map<(d0) -> (d0 floordiv 64)> (%i)
      %s = tile.slot %w[%n]
      tile.load %X[%i] into %x
      %again = arith.cmpi uge, %n, %c1
      scf.if %again { tile.load %W[%i] into %s }
      ...

Only the first loads of each buffer, and only loads to L1: UB is in use until the section before is over. An operand
counts as written by no section if that is so for all launches of the kernel.

Leaves alone: kernels without a boundary, those with loads before it, and with `tiles=0` everything; what is loaded
behind the first loop that loads, whose buffers would take the place of others until then.
Does not handle: loads whose place depends on more than constants and loops.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.dialects.tile.kernels import writer_in_program
from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.passes.tile.buffers import running_count
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located


@dataclass(frozen=True)
class LoadAhead(ModulePass):
    """Move loads of weights to the heads of kernels."""

    name = "tile-load-ahead"
    tiles: int = 1
    """How many tiles of each operand are loaded ahead."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.tiles < 0:
            raise UserError(f"{self.tiles} tiles can't be loaded ahead")
        if not self.tiles:
            return
        constant = constant_arguments(op)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and kernel.sym_name.data in constant:
                load_ahead(kernel, constant[kernel.sym_name.data], self.tiles)


def constant_arguments(module: ModuleOp) -> dict[str, set[int]]:
    """For each kernel that is launched in a program, the arguments that no section of any of these programs writes."""
    found: dict[str, set[int]] = {}
    for program in [op for op in module.walk() if isinstance(op, tile.ProgramOp)]:
        for launch in [op for op in program.walk() if isinstance(op, tile.LaunchOp)]:
            own = {i for i, v in enumerate(launch.inputs) if writer_in_program(v, program) is None}
            name = launch.kernel.string_value()
            found[name] = found[name] & own if name in found else own
    return found


def load_ahead(kernel: tile.KernelOp, arguments: set[int], tiles: int) -> None:
    """Load the first tiles of these arguments before the boundary of a kernel."""
    top = kernel.body.block
    boundary = next((op for op in top.ops if isinstance(op, tile.BoundaryOp)), None)
    if boundary is None or any(isinstance(op, tile.LoadOp) for op in _before(boundary)):
        return
    filled: set[SSAValue] = set()
    last = _first_loop(top)
    for load in [op for op in kernel.walk() if isinstance(op, tile.LoadOp)]:
        buffer = _buffer(load)
        if buffer is None or buffer in filled:
            continue
        filled.add(buffer)
        source = load.source
        if not isinstance(source, BlockArgument) or source.block is not top or source.index not in arguments:
            continue
        if space_of(buffer.type) is not Space.L1:
            continue
        at = top.find_ancestor_op_in_block(load)
        if last is not None and at is not None and last.is_before_in_block(at):
            continue
        with located(load):
            if load.parent is top:
                _move(load, boundary)
            else:
                _load_first(load, boundary, tiles)


def _first_loop(top: Block) -> Operation | None:
    """The first loop of a kernel that loads to L1."""
    for loop in top.ops:
        if isinstance(loop, scf.ForOp):
            loads = (op for op in loop.walk() if isinstance(op, tile.LoadOp))
            if any(space_of(op.tile_type) is Space.L1 for op in loads):
                return loop
    return None


def _before(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    while op.prev_op is not None:
        op = op.prev_op
        found.append(op)
    return found


def _buffer(load: tile.LoadOp) -> SSAValue | None:
    """The buffer that a load fills, all of its slots."""
    if load.dest is None:
        return None
    owner = load.dest.owner
    value = owner.buffer if isinstance(owner, tile.SlotOp) else load.dest
    return value if isinstance(value.owner, tile.AllocOp) else None


def _move(load: tile.LoadOp, boundary: tile.BoundaryOp) -> None:
    """Move a load at the top of a kernel, which depends on constants alone, before the boundary."""
    if any(constant_index(index) is None for index in load.indices):
        return
    needed = [value.owner for value in load.operands if not isinstance(value.owner, Block)]
    if any(not isinstance(op, tile.AllocOp | arith.ConstantOp) for op in needed):
        return
    block = cast("Block", boundary.parent)
    for op in (*needed, load):
        if op in needed and (op.parent is not block or op.is_before_in_block(boundary)):
            continue
        op.detach()
        block.insert_op_before(op, boundary)


def _load_first(load: tile.LoadOp, boundary: tile.BoundaryOp, tiles: int) -> None:
    """Load the first tiles of a load in a loop before the boundary, and leave them out in the loop."""
    home, loops = _loops(load)
    slot = cast("SSAValue", load.dest).owner
    if home is None or len(loops) != len({*loops}):
        return
    at = [first_value(index) for index in load.indices]
    index = first_value(slot.index) if isinstance(slot, tile.SlotOp) else 0
    if None in at or index is None or tiles != 1:
        return
    block = cast("Block", boundary.parent)
    alloc = cast("tile.AllocOp", cast("SSAValue", _buffer(load)).owner)
    if alloc.parent is not block:
        return
    if not alloc.is_before_in_block(boundary):
        alloc.detach()
        block.insert_op_before(alloc, boundary)

    def constant(value: int) -> SSAValue:
        op = arith.ConstantOp(IntegerAttr(value, IndexType()))
        block.insert_op_before(op, boundary)
        return op.result

    dest = alloc.buffer
    if isinstance(slot, tile.SlotOp):
        first = tile.SlotOp(alloc.buffer, constant(index))
        block.insert_op_before(first, boundary)
        dest = first.result
    indices = [constant(cast("int", value)) for value in at]
    ahead = tile.LoadOp(load.source, indices, load.map, dest=dest, pad=load.pad)
    block.insert_op_before(ahead, boundary)
    count = running_count(home, block)
    around = cast("Block", load.parent)
    least = arith.ConstantOp(IntegerAttr(tiles, IndexType()))
    again = arith.CmpiOp(count, least.result, "uge")
    guarded = scf.IfOp(again.result, [], Region(Block()))
    around.insert_ops_before([least, again, guarded], load)
    load.detach()
    guarded.true_region.block.add_ops([load, scf.YieldOp()])


def _loops(load: tile.LoadOp) -> tuple[Block | None, list[scf.ForOp]]:
    """The body of the innermost loop around a load, and all loops around it; None if one of them is not a plain one
    that is known to run."""
    home: Block | None = None
    loops: list[scf.ForOp] = []
    around = load.parent_op()
    while around is not None and not isinstance(around, tile.KernelOp):
        if isinstance(around, scf.IfOp):
            # In the first iterations it has to be executed.
            if load.parent is not around.true_region.block or first_value(around.cond) != 1:
                return None, []
        elif isinstance(around, scf.ForOp):
            trips = constant_trips(around)
            if not trips or trips.start or around.iter_args:
                return None, []
            home = around.body.block if home is None else home
            loops.append(around)
        else:
            return None, []
        around = around.parent_op()
    return home, loops


_ARITHMETIC: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
}

_COMPARED: dict[int, Callable[[int, int], bool]] = {
    0: operator.eq,
    1: operator.ne,
    2: operator.lt,
    3: operator.le,
    4: operator.gt,
    5: operator.ge,
    6: operator.lt,
    7: operator.le,
    8: operator.gt,
    9: operator.ge,
}


def first_value(value: SSAValue) -> int | None:
    """What a scalar is in the first iterations of all loops around it; None if that is not known."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if isinstance(loop, scf.ForOp) and value is owner.args[0]:
            return constant_index(loop.lb)
        return None
    constant = constant_index(value)
    if constant is not None:
        return constant
    operands = [first_value(operand) for operand in owner.operands]
    if None in operands:
        return None
    known = cast("list[int]", operands)
    match owner:
        case affine.ApplyOp():
            map_ = owner.map.data
            return map_.eval(known[: map_.num_dims], known[map_.num_dims :])[0]
        case arith.CmpiOp():
            return int(_COMPARED[owner.predicate.value.data](*known))
        case _ if type(owner) in _ARITHMETIC:
            return _ARITHMETIC[type(owner)](*known)
        case _:
            return None
