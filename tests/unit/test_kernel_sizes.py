"""The sizes that a schedule gives to the classes of a kernel: m, n, k of a product, and a row sum behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from npu_mlir.dialects import tile
from npu_mlir.passes.tile.apply_schedule import apply_schedule
from npu_mlir.passes.tile.kernel import Kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, kernel_sizes, levels_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.target import built_in
from schedule_search import formed, kernels, matmul, read, reduction

PRODUCT = read(formed(matmul(8, 6, 12)))
SUM = read(formed(reduction([6, 40], [1], "arith.addf")))


def sizes(
    kernel: Kernel,
    order: Sequence[int] = (),
    ops: dict[int, dict[str, list[int]]] | None = None,
    **lists: list[int],
) -> KernelSizes:
    return kernel_sizes(kernel, tile.ScheduleAttr.of({}, lists, order=order, ops=ops))


def test_what_is_not_cut_is_as_large_as_above():
    assert sizes(PRODUCT) == KernelSizes((8, 6, 12), (8, 6, 12), (8, 6, 12))
    given = sizes(PRODUCT, l1=[4, 0, 8], l0=[0, 0, 2], ub=[2, 3, 0], order=[0])
    assert given == KernelSizes((4, 6, 8), (4, 6, 2), (2, 3, 8))
    assert sizes(SUM, ub=[0, 16]) == KernelSizes((6, 16), (6, 16), (6, 16))


@pytest.mark.parametrize(
    "given",
    [
        KernelSizes((4, 3, 8), (4, 3, 8), (4, 3, 8)),
        KernelSizes((4, 3, 8), (4, 3, 4), (4, 3, 8)),
        KernelSizes((4, 3, 8), (4, 3, 8), (2, 3, 8)),
    ],
)
def test_lists_are_short(given: KernelSizes):
    """A level where nothing is cut is left out, and what is written is read again."""
    lists = levels_of(PRODUCT, given)
    assert ("l0" in lists) == (given.chunk != given.tile) and ("ub" in lists) == (given.piece != given.tile)
    assert sizes(PRODUCT, order=[0, 1], **lists) == given


def test_an_operation_has_sizes_of_its_own():
    own = sizes(PRODUCT, l1=[8, 6, 12], ops={0: {"l1": [0, 0, 8], "l0": [0, 0, 4]}})
    assert own == sizes(PRODUCT, l1=[8, 6, 8], l0=[0, 0, 4])


def test_a_reduction_takes_its_own_chunks():
    (op,) = kernels(formed(reduction([6, 40], [1], "arith.addf")))
    op.schedule = tile.ScheduleAttr.of({}, {"ub": [6, 40]}, ops={0: {"ub": [0, 8]}})
    apply_schedule(op, built_in("toy"))
    loads = [load for load in op.walk() if isinstance(load, tile.LoadOp)]
    assert [load.tile_type.get_shape() for load in loads] == [(6, 8)]


@pytest.mark.parametrize(
    ("kernel", "entries", "message"),
    [
        (PRODUCT, {"l1": [4, 3]}, "must give 'l1' for 3 dimension classes, got 2"),
        (PRODUCT, {"ops": {0: {"l0": [4]}}}, "must give 'l0' for 3 dimension classes, got 1"),
        (PRODUCT, {"l0": [0, 0, 16]}, "class 2: 'l0' can't be more than 'l1', got 16 and 12"),
        (PRODUCT, {"ub": [3, 0, 0]}, "class 0: 'ub' has to divide 'l1', got 3 and 8"),
        (PRODUCT, {"l0": [4, 0, 0]}, "class 0 is not summed: 'l0' can't cut it"),
        (PRODUCT, {"ub": [0, 0, 4]}, "class 2 is no row or column of the accumulators: 'ub' can't cut it"),
        (PRODUCT, {"ops": {1: {"l0": [0, 0, 4]}}}, "sizes for operation 1, the kernel has 1"),
        (PRODUCT, {"l1": [4, 0, 0]}, "the order must name the tiled parallel classes \\[0\\]"),
        (PRODUCT, {"order": [3]}, "the order names class 3, the kernel has 3"),
        (PRODUCT, {"l1": [0, 0, 4], "order": [2]}, "the order names class 2, which is summed"),
        (SUM, {"l0": [0, 8]}, "class 1 is no loop of a matrix product: it has a size in 'ub' only"),
    ],
)
def test_sizes_that_are_not_for_the_kernel(kernel: Kernel, entries: dict[str, Any], message: str):
    with pytest.raises(UserError, match=message):
        sizes(kernel, **entries)


def test_a_class_of_several_operations_has_one_size():
    kernel = read(formed(matmul(8, 6, 12, "%v = math.exp %x : f32")))
    with pytest.raises(UserError, match="class 0 is looped over for several operations at once: operation 1"):
        sizes(kernel, l1=[8, 6, 12], ops={1: {"ub": [4, 0, 0]}})
    with pytest.raises(UserError, match="operation 1 has no class 2"):
        sizes(kernel, l1=[8, 6, 12], ops={1: {"l1": [0, 0, 4]}})


def test_entries_are_replaced():
    schedule = tile.ScheduleAttr.of({"ub": 2}, {"ub": [8, 6]}, order=[0], bypass_ub=True)
    assert (
        str(schedule.replaced({"ub": [4, 6]}))
        == "#tile.schedule<ub = [4, 6], order = [0], slots = {ub = 2}, bypass_ub>"
    )
    assert (
        str(schedule.replaced(order=[], bypass_ub=False)) == "#tile.schedule<ub = [8, 6], slots = {ub = 2}>"
    )
    by_role = schedule.replaced(slots={"ub": {"in": 3}})
    assert [by_role.slots_of("ub", role) for role in ("in", "out")] == [3, 1]
    assert schedule.slots_of("ub", "in") == 2 and schedule.slots_of("l1") == 1


def test_what_is_built_is_checked():
    with pytest.raises(Exception, match="'ub': a size can't be negative"):
        tile.ScheduleAttr.of({}, {"ub": [-1]})
