"""What the scheduling passes know of an untiled kernel."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation

from npu_mlir.analysis.dims import Classes, Compute, dim_classes
from npu_mlir.diagnostics import UserError
from npu_mlir.dialects import tile
from npu_mlir.passes.tile.compute import describe


@dataclass(frozen=True)
class Kernel:
    """An untiled kernel: its operations as plain data, their dimension classes, its stores."""

    op: tile.KernelOp
    computes: dict[Operation, Compute]
    classes: Classes
    stores: list[tile.StoreOp]


def read_kernel(op: tile.KernelOp) -> Kernel:
    """Read a kernel as `tile-form-kernels` makes it."""
    block = op.body.block
    computes: dict[Operation, Compute] = {
        g: describe(g, row_starts=True) for g in block.ops if isinstance(g, linalg.GenericOp)
    }
    classes = dim_classes(list(computes.values()))
    if classes is None:
        raise UserError("the operations of the kernel do not form one loop nest", loc=op)
    stores = [s for s in block.ops if isinstance(s, tile.StoreOp)]
    for store in stores:
        if not isinstance(store.value.owner, linalg.GenericOp):
            raise UserError("a kernel stores results of linalg.generic only", loc=store)
    return Kernel(op, computes, classes, stores)
