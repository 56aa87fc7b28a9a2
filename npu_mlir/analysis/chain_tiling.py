"""Tile sizes of two contractions in a chain: the second sums over what the vector unit makes of the first, in L1.

    h[m, j] = f(sum over k of x[m, k] * w[k, j])        first:  m, j free
    y[m, n] = sum over j of h[m, j] * v[j, n]           second: sums the *linked* loop j; m is *shared*

Loops over the shared dims are outermost. Inside, `h` is made tile by tile along j and stays in L1 whole; then the
second contraction goes over its own free dims and sums chunks of j. Or (`per_tile`) the accumulators of the second are
made first, and each tile of `h` is summed as soon as it is there. What fits the memories is scored, in cycles:

    stage = the busiest of M, MTE1, FIX, V and MTE3, a part of the others, and one tile on its way through all of them
    chain = outer tiles * (first stage + second stage), or the loads from GM if they take longer, and fill and drain

With one tile in a stage, nothing of it overlaps: M waits for V and V for M. Rates are the target's; what is loaded
again comes from L2 on a target that has one, as in `analysis.tiling`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.tiling import ACCUMULATOR, Product, balanced, ceil_div, divisor, fill, panel_bytes
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

Sizes = Mapping[int, int]
"""Sizes by dim."""


@dataclass(frozen=True)
class Chain:
    """Two contractions, over the same numbers of dims: `link` are the dims that the second sums and the first has free,
    `made` the operand of the second that they lie in: 0
    is that with its rows. What the first stores are the bytes of an element in L1."""

    first: Product
    second: Product
    link: tuple[int, ...]
    made: int

    @property
    def shared(self) -> tuple[int, ...]:
        """The free dims of the first that the second has as well, batch dims first."""
        return tuple(d for d in (*self.first.batch, *self.first.m, *self.first.n) if d not in self.link)

    @property
    def own(self) -> tuple[int, ...]:
        """The free dims that the second alone has."""
        free = (*self.second.batch, *self.second.m, *self.second.n)
        return tuple(d for d in free if d not in self.shared)


@dataclass(frozen=True)
class ChainTiling:
    """Sizes per dim: of tiles (of linked dims, those of the first), of chunks that are summed in L0; of the linked dims
    in the second, `chunks` (in L1, in L0). Loop order, slots, the estimated cycles."""

    tile: tuple[int, ...]
    inner: tuple[int, ...]
    chunks: Mapping[int, tuple[int, int]]
    per_tile: bool
    order: tuple[int, ...]
    l0c_slots: int
    link_slots: int
    keep: tuple[str, ...]
    """The operands that stay in L1, as a schedule names them: `a`, of the first."""
    cycles: float


def chain_tilings(chain: Chain, target: Target) -> list[ChainTiling]:
    """The best of the tilings considered that fit L0A, L0B, L0C and L1, the best first; none if nothing does."""
    search = _Search(chain, target)
    return [search.tiling(found) for found in nsmallest(_KEPT, search.run(), key=lambda f: f.cycles)]


def divisors(extent: int, unit: int) -> list[int]:
    """The divisors of an extent that are multiples of a unit, the largest first, and the extent itself; all of them if
    that leaves no other.

    >>> divisors(96, 16), divisors(197, 16), divisors(20, 16)
    ([96, 48, 32, 16], [197, 1], [20, 10, 5, 4, 2, 1])
    """
    every = [d for d in range(extent, 0, -1) if extent % d == 0]
    rounded = [d for d in every if d % unit == 0 or d == extent]
    return rounded if len(rounded) > 1 else every


def maps_over(
    maps: Sequence[Sequence[Linear]], numbers: Sequence[int], count: int
) -> tuple[tuple[Linear, ...], ...]:
    """Maps over the loops of an operation as maps over `count` dims, of which loop i is number `numbers[i]`."""
    place = {number: loop for loop, number in enumerate(numbers)}

    def over(e: Linear) -> Linear:
        return Linear(tuple(e.coefficients[place[d]] if d in place else 0 for d in range(count)), e.constant)

    return tuple(tuple(over(e) for e in map_) for map_ in maps)


@dataclass(frozen=True)
class _Stage:
    """A tiling of one of the contractions: chunks in L1 and in L0 and its tile, by dim. What it takes: bytes of L1 and
    of one accumulator, cycles of MTE2, bytes that are loaded again and once, cycles of the other pipes; the number of
    its tiles, and the bytes of its first chunks."""

    chunk: Sizes
    inner: Sizes
    tile: Sizes
    l1: int
    accumulator: int
    loads: float
    repeated: float
    footprint: float
    work: Mapping[str, float]
    tiles: int
    panels: int
    keeps: bool = False
    """The operand in L0A stays in L1 while the loops run that it does not depend on."""


@dataclass(frozen=True)
class _Found:
    """Two stages that fit together: the loops over shared tiles, slots in L0C and of what is between them."""

    first: _Stage
    second: _Stage
    outer: tuple[int, ...]
    slots: int
    copies: int
    cycles: float
    per_tile: bool = False


class _Search:
    """Enumerates the tilings of one chain on one target."""

    def __init__(self, chain: Chain, target: Target):
        self.chain, self.target = chain, target
        self.count = len(chain.first.dims)
        self.extents = [d.extent for d in chain.first.dims]
        self.step = target.cube.tile(chain.first.element)
        self.whole = {d for d in range(self.count) if chain.first.dims[d].whole}
        self.fixed: Sizes = dict.fromkeys((*chain.first.batch, *chain.second.batch), 1) | {
            d: self.extents[d] for d in self.whole
        }

    def run(self) -> Iterator[_Found]:
        """The tilings that fit."""
        chain = self.chain
        counts = 0
        for rows in reversed(self._filled([d for d in chain.shared if d not in self.fixed], self.step.m)):
            if counts == _ROWS:
                return
            shared = {**self.fixed, **rows}
            outer = tuple(d for d in chain.shared if shared[d] < self.extents[d])
            own = self._filled([d for d in chain.own if d not in self.fixed], self.step.n)
            links = [{**shared, **tile} for tile in self._linked()]
            alone = not outer
            firsts = _largest(self._firsts(tile, outer, alone=alone) for tile in links)
            tiles = sorted(own, key=lambda tile: -math.prod(tile.values()))
            seconds = _largest(self._seconds({**shared, **tile}, outer, alone=alone) for tile in tiles)
            found = [
                f
                for first in firsts
                for second in seconds
                for f in self._joined(first, second, outer, alone=alone)
            ]
            found += self._per_tile(shared, links, outer)
            counts += bool(found)
            yield from found

    # ---- sizes

    def _filled(self, dims: Sequence[int], side: int) -> list[Sizes]:
        found = dict.fromkeys(fill([self.extents[d] for d in dims], side * 2**i, side) for i in range(12))
        return [dict(zip(dims, sizes, strict=True)) for sizes in found]

    def _linked(self) -> list[Sizes]:
        """Tiles of the linked dims in the first contraction: they divide them."""
        whole = {d: self.extents[d] for d in self.chain.link}
        free = [d for d in self.chain.link if d not in self.whole]
        if len(free) != 1:
            return [whole]
        sizes = divisors(self.extents[free[0]], self.step.n)
        fitting = [s for s in sizes if s * self.step.m * ACCUMULATOR <= self.target.l0c]
        return [{**whole, free[0]: size} for size in fitting or sizes[-1:]]

    def _sides(self, p: Product, tile: Sizes) -> tuple[int, int]:
        """Rows and columns of the accumulators, padded."""
        rows, columns = (math.prod(tile[d] for d in dims) for dims in (p.m, p.n))
        return round_up(rows, self.step.m), round_up(columns, self.step.n)

    def _room(self, p: Product, tile: Sizes, *, alone: bool) -> int:
        """How many elements of the sum are in L0 at once, in two slots: alone, or beside those of the other."""
        parts = 2 if alone else 4
        sides = zip((self.target.l0a, self.target.l0b), self._sides(p, tile), strict=True)
        room = min(memory * 8 // (parts * p.bits * side) for memory, side in sides)
        return room - room % self.step.k

    # ---- stages

    def _firsts(self, tile: Sizes, outer: Sequence[int], *, alone: bool) -> Iterator[_Stage]:
        """The first contraction, with smaller and smaller chunks in L1."""
        p = self.chain.first
        room = self._room(p, tile, alone=alone)
        if not room or math.prod(self._sides(p, tile)) * ACCUMULATOR > self.target.l0c:
            return
        inner: dict[int, int] = {}
        for d in reversed(p.k):
            extent, most = self.extents[d], max(1, room)
            inner[d] = divisor(extent, most) if p.dims[d].exact else balanced(extent, most, self.step.k)
            room //= inner[d]
        loops = (*outer, *(d for d in self.chain.link if tile[d] < self.extents[d]))
        chunk = {d: round_up(self.extents[d], inner[d]) for d in p.k}
        last = p.k[-1]
        count = ceil_div(self.extents[last], inner[last])
        while count:
            size = count * inner[last]
            if count == 1 or not p.dims[last].exact or self.extents[last] % size == 0:
                sizes = {**chunk, last: size}
                yield self._stage(p, tile, sizes, inner, loops, None)
                if size < self.extents[last] and self._may_keep():
                    yield self._stage(p, tile, sizes, inner, loops, None, keeps=True)
            count //= 2

    def _may_keep(self) -> bool:
        """Whether the operand of the first in L0A may stay: the second has none from GM there."""
        return self.chain.made == 0

    def _seconds(self, tile: Sizes, outer: Sequence[int], *, alone: bool) -> Iterator[_Stage]:
        """The second contraction, with smaller and smaller chunks in L1 of the dims that it sums, which they divide."""
        p = self.chain.second
        room = self._room(p, tile, alone=alone)
        if math.prod(self._sides(p, tile)) * ACCUMULATOR > self.target.l0c:
            return
        inner = self._divided({d: self.extents[d] for d in p.k}, room)
        if inner is None:
            return
        loops = (*outer, *(d for d in self.chain.own if tile[d] < self.extents[d]))
        chunk = {d: self.extents[d] for d in p.k}
        last = p.k[-1]
        found = 0
        for size in divisors(self.extents[last], inner[last]):
            if size % inner[last] == 0:
                stage = self._stage(p, tile, {**chunk, last: size}, inner, loops, self.chain.made)
                if stage.l1 <= self.target.l1 // 4 or size == inner[last]:
                    yield stage
                    found += 1
            if found == 2:
                return

    def _divided(self, sizes: Sizes, room: int) -> Sizes | None:
        """Chunks in L0 of the dims that the second sums, dividing these sizes; None if a step is too much."""
        inner: dict[int, int] = {}
        for d in reversed(self.chain.second.k):
            size = next((s for s in divisors(sizes[d], self.step.k) if s <= max(1, room)), None)
            if size is None or not room:
                return None
            inner[d] = size
            room //= size
        return inner

    def _stage(
        self,
        p: Product,
        tile: Sizes,
        chunk: Sizes,
        inner: Sizes,
        loops: Sequence[int],
        made: int | None,
        *,
        keeps: bool = False,
    ) -> _Stage:
        """What one of the contractions takes with these sizes; operand `made` is in L1 already, with `keeps` the one in
        L0A stays there."""
        target = self.target
        sizes = {**dict.fromkeys(range(self.count), 1), **tile, **chunk}
        rate = target.rates["gm_l1"]
        around = (*loops, *(d for d in p.k if chunk[d] < self.extents[d]))
        l1 = 2 * round_up(ACCUMULATOR * math.prod(tile[d] for d in p.n), 32)
        loads = repeated = footprint = 0.0
        panels = 0
        for operand, map_ in enumerate(p.maps):
            if operand == made:
                continue
            size = panel_bytes(map_, [sizes[d] for d in range(self.count)], p.bits)
            depends = {d for e in map_ for d in e.dims()}
            inside = [i for i, d in enumerate(around) if d in depends]
            enclosing = around[: inside[-1] + 1] if inside else ()
            times = self._trips(sizes, enclosing)
            once = self._trips(sizes, [d for d in enclosing if d in depends])
            if keeps and operand == 0:
                l1 += self._trips(sizes, p.k) * size
                times = once
            else:
                l1 += (2 if enclosing else 1) * size
            loads += times * (size / rate + target.latencies["dma"])
            repeated += (times - once) * size
            footprint += once * size
            panels += size
        tiles = self._trips(sizes, loops)
        rows, columns = (math.prod(tile[d] for d in dims) for dims in (p.m, p.n))
        loads += tiles * rows * round_up(columns * p.loaded, 32) / target.rates["gm_ub"]
        work = self._work(p, tile, chunk, inner, tiles, "ub_gm" if made is not None else "ub_l1")
        accumulator = math.prod(self._sides(p, tile)) * ACCUMULATOR
        return _Stage(
            chunk, inner, tile, l1, accumulator, loads, repeated, footprint, work, tiles, panels, keeps
        )

    def _trips(self, sizes: Sizes, dims: Sequence[int]) -> int:
        return math.prod(ceil_div(self.extents[d], sizes[d]) for d in dims)

    def _work(
        self, p: Product, tile: Sizes, chunk: Sizes, inner: Sizes, tiles: int, out: str
    ) -> dict[str, float]:
        """The cycles of each pipe but MTE2, over all tiles."""
        target, step = self.target, self.step
        m, n = self._sides(p, tile)
        k0 = round_up(math.prod(inner[d] for d in p.k), step.k)
        chunks = math.prod(ceil_div(self.extents[d], chunk[d]) * ceil_div(chunk[d], inner[d]) for d in p.k)
        steps = (m // step.m) * (n // step.n) * (k0 // step.k)
        l0 = (m * k0 / target.rates["l1_l0a"] + k0 * n / target.rates["l1_l0b"]) * p.bits / 8
        rows, columns = (math.prod(tile[d] for d in dims) for dims in (p.m, p.n))
        return {
            "M": tiles * chunks * (steps * target.cube_steps[p.element][1] + target.latencies["mmad"]),
            "MTE1": tiles * chunks * (l0 + 2 * target.latencies["l0_load"]),
            "FIX": tiles * rows * columns * ACCUMULATOR / target.rates["l0c_ub"],
            "V": tiles * ceil_div(p.epilogue * rows * columns, target.vector_bytes),
            "MTE3": tiles * rows * round_up(columns * p.stored, 32) / target.rates[out],
        }

    # ---- chains

    def _link_bytes(self, tile: Sizes, chunk: Sizes) -> int:
        """Bytes in L1 of what the second reads of the first."""
        sizes = {**dict.fromkeys(range(self.count), 1), **tile, **chunk}
        p = self.chain.second
        return panel_bytes(p.maps[self.chain.made], [sizes[d] for d in range(self.count)], p.bits)

    def _joined(
        self, first: _Stage, second: _Stage, outer: tuple[int, ...], *, alone: bool
    ) -> Iterator[_Found]:
        """Both stages, what is between them whole in L1; `alone` if they follow each other once, so that buffers of the
        first make room for those of the second."""
        target, both = self.target, max if alone else sum
        link = self._link_bytes(second.tile, {d: self.extents[d] for d in self.chain.link})
        accumulators, panels = both((first.accumulator, second.accumulator)), both((first.l1, second.l1))
        slots = min(2, target.l0c // accumulators)
        copies = min(2 if outer else 1, (target.l1 - panels) // link)
        if slots < 1 or copies < 1:
            return
        outside = self._trips({**first.tile}, outer)
        total = sum(self._in_turn(stage, outside, slots) for stage in (first, second))
        yield _Found(first, second, outer, slots, copies, self._cycles(first, second, total))

    def _per_tile(self, shared: Sizes, links: Sequence[Sizes], outer: tuple[int, ...]) -> Iterator[_Found]:
        """Both stages, what is between them made and summed tile by tile: the second has its accumulators for that
        long, so its own dims are whole."""
        chain, target = self.chain, self.target
        own = {d: self.extents[d] for d in chain.own if d not in self.fixed}
        if self.whole & set(chain.link) or any(
            self.fixed.get(d, 0) == 1 < self.extents[d] for d in chain.own
        ):
            return
        tile = {**shared, **own}
        if math.prod(self._sides(chain.second, tile)) * ACCUMULATOR > target.l0c:
            return
        for link in links:
            chunk = {d: link[d] for d in chain.link}
            if all(self.extents[d] == size for d, size in chunk.items()):
                continue
            inner = self._divided(chunk, self._room(chain.second, tile, alone=False))
            if inner is None:
                continue
            second = self._stage(chain.second, tile, chunk, inner, outer, chain.made)
            for first in self._firsts(link, outer, alone=False):
                size = self._link_bytes(tile, chunk)
                slots = min(2, target.l0c // (first.accumulator + second.accumulator))
                copies = min(2, (target.l1 - first.l1 - second.l1) // size)
                if slots >= 1 and copies >= 1:
                    # In each of the inner tiles all wait for each other.
                    total = sum(first.work.values()) + sum(second.work.values()) + 2 * _TILE * first.tiles
                    cycles = self._cycles(first, second, total)
                    yield _Found(first, second, outer, slots, copies, cycles, per_tile=True)

    def _in_turn(self, stage: _Stage, outside: int, slots: int) -> float:
        """Cycles of a stage that waits for the other one in each of the outer tiles."""
        inside = max(1, stage.tiles // outside)
        total = outside * _overlapped({pipe: c / outside for pipe, c in stage.work.items()}, inside)
        exposed = (inside - 1) / inside * stage.work["FIX"] if slots < 2 else 0.0
        return total + exposed + _TILE * stage.tiles

    def _cycles(self, first: _Stage, second: _Stage, total: float) -> float:
        """Cycles of a chain, of which all pipes but MTE2 take `total`."""
        target, rate = self.target, self.target.rates["gm_l1"]
        loads = first.loads + second.loads
        if first.footprint + second.footprint <= target.l2.get("size", 0):
            again = first.repeated + second.repeated
            loads -= again * (1 / rate - 1 / max(rate, target.l2["rate"]))
        lead = target.latencies["gm"] + first.panels / rate
        drain = sum(second.work[pipe] for pipe in ("FIX", "V", "MTE3")) / second.tiles
        return max(total, loads) + _FRICTION * min(total, loads) + lead + drain

    def tiling(self, found: _Found) -> ChainTiling:
        """What was found, as a tiling."""
        first, second = found.first, found.second
        sizes = {**dict.fromkeys(range(self.count), 1), **second.tile, **first.tile}
        return ChainTiling(
            tuple({**sizes, **first.chunk}[d] for d in range(self.count)),
            tuple({**sizes, **first.inner}[d] for d in range(self.count)),
            {d: (second.chunk[d], second.inner[d]) for d in self.chain.second.k},
            found.per_tile,
            (*found.outer, *(d for d in self.chain.own if sizes[d] < self.extents[d])),
            found.slots,
            found.copies,
            ("a",) if first.keeps else (),
            found.cycles,
        )


_KEPT = 16
"""Tilings that are returned."""


def _largest(stages: Iterable[Iterator[_Stage]]) -> list[_Stage]:
    """The stages of the first few tiles that have any: smaller ones have more to load."""
    fitting = (found for tile in stages if (found := list(tile)))
    return [stage for found in islice(fitting, _TILES) for stage in found]


_ROWS = 4
"""Sizes of the shared dims that are considered, from the largest that fits."""

_TILES = 8
"""Sizes of a tile that are considered, from the largest that fits."""


def _overlapped(work: Mapping[str, float], tiles: int) -> float:
    """Cycles of a stage of so many tiles, whose pipes work on different tiles at the same time."""
    most = max(work.values())
    serial = [work[pipe] for pipe in ("M", "FIX", "V", "MTE3")]
    return most + _FRICTION * (sum(work.values()) - most) + (sum(serial) - max(serial)) / max(1, tiles)


_FRICTION = 0.04
"""Part of the work of the pipes that are not the slowest that is not hidden behind it: fitted by eye, not measured."""

_TILE = 40
"""Cycles lost at each change of tile, where pipes wait for each other: fitted by eye, not measured."""
