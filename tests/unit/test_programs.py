"""Small programs, each with something special about it, tiled finely and run after every pass.

Random programs find the combinations (`test_pipeline_random`); these name the cases, and run fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import pytest
from xdsl.dialects.builtin import ModuleOp, f16, f32, i32
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.analysis.dims import DimKind
from npu_mlir.analysis.structured.bodies import is_multiply_add
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.ir.verification import verify
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.passes.tile.apply_schedule import apply_schedule
from npu_mlir.passes.tile.form_kernels import FormKernels
from npu_mlir.passes.tile.kernel import exact_classes, read_kernel
from npu_mlir.passes.tile.kernel_sizes import KernelSizes, kernel_sizes, levels_of
from npu_mlir.passes.tile.trial import try_schedule
from npu_mlir.support.diagnostics import UserError
from npu_mlir.targets.module_target import target_of
from random_linalg import Program, make_program, multiply_add, slice_of
from test_pipeline_random import check

D = [AffineExpr.dimension(d) for d in range(4)]


class Writer(Builder):
    """Writes a program."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def arg(self, *shape: int, element: Attribute = f32) -> SSAValue:
        return self.block.insert_arg(tensor_type(element, shape), len(self.block.args))

    def product(
        self,
        operands: Sequence[SSAValue],
        maps: Sequence[Map],
        shape: tuple[int, ...],
        dims: int,
        reduced: Sequence[int],
        element: Attribute = f32,
    ) -> SSAValue:
        start = self.fill(0, shape, element)
        return self.generic(operands, start, maps, dims, reduced, multiply_add)

    def matmul(self, m: int, k: int, n: int, element: Attribute = f32) -> SSAValue:
        operands = [self.arg(m, k, element=element), self.arg(k, n, element=element)]
        return self.product(operands, [(0, 2), (2, 1), (0, 1)], (m, n), 3, [2])

    def binary(self, name: str, x: SSAValue, y: SSAValue, map_: Map, *shape: int) -> SSAValue:
        """An operation on each element of `x` and what `map_` picks of `y`."""
        return self.map(
            [x, y], [range(len(shape)), map_], shape, f32, lambda body, a, b: body.apply(name, a, b)
        )

    def unary(self, name: str, x: SSAValue, *shape: int) -> SSAValue:
        return self.map([x], [range(len(shape))], shape, f32, lambda body, a: body.apply(name, a))

    def total(self, x: SSAValue, *axes: int, name: str = "add") -> SSAValue:
        return self.reduce(x, axes, 0.0, f32, lambda body, a, acc: body.apply(name, acc, a))


def add(body: Body) -> SSAValue:
    return body.apply("add", body.args[-1], body.args[0])


def wide_add(body: Body) -> SSAValue:
    return body.apply("add", body.args[-1], body.cast(body.args[0], f32))


def sums_onto_values(w: Writer) -> Sequence[SSAValue]:
    return [w.generic([w.arg(5, 11)], w.arg(5), [(0, 1), (0,)], 2, [1], add)]


def sums_over_two_dims(w: Writer) -> Sequence[SSAValue]:
    return [w.total(w.arg(3, 7, 5), 1, 2)]


def sums_of_everything(w: Writer) -> Sequence[SSAValue]:
    return [w.total(w.arg(7, 9), 0, 1)]


def sums_of_halves(w: Writer) -> Sequence[SSAValue]:
    return [w.generic([w.arg(4, 9, element=f16)], w.fill(0.0, (4,), f32), [(0, 1), (0,)], 2, [1], wide_add)]


def reversed_columns(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.apply("sub", x, body.apply("exp", y))

    operands = [w.arg(7, 6), w.arg(6, 7)]
    return [w.map(operands, [[D[0] * -1 + 6, D[1]], [D[1] * -1 + 5, D[0]]], (7, 6), f32, build)]


def windows(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body) -> SSAValue:
        return body.apply("max", body.args[-1], body.args[0])

    maps: Sequence[Map] = [[D[0] * 2 + D[1], D[2]], (1,), (0, 2)]
    return [w.generic([w.arg(11, 3), w.empty((3,), f32)], w.fill(-9.0, (5, 3), f32), maps, 3, [1], build)]


def windows_of_exponentials(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body) -> SSAValue:
        return body.apply("add", body.args[-1], body.apply("exp", body.apply("min", body.args[0], 1.0)))

    maps: Sequence[Map] = [[D[0] * 2 + D[1], D[2]], (1,), (0, 2)]
    return [w.generic([w.arg(11, 3), w.empty((3,), f32)], w.fill(0.0, (5, 3), f32), maps, 3, [1], build)]


def transposition(w: Writer) -> Sequence[SSAValue]:
    x = w.map([w.arg(6, 9)], [(1, 0)], (9, 6), f32, lambda body, a: body.apply("exp", a))
    return [w.binary("sub", x, w.arg(6), (1,), 9, 6)]


def two_results(w: Writer) -> Sequence[SSAValue]:
    x = w.unary("exp", w.arg(7, 10), 7, 10)
    return [x, w.total(x, 1)]


def softmax(w: Writer) -> Sequence[SSAValue]:
    x = w.arg(5, 9)
    e = w.unary("exp", w.binary("sub", x, w.total(x, 1, name="max"), (0,), 5, 9), 5, 9)
    return [w.binary("div", e, w.total(e, 1), (0,), 5, 9)]


def padded(w: Writer) -> Sequence[SSAValue]:
    return [w.binary("mul", w.pad(w.arg(5, 6), [1, 2], [2, 0], 1.0), w.arg(8, 8), (0, 1), 8, 8)]


def slices(w: Writer) -> Sequence[SSAValue]:
    return [w.binary("sub", slice_of(w, w.arg(12, 17), (1, 3), (5, 7), (2, 2)), w.arg(5, 7), (0, 1), 5, 7)]


def slice_of_a_slice(w: Writer) -> Sequence[SSAValue]:
    outer = slice_of(w, w.arg(30, 23), (2, 1), (9, 11), (3, 2))
    return [w.binary("sub", slice_of(w, outer, (1, 2), (4, 3), (2, 3)), w.arg(4, 3), (0, 1), 4, 3)]


def slice_of_a_pad(w: Writer) -> Sequence[SSAValue]:
    outer = w.pad(w.arg(5, 6), [3, 1], [0, 4], 1.0)
    return [w.binary("sub", slice_of(w, outer, (1, 0), (6, 5), (1, 2)), w.arg(6, 5), (0, 1), 6, 5)]


def broadcasts(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body, x: SSAValue, row: SSAValue, one: SSAValue) -> SSAValue:
        return body.apply("add", body.apply("mul", x, body.apply("exp", row)), body.apply("exp", one))

    operands = [w.arg(5, 6, 7), w.arg(6, 7), w.arg()]
    return [w.map(operands, [(0, 1, 2), (1, 2), ()], (5, 6, 7), f32, build)]


def steps_in_one_body(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        scaled = body.apply("sub", body.constant(2.0, f32), body.apply("exp", x))
        return body.apply("max", body.apply("mul", scaled, scaled), body.apply("add", y, 1.0))

    return [w.map([w.arg(6, 9), w.arg(9)], [(0, 1), (1,)], (6, 9), f32, build)]


def matmul(w: Writer) -> Sequence[SSAValue]:
    return [w.matmul(9, 14, 11)]


def half_matmul(w: Writer) -> Sequence[SSAValue]:
    y = w.map([w.matmul(9, 20, 11, f16)], [(0, 1)], (9, 11), f16, lambda body, a: body.cast(a, f16))
    return [y]


def matmul_of_integers(w: Writer) -> Sequence[SSAValue]:
    operands = [w.arg(6, 8, element=i32), w.arg(8, 5, element=i32)]
    return [w.product(operands, [(0, 2), (2, 1), (0, 1)], (6, 5), 3, [2], i32)]


def integers_above_zero(w: Writer) -> Sequence[SSAValue]:
    operands = [w.arg(6, 8, element=i32), w.arg(8, 5, element=i32)]
    y = w.product(operands, [(0, 2), (2, 1), (0, 1)], (6, 5), 3, [2], i32)
    return [w.map([y], [(0, 1)], (6, 5), i32, lambda body, a: body.apply("max", a, 0))]


def product_above_one(w: Writer) -> Sequence[SSAValue]:
    return [w.map([w.matmul(6, 8, 5)], [(0, 1)], (6, 5), f32, lambda body, a: body.apply("max", a, 1.0))]


def half_relu(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body, a: SSAValue) -> SSAValue:
        return body.apply("max", body.cast(body.apply("max", a, 0.0), f16), 0.0)

    return [w.map([w.matmul(6, 20, 5, f16)], [(0, 1)], (6, 5), f16, build)]


def relu_read_twice(w: Writer) -> Sequence[SSAValue]:
    y = w.map([w.matmul(6, 8, 5)], [(0, 1)], (6, 5), f32, lambda body, a: body.apply("max", a, 0.0))
    return [w.binary("sub", w.unary("exp", y, 6, 5), y, (0, 1), 6, 5)]


def relu_transposed(w: Writer) -> Sequence[SSAValue]:
    return [w.map([w.matmul(6, 8, 5)], [(1, 0)], (5, 6), f32, lambda body, a: body.apply("max", a, 0.0))]


def operands_exchanged(w: Writer) -> Sequence[SSAValue]:
    return [w.product([w.arg(14, 11), w.arg(9, 14)], [(2, 1), (0, 2), (0, 1)], (9, 11), 3, [2])]


def result_transposed(w: Writer) -> Sequence[SSAValue]:
    return [w.product([w.arg(9, 14), w.arg(14, 11)], [(0, 2), (2, 1), (1, 0)], (11, 9), 3, [2])]


def batch(w: Writer) -> Sequence[SSAValue]:
    operands = [w.arg(3, 5, 8), w.arg(3, 8, 6)]
    y = w.product(operands, [(0, 1, 3), (0, 3, 2), (0, 1, 2)], (3, 5, 6), 4, [3])
    return [w.binary("add", y, w.arg(6), (2,), 3, 5, 6)]


def two_dims_summed(w: Writer) -> Sequence[SSAValue]:
    return [w.product([w.arg(7, 3, 6), w.arg(3, 6, 9)], [(0, 2, 3), (2, 3, 1), (0, 1)], (7, 9), 4, [2, 3])]


def convolution(w: Writer) -> Sequence[SSAValue]:
    maps: Sequence[Map] = [[D[0] * 2 + D[2], D[3]], (2, 3, 1), (0, 1)]
    return [w.product([w.pad(w.arg(11, 5), [1, 0], [1, 0], 0.0), w.arg(3, 5, 6)], maps, (6, 6), 4, [2, 3])]


def bias_and_relu(w: Writer) -> Sequence[SSAValue]:
    y = w.binary("add", w.matmul(9, 10, 11), w.arg(11), (1,), 9, 11)
    return [w.map([y], [(0, 1)], (9, 11), f32, lambda body, a: body.apply("max", a, 0.0))]


def half_bias(w: Writer) -> Sequence[SSAValue]:
    def build(body: Body, x: SSAValue, row: SSAValue) -> SSAValue:
        return body.apply("add", x, body.cast(row, f32))

    return [w.map([w.matmul(9, 10, 11, f16), w.arg(11, element=f16)], [(0, 1), (1,)], (9, 11), f32, build)]


def residual(w: Writer) -> Sequence[SSAValue]:
    y = w.binary("add", w.matmul(9, 10, 12), w.arg(9, 12), (0, 1), 9, 12)
    return [w.binary("mul", w.unary("exp", y, 9, 12), w.arg(9), (0,), 9, 12)]


def rows_of_a_product(w: Writer) -> Sequence[SSAValue]:
    y = w.matmul(9, 10, 7)
    return [y, w.total(y, 1)]


def columns_of_a_product(w: Writer) -> Sequence[SSAValue]:
    return [w.total(w.matmul(7, 10, 9), 0)]


def product_of_a_slice(w: Writer) -> Sequence[SSAValue]:
    lhs = slice_of(w, w.arg(12, 30), (1, 4), (7, 12), (1, 2))
    return [w.product([lhs, w.arg(12, 6)], [(0, 2), (2, 1), (0, 1)], (7, 6), 3, [2])]


def product_onto_values(w: Writer) -> Sequence[SSAValue]:
    operands, maps = [w.arg(7, 12), w.arg(12, 6)], [(0, 2), (2, 1), (0, 1)]
    return [w.generic(operands, w.arg(7, 6), maps, 3, [2], multiply_add)]


def product_onto_ones(w: Writer) -> Sequence[SSAValue]:
    operands, maps = [w.arg(7, 12), w.arg(12, 6)], [(0, 2), (2, 1), (0, 1)]
    return [w.generic(operands, w.fill(1.0, (7, 6), f32), maps, 3, [2], multiply_add)]


PROGRAMS: dict[str, Callable[[Writer], Sequence[SSAValue]]] = {
    build.__name__: build
    for build in (
        sums_onto_values,
        sums_over_two_dims,
        sums_of_everything,
        sums_of_halves,
        windows,
        windows_of_exponentials,
        transposition,
        two_results,
        softmax,
        padded,
        slices,
        slice_of_a_slice,
        slice_of_a_pad,
        broadcasts,
        steps_in_one_body,
        matmul,
        half_matmul,
        matmul_of_integers,
        integers_above_zero,
        product_above_one,
        half_relu,
        relu_read_twice,
        relu_transposed,
        operands_exchanged,
        result_transposed,
        batch,
        two_dims_summed,
        convolution,
        bias_and_relu,
        half_bias,
        residual,
        rows_of_a_product,
        columns_of_a_product,
        product_of_a_slice,
        product_onto_values,
        product_onto_ones,
    )
}


def program(name: str) -> Program:
    w = Writer()
    results = PROGRAMS[name](w)
    return make_program(w, w.block, results)


def divisor(extent: int, most: int) -> int:
    return next(d for d in range(most, 0, -1) if extent % d == 0)


def fine_schedule(op: tile.KernelOp, bypass_ub: bool) -> tile.ScheduleAttr:
    """About three tiles along each dim, which don't divide it where they need not, and two pieces of each tile."""
    kernel = read_kernel(op)
    contraction = next((c for c in kernel.computes.values() if c.contraction), None)
    batch, exact = set[int](), set[int]()
    if contraction is not None:
        roles = contraction_roles(contraction)
        assert roles is not None
        exact = exact_classes(kernel, contraction)
        batch = {kernel.classes.class_of[contraction.key][d] for d in roles.batch}
    sizes: list[int] = []
    for c in kernel.classes.classes:
        third = -(-c.extent // 3)
        if c.kind is DimKind.MIXED:
            sizes.append(c.extent)
        elif c.id in batch:
            sizes.append(1)
        else:
            sizes.append(divisor(c.extent, third) if c.id in exact else third)
    mixed = {c.id for c in kernel.classes.classes if c.kind is DimKind.MIXED}
    inner = [size if c in mixed else divisor(size, max(1, size // 2)) for c, size in enumerate(sizes)]
    order = [c.id for c in kernel.classes.classes if c.kind is DimKind.PAR and sizes[c.id] < c.extent]
    slots = dict.fromkeys(("l1", "l0a", "l0b", "l0c", "ub"), 2)
    lists = levels_of(kernel, KernelSizes(tuple(sizes), tuple(inner), tuple(inner)))
    bypass_ub = bypass_ub and contraction is not None
    return tile.ScheduleAttr.of(slots, lists, order=order[::-1], bypass_ub=bypass_ub)


def make_fine(module: ModuleOp) -> None:
    """Give every kernel a fine schedule."""
    target = target_of(module)
    for kernel in [op for op in module.ops if isinstance(op, tile.KernelOp)]:
        fine = fine_schedule(kernel, target.split_cores)
        assert try_schedule(kernel, fine, target).overflow is None, "the memories are large"
        kernel.properties["schedule"] = fine


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_fine_tiles(name: str):
    check(program(name), "ascend-910", make_fine)


def test_reversed_operands_are_tiled():
    """Instructions can't go backwards, so this ends at buffers."""
    w = Writer()
    program = make_program(w, w.block, reversed_columns(w))
    with pytest.raises(UserError, match="strides can't be negative"):
        check(program, "ascend-910", make_fine)


@pytest.mark.parametrize(("rows", "padded"), [(4, 0), (8, 0), (3, 1), (5, 1)])
def test_loads_are_padded_where_tiles_overhang(rows: int, padded: int):
    """Eight rows, of which one of two operands has a tile each time."""
    w = Writer()
    result = w.binary("sub", w.arg(8, 6), w.arg(6), (1,), 8, 6)
    module = make_program(w, w.block, [result]).module
    FormKernels().apply(make_context(), module)
    (op,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    op.properties["schedule"] = tile.ScheduleAttr.of({"ub": 2}, {"ub": [rows, 6]}, order=[0])
    apply_schedule(op, target_of(module))
    assert sum(load.pad is not None for load in op.walk() if isinstance(load, tile.LoadOp)) == padded


def test_factors_of_two_types_are_for_the_vector_unit():
    w = Writer()
    operands = [w.arg(14, 11, element=f16), w.arg(9, 14)]
    result = w.product(operands, [(2, 1), (0, 2), (0, 1)], (9, 11), 3, [2])
    module = make_program(w, w.block, [result]).module
    FormKernels().apply(make_context(), module)
    (op,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    op.properties["schedule"] = fine_schedule(op, bypass_ub=False)
    apply_schedule(op, target_of(module))
    verify(module)
    products = [o for o in op.walk() if isinstance(o, linalg.GenericOp) and is_multiply_add(o)]
    assert products
    for product in products:
        spaces = {
            v.type.memory_space if hasattr(v.type, "memory_space") else v.type.encoding
            for v in product.operands
        }  # type: ignore[attr-defined]
        assert spaces == {tile.SpaceAttr(tile.Space.UB)}


@pytest.mark.parametrize("name", ["matmul", "operands_exchanged", "two_dims_summed", "convolution", "batch"])
def test_matrices_have_the_sizes_of_the_schedule(name: str):
    """Rows by a chunk of K in L0A, a chunk of K by columns in L0B."""
    module = program(name).module
    FormKernels().apply(make_context(), module)
    make_fine(module)
    (op,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
    assert op.schedule is not None
    kernel = read_kernel(op)
    contraction = next(c for c in kernel.computes.values() if c.contraction)
    roles, of = contraction_roles(contraction), kernel.classes.class_of[contraction.key]
    assert roles is not None
    sizes = kernel_sizes(kernel, op.schedule)
    m, n = (prod(sizes.tile[of[d]] for d in dims) for dims in (roles.m, roles.n))
    k = prod(sizes.chunk[of[d]] for d in roles.k)
    apply_schedule(op, target_of(module))
    (product,) = (o for o in op.walk() if isinstance(o, linalg.GenericOp) and is_multiply_add(o))
    assert [prod(v.type.get_shape()) for v in product.inputs] == [m * k, k * n]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_small_machine(name: str):
    check(program(name), "toy")
