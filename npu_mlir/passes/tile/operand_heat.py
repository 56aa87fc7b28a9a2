"""Which operands of a kernel are expected to come from HBM, on a machine with L2, while schedules are chosen.

What lies where is known only when GM is planned, so this is a guess by the host function: inputs of the model are in
HBM, and so are the weights of the first launch, as nothing could bring them to L2 before; the results of other launches
and all other weights are in L2.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from npu_mlir.analysis.gm_addresses import viewed
from npu_mlir.dialects import tile

Cold = frozenset[int]
"""The numbers of arguments."""


def cold_operands(module: ModuleOp) -> Mapping[str, Cold]:
    """The arguments of each kernel that is launched which come from HBM in all of its launches."""
    found: dict[str, Cold] = {}
    for function in module.ops:
        if not isinstance(function, FuncOp):
            continue
        first = True
        for launch in function.walk():
            if isinstance(launch, tile.LaunchOp):
                cold = frozenset(i for i, v in enumerate(launch.inputs) if first or _is_input(viewed(v)))
                name = launch.kernel.string_value()
                found[name] = found[name] & cold if name in found else cold
                first = False
    return found


def _is_input(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Block) and isinstance(owner.parent_op(), FuncOp)
