"""The estimate of cycles of a tiling, and the chunks of K that are tried, worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from cubes import BITS
from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.tiling import Dim, Product, Tiling, _l1_chunks, tilings
from npu_mlir.targets.target import get_target

Sizes = tuple[int, int, int]


def matmul(sizes: Sizes, element: str, epilogue: int, loaded: int, stored: int) -> Product:
    """c[0, 1] += a[0, 2] * b[2, 1]."""
    m, n, k = (Linear(tuple(int(i == d) for i in range(3)), 0) for d in range(3))
    dims = tuple(Dim(extent) for extent in sizes)
    return Product(
        dims, (), (0,), (1,), (2,), ((m, k), (k, n)), element, BITS[element], epilogue, loaded, stored
    )


def tiling_of(product: Product, target: str, tile: Sizes, k0: int, order: tuple[int, ...]) -> Tiling:
    """The tiling with these sizes among those found."""
    found = [
        t for t in tilings(product, get_target(target)) if (t.tile, t.inner[2], t.order) == (tile, k0, order)
    ]
    assert len(found) == 1
    return found[0]


@dataclass(frozen=True)
class Case:
    """A tiling and what it takes. `busy` are cube, MTE1, MTE2, V, MTE3 and fixpipe."""

    product: Product
    target: str
    tile: Sizes
    k0: int
    order: tuple[int, ...]
    slots: int
    tiles: int
    busy: tuple[float, float, float, float, float, float]
    lead: float
    drain: float


CASES = {
    "one tile on the toy": Case(
        matmul((8, 8, 8), "f32", 4, 4, 4),
        "toy", (8, 8, 8), 8, (), 2, 1,
        (
            10,  # 2 x 2 x 2 steps of 4 x 4 x 16 B, 2 for the mmad
            36,  # 256 B at 16 per cycle to L0A and to L0B, 2 for each
            104,  # panels of 256 B at 8 per cycle, 4 for each; 256 B for the epilogue
            16,  # 8 rows of 32 B, the width of the unit, at 2 cycles
            32,  # 256 B at 8 per cycle
            16,  # 256 B at 16 per cycle
        ),
        20 + 64 + 32,  # latency, both panels, L0
        16 + 16 + 32,
    ),
    "odd sizes are padded": Case(
        matmul((5, 7, 3), "f32", 4, 0, 4),
        "toy", (5, 7, 3), 3, (), 2, 1,
        (
            6,  # 8 x 8 x 4 elements are 2 x 2 x 1 steps
            20,  # 8 x 4 elements of 4 B are 8 cycles each
            40,  # 5 and 3 rows of 32 B: 20 + 4 and 12 + 4
            10,  # 5 rows of 28 B
            20,  # 5 rows of 32 B
            8.75,  # 35 elements, not padded
        ),
        20 + 32 + 16,
        8.75 + 10 + 20,
    ),
    "chunks of K, one accumulator": Case(
        matmul((256, 512, 4096), "f32", 4, 0, 4),
        "ascend-910", (256, 256, 128), 32, (1,), 1, 2,
        (
            # 2 tiles of 32 x 4 chunks of 16 x 16 x 4 steps, twice as slow in f32, 6 for each mmad;
            # the second tile waits for the accumulator of the first: 256 x 256 x 4 B at 512.
            2 * 128 * (2 * 1024 + 6) + 512,
            2 * 128 * (64 + 128 + 16),  # 32 KB at 512 and at 256 per cycle
            # Nothing stays: each panel of 128 KB in each chunk of each tile, the left one from L2 the second time.
            2 * 2 * 32 * (2048 + 16) - 32 * 1024,
            2 * 256 * 4 * 2,  # rows of 1 KB
            2 * 256 * 16,
            2 * 512,
        ),
        200 + 4096 + 192,
        (1024 + 4096 + 8192) / 2,
    ),
    "rows outside: the left panel stays": Case(
        matmul((256, 1024, 128), "f16", 12, 2, 4),
        "ascend-910", (128, 256, 128), 64, (0, 1), 2, 8,
        (
            8 * 2 * (512 + 6),  # 8 x 16 x 4 steps
            8 * 2 * (32 + 128 + 16),
            # 2 left panels, 8 right ones, 4 of them from L2, 8 x 64 KB for the epilogue.
            2 * (512 + 16) + 8 * (1024 + 16) - 4 * 512 + 8 * 1024,
            8 * 128 * 12 * 2,
            8 * 128 * 16,
            8 * 256,
        ),
        200 + 512 + 1024 + 160,
        (2048 + 24576 + 16384) / 8,
    ),
    "columns outside: the right panel stays": Case(
        matmul((256, 1024, 128), "f16", 12, 2, 4),
        "ascend-910", (128, 256, 128), 64, (1, 0), 2, 8,
        (8288, 2816, 8 * (512 + 16) - 6 * 256 + 4 * (1024 + 16) + 8 * 1024, 24576, 16384, 2048),
        1896,
        5376,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cycles(name: str):
    case = CASES[name]
    tiling = tiling_of(case.product, case.target, case.tile, case.k0, case.order)
    assert tiling.l0c_slots == case.slots
    # The slowest pipe, a tenth of the work of the others, fill and drain, 40 for each tile.
    slowest = max(case.busy)
    expected = slowest + 0.1 * (sum(case.busy) - slowest) + case.lead + case.drain + 40 * case.tiles
    assert tiling.cycles == pytest.approx(expected)


def test_panels_fill_l1_to_the_last_byte():
    # Two slots of both panels, 8 rows of 32 and of 64 B, and of a row of the result.
    product, room = matmul((8, 16, 8), "f32", 4, 4, 4), 2 * (256 + 512 + 64)
    for l1, fits in ((room, True), (room - 1, False)):
        machine = replace(get_target("toy"), l1=l1)
        assert any(t.tile == (8, 16, 8) for t in tilings(product, machine)) == fits


def test_accumulators_fill_l0c_to_the_last_byte():
    product = matmul((8, 8, 8), "f32", 4, 4, 4)
    for l0c, slots in ((512, 2), (511, 1), (256, 1), (255, None)):
        machine = replace(get_target("toy"), l0c=l0c)
        found = [t.l0c_slots for t in tilings(product, machine) if t.tile == (8, 8, 8)]
        assert found == ([] if slots is None else [slots] * len(found)) and bool(found) == (slots is not None)


def test_dims_that_stay_whole_take_no_room_from_others():
    """Rows of two dims, of which the second is whole: 64 of the first are tried, whatever the second is."""
    rows, whole, n, k = (Linear(tuple(int(i == d) for i in range(4)), 0) for d in range(4))
    dims = (Dim(100), Dim(8, whole=True), Dim(16), Dim(16))
    product = Product(dims, (), (0, 1), (2,), (3,), ((rows, whole, k), (k, n)), "f16", 16, 0, 0, 4)
    assert {t.tile[:2] for t in tilings(product, get_target("ascend-910"))} >= {(64, 8), (100, 8), (16, 8)}


def test_operands_of_a_batch_are_brought_for_each_matrix():
    """The estimate of a batch is that of one matrix but for what is done once: fill and drain."""
    one = matmul((8, 8, 8), "f32", 4, 4, 4)
    maps = tuple(tuple(e._replace(coefficients=(*e.coefficients, 0)) for e in map_) for map_ in one.maps)
    b = Linear((0, 0, 0, 1), 0)
    batch = replace(one, dims=(*one.dims, Dim(5)), batch=(3,), maps=((b, *maps[0]), (b, *maps[1])))
    toy = get_target("toy")
    single = tiling_of(one, "toy", (8, 8, 8), 8, ())
    several = next(t for t in tilings(batch, toy) if t.tile == (8, 8, 8, 1) and t.order == (3,))
    once = 116 + 64
    assert several.cycles - once == pytest.approx(5 * (single.cycles - once))


@pytest.mark.parametrize(
    ("extents", "exact", "k0", "expected"),
    [
        pytest.param((24,), (), (8,), [(24,), (8,)], id="three chunks: all, one"),
        pytest.param((20,), (), (8,), [(24,), (8,)], id="all is rounded up to chunks"),
        pytest.param((64,), (), (8,), [(64,), (32,), (16,), (8,)], id="halves"),
        pytest.param((8,), (), (8,), [(8,)], id="one chunk"),
        pytest.param((12,), (0,), (2,), [(12,), (6,), (2,)], id="divisors"),
        pytest.param((10,), (0,), (2,), [(10,), (2,)], id="four does not divide ten"),
        pytest.param((3, 40), (0,), (1, 16), [(3, 48), (3, 16), (1, 16)], id="innermost first"),
        pytest.param((4, 4), (), (2, 2), [(4, 4), (4, 2), (2, 2)], id="the outer one behind it"),
    ],
)
def test_chunks_in_l1(
    extents: tuple[int, ...], exact: tuple[int, ...], k0: tuple[int, ...], expected: list[tuple[int, ...]]
):
    dims = tuple(Dim(extent, exact=d in exact) for d, extent in enumerate(extents))
    product = Product(dims, (), (), (), tuple(range(len(dims))), ((), ()), "f32", 32, 0, 0, 4)
    assert list(_l1_chunks(product, k0)) == expected
