"""The view of `linalg.generic` against what evaluation point by point shows: extents, roles of loops, multiply-adds."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i8, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from npu_mlir.analysis.structured.bodies import (
    accumulated_product,
    copied_input,
    is_multiply_add,
    multiply_add,
)
from npu_mlir.analysis.structured.nest import extents_of, loop_extents
from npu_mlir.analysis.structured.roles import LoopRoles, loop_roles
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.tensor_types import tensor_type

FEW = settings(max_examples=200, deadline=None, derandomize=True)


# ---- extents ---------------------------------------------------------------------------------------------------------


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[int], list[AffineMap]]:
    """Extents of loops, and maps of operands: plain dims, constants, windows, strides."""
    extents = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    dims = st.integers(0, len(extents) - 1).map(AffineDimExpr)
    exprs = st.one_of(
        dims,
        st.integers(0, 3).map(AffineConstantExpr),
        st.builds(lambda a, b: a + b, dims, dims),
        st.builds(lambda a, factor: a * factor, dims, st.integers(2, 3)),
    )
    maps = draw(st.lists(st.lists(exprs, max_size=4), min_size=1, max_size=4))
    return extents, [AffineMap(len(extents), 0, tuple(results)) for results in maps]


def points(extents: list[int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(n) for n in extents)))


def shape_read(map_: AffineMap, extents: list[int]) -> list[int]:
    """The smallest shape that has all that is read through a map."""
    coordinates = [map_.eval(point, []) for point in points(extents)]
    return [1 + max(axis) for axis in zip(*coordinates, strict=True)]


@FEW
@given(spaces())
def test_extents_are_those_of_the_loops(space: tuple[list[int], list[AffineMap]]) -> None:
    extents, maps = space
    found = extents_of([(m.results, shape_read(m, extents)) for m in maps], len(extents))
    for d, extent in enumerate(extents):
        is_told = any(AffineDimExpr(d) in m.results for m in maps)
        assert found[d] == (extent if is_told else None)


@FEW
@given(spaces())
def test_extents_agree_with_those_of_xdsl(space: tuple[list[int], list[AffineMap]]) -> None:
    extents, maps = space
    everything = AffineMap.identity(len(extents))
    shapes = [tuple(shape_read(m, extents)) for m in (*maps, everything)]
    operands = Block(arg_types=[tensor_type(i32, shape) for shape in shapes]).args
    b = Builder()
    value = b.generic(
        operands[:-1],
        operands[-1],
        [m.results for m in (*maps, everything)],
        len(extents),
        [],
        lambda body: body.args[0],
    )
    op = value.owner
    assert isinstance(op, GenericOp)
    assert loop_extents(op) == op.get_static_loop_ranges() == tuple(extents)


# ---- roles -----------------------------------------------------------------------------------------------------------


def depends(map_: AffineMap, d: int) -> bool:
    """Whether what is read through a map moves with a loop."""
    here = [1] * map_.num_dims
    there = [2 if i == d else 1 for i in range(map_.num_dims)]
    return map_.eval(here, []) != map_.eval(there, [])


@FEW
@given(spaces(), st.sets(st.integers(0, 3)))
def test_roles_are_who_moves_with_a_loop(space: tuple[list[int], list[AffineMap]], reduced: set[int]) -> None:
    extents, maps = space
    loops = range(len(extents))
    reduced &= set(loops)
    a, b = maps[0], maps[-1]
    used = [{d for expr in m.results for d in expr.used_dims()} for m in (a, b)]
    roles = loop_roles(used[0], used[1], reduced, len(extents))
    if any(not depends(m, d) for m in (a, b) for d in reduced):
        assert roles is None
        return
    parallel = [d for d in loops if d not in reduced]
    assert roles == LoopRoles(
        batch=tuple(d for d in parallel if depends(a, d) and depends(b, d)),
        m=tuple(d for d in parallel if not depends(b, d)),
        n=tuple(d for d in parallel if depends(b, d) and not depends(a, d)),
        k=tuple(sorted(reduced)),
    )
    assert roles.exchanged().exchanged() == roles


# ---- bodies ----------------------------------------------------------------------------------------------------------

_MEANING: dict[type[Operation], Callable[..., int]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.ExtSIOp: lambda x: x,
    arith.ExtUIOp: lambda x: x % 256,
}


def evaluated(block: Block, args: tuple[int, ...]) -> int:
    """What a body yields."""
    values: dict[SSAValue, int] = dict(zip(block.args, args, strict=True))
    for op in block.ops:
        operands = [values[v] for v in op.operands]
        if isinstance(op, arith.ConstantOp):
            assert isinstance(op.value, IntegerAttr)
            values[op.result] = op.value.value.data
        elif not op.results:
            return operands[0]
        else:
            values[op.results[0]] = _MEANING[type(op)](*operands)
    raise AssertionError("a body ends in linalg.yield")


@st.composite
def bodies(draw: st.DrawFn) -> Block:
    """Bodies of a few additions, subtractions and products of two i8 inputs, widened in some way, and an i32 sum."""
    body = Body([i8, i8, i32])
    casts = st.sampled_from([arith.ExtSIOp, arith.ExtSIOp, arith.ExtUIOp])
    values = [body.append(draw(casts)(arg, i32)) for arg in body.args[:2]]
    values.append(body.args[2])
    if draw(st.booleans()):
        values.append(body.constant(1, i32))
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["mul", "add", "sub"]))
        values.append(body.apply(name, *(draw(st.sampled_from(values[-5:])) for _ in range(2))))
    return body.end(values[-1])


SAMPLES = [(3, 5, 7), (-2, 9, 4), (100, -128, 11), (-1, -1, 0), (0, 6, 13), (-7, 0, -5)]


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(bodies())
def test_multiply_adds_are_those_bodies_that_compute_one(block: Block) -> None:
    found = multiply_add(block)
    signed = found is not None and found.is_one_instruction
    if found is not None:
        assert set(found.operands) == {0, 1}
        assert all(
            evaluated(block, (a, b, c)) == c + a % 256 * (b % 256) for a, b, c in [(3, 5, 7), (0, 6, 13)]
        )
    computes = all(evaluated(block, (a, b, c)) == c + a * b for a, b, c in SAMPLES)
    if signed:
        assert computes
    operations = [op for op in block.ops if isinstance(op, arith.AddiOp | arith.SubiOp | arith.MuliOp)]
    if computes and len(operations) == 2:
        # With two operations there is one way to compute it, up to the order of operands.
        assert signed
    assert found is None or accumulated_product(block) == (found.product, found.total)
    copied = copied_input(block)
    assert copied is None or all(evaluated(block, args) == args[copied] for args in SAMPLES)


@given(st.booleans(), st.booleans(), st.permutations(["left", "right"]))
def test_operands_may_be_swapped(swap_product: bool, swap_sum: bool, order: list[str]) -> None:
    def build(body: Body) -> SSAValue:
        x, y, acc = body.args
        wide = {}
        for name in order:
            wide[name] = body.append(arith.ExtSIOp(x if name == "left" else y, i32))
        factors = [wide["left"], wide["right"]]
        terms = [acc, body.apply("mul", *factors[:: -1 if swap_product else 1])]
        return body.apply("add", *terms[:: -1 if swap_sum else 1])

    b = Builder()
    x, y = Block(arg_types=[tensor_type(i8, (2, 3)), tensor_type(i8, (3, 4))]).args
    maps: list[Any] = [(0, 2), (2, 1), (0, 1)]
    op = b.generic([x, y], b.fill(0, (2, 4), i32), maps, 3, [2], build).owner
    assert isinstance(op, GenericOp) and is_multiply_add(op)
    found = multiply_add(op.body.block)
    assert found is not None and found.operands == ((1, 0) if swap_product else (0, 1))
