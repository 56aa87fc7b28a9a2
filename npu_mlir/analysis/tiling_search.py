"""The search for tile sizes of a contraction: enumerate what fits the memories, score it, return the best first.

    sizes       tiles of the result by halves and thirds, balanced; chunks of K by halves, in L0 and in L1
    residency   what depends on outer loops alone stays in L1 as a panel; chunks stay where `keep` says so
    bound       of each: the work of the busiest pipe, the first loads, and the last tile on its way out
    time        of those with the lowest bounds, by `analysis.pipeline_timing`, until bounds are above the best time
    variants    of the best: more slots in L1, smaller pieces through UB

What is considered depends on the machine only in that it has to fit. On one with L2, operands come from there or from
HBM, and what is loaded again comes from L2 if all fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, prod
from operator import mul

from npu_mlir.analysis.pipeline_timing import (
    Epilogue,
    OperandLoads,
    Pipeline,
    kept_chunks,
    loads_in,
    pipeline_cycles,
)
from npu_mlir.analysis.tiling import (
    ACCUMULATOR,
    Product,
    balanced,
    ceil_div,
    divisor,
    fill,
    fill_divisors,
    panel_bytes,
)
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

TIMED = 40
"""Tilings whose time is computed, at most; variants of the best come on top."""

SURE = 8
"""Tilings whose time is computed in any case."""

VARIED = 4
"""Tilings of which variants are tried."""

DEEPER = (3, 4)
"""Numbers of slots in L1 that are tried beside two."""

WORTH = 0.997
"""What a variant that takes more memory must bring the time down to."""

NEAR = 1.12
"""Tiles of the result whose bound is at most so many times the lowest are considered."""

ROW_SLOTS = 3
"""Slots of the row that accumulators start from: its load comes before those of the operands of a tile, and should not
wait until the tile before last is multiplied."""

MOST_L0C = 4
"""Accumulators at once."""

EVENTS = 8
"""Chunks that stay in L1 without sharing the ids of others, and slots of these, at most: so many ids two pipes have."""

NAMES = ("a", "b")
KEEPS = ((), ("a",), ("b",), ("a", "b"))


@dataclass(frozen=True)
class Tiling:
    """Sizes per dim (of tiles, of chunks in L0, of pieces through UB), the loop order, slots, the estimated cycles."""

    tile: tuple[int, ...]
    inner: tuple[int, ...]
    piece: tuple[int, ...]
    order: tuple[int, ...]
    l0c_slots: int
    keep: tuple[str, ...]
    """The operands whose chunks stay in L1: `a` of rows, `b` of columns."""
    l1_slots: tuple[int, int]
    """Of chunks or panels of the operands, where chunks do not stay."""
    row_slots: int
    """Of the row that accumulators start from; 0 without one."""
    cycles: float


def tilings(product: Product, target: Target, cold: tuple[bool, bool] = (True, True)) -> list[Tiling]:
    """Tilings that fit L0A, L0B, L0C and L1, the best first. `cold` says of each operand whether it comes from HBM on a
    machine with L2."""
    return sorted(_Search(product, target, cold).run(), key=lambda tiling: tiling.cycles)


def sizes_up_to(product: Product, dims: Sequence[int], most: int, side: int) -> tuple[int, ...]:
    """Sizes of dims with a product of at most `most`, multiples of `side` where it can be; whole dims as they are."""
    free = fill([1 if product.dims[d].whole else product.dims[d].extent for d in dims], most, side)
    return tuple(
        product.dims[d].extent if product.dims[d].whole else size for d, size in zip(dims, free, strict=True)
    )


def stripes(product: Product, dims: Sequence[int], side: int, most: int) -> list[tuple[int, ...]]:
    """Sizes of the dims that are one side of the cube wide, with a product of at most `most`: as high as all of K
    leaves room for in two slots of L0, if there are such.

    A row of an image that has to be whole may be too long for that; then K is cut in chunks, each of which is padded.
    """
    extents = [product.dims[d].extent for d in dims]
    long = [i for i, extent in enumerate(extents) if extent > side]
    if not long or most < side or any(product.dims[d].whole for d in dims):
        return []
    across = long[-1]
    height = fill([1 if i == across else extent for i, extent in enumerate(extents)], most // side)
    return [tuple(side if i == across else size if i < across else 1 for i, size in enumerate(height))]


def l1_chunks(product: Product, k0: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The parts of K to bring to L1, from all of it to one chunk of L0; multiples of the chunk."""
    sizes = [product.dims[d].extent for d in product.k]
    yield tuple(round_up(s, c) for s, c in zip(sizes, k0, strict=True))
    for position in reversed(range(len(k0))):
        count = ceil_div(sizes[position], k0[position])
        divisible = product.dims[product.k[position]].exact
        while count > 1:
            count = count // 2
            size = count * k0[position]
            if divisible and sizes[position] % size:
                continue
            sizes[position] = size
            yield tuple(round_up(s, c) for s, c in zip(sizes, k0, strict=True))
        sizes[position] = k0[position]


@dataclass(frozen=True)
class _Side:
    """Tile sizes of the rows or columns of the result."""

    sizes: tuple[int, ...]
    padded: int
    """Elements in L0, padding included."""
    elements: int
    trips: int


@dataclass(frozen=True)
class _Sizes:
    """Tiles of rows and columns, and the chunks of K in L1 and in L0."""

    m: _Side
    n: _Side
    k: tuple[int, ...]
    k0: tuple[int, ...]


@dataclass(frozen=True)
class _Loops:
    """The loops over tiles, the outermost first: iterations, which of them each operand depends on; chunks of K."""

    trips: tuple[int, ...]
    depends: list[tuple[bool, ...]]
    chunks: int


@dataclass(frozen=True)
class _Bound:
    """Cycles that tilings with the same tiles of the result take at least."""

    compute: float
    """Of the cube and of the pipe before it."""
    loaded: float
    """Of MTE2, for what goes to UB."""
    drain: float
    """From the last product to the end."""
    rest: float
    """Of the pipes behind the cube."""


@dataclass(frozen=True)
class _Draft:
    """A tiling without slots and pieces, and a bound of its cycles."""

    bound: float
    sizes: _Sizes
    tile: tuple[int, ...]
    order: tuple[int, ...]
    keep: tuple[str, ...]


class _Search:
    """The search for tilings of one product."""

    def __init__(self, product: Product, target: Target, cold: tuple[bool, bool]):
        self.p, self.target, self.cold = product, target, cold
        self.step = target.cube.tile(product.element)
        extents = [dim.extent for dim in product.dims]
        self.batches = prod(extents[d] for d in product.batch)
        self.depth = prod(extents[d] for d in product.k)
        self.depends = [{d for e in map_ for d in e.dims()} for map_ in product.maps]
        whole = sum(panel_bytes(map_, extents, product.bits) for map_ in product.maps)
        whole += prod(extents[d] for d in (*product.batch, *product.m, *product.n)) * product.stored
        rate = target.rates["gm_l1"]
        hit = max(rate, target.l2["rate"]) if target.l2 else rate
        fits = bool(target.l2) and whole <= target.l2["size"]
        self.rates = [(rate if is_cold else hit, hit if fits or not is_cold else rate) for is_cold in cold]
        """Bytes a cycle of each operand: when it is loaded first, and again."""
        self.latency = target.latencies["gm"]
        self.hit_latency = min(self.latency, int(target.l2["latency"])) if target.l2 else self.latency
        self._panels: dict[tuple[int, tuple[int, ...]], int] = {}

    def run(self) -> Iterator[Tiling]:
        """The tilings with the best bounds and their times, and variants of the best."""
        timed: list[tuple[Tiling, _Draft]] = []
        best = inf
        for draft in sorted(self._drafts(), key=lambda draft: draft.bound):
            if len(timed) >= TIMED or (draft.bound >= best and len(timed) >= SURE):
                break
            tiling = self._timed(draft)
            if tiling is not None:
                timed.append((tiling, draft))
                best = min(best, tiling.cycles)
        timed.sort(key=lambda entry: entry[0].cycles)
        yield from (tiling for tiling, _ in timed)
        for tiling, draft in timed[:VARIED]:
            yield from self._variants(tiling, draft)

    def _variants(self, best: Tiling, draft: _Draft) -> Iterator[Tiling]:
        """Better tilings with more slots and smaller pieces."""
        parts = 1
        for more in (2, 4):
            tiling = self._timed(draft, parts=more)
            if tiling is not None and tiling.cycles < best.cycles:
                parts, best = more, tiling
                yield tiling
        for slots in DEEPER:
            tiling = self._timed(draft, slots, parts)
            if tiling is not None and tiling.cycles < WORTH * best.cycles:
                best = tiling
                yield tiling

    # ---- what is considered

    def _drafts(self) -> Iterator[_Draft]:
        results = list(self._results())
        least = min((bound for _, _, bound in results), default=0)
        near = sorted((r for r in results if r[2] <= NEAR * least), key=lambda r: r[2])
        fitting = 0
        for m, n, _ in near:
            drafts = list(self._with_k(m, n, least))
            fitting += bool(drafts)
            yield from drafts
        # Large tiles may leave no room in L1 for even a little of K.
        for m, n, _ in (
            sorted((r for r in results if r not in near), key=lambda r: r[2]) if not fitting else ()
        ):
            yield from self._with_k(m, n, least)

    def _results(self) -> Iterator[tuple[_Side, _Side, float]]:
        """Tiles of the result that fit L0C, with a bound of the cycles of whatever has them."""
        for m in self._sides(self.p.m, self.step.m, self.target.l0a):
            for n in self._sides(self.p.n, self.step.n, self.target.l0b):
                if m.padded * n.padded * ACCUMULATOR <= self.target.l0c:
                    bound = self._bound(m, n, 1)
                    yield m, n, max(bound.compute + bound.drain, bound.rest)

    def _sides(self, dims: Sequence[int], side: int, capacity: int) -> list[_Side]:
        wanted = sorted({side * 2**i for i in range(12)} | {side * 3 * 2**i for i in range(11)})
        found = dict.fromkeys(sizes_up_to(self.p, dims, most, side) for most in wanted)
        k = round_up(self.depth, self.step.k)
        found |= dict.fromkeys(stripes(self.p, dims, side, capacity * 8 // (2 * self.p.bits * k)))
        return [
            _Side(
                sizes,
                round_up(prod(sizes), side),
                prod(sizes),
                prod(ceil_div(self.p.dims[d].extent, size) for d, size in zip(dims, sizes, strict=True)),
            )
            for sizes in found
        ]

    def _with_k(self, m: _Side, n: _Side, least: float) -> Iterator[_Draft]:
        """Choose the chunks of K for a tile of the result, where some tile has the bound `least`."""
        p, target = self.p, self.target
        most = min(target.l0a * 8 // (2 * p.bits * m.padded), target.l0b * 8 // (2 * p.bits * n.padded))
        most -= most % self.step.k
        # Single steps leave the least padding; chunks that are as wide as high may be fewer.
        units = sorted({self.step.k, round_up(self.step.m, self.step.k)})
        # A fixed series, so that more room adds chunks and takes none away.
        series = {self.step.k * factor * 2**i for factor in (1, 3) for i in range(12)} | {self.depth}
        parts = sorted((part for part in series if part <= most), reverse=True)
        found = False
        for part in parts or ([most] if most else []):
            # Even the largest chunk of L0 may be too much for L1, whose padded rows may take many times their bytes.
            sizes = dict.fromkeys(self._k_chunk(part, unit) for unit in units)
            for draft in self._with_chunks(m, n, sizes, NEAR * least if found else inf):
                found = True
                yield draft

    def _k_chunk(self, most: int, step: int) -> tuple[int, ...]:
        """The part of K in L0: innermost dims first, windows divided exactly."""
        chunk: list[int] = []
        for d in reversed(self.p.k):
            dim = self.p.dims[d]
            size = (
                divisor(dim.extent, max(1, most)) if dim.exact else balanced(dim.extent, max(1, most), step)
            )
            chunk.append(size)
            most //= size
        return tuple(reversed(chunk))

    def _with_chunks(
        self, m: _Side, n: _Side, sizes: Iterable[tuple[int, ...]], most: float
    ) -> Iterator[_Draft]:
        for k0 in sizes:
            if self._bound(m, n, prod(self._k_trips(k0))).compute > most:
                continue
            for k in l1_chunks(self.p, k0):
                tile = self._tile(m, n, k)
                panels = self._panel(0, tile), self._panel(1, tile)
                if sum(panels) > self.target.l1:
                    continue
                chunks = prod(self._trips(tile, self.p.k))
                bound = self._bound(m, n, chunks * prod(map(ceil_div, k, k0)))
                for order in self._orders(tile):
                    depends = [tuple(d in on for d in order) for on in self.depends]
                    loops = _Loops(self._trips(tile, order), depends, chunks)
                    for keep in KEEPS:
                        cycles = self._draft(bound, m, n, panels, loops, keep)
                        if cycles is not None:
                            yield _Draft(cycles, _Sizes(m, n, k, k0), tile, order, keep)

    def _tile(self, m: _Side, n: _Side, k: Sequence[int]) -> tuple[int, ...]:
        p = self.p
        sizes = dict(zip((*p.batch, *p.m, *p.n, *p.k), (*(1 for _ in p.batch), *m.sizes, *n.sizes, *k)))
        return tuple(sizes[d] for d in range(len(p.dims)))

    def _trips(self, tile: Sequence[int], dims: Iterable[int]) -> tuple[int, ...]:
        return tuple([ceil_div(self.p.dims[d].extent, tile[d]) for d in dims])

    def _k_trips(self, k0: Sequence[int]) -> list[int]:
        return [ceil_div(self.p.dims[d].extent, size) for d, size in zip(self.p.k, k0, strict=True)]

    def _orders(self, tile: Sequence[int]) -> set[tuple[int, ...]]:
        p = self.p
        batch, rows, columns = (
            [d for d in dims if tile[d] < p.dims[d].extent] for dims in (p.batch, p.m, p.n)
        )
        return {(*batch, *rows, *columns), (*batch, *columns, *rows)}

    # ---- legality

    def _panel(self, side: int, tile: Sequence[int]) -> int:
        """Bytes of a chunk of an operand in L1."""
        key = (side, tuple(tile[d] for d in self.depends[side]))
        if key not in self._panels:
            self._panels[key] = panel_bytes(self.p.maps[side], tile, self.p.bits)
        return self._panels[key]

    def _counts(self, loops: _Loops, slots: tuple[int, int], keep: Sequence[str]) -> list[int] | None:
        """Chunks of both operands in L1 at once; None where those that stay would need too many ids of events."""
        looped = [loops.chunks > 1 or True in on for on in loops.depends]
        counts = [s if moves else 1 for s, moves in zip(slots, looped, strict=True)]
        for name in keep:
            side = NAMES.index(name)
            counts[side] = kept_chunks(loops.depends[side], loops.trips, loops.chunks)
        if keep:
            ids = [c for c, moves in zip(counts, looped, strict=True) if moves]
            shared = loops.chunks > 1 and max(ids) % min(ids) == 0
            if (min(ids) if shared else sum(ids)) > EVENTS:
                return None
        return counts

    # ---- bounds

    def _draft(
        self, bound: _Bound, m: _Side, n: _Side, panels: Sequence[int], loops: _Loops, keep: tuple[str, ...]
    ) -> float | None:
        """What a tiling takes at least, if it fits L1 with two slots, and if there is something to keep."""
        if any(kept_chunks(loops.depends[i], loops.trips, loops.chunks) < 2 for i in map(NAMES.index, keep)):
            return None
        counts = self._counts(loops, (2, 2), keep)
        if counts is None or sum(map(mul, counts, panels)) + self._row(n) * 2 > self.target.l1:
            return None
        mte2 = bound.loaded
        lead = self.hit_latency
        for depends, panel, (first, again), name in zip(
            loops.depends, panels, self.rates, NAMES, strict=True
        ):
            times = new = loops.chunks
            guards = loads_in(depends, loops.chunks, name in keep)
            for trips, on, once in zip(loops.trips, depends, guards, strict=True):
                times *= 1 if once else trips
                new *= trips if on else 1
            mte2 += times * self.target.latencies["dma"] + panel * (new / first + (times - new) / again)
            lead += panel / max(first, again)
        return lead + max(max(bound.compute, mte2) + bound.drain, bound.rest)

    def _loops(self, tile: Sequence[int], order: Sequence[int]) -> _Loops:
        depends = [tuple(d in on for d in order) for on in self.depends]
        return _Loops(self._trips(tile, order), depends, prod(self._trips(tile, self.p.k)))

    def _bound(self, m: _Side, n: _Side, chunks: int) -> _Bound:
        """What all tilings take at least that have these tiles and multiply `chunks` chunks of L0 for each."""
        p, target = self.p, self.target
        tiles = m.trips * n.trips * self.batches
        steps = (m.padded // self.step.m) * (n.padded // self.step.n) * ceil_div(self.depth, self.step.k)
        cube = steps * target.cube_steps[p.element][1] + chunks * target.latencies["mmad"]
        bytes_ = self.depth * p.bits / 8
        mte1 = m.padded * bytes_ / target.rates["l1_l0a"] + n.padded * bytes_ / target.rates["l1_l0b"]
        mte1 += chunks * 2 * target.latencies["l0_load"]
        e = self._epilogue(m.elements, n.elements, 1, 2)
        rest = tiles * max(e.fix, e.vector, e.store)
        if 2 * m.padded * n.padded * ACCUMULATOR > target.l0c:
            # The cube begins a tile when the one before has left the only place for accumulators.
            rest = max(rest, tiles * (cube + e.fix))
        return _Bound(tiles * max(cube, mte1), tiles * e.loaded, e.store or e.fix, rest)

    def _row(self, n: _Side) -> int:
        return round_up(ACCUMULATOR * n.elements, 32) if self.p.starts_from_row else 0

    # ---- times

    def _timed(self, draft: _Draft, slots: int = 2, parts: int = 1) -> Tiling | None:
        """The tiling with its time; None if it does not fit L1."""
        p, target, sizes = self.p, self.target, draft.sizes
        tile, piece = self._pieces(draft.tile, parts)
        loops = self._loops(tile, draft.order)
        panels = [self._panel(side, tile) for side in (0, 1)]
        counts = self._counts(loops, (slots, slots), draft.keep)
        rows = min(ROW_SLOTS, max(2, prod(loops.trips)))
        if counts is None or sum(map(mul, counts, panels)) + self._row(sizes.n) * rows > target.l1:
            return None
        pieces = prod(t // part for t, part in zip(tile, piece, strict=True))
        operands = [self._operand(side, panels[side], loops, slots, draft.keep) for side in (0, 1)]
        m, n = sizes.m.padded, sizes.n.padded
        k0 = round_up(prod(sizes.k0), self.step.k)
        flags = 2 * target.latencies["flag"]
        steps = (m // self.step.m) * (n // self.step.n) * (k0 // self.step.k)
        l0 = [ceil(side * k0 * p.bits / 8 / target.rates[r]) for side, r in ((m, "l1_l0a"), (n, "l1_l0b"))]
        elements = [prod(tile[d] for d in dims) for dims in (p.m, p.n)]
        row = target.latencies["dma"] + ceil(elements[1] * p.bits / 8 / max(self.rates[1]))
        pipeline = Pipeline(
            trips=loops.trips,
            chunks=loops.chunks,
            steps=prod(map(ceil_div, sizes.k, sizes.k0)),
            l0=sum(l0) + 2 * target.latencies["l0_load"] + flags,
            cube=steps * target.cube_steps[p.element][1] + target.latencies["mmad"] + flags,
            a=operands[0],
            b=operands[1],
            row=row if p.starts_from_row else 0,
            row_depends=tuple(d in p.n for d in draft.order),
            row_slots=rows,
            l0c_slots=self._l0c_slots(sizes),
            epilogue=self._epilogue(elements[0], elements[1], pieces, 2, prod(piece[d] for d in p.n)),
            depth=target.queue_depth,
            issue=target.latencies["issue"],
            flag=target.latencies["flag"],
        )
        cycles = target.latencies["launch"] + pipeline_cycles(pipeline)
        inner = self._inner(tile, sizes.k0)
        return Tiling(
            tile,
            inner,
            piece,
            draft.order,
            pipeline.l0c_slots,
            draft.keep,
            (slots, slots),
            rows if p.starts_from_row else 0,
            cycles,
        )

    def _operand(self, side: int, panel: int, loops: _Loops, slots: int, keep: Sequence[str]) -> OperandLoads:
        dma, rates = self.target.latencies["dma"], self.rates[side]
        first, again = (dma + ceil(panel / rate) for rate in rates)
        hits = [rate > self.target.rates["gm_l1"] or not self.cold[side] for rate in rates]
        latency, again_latency = (self.hit_latency if hit else self.latency for hit in hits)
        depends = loops.depends[side]
        return OperandLoads(first, again, latency, again_latency, depends, NAMES[side] in keep, slots)

    def _epilogue(
        self, rows: int, columns: int, pieces: int, slots: int, width: int | None = None
    ) -> Epilogue:
        """What becomes of a tile of so many rows and columns, of which a part of the rows is in UB at once, or all of
        them with `width` columns."""
        p, target = self.p, self.target
        dma, part = target.latencies["dma"], rows / pieces
        latency = self.hit_latency
        if target.split_cores:
            fix = dma + ceil(rows * columns * p.stored / target.rates["l0c_gm"])
            return Epilogue(1, fix, 0, 0, 0, slots, True, latency, 0, 0)
        head, _, tail = target.vector["default"]
        rate = max(target.rates["gm_ub"], target.l2.get("rate", 0))
        lost = sum(-(width or columns) * size % target.vector_bytes * slope for size, slope in p.by_rows)
        work = part * self._row_elements(width or columns) / (width or columns) * columns
        work *= p.epilogue + lost / (width or columns)
        return Epilogue(
            pieces=pieces,
            fix=target.latencies["l0_load"] + ceil(part * columns * ACCUMULATOR / target.rates["l0c_ub"]),
            vector=ceil(work / target.vector_bytes),
            store=dma + ceil(part * round_up(columns * p.stored, 32) / target.rates["ub_gm"]),
            loaded=dma + ceil(part * round_up(columns * p.loaded, 32) / rate) if p.loaded else 0,
            slots=slots,
            in_place=p.passing == p.stored,
            latency=latency,
            latency_loaded=latency,
            tail=head + tail,
        )

    def _row_elements(self, columns: int) -> int:
        """Elements that the vector unit works through for a row of so many: where rows of bytes are padded in UB, those
        of wider numbers are not alike, and each row is steps of its own."""
        p, lanes = self.p, self.target.vector_bytes // ACCUMULATOR
        bytes_ = min(p.stored or ACCUMULATOR, p.passing) == 1
        return round_up(columns, lanes) if bytes_ and columns % 32 else columns

    def _pieces(self, tile: tuple[int, ...], parts: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tile, and the piece of it that passes through UB at once, in at least so many parts. A dim that is cut is
        rounded up within the padding of the cube, so that it has divisors."""
        p = self.p
        dims = (*p.m, *p.n)
        if self.target.split_cores:
            return tile, tile
        room = self.target.ub // (2 * (p.passing + p.loaded + (0 if p.passing == p.stored else p.stored)))
        room = min(room, -(-prod(tile[d] for d in dims) // parts))
        rounded, left = list(tile), room
        for d in reversed(dims):
            if p.dims[d].whole or tile[d] <= left:
                left //= tile[d]
                continue
            side, unit = (p.m, self.step.m) if d in p.m else (p.n, self.step.n)
            if all(tile[o] == 1 for o in side if o != d):
                rounded[d] = round_up(tile[d], unit)
            break
        piece = list(rounded)
        free = [d for d in dims if not p.dims[d].whole]
        left = room // prod(tile[d] for d in dims if p.dims[d].whole)
        for d, size in zip(free, fill_divisors([rounded[d] for d in free], left), strict=True):
            piece[d] = size
        return tuple(rounded), tuple(piece)

    def _l0c_slots(self, sizes: _Sizes) -> int:
        bytes_ = sizes.m.padded * sizes.n.padded * ACCUMULATOR
        return min(MOST_L0C, self.target.l0c // bytes_)

    def _inner(self, tile: tuple[int, ...], k0: Sequence[int]) -> tuple[int, ...]:
        inner = list(tile)
        for d, size in zip(self.p.k, k0, strict=True):
            inner[d] = size
        return tuple(inner)
