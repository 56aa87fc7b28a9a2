"""The least that the launches of a run have to do, from what the compiler has noted on their kernels.

`npu.bound` has the least occupancy of each pipe with GM as a flat memory, `npu.reads` what each operand adds to loads
from L2 or HBM; which of the two a launch found it in, the simulation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from npu_mlir.analysis.bound import Bound, LaunchWork, NetworkBounds, Reads, l2_bound, network_bounds
from npu_mlir.analysis.gm_addresses import GmAddresses
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import KernelOp, LaunchOp, ProgramOp, YieldOp, element_bits, storage_bytes
from npu_mlir.simulator import Launch, SimulationResult
from npu_mlir.targets.target import Target


def least_of(kernel: KernelOp) -> dict[str, int]:
    """The entries of `npu.bound`."""
    entries = kernel.attributes.get("npu.bound")
    if not isinstance(entries, DictionaryAttr):
        return {}
    return {name: v.value.data for name, v in entries.data.items() if isinstance(v, IntegerAttr)}


class LaunchBounds:
    """The bounds of launches, by the operands that they find in L2."""

    def __init__(self, module: ModuleOp, target: Target, simulation: SimulationResult):
        self.target = target
        self.simulation = simulation
        self.l2 = simulation.l2 != "off"
        self.module = module
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
        self._reads: dict[str, Reads | None] = {}

    def cycles(self, launch: Launch) -> int | None:
        """The cycles that a launch takes at least; None for kernels that were not compiled by us."""
        found = self.of(launch)
        return None if found is None else found.cycles

    def of(self, launch: Launch) -> Bound | None:
        """The bound of a launch; None for kernels that were not compiled by us."""
        entries = least_of(self.kernels[launch.kernel])
        pipes = {name: cycles for name, cycles in entries.items() if name in set(Pipe)}
        if "cycles" not in entries:
            return None
        reads = self.reads(launch.kernel) if self.l2 else None
        if reads is None:
            return None if self.l2 else Bound(entries["cycles"], pipes)
        return l2_bound(pipes, reads, [operand.hot for operand in launch.operands], self.target)

    def reads(self, kernel: str) -> Reads | None:
        """What a kernel reads, if it says so."""
        if kernel not in self._reads:
            self._reads[kernel] = noted_reads(self.kernels[kernel])
        return self._reads[kernel]

    def least(self, number: int) -> int | None:
        """The cycles that a launch takes at least; of a section of a program, which may overlap with those around it,
        what its busiest pipe has to do. None for kernels that were not compiled by us."""
        found = self.of(self.simulation.launches[number])
        if found is None:
            return None
        if not self.linked[number]:
            return found.cycles
        # The launch is part of the first section.
        first = number == 0 or self.programs[number - 1] != self.programs[number]
        launch = self.target.latencies["launch"] if first else 0
        return launch + max(found.pipes.values(), default=0)

    @cached_property
    def linked(self) -> list[bool]:
        """Whether each launch is a section of a program, which may overlap with those around it."""
        return [program is not None for program in self.programs]

    @cached_property
    def programs(self) -> list[int | None]:
        """For each launch, the number of the program that it is a section of."""
        found: list[int | None] = []
        count, program = 0, None
        for op in GmAddresses(self.module).run(self.module):
            match op:
                case ProgramOp():
                    count, program = count + 1, count
                case YieldOp():
                    program = None
                case LaunchOp():
                    found.append(program)
                case _:
                    pass
        return found

    @cached_property
    def weights(self) -> list[tuple[int, ...]]:
        """The bytes of weights that each launch has as its operands, 0 for other tensors."""
        return [tuple(map(_weight_bytes, op.inputs)) for op in self._order]

    @cached_property
    def _order(self) -> list[LaunchOp]:
        order = GmAddresses(self.module).run(self.module)
        return [op for op in order if isinstance(op, LaunchOp)]

    def network(self) -> NetworkBounds | None:
        """The bounds of the whole run; None if a launch has none."""
        launches: list[LaunchWork] = []
        runs = zip(self.weights, self.programs, self.simulation.launches, strict=False)
        for weights, program, launch in runs:
            least = self.of(launch)
            if least is None:
                return None
            launches.append(replace(self._work(weights, launch, least), program=program))
        return network_bounds(launches, self.target, self.l2) if launches else None

    def _work(self, weights: Sequence[int], launch: Launch, least: Bound) -> LaunchWork:
        reads = self.reads(launch.kernel) if self.l2 else None
        if reads is None:
            return LaunchWork(least, sum(weights))
        own = [min(size, read) for size, read in zip(weights, reads.bytes)]
        first = found = 0
        for operand, size, read in zip(launch.operands, own, reads.bytes):
            if operand.reason == "cold: first use" or operand.prefetched:
                first += read
            if operand.hot and not operand.prefetched:
                found += size
        return LaunchWork(least, sum(own), first, found)


def noted_reads(kernel: KernelOp) -> Reads | None:
    """The entries of `npu.reads`; None for kernels without."""
    entries = kernel.attributes.get("npu.reads")
    if not isinstance(entries, DictionaryAttr):
        return None
    sizes, paths = [0] * len(kernel.body.block.args), [""] * len(kernel.body.block.args)
    around: dict[str, int] = {}
    for name, entry in entries.data.items():
        if isinstance(entry, DenseArrayBase):
            for number, size in enumerate(ints(entry)):
                if size:
                    sizes[number], paths[number] = size, name
        elif isinstance(entry, DictionaryAttr):
            around = {pipe: v.value.data for pipe, v in entry.data.items() if isinstance(v, IntegerAttr)}
    fixed = entries.data.get("fixed")
    return Reads(
        tuple(sizes), tuple(paths), around, fixed.value.data if isinstance(fixed, IntegerAttr) else 0
    )


def _weight_bytes(value: SSAValue) -> int:
    """The bytes of a weight, which may be seen under another shape; 0 for other tensors."""
    owner = value.owner
    while isinstance(owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        owner = owner.operands[0].owner
    if not isinstance(owner, Operation) or owner.name != "graph.weight":
        return 0
    type_ = owner.results[0].type
    assert isinstance(type_, TensorType)
    return storage_bytes(prod(type_.get_shape()), element_bits(type_.element_type))
