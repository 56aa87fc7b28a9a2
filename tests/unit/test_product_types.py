"""Sums of products over all pairs of element types and casts, at every level, against NumPy on exact numbers.

The cube and the vector unit read factors as signed numbers of one type and sum in 32 bits; everything else has to be
brought to that or done in other ways, and never to be taken for it."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, StringAttr, f16, f32, i1, i8, i16, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npu_mlir.dialects.context import make_context
from npu_mlir.interpreters.framework import run_function
from npu_mlir.ir.verification import verify
from npu_mlir.passes import load_pass
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.tensor_types import tensor_type
from npu_mlir.pipeline import phases_between
from npu_mlir.simulator import simulate
from npu_mlir.support.dtypes import numpy_dtype

Cast = type[Operation] | None
EXTF, EXTSI, EXTUI = arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp
TRUNCF, TRUNCI = arith.TruncFOp, arith.TruncIOp
SITOFP, UITOFP, FPTOSI = arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp
M, K, N = 5, 19, 7

# The types of the factors and of the sum, the casts of the factors to that.
CASES: list[tuple[Attribute, Attribute, Attribute, Cast, Cast]] = [
    (i8, i8, i32, EXTUI, EXTUI),
    (i8, i8, i32, EXTSI, EXTSI),
    (i8, i8, i32, EXTUI, EXTSI),
    (i8, i16, i32, EXTSI, EXTSI),
    (i8, i16, i32, EXTUI, EXTUI),
    (i8, i32, i32, EXTSI, None),
    (i32, i8, i32, None, EXTUI),
    (i1, i1, i32, EXTUI, EXTUI),
    (i1, i1, i32, EXTSI, EXTSI),
    (i1, i8, i32, EXTSI, EXTUI),
    (i32, i32, i32, None, None),
    (i8, i8, i8, None, None),
    (i32, i8, i8, TRUNCI, None),
    (i32, i32, i8, TRUNCI, TRUNCI),
    (i64, i64, i64, None, None),
    (i32, i32, i64, EXTSI, EXTUI),
    (i8, i8, f32, SITOFP, UITOFP),
    (i8, f32, f32, SITOFP, None),
    (f16, i32, f16, None, SITOFP),
    (f32, f32, i32, FPTOSI, FPTOSI),
    (f16, f16, f32, EXTF, EXTF),
    (f16, f32, f32, EXTF, None),
    (f32, f16, f32, None, EXTF),
    (f32, f32, f32, None, None),
    (f16, f16, f16, None, None),
    (f32, f16, f16, TRUNCF, None),
    (f32, f32, f16, TRUNCF, TRUNCF),
]
PASSES = [name for phase in phases_between("linalg", "isa") for name in phase.passes]


def product(
    types: tuple[Attribute, Attribute, Attribute], casts: tuple[Cast, Cast], swapped: bool, from_init: bool
) -> ModuleOp:
    """A matrix product as one generic; with `from_init` it starts from the third argument."""
    total = types[2]
    shapes = [(M, K), (K, N), (M, N)]
    block = Block(arg_types=[tensor_type(t, shape) for t, shape in zip(types, shapes, strict=True)])
    x, y, start = block.args

    def build(body: Body) -> SSAValue:
        factors = [
            body.append(cast.create(operands=[arg], result_types=[total])) if cast is not None else arg
            for cast, arg in zip(casts, body.args, strict=False)
        ]
        terms = [body.args[-1], body.apply("mul", *factors[:: -1 if swapped else 1])]
        return body.apply("add", *terms[:: -1 if swapped else 1])

    builder = Builder()
    init = start if from_init else builder.fill(0, (M, N), total)
    result = builder.generic([x, y], init, [(0, 2), (2, 1), (0, 1)], 3, [2], build)
    block.add_ops([*builder.ops, ReturnOp(result)])
    return ModuleOp([FuncOp("main", ([arg.type for arg in block.args], [result.type]), Region(block))])


def numbers(type_: Attribute, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Numbers whose products can be summed exactly; of integers all of 8 bits."""
    rng, dtype = np.random.default_rng(seed), numpy_dtype(type_)
    if dtype.kind == "f":
        return (rng.integers(-8, 9, shape) * 0.25).astype(dtype)
    return (
        rng.integers(0, 2, shape).astype(bool)
        if dtype.kind == "b"
        else rng.integers(-128, 128, shape).astype(dtype)
    )


def converted(values: np.ndarray, cast: Cast, type_: Attribute) -> np.ndarray:
    """What a cast makes of the numbers."""
    if values.dtype.kind == "b":
        values = np.where(values, -1 if cast is EXTSI else 1, 0)
    elif cast in (EXTUI, UITOFP):
        values = values.view(f"u{values.dtype.itemsize}")
    return values.astype(numpy_dtype(type_))


@pytest.mark.parametrize("from_init", [False, True], ids=["from 0", "from init"])
@pytest.mark.parametrize(
    ("a", "b", "total", "cast_a", "cast_b"),
    [
        pytest.param(
            *case, id=f"{case[0]} x {case[1]} to {case[2]} {'/'.join(c.name if c else '-' for c in case[3:])}"
        )
        for case in CASES
    ],
)
def test_products_of_types(
    a: Attribute, b: Attribute, total: Attribute, cast_a: Cast, cast_b: Cast, from_init: bool
) -> None:
    module = product((a, b, total), (cast_a, cast_b), swapped=from_init, from_init=from_init)
    module.attributes["npu.target"] = StringAttr("ascend-910b" if from_init else "toy")
    x, y, start = numbers(a, (M, K), 1), numbers(b, (K, N), 2), numbers(total, (M, N), 3)
    dtype = numpy_dtype(total)
    exact = np.float64 if dtype.kind == "f" else np.int64
    expected = converted(x, cast_a, total).astype(exact) @ converted(y, cast_b, total).astype(exact)
    expected = (expected + start if from_init else expected).astype(dtype)

    def compare(got: np.ndarray, where: str) -> None:
        rtol = 2e-3 if dtype == np.float16 else 0
        np.testing.assert_allclose(got.astype(exact), expected.astype(exact), rtol, err_msg=where)

    compare(run_function(module, "main", [x, y, start])[0], "linalg")
    for name in PASSES:
        load_pass(name)().apply(make_context(), module)
        verify(module)
        compare(run_function(module, "main", [x, y, start])[0], name)
    compare(simulate(module, [x, y, start], check=True).outputs[0], "simulator")


@pytest.mark.parametrize("casts", [(EXTUI, EXTUI), (EXTUI, EXTSI)], ids=["unsigned", "mixed"])
def test_unsigned_products_without_split(casts: tuple[Cast, Cast]) -> None:
    """`linalg-split-contractions` left out, the vector unit computes them."""
    module = product((i8, i8, i32), casts, swapped=False, from_init=False)
    module.attributes["npu.target"] = StringAttr("toy")
    x, y, start = numbers(i8, (M, K), 1), numbers(i8, (K, N), 2), numbers(i32, (M, N), 3)
    for name in PASSES:
        if name != "linalg-split-contractions":
            load_pass(name)().apply(make_context(), module)
    names = {op.name for op in module.walk()}
    assert "npu_isa.vcast" in names and "npu_isa.mmad" not in names
    expected = converted(x, casts[0], i32) @ converted(y, casts[1], i32)
    np.testing.assert_array_equal(simulate(module, [x, y, start], check=True).outputs[0], expected)
