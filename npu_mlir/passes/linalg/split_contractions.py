"""linalg-split-contractions: leave in a matrix product or convolution nothing but the product and the sum.

    %0 = linalg.generic {maps = [(d0, d1, d2) -> (d0, d2), (d0, d1, d2) -> (d2), (d0, d1, d2) -> (d2, d1),
                                 (d0, d1, d2) -> (d0, d1)]} ins(%x, %b, %w) outs(%init) {
      %1 = arith.addf %in, %in_b
      %2 = arith.maximumf %1, 0.0
      %3 = arith.mulf %2, %in_w
      %4 = arith.addf %out, %3
      linalg.yield %4 }
  becomes
    %t = linalg.generic {maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d1), (d0, d1) -> (d0, d1)]} ins(%x, %b) outs(%e) {
      arith.addf, arith.maximumf }
    %p = linalg.generic {maps = [(d0, d1, d2) -> (d0, d2), (d0, d1, d2) -> (d2, d1), (d0, d1, d2) -> (d0, d1)]}
      ins(%t, %w) outs(%zero) { arith.mulf, arith.addf }
    %0 = linalg.generic ... ins(%p, %init) ... { arith.addf }

The cube multiplies and adds, and nothing else; what `mlir-opt --linalg-fuse-elementwise-ops` puts into such a body
would take it to the vector unit, and be computed again for every row or column. A factor is computed in the index space
of the operands that it reads: each different expression in their maps (`d0`, or `d1 + d4` of a window) is a dim of the
new tensor. A maximum or minimum of widened values is taken before they are widened.

The cube reads factors of one type, widened as signed numbers, sums in 32 bits, and starts from zero. So

- casts that widen a factor (`extf`, `extsi`) stay in the product; others (`extui`, `sitofp`, `truncf`) are done
  beforehand, and so are all casts where the factors have different types and the cube can multiply the wider;
- sums of fewer bits are computed in f32 or i32 and cast at the end;
- a product that starts from anything but zero starts from zero, and what it started from is added to it.

Leaves alone: sums that are no contraction (`sum((x - m) * (x - m))`, depthwise convolutions).
Does not handle: factors that read positions (`linalg.index`; run `linalg-materialize-indices` first), maps that are not
linear, a cast between the product and the sum, sums of more than 32 bits.
Changes values: by the order of a sum, where a product starts from other values; sums of f16 are rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import Linear, linear, linear_map, plain_dims
from npu_mlir.analysis.dims import LoopNestOp
from npu_mlir.analysis.structured.bodies import accumulated_product, accumulator_type, narrowed
from npu_mlir.analysis.structured.nest import is_zero_start
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.dialects.tile import may_multiply
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.body import Body
from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.scalar_ops import scalar_attr
from npu_mlir.passes.linalg.structure import (
    Exprs,
    Generic,
    is_parallel,
    loop_extents,
    replace,
    take_apart,
)
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of
from npu_mlir.support.locations import PROVENANCE, located


class SplitContractions(ModulePass):
    """Leave in matrix products nothing but the product and the sum."""

    name = "linalg-split-contractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in [o for o in op.walk() if isinstance(o, GenericOp)]:
            with located(generic):
                _split(generic)
        erase_dead_ops(op)


@dataclass
class _Factor:
    """One side of a product."""

    value: SSAValue
    """A value of the body."""
    casts: list[Operation]
    """What widens it to the operand of the product, in order."""
    ops: list[Operation]
    """What it is computed by in the body; nothing for an input."""
    inputs: list[int]
    exprs: Exprs
    """The expressions over the loops that tell its elements apart, and how many positions each has."""
    extents: tuple[int, ...]


def _split(op: GenericOp) -> None:
    parts = take_apart(op)
    if parts is None or is_parallel(parts):
        return
    product = _product(parts)
    factors = None if product is None else _factors(parts, product)
    if product is None or factors is None or not _is_contraction(parts, *factors):
        return
    b = Builder()
    element = element_of(parts.init)
    wide = accumulator_type(element)
    differ = len({factor.value.type for factor in factors}) > 1 and may_multiply(product.results[0].type)
    if len(parts.inputs) > 2 or any(factor.ops for factor in factors) or differ or wide != element:
        _take_out(b, parts, product, wide)
    init, starts_from_zero = parts.init, is_zero_start(parts.init)
    if not starts_from_zero or wide != element:
        parts.init = b.fill(0, shape_of(init), wide)
    if not b.ops:
        return
    result = replace(parts, b.ops).results[0]
    starts_from_nothing = starts_from_zero or isinstance(init.owner, tensor.EmptyOp)
    if not starts_from_nothing or wide != element:
        _finish(result, [] if starts_from_nothing else [init], element)


def _finish(result: SSAValue, inits: list[SSAValue], element: Attribute) -> None:
    """Cast the result of a product to the type that it was to have, and add what it was to start from."""
    b = Builder()
    rank = len(shape_of(result))

    def build(body: Body, x: SSAValue, *starts: SSAValue) -> SSAValue:
        x = body.cast(x, element)
        return body.apply("add", x, *starts) if starts else x

    values = [result, *inits]
    total = b.map(values, [range(rank)] * len(values), shape_of(result), element, build)
    result.replace_uses_with_if(total, lambda use: use.operation not in b.ops)
    op = cast("Operation", result.owner)
    if PROVENANCE in op.attributes:
        b.ops[-1].attributes[PROVENANCE] = op.attributes[PROVENANCE]
    cast("Block", op.parent).insert_ops_after(b.ops, op)


def _product(parts: Generic) -> Operation | None:
    """The product that the body adds to what it has so far, None if it does anything else."""
    found = accumulated_product(parts.block)
    if found is None or any(v.uses.get_length() != 1 for v in (parts.block.args[-1], found[0].results[0])):
        return None
    return found[0]


def _factors(parts: Generic, product: Operation) -> tuple[_Factor, _Factor] | None:
    left, right = (_factor(parts, value, casts_stay=True) for value in product.operands)
    return None if left is None or right is None else (left, right)


def _factor(parts: Generic, value: SSAValue, casts_stay: bool) -> _Factor | None:
    """What a factor consists of; None if that cannot be computed beforehand."""
    casts = list[Operation]()
    source = narrowed(value) if casts_stay else value
    while value is not source:
        casts.insert(0, cast("Operation", value.owner))
        value = casts[0].operands[0]
    ops = _computing(parts, value)
    operands = {v for op in ops for v in op.operands} | {value}
    inputs = [arg.index for arg in parts.block.args[:-1] if arg in operands]
    if not inputs or any(isinstance(op, IndexOp) for op in ops):
        return None
    if not ops:
        k = inputs[0]
        return _Factor(value, casts, [], inputs, parts.maps[k], shape_of(parts.inputs[k]))
    found = dict[Linear, tuple[AffineExpr, int]]()
    for k in sorted(inputs, key=lambda k: -len(parts.maps[k])):
        for expr, extent in zip(parts.maps[k], shape_of(parts.inputs[k]), strict=True):
            key = linear(expr, parts.num_dims)
            if key is None or found.get(key, (expr, extent))[1] != extent:
                return None
            if not isinstance(expr, AffineConstantExpr):
                found.setdefault(key, (expr, extent))
    return _Factor(
        value, casts, ops, inputs, [e for e, _ in found.values()], tuple(n for _, n in found.values())
    )


def _computing(parts: Generic, value: SSAValue) -> list[Operation]:
    """The operations of the body that a value is computed by, in order, constants included."""
    needed, pending = set[Operation](), [value]
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent is parts.block and op not in needed:
            needed.add(op)
            pending += op.operands
    return [op for op in parts.block.ops if op in needed]


def _is_contraction(parts: Generic, left: _Factor, right: _Factor) -> bool:
    """Whether the cube can compute the sum of the products of two such factors."""
    result = plain_dims(parts.result_exprs)
    maps = [linear_map(AffineMap(parts.num_dims, 0, tuple(factor.exprs))) for factor in (left, right)]
    extents = loop_extents(parts)
    if result is None or left.value is right.value or any(map_ is None for map_ in maps):
        return False
    if any(prod(f.extents) > prod(extents) for f in (left, right) if f.ops):
        return False
    compute = LoopNestOp(
        parts.op,
        tuple(extents),
        tuple(parts.reductions),
        (0, 1),
        tuple(tuple(cast("list[Linear]", map_)) for map_ in maps),
        tuple(result),
    )
    return contraction_roles(compute) is not None


def _take_out(b: Builder, parts: Generic, product: Operation, wide: Attribute) -> None:
    """Compute the factors beforehand that are no inputs, and leave a body of two inputs that sums in a wide type."""
    for value in product.operands:
        _widen_last(value)
    factors = cast("tuple[_Factor, _Factor]", _factors(parts, product))
    if len({factor.value.type for factor in factors}) > 1:
        # The cube takes factors of one type: if one is computed in the wide type, the other is widened beforehand.
        factors = [cast("_Factor", _factor(parts, value, casts_stay=False)) for value in product.operands]
    body = Body([*(factor.value.type for factor in factors), wide])
    wide_factors = [
        body.cast(_after_casts(body, factor, arg), wide)
        for factor, arg in zip(factors, body.args, strict=False)
    ]
    block = body.end(body.apply("add", body.args[-1], body.apply("mul", *wide_factors)))
    values = [_computed(b, parts, factor) for factor in factors]
    parts.inputs, parts.maps = values, [*(factor.exprs for factor in factors), parts.maps[-1]]
    parts.op.body.detach_block(parts.block)
    parts.op.body.add_block(block)
    parts.block.erase(safe_erase=False)
    parts.block = block


def _after_casts(body: Body, factor: _Factor, value: SSAValue) -> SSAValue:
    """A factor after the casts that stay in the body."""
    mapping = {factor.value: value}
    for op in factor.casts:
        value = body.append(op.clone(mapping))
    return value


def _computed(b: Builder, parts: Generic, factor: _Factor) -> SSAValue:
    """A tensor with the values of a factor."""
    if not factor.ops:
        return parts.inputs[factor.inputs[0]]
    dims = {linear(expr, parts.num_dims): d for d, expr in enumerate(factor.exprs)}
    maps = [[dims.get(linear(e, parts.num_dims), e) for e in parts.maps[k]] for k in factor.inputs]

    def build(body: Body, *values: SSAValue) -> SSAValue:
        mapping: dict[SSAValue, SSAValue] = {}
        for k, value in zip(factor.inputs, values, strict=True):
            mapping[parts.block.args[k]] = value
        for op in factor.ops:
            body.append(op.clone(mapping))
        return mapping[factor.value]

    inputs = [parts.inputs[k] for k in factor.inputs]
    return b.map(inputs, maps, factor.extents, factor.value.type, build)


# ---- maxima of widened values ----------------------------------------------------------------------------------------


def _widen_last(value: SSAValue) -> SSAValue:
    """Rewrite `max(ext(x), c)` into `ext(max(x, c))`, which is the same number; the value that takes its place."""
    op = value.owner
    if not isinstance(op, arith.MaximumfOp | arith.MinimumfOp) or value.uses.get_length() != 1:
        return value
    operands = [_widen_last(operand) for operand in op.operands]
    types = {v.owner.input.type for v in operands if isinstance(v.owner, arith.ExtFOp)}
    block = cast("Block", op.parent)
    narrow = [_narrow(operand, next(iter(types)), op) for operand in operands] if len(types) == 1 else [None]
    if any(v is None for v in narrow):
        return value
    new = type(op).create(
        operands=cast("list[SSAValue]", narrow), result_types=list(types), properties=op.properties
    )
    wide = arith.ExtFOp.create(operands=[new.results[0]], result_types=[value.type])
    block.insert_ops_before([new, wide], op)
    value.replace_all_uses_with(wide.results[0])
    block.erase_op(op)
    return wide.results[0]


def _narrow(value: SSAValue, type_: Attribute, before: Operation) -> SSAValue | None:
    """A value of a narrower type that widens to `value`; a constant is made where it has one."""
    op = value.owner
    if isinstance(op, arith.ExtFOp):
        return op.input if op.input.type == type_ else None
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, FloatAttr):
        return None
    number = op.value.value.data
    if not _has(type_, number):
        return None
    attr = scalar_attr(number, type_)
    constant = arith.ConstantOp.create(result_types=[type_], properties={"value": attr})
    cast("Block", before.parent).insert_op_before(constant, before)
    return constant.result


def _has(type_: Attribute, number: float) -> bool:
    """Whether a float type has a number."""
    assert isinstance(type_, AnyFloat)
    try:
        return type_.unpack(type_.pack([number]), 1)[0] == number
    except OverflowError:
        return False
