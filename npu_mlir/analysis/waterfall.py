"""The way from ideal cycles to the cycles of a launch, in steps that sum to them exactly.

A launch takes at least what its busiest pipe has to do. Which pipes there are to think of comes in an order, from what
the model asks for to what the machine does beside it, and each step is by how much the maximum rises with the next one:

    ideal          the multiply-accumulates of the model at the peak of the cube
    padding        the cube, in whole steps, and what it takes to start them
    weights_hbm    loads of weights that are not in L2 (all weights on a machine without), and waits for prefetches
    weights_l2     loads of all weights
    activations    all loads and stores
    on_chip        loads from L1 to L0A and L0B
    epilogues      the fixpipe; the vector unit in kernels with a product
    vector         the vector unit in kernels without one
    launch         the fixed cost of a launch
    fill           before the first and behind the last work of the busiest pipe
    left           the rest: pipes that wait for each other
    hidden         negative: what ran beside the launches before and after, if those may overlap

This is climbed twice. Once with the least that each pipe has to do, as the bound has it (`analysis/bound.py`): these
rises, the launch and the fill sum to the bound, and are proven. Then on from there with what each pipe did: these
rises belong to this program (operands that are loaded again, more and smaller transfers, longer sequences of vector
instructions, tiles that don't fill the cube), and are attributed. What no pipe did is left.

Of a launch that is a section of a program, which begins while others are still running, no fill is proven; and what
its pipes have to do takes less than so long where it goes on beside other sections, which `hidden` gives back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

STEPS = {
    "ideal": "MACs at the peak of the cube",
    "padding": "whole steps, and their starts",
    "weights_hbm": "loads of weights from HBM",
    "weights_l2": "loads of weights from L2",
    "activations": "all loads and stores",
    "on_chip": "loads from L1 to L0",
    "epilogues": "what follows products",
    "vector": "vector algorithms",
    "launch": "fixed cost of launches",
    "fill": "before and behind the work",
    "left": "the busiest pipe waits",
    "hidden": "beside other launches",
}
"""The steps in their order, and what each is in a few words."""


@dataclass(frozen=True)
class Occupancies:
    """Cycles of each pipe in one launch, at least or of a program."""

    cube: int = 0
    weights_hbm: int = 0
    """Of loads of weights, those from HBM."""
    weights: int = 0
    """Of all loads of weights."""
    gm: int = 0
    """Of the busier of loads from and stores to GM."""
    on_chip: int = 0
    fixpipe: int = 0
    vector: int = 0


@dataclass(frozen=True)
class LaunchTime:
    """What the waterfall of one launch follows from, in cycles."""

    cycles: int
    ideal: int
    launch: int
    """The fixed cost, part of `cycles`."""
    least: Occupancies | None
    """Of any program; None if that is not known."""
    own: Occupancies
    """Of the program that ran."""
    ends: int
    """Before the first and behind the last work of the busiest pipe of that program."""
    product: bool
    """Whether it multiplies on the cube."""
    bound: int | None = None
    """The proven lower bound of a launch by itself; None if there is none."""


@dataclass(frozen=True)
class Step:
    """One step, of one launch or of several together."""

    name: str
    """A key of `STEPS`."""
    cycles: int
    proven: int
    """Of these, those of the bound. Of `fill` it can be more than `cycles`, where the busiest pipe is another one than
    that of the bound and has less before and behind it."""


def waterfall(time: LaunchTime) -> list[Step]:
    """The steps of one launch, one for each entry of `STEPS`; their cycles sum to those of the launch, and if it has a
    bound, what is proven sums to the bound."""
    proven = dict.fromkeys(STEPS, 0)
    least = time.ideal
    if time.least is not None:
        proven |= {"ideal": time.ideal, "launch": time.launch}
        least = _climb(proven, time.ideal, time.least, time.product)
    if time.bound is not None:
        proven["fill"] = time.bound - time.launch - least
    own = {**proven, "ideal": time.ideal, "launch": time.launch}
    busiest = _climb(own, least, time.own, time.product)
    rest = time.cycles - time.launch - busiest
    own["fill"] = max(0, min(time.ends, rest))
    own["left"] = max(0, rest - own["fill"])
    own["hidden"] = min(0, rest)
    return [Step(name, own[name], proven[name]) for name in STEPS]


def _climb(steps: dict[str, int], level: int, pipes: Occupancies, product: bool) -> int:
    """Add by how much the maximum rises with each step; returns what it has become."""
    rungs = {
        "padding": pipes.cube,
        "weights_hbm": pipes.weights_hbm,
        "weights_l2": pipes.weights,
        "activations": pipes.gm,
        "on_chip": pipes.on_chip,
        "epilogues": max(pipes.fixpipe, pipes.vector if product else 0),
        "vector": pipes.vector,
    }
    for name, cycles in rungs.items():
        steps[name] += max(0, cycles - level)
        level = max(level, cycles)
    return level


def together(waterfalls: Iterable[list[Step]]) -> list[Step]:
    """The waterfall of several launches: the sum of each step."""
    sums = {name: [0, 0] for name in STEPS}
    for steps in waterfalls:
        for step in steps:
            sums[step.name][0] += step.cycles
            sums[step.name][1] += step.proven
    return [Step(name, cycles, proven) for name, (cycles, proven) in sums.items()]
