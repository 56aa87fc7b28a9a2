"""Products and convolutions on cubes of any shape: the values stay the same at every level, no hazard is found, and the
matrices on chip are padded to the cube's own step.

A cube that took one side for all three would plan L0C too small with n = 32, and overlap L0A with k = 32."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f16, f32, i8, i32
from xdsl.ir import Attribute, Block
from xdsl.ir.affine import AffineExpr

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.simulator import simulate
from npu_mlir.targets.target import Target
from random_linalg import Program, make_program, multiply_add
from test_pipeline_random import check

SHAPES = [(32, 16, 16), (8, 32, 24), (16, 16, 32)]
TYPES = [f16, f32, i8]


def machine(m: int, k: int, n: int, **settings: str) -> Target:
    """A small machine whose cube has the same step for every type; its memories hold a few steps."""
    sizes = {"l1": "32KiB", "l0a": "16KiB", "l0b": "16KiB", "l0c": "16KiB", "ub": "16KiB"} | settings
    steps = {f"cube_steps.{t}": (k, 1) for t in ("f16", "f32", "i8")}
    return Target.load("toy").replace({**steps, **sizes}, cube_m=m, cube_n=n, name=f"cube {m}x{k}x{n}")


def product(element: Attribute, m: int, k: int, n: int) -> Program:
    b, block = Builder(), Block()
    x = block.insert_arg(tensor_type(element, (m, k)), 0)
    y = block.insert_arg(tensor_type(element, (k, n)), 1)
    start = b.fill(0, (m, n), total(element))
    return make_program(b, block, [b.generic([x, y], start, [(0, 2), (2, 1), (0, 1)], 3, [2], multiply_add)])


def convolution(
    element: Attribute, rows: int, taps: int, channels: int, columns: int, stride: int
) -> Program:
    b, block = Builder(), Block()
    x = block.insert_arg(tensor_type(element, ((rows - 1) * stride + taps, channels)), 0)
    w = block.insert_arg(tensor_type(element, (taps, channels, columns)), 1)
    window: Map = [AffineExpr.dimension(0) * stride + AffineExpr.dimension(2), 3]
    start = b.fill(0, (rows, columns), total(element))
    maps: Sequence[Map] = [window, [2, 3, 1], [0, 1]]
    return make_program(b, block, [b.generic([x, w], start, maps, 4, [2, 3], multiply_add)])


def total(element: Attribute) -> Attribute:
    return i32 if element == i8 else f32


def products_of(program: Program) -> list[npu_isa.MmadOp]:
    return [op for op in program.module.walk() if isinstance(op, npu_isa.MmadOp)]


@pytest.mark.parametrize("element", TYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_product(shape: tuple[int, int, int], element: Attribute):
    target = machine(*shape, l0a="4KiB", l0b="6KiB", l0c="8KiB")
    program = product(element, 70, 131, 57)
    check(program, target)
    ops = products_of(program)
    assert ops and all(op.element == element for op in ops)
    result = simulate(program.module, program.inputs, check=True)
    (kernel,) = result.kernels
    assert kernel.padded_macs >= kernel.macs >= 70 * 131 * 57
    assert kernel.padded_macs % prod(shape) == 0


@pytest.mark.parametrize("element", TYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_convolution(shape: tuple[int, int, int], element: Attribute):
    program = convolution(element, 45, 3, 19, 37, 2)
    check(program, machine(*shape, l0a="4KiB", l0b="6KiB", l0c="8KiB"))
    assert products_of(program)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_buffers_hold_whole_steps(shape: tuple[int, int, int]):
    m, k, n = shape
    program = product(f16, 3, 5, 7)
    check(program, machine(*shape))
    sizes = {
        str(op.result.type.space.data): op.bytes.value.data  # type: ignore[attr-defined]
        for op in program.module.walk()
        if isinstance(op, npu_isa.BufferOp)
    }
    assert sizes["l0a"] == 2 * m * k
    assert sizes["l0b"] == 2 * k * n
    assert sizes["l0c"] == 4 * m * n


sides = st.integers(1, 33)


@settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=False,
)
@given(st.tuples(sides, sides, sides), st.sampled_from(TYPES), st.data())
def test_any_shape(shape: tuple[int, int, int], element: Attribute, data: st.DataObject):
    """Every cube multiplies what it is given, in tiles that fit its memories."""
    extent = st.integers(1, 70)
    if data.draw(st.booleans()):
        program = product(element, *data.draw(st.tuples(extent, extent, extent)))
    else:
        taps, stride = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
        program = convolution(element, data.draw(extent), taps, data.draw(extent), data.draw(extent), stride)
    check(program, machine(*shape))
    kernels = [op for op in program.module.ops if isinstance(op, tile.KernelOp)]
    assert kernels and products_of(program)
