"""What the order of the dims of its operands costs a contraction."""

from __future__ import annotations

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.operand_layouts import Map, contiguous_run, estimate, gm_bytes, l0_bytes, reordering
from npu_mlir.targets.target import Target

EXTENTS = (28, 28, 64, 3, 3, 64)
H, W, N, Y, X, C = range(6)


def at(*terms: tuple[int, int]) -> Linear:
    """The sum of loops times factors."""
    return Linear(tuple(dict(terms).get(d, 0) for d in range(6)), 0)


def image(stride: int, last: bool) -> Map:
    """How a convolution reads its image, channels last or first."""
    rows, columns = at((H, stride), (Y, 1)), at((W, stride), (X, 1))
    return [rows, columns, at((C, 1))] if last else [at((C, 1)), rows, columns]


WEIGHT: Map = [at((Y, 1)), at((X, 1)), at((C, 1)), at((N, 1))]


def cycles(map_: Map, summed: tuple[int, ...] = (Y, X, C)) -> float:
    maps = (tuple(map_), tuple(WEIGHT))
    op = LoopNestOp("c", EXTENTS, (False,) * 3 + (True,) * 3, ("x", "w"), maps, (H, W, N), True)
    return estimate(op, maps, summed, "f16", 16, Target.load("ascend-910"))


def test_runs_are_those_that_lie_side_by_side_in_the_order_of_the_loops():
    assert contiguous_run(image(1, last=True), EXTENTS, (Y, X, C)) == 3 * 64
    assert contiguous_run(image(1, last=True), EXTENTS, (C, Y, X)) == 1
    assert contiguous_run(image(1, last=False), EXTENTS, (H, W)) == 28
    assert contiguous_run(image(2, last=False), EXTENTS, (H, W)) == 1
    assert contiguous_run(image(2, last=False), EXTENTS, (C, Y, X)) == 3


def test_bytes_are_whole_blocks():
    assert l0_bytes(image(2, last=False), EXTENTS, (H, W), (C, Y, X), 16) == 28 * 28 * 64 * 3 * 32
    assert gm_bytes(image(1, last=False), EXTENTS, 16) == 64 * 30 * 64


def test_an_image_may_have_its_channels_first_where_rows_of_windows_are_neighbours():
    assert cycles(image(1, last=False)) == cycles(image(1, last=True)) == 49 * 4 * 36
    assert cycles(image(2, last=False), (C, Y, X)) > cycles(image(2, last=True))


def test_reordering_is_free_where_rows_stay():
    target = Target.load("ascend-910")
    assert reordering(1000, 2, True, target) == 0 < reordering(1000, 2, False, target)
