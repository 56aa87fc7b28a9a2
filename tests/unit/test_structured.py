"""The view of `linalg.generic`: bodies, loops, roles, plain data."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from types import ModuleType

import pytest
from xdsl.dialects.builtin import f16, f32, i8, i32
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineExpr

from npu_mlir.analysis import reshapes
from npu_mlir.analysis.structured import roles
from npu_mlir.analysis.structured.bodies import body_ops, is_multiply_add
from npu_mlir.analysis.structured.nest import (
    describe,
    init_of,
    is_reduction,
    is_row_start,
    is_shape_only,
    is_zero_start,
    loop_extents,
)
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder, Map
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.support.diagnostics import UserError
from random_linalg import multiply_add

MATMUL: list[Map] = [(0, 2), (2, 1), (0, 1)]
Bodies = Callable[[Body], SSAValue]


def args(b: Builder, *types: tuple[Attribute, tuple[int, ...]]) -> list[SSAValue]:
    block = Block(arg_types=[tensor_type(element, shape) for element, shape in types])
    return list(block.args)


def generic_of(value: SSAValue) -> linalg.GenericOp:
    assert isinstance(value.owner, linalg.GenericOp)
    return value.owner


def product(body: Bodies, element: Attribute = f32, result: Attribute = f32) -> linalg.GenericOp:
    b = Builder()
    x, y = args(b, (element, (5, 7)), (element, (7, 6)))
    return generic_of(b.generic([x, y], b.fill(0, (5, 6), result), MATMUL, 3, [2], body))


def step(name: str, other: str, swap: bool = False) -> Bodies:
    """`acc other (a name b)`, or the other way round."""

    def build(body: Body) -> SSAValue:
        x, y, acc = body.args
        inner = body.apply(name, x, y)
        return body.apply(other, *((inner, acc) if swap else (acc, inner)))

    return build


def squares(body: Body) -> SSAValue:
    return body.apply("add", body.args[2], body.apply("mul", body.args[0], body.args[0]))


def without_accumulator(body: Body) -> SSAValue:
    return body.apply("add", body.args[0], body.apply("mul", body.args[0], body.args[1]))


def doubled(body: Body) -> SSAValue:
    inner = body.apply("mul", body.args[0], body.args[1])
    return body.apply("add", inner, inner)


def product_yielded(body: Body) -> SSAValue:
    inner = body.apply("mul", body.args[0], body.args[1])
    body.apply("add", body.args[2], inner)
    return inner


def three_steps(body: Body) -> SSAValue:
    return body.apply("add", step("mul", "add")(body), 1.0)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(step("mul", "add"), True, id="acc + a * b"),
        pytest.param(step("mul", "add", swap=True), True, id="a * b + acc"),
        pytest.param(multiply_add, True, id="perhaps widened"),
        pytest.param(step("mul", "sub"), False, id="acc - a * b"),
        pytest.param(step("add", "mul"), False, id="acc * (a + b)"),
        pytest.param(step("add", "add"), False, id="acc + a + b"),
        pytest.param(squares, False, id="acc + a * a"),
        pytest.param(without_accumulator, False, id="a + a * b"),
        pytest.param(doubled, False, id="a * b + a * b"),
        pytest.param(product_yielded, False, id="a * b"),
        pytest.param(three_steps, False, id="acc + a * b + 1"),
    ],
)
def test_multiply_add(body: Bodies, expected: bool):
    assert is_multiply_add(product(body)) == expected


def test_multiply_add_widened():
    assert is_multiply_add(product(multiply_add, f16))
    assert is_multiply_add(product(multiply_add, i8, i32))

    def one_widened_twice(body: Body) -> SSAValue:
        x, y = body.cast(body.args[0], f32), body.cast(body.args[0], f32)
        return body.apply("add", body.args[2], body.apply("mul", x, y))

    assert not is_multiply_add(product(one_widened_twice, f16))


def test_multiply_add_of_one_operand():
    b = Builder()
    (x,) = args(b, (f32, (5, 7)))
    total = b.reduce(x, [1], 0.0, f32, lambda body, x, acc: body.apply("add", acc, body.apply("mul", x, acc)))
    assert not is_multiply_add(generic_of(total))


def test_constants_are_no_operations():
    op = product(three_steps)
    assert [o.name for o in body_ops(op)] == ["arith.mulf", "arith.addf", "arith.addf"]
    assert is_reduction(op) == (False, False, True)


# ---- extents and starts ---------------------------------------------------------------------------------------------


def test_extents():
    assert loop_extents(product(step("mul", "add"))) == (5, 6, 7)


def test_extents_of_windows_come_from_windows():
    b = Builder()
    (x,) = args(b, (f32, (7,)))
    window: Map = [AffineExpr.dimension(0) + AffineExpr.dimension(1)]
    operands = [x, b.empty((3,), f32)]

    def build(body: Body) -> SSAValue:
        return body.apply("max", body.args[2], body.args[0])

    op = generic_of(b.generic(operands, b.fill(0.0, (5,), f32), [window, (1,), (0,)], 2, [1], build))
    assert loop_extents(op) == (5, 3)
    assert not is_shape_only(op, 0) and is_shape_only(op, 1)
    bare = generic_of(
        b.generic([x], b.fill(0.0, (5,), f32), [window, (0,)], 2, [1], lambda body: body.args[0])
    )
    with pytest.raises(UserError, match="a loop dim is not a plain dim of any operand"):
        loop_extents(bare)


def test_an_empty_tensor_that_is_read_is_no_window():
    b = Builder()
    op = generic_of(b.map([b.empty((5,), f32)], [(0,)], (5,), f32, lambda body, x: body.apply("exp", x)))
    assert not is_shape_only(op, 0)


@pytest.mark.parametrize("element", [f32, i32])
def test_starts(element: Attribute):
    b = Builder()
    (x,) = args(b, (element, (5,)))
    assert is_zero_start(b.fill(0, (5,), element))
    assert not is_zero_start(b.fill(1, (5,), element))
    assert not is_zero_start(b.empty((5,), element))
    assert not is_zero_start(x)
    (scalar,) = Block(arg_types=[element]).args
    assert not is_zero_start(b.fill_with(scalar, (5,)))


def test_what_a_result_starts_from():
    b = Builder()
    x, y = args(b, (f32, (5,)), (f32, (5,)))

    def add(body: Body) -> SSAValue:
        return body.apply("add", body.args[0], body.args[1])

    for init in (b.fill(1.0, (5,), f32), b.empty((5,), f32)):
        assert init_of(generic_of(b.generic([x], init, [(0,), (0,)], 1, (), add))) is init.owner
    assert init_of(generic_of(b.generic([x], y, [(0,), (0,)], 1, (), add))) is y


def test_rows():
    b = Builder()
    row, half, other = args(b, (f32, (6,)), (f16, (6,)), (f32, (6,)))
    maps: list[Map] = [(1,)]
    assert is_row_start(b.map([row], maps, (5, 6), f32, lambda body, x: x))
    assert is_row_start(b.map([half], maps, (5, 6), f32, lambda body, x: body.cast(x, f32)))
    assert not is_row_start(b.map([row], maps, (5, 6), f32, lambda body, x: body.apply("exp", x)))
    assert not is_row_start(b.map([row, other], [*maps, (1,)], (5, 6), f32, lambda body, x, y: x))
    assert not is_row_start(row)
    total = b.generic([row], b.fill(0.0, (), f32), [(0,), ()], 1, [0], lambda body: body.args[0])
    assert not is_row_start(total)


# ---- descriptions ---------------------------------------------------------------------------------------------------


def test_contractions_start_from_zero_or_from_rows():
    b = Builder()
    x, y, row, c = args(b, (f32, (5, 7)), (f32, (7, 6)), (f32, (6,)), (f32, (5, 6)))
    body = step("mul", "add")

    def described(init: SSAValue, row_starts: bool) -> bool:
        op = generic_of(b.generic([x, y], init, MATMUL, 3, [2], body))
        return describe(op, row_starts=row_starts).contraction

    rows = b.map([row], [(1,)], (5, 6), f32, lambda body, x: x)
    assert [described(b.fill(0.0, (5, 6), f32), flag) for flag in (False, True)] == [True, True]
    assert [described(rows, flag) for flag in (False, True)] == [False, True]
    assert [described(c, flag) for flag in (False, True)] == [False, False]


def test_values_that_are_read_are_operands():
    b = Builder()
    x, y, c = args(b, (f32, (5, 7)), (f32, (7, 6)), (f32, (5, 6)))
    first = b.map([x], [(0, 1)], (5, 7), f32, lambda body, x: body.apply("exp", x))
    op = generic_of(b.generic([first, y], c, MATMUL, 3, [2], step("mul", "add")))
    compute = describe(op)
    # What another operation makes goes by that.
    assert compute.operands == (first.owner, y, c)
    assert len(compute.maps) == 3 and compute.result == (0, 1)
    started = describe(product(step("mul", "add")))
    assert len(started.operands) == len(started.maps) == 2


def test_results_are_plain_dims():
    b = Builder()
    (x,) = args(b, (f32, (5,)))
    shifted: Map = [AffineExpr.dimension(0) + 1]
    op = generic_of(b.generic([x], b.empty((6,), f32), [(0,), shifted], 1, (), lambda body: body.args[0]))
    with pytest.raises(UserError, match="that of the result plain dims"):
        describe(op)
    halves: Map = [AffineExpr.dimension(0) // 2]
    op = generic_of(b.generic([x], b.empty((10,), f32), [halves, (0,)], 1, (), lambda body: body.args[0]))
    with pytest.raises(UserError, match="the maps have to be linear"):
        describe(op)


@pytest.mark.parametrize("module", [reshapes, roles])
def test_doctests(module: ModuleType):
    assert doctest.testmod(module).failed == 0
