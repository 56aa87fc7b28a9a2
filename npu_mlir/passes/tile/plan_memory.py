"""Give every buffer of a kernel an address, and the results of launches their places in the GM arena.

A buffer lives from its first access to its last, seen from the block that holds all its accesses: what is used inside
a loop there lives as long as the loop. A buffer with slots lives throughout the outermost loop around its accesses,
since iterations overlap. Lifetimes that do not overlap may share addresses. What launches in loops of the host make has
slots in the arena (see `arena.py`).

Before:

    %a = tile.alloc {slots = 2} : memref<16x64xf32, ub>
    %y = tile.launch @k(%x) : (tensor<64xf32>) -> tensor<64xf32>

After:

    %a = tile.alloc {slots = 2, address = 0} : memref<16x64xf32, ub>
    %y = tile.launch @k(%x) {result_offsets = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>

An overflow is an error that lists the largest buffers that live at the fullest moment.
Does not handle: buffers inside loops (`tile-double-buffer` moves them out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.memory import Lifetime, plan
from npu_mlir.analysis.placed_parts import Layouts, row_major
from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa.gm import memref_strides
from npu_mlir.dialects.tile import Space, space_of
from npu_mlir.passes.tile.arena import plan_results
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class PlanMemory(ModulePass):
    """Assign addresses to on-chip buffers and offsets to results in GM."""

    name = "tile-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        _check_calls(op)
        reused = {
            kernel.sym_name.data: kernel.reused
            for kernel in op.ops
            if isinstance(kernel, tile.KernelOp) and kernel.reuses is not None
        }
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                plan_kernel(kernel, target)
            elif isinstance(kernel, FuncOp) and not kernel.is_declaration:
                _check_layouts(kernel, op)
                plan_results(kernel, reused)


def _check_layouts(function: FuncOp, module: ModuleOp) -> None:
    """Raise for a launch with a tensor that has other gaps in GM than its kernel was made for."""
    kernels = {kernel.sym_name.data: kernel for kernel in module.ops if isinstance(kernel, tile.KernelOp)}
    layouts = Layouts()
    for launch in [op for op in function.walk() if isinstance(op, tile.LaunchOp)]:
        kernel = kernels.get(launch.kernel.string_value())
        if kernel is None:
            continue
        for number, (value, arg) in enumerate(
            zip((*launch.inputs, *launch.results), kernel.body.block.args, strict=False)
        ):
            assert isinstance(arg.type, MemRefType)
            strides = layouts.of(value) or row_major(arg.type.get_shape())
            if tuple(memref_strides(arg.type)) != strides:
                raise UserError(
                    f"argument {number} of '@{kernel.sym_name.data}' has the strides {memref_strides(arg.type)}, "
                    f"and the tensor lies in place with {list(strides)}",
                    loc=launch,
                )


def _check_calls(module: ModuleOp) -> None:
    """Raise for a call of a function with launches: its results would lie where those of the caller do."""
    launching = {
        function.sym_name.data
        for function in module.ops
        if isinstance(function, FuncOp) and any(isinstance(op, tile.LaunchOp) for op in function.walk())
    }
    for call in module.walk():
        if isinstance(call, CallOp) and call.callee.string_value() in launching:
            raise UserError("the function that is called launches kernels: run inline-calls first", loc=call)


@dataclass(frozen=True)
class Overflow:
    """A memory that is too small: what a kernel needs in it, and the buffers alive at the fullest moment."""

    space: Space
    needed: int
    capacity: int
    buffers: list[tile.AllocOp]


def plan_kernel(kernel: tile.KernelOp, target: Target) -> None:
    """Assign the addresses of one kernel. Raises UserError if a memory is too small."""
    overflow = try_plan(kernel, target)
    if overflow is not None:
        raise overflow_error(kernel, overflow, target)


def overflow_error(kernel: tile.KernelOp, overflow: Overflow, target: Target) -> UserError:
    """The message for a kernel that does not fit, with its largest buffers."""
    largest = sorted(overflow.buffers, key=lambda a: -_total(a, target))[:5]
    notes = [
        f"{_total(a, target)} bytes: {a.buffer.type}" + (f", {a.num_slots} slots" if a.num_slots > 1 else "")
        for a in largest
    ]
    return UserError(
        f"kernel '@{kernel.sym_name.data}' needs {overflow.needed} bytes of {overflow.space}, "
        f"'{target.name}' has {overflow.capacity}; the largest buffers alive at once are listed",
        notes=notes,
        loc=kernel,
    )


def try_plan(kernel: tile.KernelOp, target: Target) -> Overflow | None:
    """Assign the addresses of one kernel; the first memory that is too small, if one is."""
    top = kernel.body.block
    numbers = _number(top)
    allocs = [op for op in top.ops if isinstance(op, tile.AllocOp)]
    for space in Space:
        mine = [a for a in allocs if space_of(a.buffer.type) is space]
        if not mine:
            continue
        lifetimes = [_lifetime(a, top, numbers, target) for a in mine]
        addresses, used = plan(lifetimes, target.capacity(space))
        if used > target.capacity(space):
            return Overflow(space, used, target.capacity(space), _alive_at_peak(mine, lifetimes))
        for alloc, address in zip(mine, addresses, strict=True):
            alloc.properties["address"] = IntegerAttr(address, i64)
    return None


def _total(alloc: tile.AllocOp, target: Target) -> int:
    return alloc.num_slots * alloc.slot_bytes(target.cube)


def _alive_at_peak(allocs: Sequence[tile.AllocOp], lifetimes: Sequence[Lifetime]) -> list[tile.AllocOp]:
    def alive(time: int) -> list[int]:
        return [i for i, life in enumerate(lifetimes) if life.start <= time <= life.end]

    peak = max((life.start for life in lifetimes), key=lambda t: sum(lifetimes[i].size for i in alive(t)))
    return [allocs[i] for i in alive(peak)]


def _number(top: Block) -> dict[Operation, tuple[int, int]]:
    """(first, last) number of every operation and what is in it, in program order."""
    numbers: dict[Operation, tuple[int, int]] = {}
    counter = 0

    def visit(block: Block) -> None:
        nonlocal counter
        for op in block.ops:
            first = counter
            counter += 1
            if isinstance(op, scf.ForOp):
                visit(op.body.block)
            numbers[op] = (first, counter - 1)

    visit(top)
    return numbers


def _lifetime(
    alloc: tile.AllocOp, top: Block, numbers: dict[Operation, tuple[int, int]], target: Target
) -> Lifetime:
    users = _users(alloc.buffer)
    size = _total(alloc, target)
    if not users:
        return Lifetime(size, *numbers[alloc])
    home = top if alloc.num_slots > 1 else _common_block(users, top)
    ancestors = [cast("Operation", home.find_ancestor_op_in_block(u)) for u in users]
    return Lifetime(size, min(numbers[a][0] for a in ancestors), max(numbers[a][1] for a in ancestors))


def _users(buffer: SSAValue) -> list[Operation]:
    users: list[Operation] = []
    for use in buffer.uses:
        users += (
            _users(use.operation.results[0]) if isinstance(use.operation, tile.SlotOp) else [use.operation]
        )
    return users


def _common_block(ops: Sequence[Operation], top: Block) -> Block:
    """The innermost block that holds all operations."""
    block = cast("Block", ops[0].parent)
    while block is not top and any(block.find_ancestor_op_in_block(op) is None for op in ops):
        block = cast("Block", cast("Operation", block.parent_op()).parent)
    return block
