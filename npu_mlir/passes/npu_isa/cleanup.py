"""npu-isa-cleanup: scalar code is computed once, as far out as it can be, and useless barriers go.

    scf.for %k = %c0 to %c512 step %c256 {
      scf.for %k0 = %c0 to %c256 step %c64 {
        %c512_0 = arith.constant 512 : index
        %0 = arith.muli %k, %c512_0
        %1 = npu_isa.at %a + %0
        %2 = arith.cmpi eq, %k, %c0
        npu_isa.load_l0a %1 ...
  becomes
    %c512 = arith.constant 512 : index
    scf.for %k = %c0 to %c512 step %c256 {
      %0 = arith.muli %k, %c512
      %1 = npu_isa.at %a + %0
      scf.for %k0 = %c0 to %c256 step %c64 {
        npu_isa.load_l0a %1 ...

The scalar unit issues every instruction of the core, so each of its own operations in an inner loop delays all pipes.
A barrier goes if no instruction stands between it and the one before, the start of the kernel or its end: all pipes are
idle there.

Does not handle: barriers that flags make redundant, scalar code that is folded by `canonicalize` (`x * 1`).
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.context import Context
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.loop_bounds import constant_index


class Cleanup(ModulePass):
    """Remove scalar code and barriers that are not needed."""

    name = "npu-isa-cleanup"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                clean_up(kernel)


def clean_up(kernel: tile.KernelOp) -> None:
    """Clean up a kernel in place."""
    _Scalars(kernel.body.block).visit(kernel.body.block)
    erase_dead_scalars(kernel.body.block)
    erase_idle_barriers(kernel.body.block)


_DIVISIONS = (arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp, arith.RemUIOp, arith.RemSIOp)


def is_scalar(op: Operation) -> bool:
    """Whether an op is one of the scalar unit, without effects and free to stand anywhere."""
    if isinstance(op, _DIVISIONS):
        return bool(constant_index(op.rhs))
    if isinstance(op, affine.ApplyOp | npu_isa.BufferOp | npu_isa.SlotOp | npu_isa.AtOp):
        return True
    return op.name.startswith("arith.") and len(op.results) == 1


class _Scalars:
    """Moves scalar ops out to the block that their operands are from, and merges those that compute the same."""

    def __init__(self, entry: Block):
        self._entry = entry
        self._depth = {entry: 0}
        self._known: dict[Hashable, SSAValue] = {}
        self._last_constant: Operation | None = None

    def visit(self, block: Block) -> None:
        """Process a block and all in it."""
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self._depth[inner] = self._depth[block] + 1
                    self.visit(inner)
            if is_scalar(op):
                self._place(op, block)

    def _place(self, op: Operation, block: Block) -> None:
        home = max((_block_of(v) for v in op.operands), key=self._depth.__getitem__, default=self._entry)
        key = (home, op.name, op.operands, tuple(op.properties.items()), op.results[0].type)
        known = self._known.get(key)
        if known is not None:
            op.results[0].replace_all_uses_with(known)
            block.erase_op(op)
            return
        self._known[key] = op.results[0]
        if isinstance(op, arith.ConstantOp):
            self._hoist_constant(op)
        elif home is not block:
            around = home.find_ancestor_op_in_block(op)
            assert around is not None
            op.detach()
            home.insert_op_before(op, around)

    def _hoist_constant(self, op: arith.ConstantOp) -> None:
        """Constants stand first in the kernel, in the order in which they were found."""
        if self._last_constant is None:
            first = self._entry.first_op
            if first is not op:
                assert first is not None
                op.detach()
                self._entry.insert_op_before(op, first)
        elif self._last_constant.next_op is not op:
            op.detach()
            self._entry.insert_op_after(op, self._last_constant)
        self._last_constant = op


def _block_of(value: SSAValue) -> Block:
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return block


def erase_dead_scalars(block: Block) -> None:
    """Erase scalar ops, and loops and conditionals without instructions, that nothing uses."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                erase_dead_scalars(inner)
        unused = not any(result.uses for result in op.results)
        if unused and (is_scalar(op) or (isinstance(op, scf.ForOp | scf.IfOp) and _is_empty(op))):
            block.erase_op(op)


def _is_empty(op: Operation) -> bool:
    return all(isinstance(inner, scf.YieldOp) for r in op.regions for b in r.blocks for inner in b.ops)


def erase_idle_barriers(entry: Block) -> None:
    """Erase barriers in front of which no instruction was issued since the pipes were idle."""
    _erase_after_idle(entry, idle=True)
    for op in reversed(list(entry.ops)):
        if isinstance(op, npu_isa.BarrierOp):
            entry.erase_op(op)
        elif not is_scalar(op) and not isinstance(op, tile.ReturnOp):
            break


def _erase_after_idle(block: Block, idle: bool) -> bool:
    """Whether all pipes are idle at the end of the block, if `idle` says so for its start."""
    for op in list(block.ops):
        if isinstance(op, npu_isa.BarrierOp):
            if idle:
                block.erase_op(op)
            idle = True
        elif op.regions:
            # The start of a loop's body is reached from its end, too: nothing is known there.
            ends = [_erase_after_idle(b, idle=False) for r in op.regions for b in r.blocks]
            idle = idle and all(ends) and not _has_instructions(op)
        elif isinstance(op, npu_isa.Instruction | npu_isa.FlagInstruction):
            idle = False
    return idle


def _has_instructions(op: Operation) -> bool:
    return any(isinstance(o, npu_isa.Instruction | npu_isa.FlagInstruction) for o in op.walk())
