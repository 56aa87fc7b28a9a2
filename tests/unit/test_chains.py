"""Two contractions in one kernel, the second of which sums what the first has become: values, races, decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.ir import Attribute, Block, SSAValue

from npu_mlir.analysis.affine_maps import Linear
from npu_mlir.analysis.chain_tiling import Chain, chain_tilings
from npu_mlir.analysis.tiling import Dim, Product
from npu_mlir.dialects import tile
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.tensor_types import shape_of, tensor_type
from npu_mlir.passes.tile.trial import try_schedule
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target
from random_linalg import Program, make_program, multiply_add
from test_pipeline_random import RANDOM, check, draw_schedule

Permutation = Sequence[int]


class Chains:
    """Builds programs with a chain."""

    def __init__(self, element: Attribute):
        self.element = element
        self.b, self.block = Builder(), Block()

    def input(self, shape: Sequence[int], element: Attribute | None = None) -> SSAValue:
        type_ = tensor_type(element or self.element, tuple(shape))
        return self.block.insert_arg(type_, len(self.block.args))

    def product(
        self, x: SSAValue, y: SSAValue, maps: Sequence[Permutation], shape: Sequence[int], loops: int
    ) -> SSAValue:
        start = self.b.fill(0.0, tuple(shape), f32)
        return self.b.generic([x, y], start, maps, loops, [loops - 1], multiply_add)

    def cast(self, x: SSAValue) -> SSAValue:
        if self.element == f32:
            return x
        return self.map([x], lambda body, a: body.cast(a, self.element), self.element)

    def map(
        self, values: Sequence[SSAValue], compute: Callable[..., SSAValue], element: Attribute = f32
    ) -> SSAValue:
        """An elementwise operation on values of one shape, or rows of it."""
        shape = shape_of(values[0])
        rank = len(shape)
        maps = [range(rank - len(shape_of(v)), rank) for v in values]
        return self.b.map(values, maps, shape, element, compute)

    def softmax(self, x: SSAValue) -> SSAValue:
        shape = shape_of(x)
        rank = len(shape)
        maps = [range(rank), range(rank - 1)]
        most = self.b.reduce(x, [rank - 1], float("-inf"), f32, lambda body, a, c: body.apply("max", a, c))
        powers = self.b.map(
            [x, most], maps, shape, f32, lambda body, a, c: body.apply("exp", body.apply("sub", a, c))
        )
        total = self.b.reduce(powers, [rank - 1], 0, f32, lambda body, a, c: body.apply("add", a, c))
        return self.b.map([powers, total], maps, shape, f32, lambda body, a, c: body.apply("div", a, c))

    def program(self, result: SSAValue, seed: int) -> Program:
        return make_program(self.b, self.block, [result], seed)


@st.composite
def chains(draw: Callable[[Any], Any]) -> Program:
    """Products with any layouts of their operands, what is between them, what is behind."""
    extent = st.integers(1, 20)
    heads = draw(st.sampled_from([1, 1, 2, 3]))
    m, k, j, n = (draw(extent) for _ in range(4))
    c = Chains(draw(st.sampled_from([f32, f16])))

    def layout(dims: Sequence[int]) -> list[int]:
        return draw(st.permutations(dims))

    def shaped(dims: Sequence[int], extents: Sequence[int]) -> tuple[int, ...]:
        return tuple(extents[d] for d in dims)

    # Loops are (heads, rows, columns, sum).
    one, two = (heads, m, j, k), (heads, m, n, j)
    maps = layout((0, 1, 3)), layout((0, 3, 2)), (0, 1, 2)
    x, w = (c.input(shaped(dims, one)) for dims in maps[:2])
    h = c.product(x, w, maps, (heads, m, j), 4)
    if draw(st.booleans()):
        h = c.map([h, c.input((j,), f32)], lambda body, a, bias: body.apply("add", a, bias))
    match draw(st.sampled_from(["", "relu", "exp", "mask", "softmax", "softmax"])):
        case "relu":
            h = c.map([h], lambda body, a: body.apply("max", a, 0.0))
        case "exp":
            h = c.map([h], lambda body, a: body.apply("exp", body.apply("min", a, 1.0)))
        case "mask":
            h = c.map([h, c.input((m, j), f32)], lambda body, a, b: body.apply("mul", a, b))
        case "softmax":
            h = c.softmax(h)
        case _:
            pass
    order = layout((0, 1, 2))
    if draw(st.booleans()):
        # What is between the two lies in another order.
        h = c.b.map(
            [h], [[order.index(d) for d in range(3)]], shaped(order, (heads, m, j)), f32, lambda _, a: a
        )
    else:
        order = [0, 1, 2]
    h = c.cast(h)
    read = [(0, 1, 3)[d] for d in order]
    maps = read, layout((0, 3, 2)), layout((0, 1, 2))
    operands = [h, c.input(shaped(maps[1], two))]
    if draw(st.booleans()):
        operands, maps = operands[::-1], (maps[1], maps[0], maps[2])
    y = c.product(operands[0], operands[1], maps, shaped(maps[2], two), 4)
    if draw(st.booleans()):
        y = c.map([y, c.input(shape_of(y), f32)], lambda body, a, b: body.apply("add", a, b))
    return c.program(y, draw(st.integers(0, 100)))


def kernels(module: ModuleOp) -> int:
    return sum(isinstance(op, tile.KernelOp) for op in module.ops)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ascend-910", "toy", "ascend-910b"])
def test_values_of_chains(target: str):
    @RANDOM
    @given(chains())
    def run(program: Program) -> None:
        check(program, target, chains="always")

    run()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ascend-910", "toy"])
def test_any_schedule_of_a_chain_gives_the_same_values(target: str):
    @RANDOM
    @given(chains(), st.data())
    def run(program: Program, data: st.DataObject) -> None:
        def schedule(module: ModuleOp) -> None:
            machine = target_of(module)
            for kernel in [op for op in module.ops if isinstance(op, tile.KernelOp)]:
                drawn = draw_schedule(data.draw, kernel, machine.split_cores)
                if try_schedule(kernel, drawn, machine).overflow is None:
                    kernel.properties["schedule"] = drawn

        check(program, target, schedule, chains="always")

    run()


def mlp(m: int, k: int, j: int, n: int) -> Program:
    c = Chains(f16)
    maps = ((0, 2), (2, 1), (0, 1))
    h = c.product(c.input((m, k)), c.input((k, j)), maps, (m, j), 3)
    h = c.cast(c.map([h], lambda body, a: body.apply("max", a, 0.0)))
    return c.program(c.product(h, c.input((j, n)), maps, (m, n), 3), 0)


@pytest.mark.parametrize(
    ("policy", "target", "count"),
    [("always", "ascend-910", 1), ("never", "ascend-910", 2), ("always", "ascend-910b", 2)],
)
def test_kernels_of_a_chain(policy: str, target: str, count: int):
    """Where the vector unit has no path to L1, there are none."""
    assert kernels(check(mlp(20, 24, 48, 16), target, chains=policy)) == count


def product(dims: Sequence[Dim], m: int, n: int, k: int, *, epilogue: int = 4, stored: int = 2) -> Product:
    def plain(*loops: int) -> tuple[Linear, ...]:
        return tuple(Linear(tuple(int(d == loop) for d in range(len(dims))), 0) for loop in loops)

    maps = plain(m, k), plain(k, n)
    return Product(tuple(dims), (), (m,), (n,), (k,), maps, "f16", 16, epilogue, 0, stored)


@pytest.mark.parametrize(
    "extents", [(128, 256, 64, 64), (100, 96, 50, 70), (7, 13, 5, 3), (512, 64, 2048, 256)]
)
@pytest.mark.parametrize("whole", [False, True])
def test_tilings_fit(extents: tuple[int, int, int, int], whole: bool):
    """Sizes divide what is linked; accumulators and chunks fit; estimates go up."""
    target = Target.load("ascend-910")
    dims = [Dim(e, whole and d == 1) for d, e in enumerate(extents)]
    chain = Chain(product(dims, 0, 1, 2), product(dims, 0, 3, 1), (1,), 0)
    found = chain_tilings(chain, target)
    assert found or whole
    assert [t.cycles for t in found] == sorted(t.cycles for t in found)
    for t in found:
        m, j, _, n = t.tile
        l1, l0 = t.chunks[1]
        assert extents[1] % j == 0 and extents[1] % l1 == 0 and l1 % l0 == 0
        assert not whole or (j == extents[1] and not t.per_tile)
        looped = bool(t.order) and t.order[0] == 0
        rows = -(-m // 16) * 16 * 4
        sides = [rows * -(-side // 16) * 16 * t.l0c_slots for side in (j, n)]
        assert (sum if looped or t.per_tile else max)(sides) <= target.l0c
        assert not t.per_tile or (n == extents[3] and l1 == j)


def test_cycles_are_at_least_those_of_the_cube():
    target = Target.load("ascend-910")
    dims = [Dim(e) for e in (128, 3072, 768, 768)]
    chain = Chain(product(dims, 0, 1, 2), product(dims, 0, 3, 1), (1,), 0)
    assert chain_tilings(chain, target)[0].cycles >= 2 * 8 * 192 * 48
