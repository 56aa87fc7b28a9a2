"""Whether two kernels with a contraction each should be one, in which the second reads from L1 what the first has
become.

Both ways are estimated as schedules are ranked, in cycles: the best tiling of the chain, which is measured where
something measures kernels, and the best ones of the kernels apart with what another section costs. So a chain is formed
where it has less to do, not where it is possible: rows of the first that leave little room in L1 make the weights of
both be loaded more often.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from math import prod
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, Region

from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.placed_parts import Layouts
from npu_mlir.analysis.structured.nest import factor_type
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa import CubeWork
from npu_mlir.dialects.tile import cube_type
from npu_mlir.ir.structural_keys import StructuralKeys
from npu_mlir.passes import load_pass
from npu_mlir.passes.tile.candidates import candidates
from npu_mlir.passes.tile.init_accumulators import start_from_biases
from npu_mlir.passes.tile.kernel import read_kernel
from npu_mlir.passes.tile.kernel_rules import Objection, above_of, is_legal
from npu_mlir.passes.tile.measuring import present_measure
from npu_mlir.passes.tile.operand_heat import Cold
from npu_mlir.passes.tile.outline import build, outline_key, outline_of
from npu_mlir.passes.tile.trial import default_passes, try_schedule
from npu_mlir.support.locations import located
from npu_mlir.support.remarks import RemarkKind, remark
from npu_mlir.targets.cost import cube_cycles
from npu_mlir.targets.target import Target

Group = Sequence[LoopNestOp]


_GAIN = 0.98
"""Part of the cycles apart that a chain has to stay below: what is expected of those is not closer than that."""

_FULL = 1.08
"""Cycles apart, as a multiple of those of the cube, below which there is nothing for a chain to gain."""

_SECTION = 0.1
"""Part of the cycles of a launch after which another section of a program begins, roughly."""

_PLAUSIBLE = 1.1
"""Part of the cycles apart below which the formula has to see a chain that is measured."""

_TRIED = 8
"""Schedules of a chain that are tried before its formula is taken as it is."""


class ChainPolicy(StrEnum):
    """Where contractions become chains: where that is estimated to be faster, wherever it is possible, or nowhere."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass
class ChainChoice:
    """Judges groups with two contractions, and remembers what equal kernels take."""

    target: Target
    policy: ChainPolicy = ChainPolicy.AUTO
    category: str = "tile-form-kernels"
    computes: dict[Hashable, LoopNestOp] = field(default_factory=dict[Hashable, LoopNestOp])
    """All operations that may be in kernels, by their keys."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Of the module, which names the target."""
    measures: bool = True
    """Whether chains that look plausible are measured."""
    _measures: dict[Hashable, float | None] = field(default_factory=dict[Hashable, "float | None"])
    _cycles: dict[Hashable, float | None] = field(default_factory=dict[Hashable, "float | None"])
    _keys: StructuralKeys = field(default_factory=StructuralKeys)

    def pays(self, merged: Group, parts: Sequence[Group]) -> bool:
        """Whether a group is better than its parts; one that joins no contractions always is."""
        return self.objection(merged, parts, explain=True) is None

    def objection(self, merged: Group, parts: Sequence[Group], *, explain: bool = False) -> Objection | None:
        """Why the parts should stay apart, if they should; with `explain`, a remark if they should not."""
        joined = [part for part in parts if _contractions(part)]
        if _contractions(merged) < 2 or len(joined) < 2:
            return None
        last = next(op for op in reversed(merged) if op.contraction)
        inside = {op.key for op in merged}
        for key in above_of(merged, last):
            if not {use.operation for use in cast("linalg.GenericOp", key).results[0].uses} <= inside:
                return Objection("chain-ends", "what the one has become is read by other kernels as well")
        if self.policy is ChainPolicy.NEVER:
            return Objection("chain-asked", "contractions in one kernel were turned off")
        apart = [self._estimate(part) for part in joined]
        launch = self.target.latencies["launch"]
        sum_ = sum(cycles for cycles in apart if cycles is not None) + (len(joined) - 1) * _SECTION * launch
        if self.policy is ChainPolicy.AUTO and None not in apart:
            cube = sum(self._cube(op) for op in merged if op.contraction)
            if sum_ - len(joined) * launch < _FULL * cube:
                reason = f"the two kernels take {sum_:.0f} cycles, {cube} of them the cube's"
                return Objection("chain-pays", reason)
        together = self._estimate(merged)
        if together is None:
            return Objection("chain-fits", "no tiles of both contractions fit the memories together")
        if self.policy is ChainPolicy.AUTO and None not in apart:
            if together < _PLAUSIBLE * sum_:
                together = self._measured(merged) or together
            if together > _GAIN * sum_:
                reason = f"one kernel would take {together:.0f} cycles, the two {sum_:.0f}"
                return Objection("chain-pays", reason)
        if explain:
            remark(
                RemarkKind.PASSED,
                self.category,
                "chain",
                cast("Operation", last.key),
                "what this contraction sums stays in L1",
                reason=f"{together:.0f} cycles, {sum_:.0f} in kernels of their own",
            )
        return None

    def _cube(self, op: LoopNestOp) -> int:
        """Cycles of the cube for a contraction as one whole tile: no schedule takes fewer."""
        roles = contraction_roles(op)
        assert roles is not None
        m, n, k = (prod(op.extents[d] for d in dims) for dims in (roles.m, roles.n, roles.k))
        work = CubeWork(m, k, n, cube_type(factor_type(op)))
        return prod(op.extents[d] for d in roles.batch) * cube_cycles(work, self.target)

    def _kernel(self, group: Group) -> tuple[tile.KernelOp, Hashable, Cold]:
        """The kernel of these operations and what follows them alone, element by element; what tells it from others;
        its arguments that no kernel has made, so that they come from HBM."""
        outline = outline_of([*group, *self._behind(group)], Layouts())
        with located(outline.root):
            kernel = tile.KernelOp("k", Region(build(outline)), len(outline.outputs))
        # As they will be when schedules are chosen.
        start_from_biases(kernel)
        made = (linalg.GenericOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp)
        cold = frozenset(i for i, v in enumerate(outline.sources) if not isinstance(v.owner, made))
        return kernel, (outline_key(outline, self._keys), cold), cold

    def _estimate(self, group: Group) -> float | None:
        """Cycles that are expected of the best schedule of a kernel of these operations, None if no tiles fit."""
        kernel, key, cold = self._kernel(group)
        if key not in self._cycles:
            first = next(iter(candidates(read_kernel(kernel), self.target, cold)), None)
            self._cycles[key] = None if first is None else first.cycles
        return self._cycles[key]

    def _measured(self, group: Group) -> float | None:
        """Cycles of the first schedule that fits, None if nobody measures or none of a few does."""
        measure = present_measure() if self.measures else None
        if measure is None:
            return None
        kernel, key, cold = self._kernel(group)
        if key not in self._measures:
            passes = [load_pass(name)() for name in default_passes()]
            ModuleOp([kernel], self.attributes)
            self._measures[key] = None
            for candidate in islice(candidates(read_kernel(kernel), self.target, cold), _TRIED):
                trial = try_schedule(kernel, candidate.schedule, self.target, passes)
                if trial.overflow is None:
                    self._measures[key] = measure(trial.kernel, self.target, cold)
                    break
        return self._measures[key]

    def _behind(self, group: Group) -> list[LoopNestOp]:
        """The operations that will join a group: a product is stored as what they make of it, not as f32."""
        found: list[LoopNestOp] = []
        while True:
            last = [*group, *found][-1]
            users = {use.operation for use in cast("linalg.GenericOp", last.key).results[0].uses}
            user = self.computes.get(users.pop()) if len(users) == 1 else None
            if user is None or user.contraction or any(user.reduction):
                return found
            if not is_legal([*group, *found, user], self.target):
                return found
            found.append(user)


def _contractions(group: Group) -> int:
    return sum(op.contraction for op in group)
