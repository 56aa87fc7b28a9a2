"""Which operands of a kernel are expected to come from HBM, on a machine with L2, while schedules are chosen.

What lies where is known only when GM is planned, so this is a guess by the host function, with every tensor in a place
of its own: what `analysis.residency` finds in L2 when launch follows launch, and weights brought there before each
launch but the first, as `tile-prefetch-weights` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npu_mlir.analysis.gm_addresses import tensor_bytes, viewed
from npu_mlir.analysis.residency import SECTOR, GmTouch, Residency
from npu_mlir.dialects import tile
from npu_mlir.passes.tile.prefetch_weights import WEIGHT
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

WINDOW = 16 * 2**20
"""Bytes of a weight that is prefetched, at most: the default of `tile-prefetch-weights`."""

Cold = frozenset[int]
"""The numbers of arguments."""


def cold_operands(module: ModuleOp, target: Target) -> Mapping[str, Cold]:
    """The arguments of each kernel that is launched which come from HBM in all of its launches; nothing of a machine
    without L2."""
    found: dict[str, Cold] = {}
    for function in module.ops if target.l2 else ():
        if isinstance(function, FuncOp):
            guess = _Guess(int(target.l2["size"]))
            for launch in function.walk():
                if isinstance(launch, tile.LaunchOp):
                    name, cold = launch.kernel.string_value(), guess.launch(launch)
                    found[name] = found[name] & cold if name in found else cold
    return found


class _Guess:
    """What is in L2 as launches of a function follow each other."""

    def __init__(self, size: int):
        self.residency = Residency(size)
        self.places: dict[SSAValue, range] = {}
        self.end = 0
        self.first = True

    def launch(self, launch: tile.LaunchOp) -> Cold:
        """The operands of the next launch that are not there."""
        for value in launch.inputs if not self.first else ():
            base = viewed(value)
            if (
                isinstance(base.owner, Operation)
                and base.owner.name == WEIGHT
                and tensor_bytes(base) <= WINDOW
            ):
                self.residency.launch([self._touch(base)])
        self.first = False
        touches = [self._touch(viewed(value)) for value in (*launch.inputs, *launch.results)]
        findings, _ = self.residency.launch(touches)
        return frozenset(i for i, finding in enumerate(findings[: len(launch.inputs)]) if not finding.hot)

    def _touch(self, value: SSAValue) -> GmTouch:
        if value not in self.places:
            size = tensor_bytes(value)
            self.places[value] = range(self.end, self.end + size)
            self.end = round_up(self.end + size, SECTOR)
        return GmTouch(self.places[value])
