"""The way from ideal cycles to cycles, of a run and of each of its kernels: `analysis/waterfall.py` on what the bounds
and the attribution of its launches say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npu_mlir.analysis.bound import Bound
from npu_mlir.analysis.waterfall import LaunchTime, Occupancies, Step, together, waterfall
from npu_mlir.report.launch_bounds import LaunchBounds
from npu_mlir.simulator import Launch, SimulationResult
from npu_mlir.simulator.attribution.attribution import Attribution, PipeTime
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class KernelWaterfall:
    """The steps of all launches of one kernel together."""

    kernel: str
    busiest: str
    """The pipe that does the most; of launches that differ, in the most cycles."""
    steps: list[Step]
    beside: dict[str, int]
    """The critical paths by cause, but for the work of the busiest pipe and the launch: what its fill, its drain and
    what is left come from. Most cycles first."""


@dataclass(frozen=True)
class Waterfall:
    """The steps of a run: the sums of those of its kernels."""

    steps: list[Step]
    kernels: list[KernelWaterfall]


def waterfall_of(
    simulation: SimulationResult, bounds: LaunchBounds, peak: float, macs: Mapping[str, int]
) -> Waterfall | None:
    """The waterfall of a run whose kernels have `macs` in all their launches; None if it was not explained."""
    stats = {kernel.name: kernel for kernel in simulation.kernels}
    parts: dict[str, list[list[Step]]] = {name: [] for name in stats}
    busiest: dict[str, Counter[str]] = {name: Counter() for name in stats}
    beside: dict[str, Counter[str]] = {name: Counter() for name in stats}
    runs = zip(simulation.launches, bounds.weights, bounds.linked, strict=True)
    for launch, weights, linked in runs:
        kernel = stats[launch.kernel]
        attribution = kernel.variants[launch.variant].attribution
        if attribution is None:
            return None
        ideal = int(macs[launch.kernel] / kernel.launches / peak) if peak else 0
        parts[launch.kernel].append(waterfall(_time(launch, ideal, weights, linked, bounds, attribution)))
        pipe = _busiest(attribution)
        busiest[launch.kernel][pipe] += launch.cycles
        for cause, cycles in attribution.critical.items():
            if cause not in (f"busy {pipe}", "launch"):
                beside[launch.kernel][cause] += cycles
    kernels = [
        KernelWaterfall(
            name, busiest[name].most_common(1)[0][0], together(steps), dict(beside[name].most_common())
        )
        for name, steps in parts.items()
        if steps
    ]
    return Waterfall(together(kernel.steps for kernel in kernels), kernels)


def _busiest(attribution: Attribution) -> str:
    return max(
        (pipe for pipe in attribution.pipes if pipe != "S"), key=lambda p: _held(attribution.pipes.get(p))
    )


def _held(pipe: PipeTime | None) -> int:
    """Cycles in which a pipe has work to do."""
    return 0 if pipe is None else pipe.busy + pipe.prefetch + pipe.fill


def _time(
    launch: Launch,
    ideal: int,
    weights: Sequence[int],
    linked: bool,
    bounds: LaunchBounds,
    attribution: Attribution,
) -> LaunchTime:
    """What one launch has to do at least, and did."""
    pipes = attribution.pipes
    busiest = pipes[_busiest(attribution)]
    least = bounds.of(launch)
    cube = least.pipes.get("M", 0) if least is not None else _held(pipes.get("M"))
    return LaunchTime(
        launch.cycles,
        # In types that the cube takes faster than those that the peak is of, it is done before.
        min(ideal, cube) if cube else ideal,
        pipes["M"].launch,
        _least(launch, weights, bounds, least),
        _own(launch, weights, bounds, attribution),
        busiest.first + busiest.last,
        _held(pipes.get("M")) > 0,
        None if linked or least is None else least.cycles,
    )


def _least(
    launch: Launch, weights: Sequence[int], bounds: LaunchBounds, least: Bound | None
) -> Occupancies | None:
    if least is None:
        return None
    reads = bounds.reads(launch.kernel)
    far = near = 0.0
    for number, size in enumerate(weights):
        if size:
            read = min(size, reads.bytes[number]) if reads is not None else size
            hot = launch.operands[number].hot
            far += 0 if hot else read / _rate(bounds, launch.kernel, number, hot)
            near += read / _rate(bounds, launch.kernel, number, hot) if hot else 0
    pipes = least.pipes
    loads = pipes.get("MTE2", 0)
    return Occupancies(
        pipes.get("M", 0),
        min(loads, math.ceil(far)),
        min(loads, math.ceil(far + near)),
        max(loads, pipes.get("MTE3", 0), _stores(bounds.target, pipes.get("FIX", 0))),
        pipes.get("MTE1", 0),
        pipes.get("FIX", 0),
        pipes.get("V", 0),
    )


def _own(
    launch: Launch, weights: Sequence[int], bounds: LaunchBounds, attribution: Attribution
) -> Occupancies:
    held = {pipe: _held(time) for pipe, time in attribution.pipes.items()}
    waits = attribution.pipes["MTE2"].prefetch
    far, near = float(waits), 0.0
    for number, size in enumerate(weights):
        if size:
            operand = launch.operands[number]
            far += operand.misses / _rate(bounds, launch.kernel, number, False)
            near += operand.hits / _rate(bounds, launch.kernel, number, True)
    loads, fix = held["MTE2"], held.get("FIX", 0)
    return Occupancies(
        held["M"],
        min(loads, math.ceil(far)),
        min(loads, math.ceil(far + near)),
        max(loads, held["MTE3"], _stores(bounds.target, fix)),
        held["MTE1"],
        fix,
        held["V"],
    )


def _rate(bounds: LaunchBounds, kernel: str, number: int, hot: bool) -> float:
    """Bytes a cycle at which an operand is loaded."""
    reads = bounds.reads(kernel)
    path = (reads.paths[number] if reads is not None else "") or "gm_l1"
    rate = bounds.target.rates[path]
    return max(rate, bounds.target.l2["rate"]) if hot and bounds.l2 else rate


def _stores(target: Target, fix: int) -> int:
    """What the fixpipe does is storing on a machine where it can't reach UB."""
    return 0 if "l0c_ub" in target.rates else fix
