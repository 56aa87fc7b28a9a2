"""What a kernel has to do at least, as it is read off the kernel: worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from xdsl.dialects.builtin import StringAttr, f16, f32, i32
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.analysis.bound import KernelWork, ProductWork, VectorOps
from npu_mlir.dialects import tile
from npu_mlir.dialects.context import make_context
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.passes.tile.annotate_bounds import _slabs, kernel_work
from npu_mlir.passes.tile.form_kernels import FormKernels
from npu_mlir.passes.tile.kernel import Kernel, read_kernel
from npu_mlir.targets.target import get_target
from random_linalg import make_program, multiply_add, slice_of

D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


class Program(Builder):
    """A function of one kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def arg(self, *shape: int, element: Attribute = f32) -> SSAValue:
        return self.block.insert_arg(tensor_type(element, shape), len(self.block.args))

    def work(self, *results: SSAValue, target: str = "toy") -> KernelWork:
        """The work of the kernel that computes the results."""
        return kernel_work(self.kernel(*results, target=target), get_target(target))

    def kernel(self, *results: SSAValue, target: str = "toy") -> Kernel:
        """The kernel that computes the results."""
        module = make_program(self, self.block, results).module
        module.attributes["npu.target"] = StringAttr(target)
        FormKernels().apply(make_context(), module)
        (kernel,) = (op for op in module.ops if isinstance(op, tile.KernelOp))
        return read_kernel(kernel)

    def product(self, m: int, k: int, n: int, element: Attribute = f32) -> SSAValue:
        operands = [self.arg(m, k, element=element), self.arg(k, n, element=element)]
        return self.generic(
            operands, self.fill(0.0, (m, n), f32), [(0, 2), (2, 1), (0, 1)], 3, [2], multiply_add
        )

    def apply(self, name: str, value: SSAValue, *shape: int, constant: float | None = None) -> SSAValue:
        """An operation on each element, perhaps with a constant."""
        extra = [] if constant is None else [constant]
        dims = range(len(shape))
        return self.map([value], [dims], shape, f32, lambda body, x: body.apply(name, x, *extra))


def test_elementwise():
    p = Program()

    def build(body: Body, x: SSAValue) -> SSAValue:
        # A multiplication of which only the sum is needed may be one instruction with it.
        return body.apply("add", body.apply("mul", body.apply("exp", x), x), x)

    y = p.map([p.arg(4, 9)], [(0, 1)], (4, 9), f32, build)
    assert p.work(y) == KernelWork((("gm_ub", 144),), (144,), (), (VectorOps(36, 4, 2), VectorOps(36, 4, 1)))


def test_a_multiplication_that_is_needed_counts():
    p = Program()
    y = p.map([p.arg(5), p.arg(5)], [(0,), (0,)], (5,), f32, lambda body, x, y: body.apply("mul", x, y))
    assert p.work(y).vector == (VectorOps(5, 4, 1),)
    p = Program()

    def build(body: Body, x: SSAValue) -> SSAValue:
        product = body.apply("mul", x, x)
        return body.apply("sub", body.apply("add", product, x), product)

    assert len(p.work(p.map([p.arg(5)], [(0,)], (5,), f32, build)).vector) == 3


@pytest.mark.parametrize(
    ("name", "constant", "slope"),
    # The 910: 2 for an addition, 1 for operations with a constant, 4 for a division.
    [("exp", None, 2), ("max", 0.0, 1), ("add", 3.0, 1), ("div", 3.0, 1)],
)
def test_the_cheapest_instruction_counts(name: str, constant: float | None, slope: int):
    p = Program()
    work = p.work(p.apply(name, p.arg(7), 7, constant=constant), target="ascend-910")
    assert work.vector == (VectorOps(7, 4, slope),)


def test_the_widest_operand_counts():
    """A comparison of f32 makes truth values of a byte, which choose among f32."""
    p = Program()

    def build(body: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        return body.select(body.compare("lt", x, y), x, y)

    y = p.map([p.arg(7), p.arg(7)], [(0,), (0,)], (7,), f32, build)
    assert [op.width for op in p.work(y).vector] == [4, 4]


def test_a_division_of_two_operands():
    p = Program()
    y = p.map([p.arg(7), p.arg(7)], [(0,), (0,)], (7,), f32, lambda body, x, y: body.apply("div", x, y))
    assert p.work(y, target="ascend-910").vector == (VectorOps(7, 4, 4),)


def test_sums_are_trees():
    p = Program()
    rows = p.reduce(p.arg(4, 9), [1], 0.0, f32, lambda body, x, acc: body.apply("add", acc, x))
    # Eight additions for each of four rows.
    assert p.work(rows) == KernelWork((("gm_ub", 144),), (16,), (), (VectorOps(32, 4, 1),))


def test_a_sum_that_starts_from_a_value_has_one_more():
    p = Program()
    y = p.generic(
        [p.arg(4, 9)], p.arg(4), [(0, 1), (0,)], 2, [1], lambda body: body.apply("add", body.args[1], body.args[0])
    )  # fmt: skip
    assert p.work(y).vector == (VectorOps(36, 4, 1),)


def test_what_is_broadcast_is_computed_once():
    p = Program()

    def build(body: Body, x: SSAValue, row: SSAValue) -> SSAValue:
        return body.apply("add", x, body.apply("exp", row))

    y = p.map([p.arg(4, 9), p.arg(9)], [(0, 1), (1,)], (4, 9), f32, build)
    work = p.work(y)
    assert work.vector == (VectorOps(9, 4, 2), VectorOps(36, 4, 1))
    assert work.loads == (("gm_ub", 144), ("gm_ub", 36))


def test_constants_cost_nothing():
    p = Program()

    def build(body: Body, x: SSAValue) -> SSAValue:
        return body.apply("mul", x, body.apply("exp", body.constant(2.0, f32)))

    assert p.work(p.map([p.arg(6)], [(0,)], (6,), f32, build)).vector == (VectorOps(6, 4, 1),)


@pytest.mark.parametrize("element", [f16, f32])
def test_products(element: Attribute):
    p = Program()
    size = 2 if element == f16 else 4
    work = p.work(p.product(3, 5, 7, element))
    assert work == KernelWork(
        (("gm_l1", 15 * size), ("gm_l1", 35 * size)),
        (84,),
        (ProductWork(1, 3, 7, 5, str(element), 8 * size),),
        direct=True,
    )


def test_a_batch_of_products():
    p = Program()
    operands = [p.arg(2, 3, 5), p.arg(2, 5, 7)]
    maps = [(0, 1, 3), (0, 3, 2), (0, 1, 2)]
    y = p.generic(operands, p.fill(0.0, (2, 3, 7), f32), maps, 4, [3], multiply_add)
    assert p.work(y).products == (ProductWork(2, 3, 7, 5, "f32", 32),)


@pytest.mark.parametrize(
    ("names", "vector", "direct"),
    [
        (["max"], 0, True),
        (["exp"], 1, False),
        (["max", "exp"], 1, False),
        (["exp", "max"], 1, False),
    ],
)
def test_what_follows_a_product(names: Sequence[str], vector: int, direct: bool):
    """The fixpipe does a relu on the side, so that the result may leave L0C at once."""
    p = Program()
    value = p.product(3, 5, 7)
    for name in names:
        value = p.apply(name, value, 3, 7, constant=0.0 if name == "max" else None)
    work = p.work(value)
    assert len(work.vector) == vector and work.direct == direct


def test_a_sum_of_a_product_does_not_leave_l0c():
    p = Program()
    rows = p.reduce(p.product(3, 5, 7), [1], 0.0, f32, lambda body, x, acc: body.apply("max", acc, x))
    assert not p.work(rows).direct


def test_a_cast_of_a_product_does():
    p = Program()
    y = p.map([p.product(3, 5, 7)], [(0, 1)], (3, 7), f16, lambda body, x: body.cast(x, f16))
    work = p.work(y)
    assert work.direct and work.stores == (42,) and not work.vector


def test_one_of_two_results_may_leave_l0c():
    p = Program()
    product = p.product(3, 5, 7)
    assert p.work(product, p.apply("exp", product, 3, 7)).direct


def test_without_a_product_nothing_leaves_l0c():
    p = Program()
    assert not p.work(p.apply("max", p.arg(7), 7, constant=0.0)).direct


def test_an_operand_of_the_cube_and_the_vector_unit_is_loaded_once():
    p = Program()
    x = p.arg(8, 8)
    product = p.generic(
        [x, p.arg(8, 8)], p.fill(0.0, (8, 8), f32), [(0, 2), (2, 1), (0, 1)], 3, [2], multiply_add
    )
    y = p.map([product, x], [(0, 1), (0, 1)], (8, 8), f32, lambda body, x, y: body.apply("sub", x, y))
    assert [size for _, size in p.work(y).loads] == [256, 256]


def test_a_cheap_reduction_counts():
    p = Program()
    rows = p.reduce(p.arg(4, 9), [1], 0.0, f32, lambda body, x, acc: body.apply("add", acc, x))
    toy = get_target("toy")
    machine = replace(toy, vector=toy.vector | {"default": (2, 3, 3), "reduce": (2, 1, 4)})
    assert kernel_work(p.kernel(rows), machine).vector == (VectorOps(32, 4, 1),)
    p = Program()
    y = p.map(
        [p.arg(4, 9), p.arg(4, 9)], [(0, 1), (0, 1)], (4, 9), f32, lambda body, x, y: body.apply("add", x, y)
    )
    assert kernel_work(p.kernel(y), machine).vector == (VectorOps(36, 4, 3),)


def test_panels_of_rows():
    """Of a product of 40 rows of 8 f32, which take 32 B: 4, 8, 14 (three of up to 16), 20 and all rows."""
    expected = [(10, 128), (5, 256), (3, 448), (2, 640), (1, 1280)]
    p = Program()
    assert _slabs(p.kernel(p.product(40, 8, 5)), get_target("toy")) == expected
    p = Program()
    operands = [p.arg(3, 40, 8), p.arg(3, 8, 5)]
    maps = [(0, 1, 3), (0, 3, 2), (0, 1, 2)]
    y = p.generic(operands, p.fill(0.0, (3, 40, 5), f32), maps, 4, [3], multiply_add)
    # One matrix at a time.
    assert _slabs(p.kernel(y), get_target("toy")) == expected
    p = Program()
    assert not _slabs(p.kernel(p.apply("exp", p.arg(7), 7)), get_target("toy"))


# ---- how much of an operand is read ---------------------------------------------------------------------------------


def elements_read(make: Callable[[Program], tuple[SSAValue, Map]], extents: Sequence[int]) -> int:
    """The elements that a maximum over the last loop reads of its operand."""
    p = Program()
    value, map_ = make(p)
    kept, last = list(range(len(extents) - 1)), len(extents) - 1
    # Another operand gives the extents.
    other, start = p.arg(*extents), p.fill(-1.0, tuple(extents[:-1]), f32)

    def build(body: Body) -> SSAValue:
        return body.apply("max", body.args[2], body.apply("sub", body.args[0], body.args[1]))

    maps = [map_, range(len(extents)), kept]
    y = p.generic([value, other], start, maps, len(extents), [last], build)
    loads = p.work(y).loads
    return loads[0][1] // 4


@pytest.mark.parametrize(
    ("size", "coordinate", "elements"),
    [
        pytest.param(7, D0 + D1, 7, id="windows that overlap"),
        pytest.param(14, D0 * 3 + D1, 14, id="windows side by side"),
        pytest.param(25, D0 * 5 + D1, 14 - 2 + 3, id="windows with gaps"),
        pytest.param(9, D0 * 2, 5, id="every other element"),
    ],
)
def test_windows(size: int, coordinate: AffineExpr, elements: int):
    """Five places, windows of three."""
    assert elements_read(lambda p: (p.arg(size), [coordinate]), (5, 3)) == elements


def test_a_diagonal():
    assert elements_read(lambda p: (p.arg(5, 7), [D0, D0 + D1]), (5, 3)) == 7


def test_padding_is_not_read():
    assert elements_read(lambda p: (p.pad(p.arg(8), [1], [2], 0.0), [D0 + D1]), (9, 3)) == 8


def test_slices():
    assert elements_read(lambda p: (slice_of(p, p.arg(40), (3,), (7,), (2,)), [D0 + D1]), (5, 3)) == 7


@pytest.mark.parametrize(
    ("shape", "coordinates"), [((7,), [D0 + D1]), ((5, 7), [D0, D0 + D1])], ids=["windows", "a diagonal"]
)
def test_windows_are_computed_once(shape: Sequence[int], coordinates: Sequence[AffineExpr]):
    """What reads five windows of three with an overlap computes seven exponentials, be it on a diagonal."""
    p = Program()

    def build(body: Body) -> SSAValue:
        return body.apply(
            "max", body.args[2], body.apply("sub", body.apply("exp", body.args[0]), body.args[1])
        )

    start = p.fill(-1.0, (5,), f32)
    y = p.generic([p.arg(*shape), p.arg(5, 3)], start, [coordinates, (0, 1), (0,)], 2, [1], build)
    assert p.work(y).vector == (VectorOps(7, 4, 2), VectorOps(15, 4, 1), VectorOps(10, 4, 1))


@pytest.mark.parametrize(
    ("size", "coordinate", "combinations"),
    [
        pytest.param(7, D0 + D1, 5, id="one for each result"),
        pytest.param(11, D0 * 2 + D1, 6, id="one for each element but those that results begin with"),
        pytest.param(15, D0 * 3 + D1, 10, id="two for each window of three"),
    ],
)
def test_windows_may_share_their_parts(size: int, coordinate: AffineExpr, combinations: int):
    """Maxima of five windows of three."""
    p = Program()
    start = p.fill(-1.0, (5,), f32)
    y = p.generic(
        [p.arg(size), p.empty((3,), f32)],
        start,
        [[coordinate], (1,), (0,)],
        2,
        [1],
        lambda body: body.apply("max", body.args[0], body.args[2]),
    )
    assert p.work(y).vector == (VectorOps(combinations, 4, 1),)


def test_a_relu_behind_something_else_does_not_leave_l0c():
    p = Program()

    def build(body: Body, x: SSAValue) -> SSAValue:
        return body.apply("max", body.apply("exp", x), 0.0)

    y = p.map([p.product(3, 5, 7)], [(0, 1)], (3, 7), f32, build)
    assert not p.work(y).direct


def test_integers():
    p = Program()
    y = p.map([p.arg(3, 5, element=i32)], [(0, 1)], (3, 5), i32, lambda body, x: body.apply("max", x, 0))
    assert p.work(y).vector == (VectorOps(15, 4, 1),)
