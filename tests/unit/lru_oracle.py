"""The oracle for L2: an exact LRU cache of sectors of 32 bytes, which sees every load and store of a run.

It shares nothing with `npu_mlir.analysis.residency`: it knows no launches, operands or loops, only bytes in the order
in which instructions touch them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa import MoveWork
from npu_mlir.simulator.codegen.generator import generate
from npu_mlir.simulator.codegen.sink import Entry
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.simulator.program.gm_box import GmBox, box_of
from npu_mlir.simulator.timing.called_timing import CalledTiming
from npu_mlir.simulator.timing.pipes import Clock
from npu_mlir.targets.cost import l2_cost
from npu_mlir.targets.target import Target

SECTOR = 32


@dataclass
class SectorCache:
    """What is in L2, and bytes loaded so far that were there, and that were not."""

    size: int
    sectors: OrderedDict[int, None] = field(default_factory=OrderedDict[int, None])
    hits: int = 0
    misses: int = 0

    def touch(self, sectors: Sequence[int]) -> int:
        """Touch these one after the other; how many of them were there."""
        hits = 0
        for sector in sectors:
            if sector in self.sectors:
                hits += 1
                self.sectors.move_to_end(sector)
            else:
                self.sectors[sector] = None
                if len(self.sectors) * SECTOR > self.size:
                    self.sectors.popitem(last=False)
        return hits


def sectors_of(box: GmBox, base: int, origin: Sequence[int]) -> list[int]:
    """The sectors that a box touches in an array at the address `base`."""
    window = box.window(origin)
    if window is None:
        return []
    _, slices = window
    offsets = np.full((1,), base + sum(o * p for o, p in zip(origin, box.pitch)), np.int64)
    for part, stride in zip(slices, box.strides):
        offsets = (offsets[:, None] + np.arange(part.start, part.stop) * stride).ravel()
    ends = offsets + box.dtype.itemsize - 1
    return list(dict.fromkeys(np.concatenate([offsets, ends]) // SECTOR))


class LruTiming(CalledTiming):
    """Time as the pipes have it, with loads that take as long as what the cache has and has not of their bytes."""

    needs_addresses = True

    def __init__(self, clock: Clock, cache: SectorCache, target: Target):
        super().__init__(clock.cores[0])
        self.cache = cache
        self.target = target

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        if isinstance(entry.op, npu_isa.GmLoad):
            self._call(self._load(entry.op), *entry.operands[:-1])
        elif isinstance(entry.op, npu_isa.GmStore):
            self._call(self._store(entry.op), *entry.operands[1:])
        else:
            cost = self.costs[entry.op]
            self._call(self.instruction_step(entry.op), *map(str, cost))

    def _load(self, op: npu_isa.GmLoad) -> Callable[..., int]:
        pipe, box, work, cache = self.clock.pipes[op.PIPE], box_of(op), op.work(), self.cache
        hit, miss = (l2_cost(work, self.target, found) for found in (True, False))
        rates = max(self.target.rates[work.path], self.target.l2["rate"]), self.target.rates[work.path]

        def step(now: int, base: int, *indices: int) -> int:
            sectors = sectors_of(box, base, box.origin(*indices))
            hits = cache.touch(sectors)
            found = work.bytes if not sectors else work.bytes * hits // len(sectors)
            cache.hits += found
            cache.misses += work.bytes - found
            cycles = math.ceil(found / rates[0] + (work.bytes - found) / rates[1])
            latency = hit.latency if found == work.bytes else miss.latency
            return pipe.run(now, self.target.latencies["dma"] + cycles, latency)

        return step

    def _store(self, op: npu_isa.GmStore) -> Callable[..., int]:
        pipe, box, work, cache = self.clock.pipes[op.PIPE], box_of(op), op.work(), self.cache
        cost = l2_cost(work, self.target, True)
        assert isinstance(work, MoveWork)

        def step(now: int, base: int, *indices: int) -> int:
            cache.touch(sectors_of(box, base, box.origin(*indices)))
            return pipe.run(now, *cost)

        return step


def lru_launch(blocks: Blocks, places: Sequence[range], cache: SectorCache) -> int:
    """The cycles of a launch of a kernel whose arguments lie at these places."""
    clock = Clock(blocks.target)
    generated = generate(blocks, [LruTiming(clock, cache, blocks.target)])
    now, _ = generated.run([place.start for place in places], 10**9)
    return clock.cores[0].idle(now) + blocks.target.latencies["launch"]
