"""Tile sizes of a contraction: enumerate what fits the memories, score by a formula, return the best first.

The formula is a maximum over pipes plus filling and draining the pipeline, in cycles:

    cube  = steps of the cube + 6 per mmad            mte2 = bytes from GM / rate + 16 per transfer
    mte1  = bytes to L0A / 512 + to L0B / 256 + 8     fix  = accumulator bytes / 512;  mte3 = result bytes / 64
    vec   = rows * groups of 256 B in a row, over all operations of the epilogue * 2
    fill  = GM latency + first chunk / rate           drain = the last tile on its way out

Rates and fixed parts are the target's; on one with L2, what is loaded again comes from there if both operands fit. An
operand that does not depend on the inner loops stays in L1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npu_mlir.analysis.affine_maps import Linear, dense_rows
from npu_mlir.dialects.tile import storage_bytes
from npu_mlir.support.arithmetic import round_up
from npu_mlir.targets.target import Target

ACCUMULATOR = 4
"""Bytes of an accumulator, f32 or i32."""


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def balanced(extent: int, most: int, multiple: int = 1) -> int:
    """The smallest size that needs no more tiles than `most` does, rounded up to `multiple` where `most` allows it.

    >>> balanced(197, 128), balanced(197, 128, 16), balanced(7, 128, 16)
    (99, 112, 7)
    """
    most = min(extent, most)
    size = ceil_div(extent, ceil_div(extent, most))
    rounded = round_up(size, multiple)
    return rounded if rounded <= most else size


def divisor(extent: int, most: int) -> int:
    """The largest divisor of `extent` that is at most `most` (at least 1).

    >>> divisor(28, 10), divisor(13, 4)
    (7, 1)
    """
    return next(d for d in range(max(1, min(extent, most)), 0, -1) if extent % d == 0)


def fill(extents: Sequence[int], most: int, multiple: int = 1) -> tuple[int, ...]:
    """Tile sizes with a product of at most `most`: innermost dims whole, the first that does not fit balanced.

    >>> fill((1, 56, 56), 128)
    (1, 2, 56)
    """
    sizes: list[int] = []
    for extent in reversed(extents):
        size = balanced(extent, max(1, most), multiple if not sizes or math.prod(sizes) == 1 else 1)
        sizes.append(size)
        most //= size
    return tuple(reversed(sizes))


def fill_divisors(extents: Sequence[int], most: int) -> tuple[int, ...]:
    """As `fill`, with sizes that divide the extents."""
    sizes: list[int] = []
    for extent in reversed(extents):
        sizes.append(divisor(extent, max(1, most)))
        most //= sizes[-1]
    return tuple(reversed(sizes))


@dataclass(frozen=True)
class Dim:
    """A loop dim of a contraction: its extent, and whether it has to be whole in a tile, or divided exactly."""

    extent: int
    whole: bool = False
    exact: bool = False


@dataclass(frozen=True)
class Product:
    """A contraction to be tiled. `dims` by number; the operands' maps are over these numbers.

    Per element of the result, in bytes: `epilogue` is what the vector unit works through, `loaded` what is read beside
    the result, `stored` what is written, `passing` what the fixpipe leaves of an accumulator.
    """

    dims: tuple[Dim, ...]
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    maps: tuple[tuple[Linear, ...], tuple[Linear, ...]]
    element: str
    """The type of the factors, as `Target.cube_steps` has it."""
    bits: int
    """Bits of one of them."""
    epilogue: int
    loaded: int
    stored: int
    passing: int = ACCUMULATOR
    starts_from_row: bool = False
    """Accumulators start from a row that is loaded, not from a constant."""


@dataclass(frozen=True)
class Tiling:
    """Sizes per dim (of tiles, of chunks in L0), the loop order, L0C slots, the estimated cycles."""

    tile: tuple[int, ...]
    inner: tuple[int, ...]
    order: tuple[int, ...]
    l0c_slots: int
    cycles: float


def panel_bytes(map_: Sequence[Linear], tile: Sequence[int], bits: int) -> int:
    """Bytes in L1 of the box that an operand's map takes over a tile, `bits` an element; rows are padded to 32 B."""
    box = [
        1 + sum(abs(c) * (tile[d] - 1) for d, c in enumerate(e.coefficients) if c) for e in dense_rows(map_)
    ]
    row = round_up(storage_bytes(box[-1], bits), 32) if box else storage_bytes(1, bits)
    return math.prod(box[:-1]) * row


def tilings(product: Product, target: Target) -> list[Tiling]:
    """Every tiling considered that fits L0A, L0B, L0C and L1, the best first."""
    found = {t.tile + t.inner + t.order: t for t in _enumerate(product, target)}
    return sorted(found.values(), key=lambda t: t.cycles)


def _enumerate(p: Product, target: Target) -> Iterator[Tiling]:
    step = target.cube.tile(p.element)
    rows = {_sizes(p, p.m, step.m * 2**i, step.m): None for i in range(12)} | _stripes(
        p, p.m, step.m, step.k, target.l0a
    )
    columns = {_sizes(p, p.n, step.n * 2**i, step.n): None for i in range(12)} | _stripes(
        p, p.n, step.n, step.k, target.l0b
    )
    for m in rows:
        for n in columns:
            for slots in (2, 1):
                if _padded(m, step.m) * _padded(n, step.n) * ACCUMULATOR * slots <= target.l0c:
                    yield from _with_k(p, target, m, n, slots)
                    break


def _sizes(p: Product, dims: Sequence[int], most: int, side: int) -> tuple[int, ...]:
    free = fill([1 if p.dims[d].whole else p.dims[d].extent for d in dims], most, side)
    return tuple(p.dims[d].extent if p.dims[d].whole else size for d, size in zip(dims, free, strict=True))


def _stripes(
    p: Product, dims: Sequence[int], side: int, unit: int, capacity: int
) -> dict[tuple[int, ...], None]:
    """Tiles that are one side of the cube wide, and as high as all of K leaves room for in two slots of L0.

    A row of an image that has to be whole may be too long for that; then K is cut in chunks, each of which is padded.
    """
    k = round_up(math.prod(p.dims[d].extent for d in p.k), unit)
    most = capacity * 8 // (2 * p.bits * k)
    long = [d for d in dims if p.dims[d].extent > side]
    if not long or most < side or any(p.dims[d].whole for d in dims):
        return {}
    width = {d: side if d == long[-1] else 1 for d in dims}
    height = fill([p.dims[d].extent if d != long[-1] else 1 for d in dims], most // side)
    return {tuple(max(width[d], size) for d, size in zip(dims, height, strict=True)): None}


def _padded(sizes: Sequence[int], side: int) -> int:
    return round_up(math.prod(sizes), side)


def _with_k(p: Product, target: Target, m: Sequence[int], n: Sequence[int], slots: int) -> Iterator[Tiling]:
    """Choose the chunks of K for a tile of the result."""
    step = target.cube.tile(p.element)
    most = min(
        target.l0a * 8 // (2 * p.bits * _padded(m, step.m)),
        target.l0b * 8 // (2 * p.bits * _padded(n, step.n)),
    )
    most -= most % step.k
    # Single steps leave the least padding; chunks that are as wide as high may be fewer.
    units = {step.k, round_up(step.m, step.k)}
    while most:
        sizes = dict.fromkeys(_k_chunk(p, most, unit) for unit in sorted(units))
        chunks = [(k, k0) for k0 in sizes for k in _l1_chunks(p, k0)]
        fitting = [t for k, k0 in chunks for t in _fitting(p, target, (*m, *n), slots, k, k0)]
        if fitting:
            yield from fitting
            return
        # Even one chunk of L0 is too much for L1, whose padded rows may take many times their bytes.
        most //= 2


def _fitting(
    p: Product, target: Target, mn: Sequence[int], slots: int, k: Sequence[int], k0: Sequence[int]
) -> Iterator[Tiling]:
    """The tilings with these sizes, if their panels fit L1."""
    sizes = dict(zip((*p.batch, *p.m, *p.n, *p.k), (*(1 for _ in p.batch), *mn, *k), strict=True))
    tile = tuple(sizes[d] for d in range(len(p.dims)))
    panels = [panel_bytes(map_, tile, p.bits) for map_ in p.maps]
    row = round_up(ACCUMULATOR * math.prod(tile[d] for d in p.n), 32)
    if 2 * (sum(panels) + row) <= target.l1:
        inner = sizes | dict(zip(p.k, k0, strict=True))
        yield from _with_order(p, target, tile, tuple(inner[d] for d in range(len(p.dims))), panels, slots)


def _k_chunk(p: Product, most: int, step: int) -> tuple[int, ...]:
    """The part of K in L0: innermost dims first, windows divided exactly."""
    chunk: list[int] = []
    for d in reversed(p.k):
        dim = p.dims[d]
        size = divisor(dim.extent, max(1, most)) if dim.exact else balanced(dim.extent, max(1, most), step)
        chunk.append(size)
        most //= size
    return tuple(reversed(chunk))


def _l1_chunks(p: Product, k0: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The parts of K to bring to L1, from all of it to one chunk of L0; multiples of the chunk."""
    sizes = [p.dims[d].extent for d in p.k]
    yield tuple(round_up(s, c) for s, c in zip(sizes, k0, strict=True))
    for position in reversed(range(len(k0))):
        count = ceil_div(sizes[position], k0[position])
        divisible = p.dims[p.k[position]].exact
        while count > 1:
            count = count // 2
            size = count * k0[position]
            if divisible and sizes[position] % size:
                continue
            sizes[position] = size
            yield tuple(round_up(s, c) for s, c in zip(sizes, k0, strict=True))
        sizes[position] = k0[position]


def _with_order(
    p: Product,
    target: Target,
    tile: tuple[int, ...],
    inner: tuple[int, ...],
    panels: Sequence[int],
    slots: int,
) -> Iterator[Tiling]:
    looped = [d for d in (*p.m, *p.n) if tile[d] < p.dims[d].extent]
    batch = [d for d in p.batch if tile[d] < p.dims[d].extent]
    rows, columns = [d for d in looped if d in p.m], [d for d in looped if d in p.n]
    for order in {(*batch, *rows, *columns), (*batch, *columns, *rows)}:
        yield Tiling(tile, inner, order, slots, _cycles(p, target, tile, inner, order, panels, slots))


def _trips(p: Product, tile: Sequence[int], dims: Sequence[int]) -> int:
    return math.prod(ceil_div(p.dims[d].extent, tile[d]) for d in dims)


def _cycles(
    p: Product,
    target: Target,
    tile: Sequence[int],
    inner: Sequence[int],
    order: Sequence[int],
    panels: Sequence[int],
    slots: int,
) -> float:
    step, rate = target.cube.tile(p.element), target.rates["gm_l1"]
    m, n = _padded([tile[d] for d in p.m], step.m), _padded([tile[d] for d in p.n], step.n)
    k0 = _padded([inner[d] for d in p.k], step.k)
    tiles = _trips(p, tile, order)
    k_chunks = _trips(p, tile, p.k)
    l0_chunks = k_chunks * math.prod(ceil_div(tile[d], inner[d]) for d in p.k)
    steps = (m // step.m) * (n // step.n) * (k0 // step.k)
    cube = tiles * l0_chunks * (steps * target.cube_steps[p.element][1] + target.latencies["mmad"])
    l0 = (m * k0 / target.rates["l1_l0a"] + k0 * n / target.rates["l1_l0b"]) * p.bits / 8
    mte1 = tiles * l0_chunks * (l0 + 2 * target.latencies["l0_load"])
    mte2 = repeated = footprint = 0.0
    for map_, size in zip(p.maps, panels, strict=True):
        depends = {d for e in map_ for d in e.dims()}
        times = _trips(p, tile, _enclosing(order, depends) if k_chunks == 1 else order) * k_chunks
        mte2 += times * (size / rate + target.latencies["dma"])
        first = _trips(p, tile, [d for d in order if d in depends]) * k_chunks
        footprint += first * size
        repeated += (times - first) * size
    if footprint <= target.l2.get("size", 0):
        mte2 -= repeated * (1 / rate - 1 / max(rate, target.l2["rate"]))
    m, n = (math.prod(tile[d] for d in dims) for dims in (p.m, p.n))
    fix = tiles * m * n * ACCUMULATOR / target.rates.get("l0c_ub", target.rates["l0c_gm"])
    vector = tiles * m * ceil_div(p.epilogue * n, target.vector_bytes) * _SLOPE
    mte2 += tiles * (m * round_up(n * p.loaded, 32) / target.rates["gm_ub"])
    mte3 = tiles * m * round_up(n * p.stored, 32) / target.rates["ub_gm"]
    exposed = 0 if slots > 1 else (tiles - 1) / tiles * fix
    lead = target.latencies["gm"] + sum(panels) / rate + l0
    drain = (fix + vector + mte3) / tiles
    pipes = [cube + exposed, mte1, mte2, vector, mte3, fix]
    return max(pipes) + _FRICTION * (sum(pipes) - max(pipes)) + lead + drain + _TILE * tiles


_SLOPE = 2
"""Cycles per vector instruction and group of `vector_bytes`: that of most kinds (see the target files)."""

_FRICTION = 0.1
"""Part of the work of the pipes that are not the slowest that is not hidden behind it: fitted by eye, not measured."""

_TILE = 40
"""Cycles lost at each change of tile, where pipes wait for each other: fitted by eye, not measured."""


def _enclosing(order: Sequence[int], depends: set[int]) -> Sequence[int]:
    """The loops around the place where something that depends on some of them is loaded."""
    inside = [i for i, d in enumerate(order) if d in depends]
    return order[: inside[-1] + 1] if inside else ()
