"""What follows a contraction in the body of the operation that reads it, and what of that the cube's side does.

    %0 = arith.extf %bias : f16 to f32         the bias: the cube starts its accumulators from it
    %1 = arith.addf %acc, %0 : f32
    %2 = arith.truncf %1 : f32 to f16          the fixpipe, which hands over f16
    %3 = arith.addf %2, %shortcut : f16        the vector unit
    %4 = arith.maximumf %3, 0.0 : f16

A bias comes first, then what the fixpipe does (`fixpipe`); the prefix ends at the last value that it can hand over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from npu_mlir.analysis.affine_maps import projection
from npu_mlir.analysis.structured.bodies import SIGNED_WIDENING, body_ops, yielded
from npu_mlir.analysis.structured.fixpipe import Drained, columns_of, passed, rows_of
from npu_mlir.analysis.structured.nest import describe, maps_of
from npu_mlir.analysis.structured.roles import contraction_roles
from npu_mlir.targets.target import Target


@dataclass(frozen=True)
class Bias:
    """A bias: the operation that adds it, the addition in its body, the number of the operand, its dims by those of
    the product's result, a cast of it in the body."""

    user: GenericOp
    addition: Operation
    operand: int
    map: AffineMap
    cast: Operation | None


@dataclass(frozen=True)
class Prefix:
    """What the cube's side does of a body: a bias, further operations, the value that it hands over."""

    bias: Bias | None
    ops: Sequence[Operation]
    """All of them in their order, those of the bias included."""
    value: SSAValue
    state: Drained

    @property
    def operands(self) -> list[int]:
        """The numbers of the operands that are read beside the product."""
        found = [] if self.bias is None else [self.bias.operand]
        return [*found, *([self.state.row.index] if isinstance(self.state.row, BlockArgument) else [])]

    def is_whole(self, user: GenericOp) -> bool:
        """Whether that is all that the body does."""
        inputs = 1 + len(self.operands)
        return (
            self.value is yielded(user.body.block)
            and len(user.inputs) == inputs
            and set(self.ops) == set(body_ops(user))
        )


def bias_of(product: GenericOp, *, narrowed: bool = False) -> Bias | None:
    """What is added to the result of a product along the columns of its accumulators, or with `narrowed` to that result
    as a narrower float; None if nothing is, something else reads the result as well, or the elements don't lie side by
    side."""
    compute = describe(product)
    bias = _addition(product, narrowed) if compute.contraction else None
    if bias is None:
        return None
    roles = contraction_roles(compute)
    assert roles is not None
    columns = {compute.result.index(d) for d in roles.n if compute.extents[d] > 1}
    batch = {compute.result.index(d) for d in roles.batch}
    read = {d for d in projection(bias.map) or () if compute.extents[compute.result[d]] > 1}
    return bias if len(columns) == 1 and read - batch == columns and _is_row(bias, batch) else None


def prefix_of(product: GenericOp, user: GenericOp, target: Target) -> Prefix | None:
    """What the cube's side of a machine does of the body of `user`, which reads a product's result in its own shape;
    None if that is nothing."""
    maps = maps_of(user)
    numbers = [i for i, value in enumerate(user.inputs) if value is product.results[0]]
    if len(numbers) != 1 or maps[numbers[0]] != maps[-1]:
        return None
    value: SSAValue = user.body.block.args[numbers[0]]
    rows = rows_of(user, product.results[0], columns_of(product))
    state = Drained.start(value.type)
    bias = bias_of(product)
    ops: list[Operation] = []
    if bias is not None and bias.user is user:
        ops += [bias.addition] if bias.cast is None else [bias.cast, bias.addition]
        value = bias.addition.results[0]
    else:
        bias = None
    found = Prefix(bias, tuple(ops), value, state) if ops and state.is_possible(target) else None
    while (op := _next(value, rows)) is not None:
        after = state.then(op, rows)
        if after is None:
            break
        state, value = after, op.results[0]
        ops.append(op)
        if state.is_possible(target):
            found = Prefix(bias, tuple(ops), value, state)
    return found


def _next(value: SSAValue, rows: Collection[SSAValue]) -> Operation | None:
    """The operation that alone reads a value and, constants and rows apart, nothing else."""
    uses = list(value.uses)
    if len(uses) != 1 or isinstance(uses[0].operation, YieldOp):
        return None
    op = uses[0].operation
    return op if passed(op, rows) is value and len(op.results) == 1 else None


def _is_row(bias: Bias, batch: set[int]) -> bool:
    """Whether the elements of a bias for one product lie side by side in L1: its last dim is the only one that isn't 1
    or the number of the product in its batch, of which a tile has one.

    A bias of shape Mx1 is a column there, with the padding of its rows between the elements.
    """
    shape = cast("TensorType[Attribute]", bias.user.inputs[bias.operand].type).get_shape()
    dims = projection(bias.map) or ()
    return all(n == 1 or d in batch for n, d in zip(shape[:-1], dims[:-1], strict=True))


def _addition(product: GenericOp, narrowed: bool) -> Bias | None:
    """The addition to the result of a product, or to what it is narrowed to, if nothing else reads the result."""
    uses = list(product.results[0].uses)
    if len(uses) != 1 or not isinstance(uses[0].operation, GenericOp):
        return None
    user = uses[0].operation
    if uses[0].index >= len(user.inputs):
        return None
    args = user.body.block.args
    reads = list(args[uses[0].index].uses)
    if narrowed:
        narrow = reads[0].operation if len(reads) == 1 else None
        reads = list(narrow.result.uses) if isinstance(narrow, arith.TruncFOp) else []
    if len(reads) != 1 or not isinstance(reads[0].operation, arith.AddfOp | arith.AddiOp):
        return None
    addition = reads[0].operation
    source = addition.operands[1 - reads[0].index]
    cast_ = (
        source.owner if isinstance(source.owner, SIGNED_WIDENING) and len(list(source.uses)) == 1 else None
    )
    arg = cast_.operands[0] if cast_ is not None else source
    if (
        not isinstance(arg, BlockArgument)
        or arg.owner is not user.body.block
        or arg.index >= len(user.inputs)
    ):
        return None
    maps = maps_of(user)
    here, there = projection(maps[uses[0].index]), projection(maps[arg.index])
    if here is None or there is None or not set(there) <= set(here) or len(list(arg.uses)) != 1:
        return None
    map_ = AffineMap(len(here), 0, tuple(AffineDimExpr(here.index(d)) for d in there))
    return Bias(user, addition, arg.index, map_, cast_)
