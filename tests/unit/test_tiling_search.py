"""The search for tilings: legality to the last byte, what is considered, and how good the times are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cubes import BITS
from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.tiling import Dim, Product
from npu_mlir.analysis.tiling_search import Tiling, l1_chunks, tilings
from npu_mlir.passes.tile.candidates import candidates
from npu_mlir.passes.tile.kernel import read_kernel
from npu_mlir.targets.target import get_target
from schedule_search import compiled, cycles, formed, kernels
from schedule_search import matmul as product_text

Sizes = tuple[int, int, int]


def matmul(sizes: Sizes, element: str, epilogue: int, loaded: int, stored: int) -> Product:
    """c[0, 1] += a[0, 2] * b[2, 1]."""
    m, n, k = (Linear(tuple(int(i == d) for i in range(3)), 0) for d in range(3))
    dims = tuple(Dim(extent) for extent in sizes)
    return Product(
        dims, (), (0,), (1,), (2,), ((m, k), (k, n)), element, BITS[element], epilogue, loaded, stored
    )


def test_panels_fill_l1_to_the_last_byte():
    # Both panels, 8 rows of 32 and of 64 B: without a loop, one slot of each.
    product, room = matmul((8, 16, 8), "f32", 4, 4, 4), 256 + 512
    for l1, fits in ((room, True), (room - 1, False)):
        machine = replace(get_target("toy"), l1=l1)
        assert any(t.tile == (8, 16, 8) for t in tilings(product, machine)) == fits


def test_accumulators_fill_l0c_to_the_last_byte():
    product = matmul((8, 8, 8), "f32", 4, 4, 4)
    for l0c, slots in ((2048, 4), (1024, 4), (1023, 3), (512, 2), (511, 1), (256, 1), (255, None)):
        machine = replace(get_target("toy"), l0c=l0c)
        found = [t.l0c_slots for t in tilings(product, machine) if t.tile == (8, 8, 8)]
        assert found == ([] if slots is None else [slots] * len(found)) and bool(found) == (slots is not None)


def test_dims_that_stay_whole_take_no_room_from_others():
    """Rows of two dims, of which the second is whole: all 100 of the first are tried, whatever the second is."""
    rows, whole, n, k = (Linear(tuple(int(i == d) for i in range(4)), 0) for d in range(4))
    dims = (Dim(100), Dim(8, whole=True), Dim(16), Dim(16))
    product = Product(dims, (), (0, 1), (2,), (3,), ((rows, whole, k), (k, n)), "f16", 16, 0, 0, 4)
    assert {t.tile[:2] for t in tilings(product, get_target("ascend-910"))} >= {(100, 8)}


def test_what_goes_row_by_row_wants_full_lanes():
    """A column that is whole, and rows of any length: 128 lanes of f16 make a step."""
    m, n, k = (Linear(tuple(int(i == d) for i in range(3)), 0) for d in range(3))
    machine = get_target("ascend-910")

    def best(columns: int, by_rows: tuple[tuple[int, int], ...]) -> Tiling:
        dims = (Dim(128, whole=True), Dim(columns), Dim(64))
        product = Product(dims, (), (0,), (1,), (2,), ((m, k), (k, n)), "f16", 16, 40, 0, 2, 2)
        return min(tilings(replace(product, by_rows=by_rows), machine), key=lambda t: t.cycles)

    two = ((2, 2), (2, 2))
    assert best(512, two).tile[1] % 128 == 0
    # 128 rows of 16 lanes take as many steps as rows of 128: seven of eight are lost, in two operations of 2 cycles.
    lost = best(16, two).cycles - best(16, ()).cycles
    assert 128 * 2 * 2 * 7 / 8 <= lost < 128 * 2 * 2 * 2


MAX = "%zero = arith.constant 0.0 : f32\n%v = arith.maximumf %x, %zero : f32"
EXP = "%v = math.exp %x : f32"


@pytest.mark.parametrize(
    ("sizes", "behind", "element"),
    [
        ((512, 512, 512), "", "f16"),
        ((300, 40, 200), MAX, "f16"),
        ((128, 1024, 64), EXP, "f32"),
        ((64, 2048, 512), "", "f16"),
        ((1, 1000, 512), "", "f16"),
    ],
)
def test_times_are_those_of_the_simulator(sizes: Sizes, behind: str, element: str):
    """What the search expects of its best tilings is what the simulator finds, up to a few hundredths."""
    machine = get_target("ascend-910")
    module = formed(product_text(*sizes, behind, element), machine)
    (kernel,) = kernels(module)
    found: dict[float, int] = {}
    for candidate in candidates(read_kernel(kernel), machine):
        assert candidate.cycles is not None
        program = None if candidate.cycles in found else compiled(module, candidate.schedule)
        if program is not None:
            found[candidate.cycles] = cycles(program, (False, False, True))
    assert len(found) > 1
    best = min(found)
    assert best == pytest.approx(found[best], rel=0.05)
    assert found[best] <= 1.03 * min(found.values())


def test_chunks_stay_in_l1_where_that_saves_loads():
    """512 x 512 x 512 behind a slow memory: each operand is loaded once, and multiplied as it comes."""
    best = tilings(matmul((512, 512, 512), "f16", 0, 0, 2), get_target("ascend-910"))[0]
    assert best.keep and best.cycles < 39_000


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
    assert list(l1_chunks(product, k0)) == expected
