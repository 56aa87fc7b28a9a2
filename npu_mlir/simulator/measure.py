"""The cycles of one kernel that is not in its program yet: what the choice of schedules compares."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import MemRefType, ModuleOp

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.dialects.tile import element_bits, storage_bytes
from npu_mlir.passes import load_pass
from npu_mlir.passes.phases import PIPELINE
from npu_mlir.simulator.program.blocks import Blocks, Heat
from npu_mlir.simulator.run import Run
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.remarks import muted
from npu_mlir.targets.target import Target


def kernel_cycles(kernel: tile.KernelOp, target: Target, cold: frozenset[int] | None) -> int | None:
    """Lower a kernel whose memory is planned, alone in a module, and time it; None if it can't be lowered.

    `cold` are the arguments that come from HBM on a machine with L2, None for all.
    """
    module = kernel.parent_op()
    assert isinstance(module, ModuleOp)
    context = make_context()
    try:
        with muted():
            for name in PIPELINE[-1].passes:
                load_pass(name)().apply(context, module)
        (kernel,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
        run = Run(target, check=False, alone=True, l2="off")
        arguments = [None] * len(kernel.body.block.args)
        executed = run.execute(
            Blocks(kernel, target), arguments, values=False, heat=_heat(kernel, target, cold)
        )
    except UserError:
        return None
    return executed.end + target.latencies["launch"]


def _heat(kernel: tile.KernelOp, target: Target, cold: frozenset[int] | None) -> Heat | None:
    """Where the arguments are when the kernel begins; None on a machine without L2."""
    if not target.l2:
        return None
    types = [arg.type for arg in kernel.body.block.args]
    sizes = [
        storage_bytes(prod(t.get_shape()), element_bits(t.element_type))
        for t in types
        if isinstance(t, MemRefType)
    ]
    first_result = len(types) - kernel.outputs
    ready = tuple(None if i < first_result and (cold is None or i in cold) else 0 for i in range(len(types)))
    return Heat(ready, sum(sizes) <= target.l2["size"])
