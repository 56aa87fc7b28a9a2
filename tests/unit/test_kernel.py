"""Which classes of a product have to be divided exactly: those along which an operand goes on behind its end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.passes.tile.form_kernels import FormKernels
from npu_mlir.passes.tile.kernel import exact_classes, read_kernel
from random_linalg import make_program, multiply_add, slice_of

Operand = Callable[[Builder, SSAValue], SSAValue]


def plain(b: Builder, x: SSAValue) -> SSAValue:
    return x


def padded(value: float, low: int, high: int) -> Operand:
    return lambda b, x: b.pad(x, [low, low], [high, high], value)


def part(*shape: int, at: int = 0, stride: int = 1) -> Operand:
    return lambda b, x: slice_of(b, x, (at, at), shape, (stride, stride))


def exact(a: tuple[int, int], front_a: Operand, c: tuple[int, int], front_c: Operand) -> set[int]:
    """The exact classes of a product of two operands behind pads or slices; k is class 2."""
    b, block = Builder(), Block()
    x, y = (block.insert_arg(tensor_type(f32, shape), i) for i, shape in enumerate((a, c)))
    lhs, rhs = front_a(b, x), front_c(b, y)
    maps: list[Map] = [(0, 2), (2, 1), (0, 1)]
    product = b.generic([lhs, rhs], b.fill(0.0, (5, 6), f32), maps, 3, [2], multiply_add)
    module = make_program(b, block, [product]).module
    FormKernels().apply(make_context(), module)
    (op,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    kernel = read_kernel(op)
    (compute,) = kernel.computes.values()
    return exact_classes(kernel, compute)


@pytest.mark.parametrize(
    ("a", "front_a", "c", "front_c", "expected"),
    [
        pytest.param((5, 9), plain, (9, 6), plain, set(), id="whole operands"),
        pytest.param((5, 10), part(5, 9), (9, 6), plain, {2}, id="a part of the first"),
        pytest.param((5, 9), plain, (10, 6), part(9, 6), {2}, id="a part of the second"),
        pytest.param((6, 10), part(5, 9, at=1), (9, 6), plain, set(), id="the end of an operand"),
        pytest.param((6, 9), part(5, 9), (9, 6), plain, set(), id="a part of the rows"),
        pytest.param((9, 17), part(5, 9, stride=2), (9, 6), plain, set(), id="every other element"),
        pytest.param((9, 19), part(5, 9, stride=2), (9, 6), plain, {2}, id="one of them left"),
        pytest.param((9, 18), part(5, 9, stride=2), (9, 6), plain, set(), id="one left that is passed over"),
        pytest.param((3, 7), padded(0.0, 1, 1), (9, 6), plain, set(), id="zeros around"),
        pytest.param((3, 7), padded(1.0, 1, 1), (9, 6), plain, {2}, id="ones around"),
        pytest.param((4, 8), padded(0.0, 1, 0), (9, 6), plain, set(), id="zeros in front"),
    ],
)
def test_exact_classes(
    a: tuple[int, int], front_a: Operand, c: tuple[int, int], front_c: Operand, expected: set[int]
):
    assert exact(a, front_a, c, front_c) == expected


def test_windows_are_exact():
    b, block = Builder(), Block()
    x, w = (block.insert_arg(tensor_type(f32, shape), i) for i, shape in enumerate(((7, 4), (3, 4, 6))))
    window: Map = [AffineExpr.dimension(0) + AffineExpr.dimension(2), 3]
    product = b.generic(
        [x, w], b.fill(0.0, (5, 6), f32), [window, (2, 3, 1), (0, 1)], 4, [2, 3], multiply_add
    )
    module = make_program(b, block, [product]).module
    FormKernels().apply(make_context(), module)
    (op,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    kernel = read_kernel(op)
    (compute,) = kernel.computes.values()
    # The taps, not the channels.
    assert exact_classes(kernel, compute) == {2}
