"""Link launches that follow each other into programs, which the core runs without coming to rest in between.

A program takes in as many launches as follow each other: views, loops of launches and prefetches between them are part
of it, weights and constants are defined before it. Whatever the host computes ends it. A kernel that is launched in a
program gets a `tile.boundary` in front, from which on it waits for what ran before.

Before:

    %w0 = graph.weight @w0
    %y = tile.launch @k0(%x, %w0)
    %v = tensor.collapse_shape %y
    %w1 = graph.weight @w1
    %z = tile.launch @k1(%v, %w1)

After:

    %w0 = graph.weight @w0
    %w1 = graph.weight @w1
    %z = tile.program -> ... {
      %y = tile.launch @k0(%x, %w0)
      %v = tensor.collapse_shape %y
      %0 = tile.launch @k1(%v, %w1)
      tile.yield %0
    }

Leaves alone: single launches, and with `enable=false` everything.
Does not handle: kernels of instructions, whose flags order them already (an error); programs across iterations of a
loop in which the host computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile.programs import is_step
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.loop_bounds import times_run
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located


@dataclass(frozen=True)
class LinkKernels(ModulePass):
    """Wrap launches that follow each other in `tile.program`."""

    name = "tile-link-kernels"
    enable: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.enable:
            return
        kernels = {k.sym_name.data: k for k in op.ops if isinstance(k, tile.KernelOp)}
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                link(body_of(function))
                for program in [p for p in function.walk() if isinstance(p, tile.ProgramOp)]:
                    for launch in program.walk():
                        if isinstance(launch, tile.LaunchOp):
                            add_boundary(kernels[launch.kernel.string_value()])


def link(block: Block) -> None:
    """Make programs of the launches of a block of the host function."""
    stretch: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, tile.ProgramOp) or not _may_link(op):
            _wrap(stretch)
            stretch = []
            if not isinstance(op, tile.ProgramOp | tile.HostOp):
                for region in op.regions:
                    for inner in region.blocks:
                        link(inner)
        elif stretch or _has_launch(op):
            stretch.append(op)
    _wrap(stretch)


def _may_link(op: Operation) -> bool:
    """Whether an op may be part of a program."""
    if op.name in ("scf.yield", "tile.yield"):
        return False
    return all(is_step(inner) for inner in op.walk())


def _has_launch(op: Operation) -> bool:
    return any(isinstance(inner, tile.LaunchOp) for inner in op.walk())


def _wrap(stretch: Sequence[Operation]) -> None:
    """Make a program of ops that follow each other, as far as the last launch."""
    launching = [i for i, op in enumerate(stretch) if _has_launch(op)]
    if not launching:
        return
    first, block = stretch[0], cast("Block", stretch[0].parent)
    launches = [op for top in stretch for op in top.walk() if isinstance(op, tile.LaunchOp)]
    around = times_run(first)
    if sum(times_run(op) for op in launches) < 2 * around:
        return
    body = Block()
    inside: set[Operation] = set()
    for op in stretch[: launching[-1] + 1]:
        if op.operands or op.regions or isinstance(op, tile.ReserveOp | tile.LaunchOp):
            inside.add(op)
        elif op is not first:
            # What depends on nothing, weights and constants, comes before the program.
            op.detach()
            block.insert_op_before(op, first)
    after = stretch[launching[-1]].next_op
    assert after is not None
    for op in stretch:
        if op in inside:
            op.detach()
            body.add_op(op)
    handed = [r for op in body.ops for r in op.results if _is_used_outside(r, body)]
    with located(launches[0]):
        program = tile.ProgramOp([r.type for r in handed], Region(body))
        for value, result in zip(handed, program.results, strict=True):
            result.name_hint, value.name_hint = value.name_hint, None
            value.replace_uses_with_if(
                result, lambda use: body.find_ancestor_op_in_block(use.operation) is None
            )
        body.add_op(tile.YieldOp(handed))
    block.insert_op_before(program, after)


def _is_used_outside(value: SSAValue, body: Block) -> bool:
    return any(body.find_ancestor_op_in_block(use.operation) is None for use in value.uses)


def add_boundary(kernel: tile.KernelOp) -> None:
    """Let a kernel wait for what ran before it, if it doesn't yet."""
    top = kernel.body.block
    for op in top.ops:
        if isinstance(op, tile.BoundaryOp):
            return
        if isinstance(op, npu_isa.Instruction | npu_isa.FlagInstruction):
            raise UserError(
                f"'@{kernel.sym_name.data}' consists of instructions: kernels are linked before "
                "convert-tile-to-npu-isa",
                loc=kernel,
            )
    first = next(op for op in top.ops if not isinstance(op, tile.AllocOp | arith.ConstantOp))
    with located(first):
        top.insert_op_before(tile.BoundaryOp(), first)
