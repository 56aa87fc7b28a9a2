"""graph-form-normalizations: say a layer norm that is spelled out, or one without a mean, as the op that it is.

    %m = graph.reduce mean %x axes [2] keepdims
    %c = graph.sub %x, %m
    %q = graph.mul %c, %c                        // or graph.pow %c, 2
    %v = graph.reduce mean %q axes [2] keepdims
    %e = graph.add %v, %epsilon
    %s = graph.sqrt %e
    %n = graph.div %c, %s                        // or the product with a reciprocal, or with the power -0.5 of %e
    %g = graph.mul %n, %scale
    %y = graph.add %g, %bias
  becomes
    %y = graph.layer_norm %x, %scale, %bias axis 2 epsilon 1.0e-05

and without the first two lines `graph.rms_norm %x, %scale axis 2 epsilon 1.0e-05`. Scale and bias may be missing. As
one op it is f16 outside and f32 inside in f16 (`graph-set-precision`), and computed by one formula.

Leaves alone: statistics that something else reads too, means over other dims than the last ones, an epsilon that is
no constant, scales that differ along the dims that are no part of the mean.
Does not handle: variances over one less than the count, casts between the steps.
Changes values: by the rounding of the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import (
    AddOp,
    DivOp,
    GraphOp,
    LayerNormOp,
    MulOp,
    PowOp,
    ReciprocalOp,
    ReduceKind,
    ReduceOp,
    RmsNormOp,
    SqrtOp,
    SubOp,
    element_of,
    shape_of,
)
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.rewriting import (
    functions,
    graph_ops,
    insert_before,
    insert_constant,
    join_locations,
    only_user,
    replace,
)
from npu_mlir.support.dtypes import numpy_dtype


class FormNormalizations(ModulePass):
    """Turn spelled-out normalisations into one op."""

    name = "graph-form-normalizations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(op)
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                if candidate.parent is not None and _is_mean(candidate):
                    _form(cast("ReduceOp", candidate), store)
        erase_dead_ops(op)


def _is_mean(op: Operation) -> bool:
    """Whether an op is a mean over the last dims, which stay as extents of 1."""
    if not isinstance(op, ReduceOp) or op.kind.data is not ReduceKind.MEAN or op.keepdims is None:
        return False
    axes, rank = list(op.axes.get_values()), len(shape_of(op.input))
    return isinstance(element_of(op.input), AnyFloat) and axes == list(range(rank - len(axes), rank)) != []


@dataclass(frozen=True)
class _Norm:
    """What is normalised, whether without its mean, and the op that ends it."""

    value: SSAValue
    mean: ReduceOp | None
    epsilon: float
    end: GraphOp


def _form(variance: ReduceOp, store: WeightStore) -> None:
    norm = _matched(variance, store)
    if norm is None:
        return
    axis = variance.axes.get_values()[0]
    first = norm.mean or variance
    end, scale = _followed(norm.end, MulOp, norm.value, axis)
    end, bias = _followed(end, AddOp, norm.value, axis) if norm.mean is not None else (end, None)
    if scale is None:
        shape = shape_of(norm.value)[axis:]
        scale = insert_constant(end, store, np.ones(shape, numpy_dtype(norm.value.type)), "scale")
    new: GraphOp
    if norm.mean is None:
        new = RmsNormOp(norm.value, scale, axis=axis, epsilon=norm.epsilon)
    else:
        new = LayerNormOp(norm.value, scale, bias, axis=axis, epsilon=norm.epsilon)
    join_locations(new, first, end)
    replace(end, insert_before(end, new))


def _matched(variance: ReduceOp, store: WeightStore) -> _Norm | None:
    """The normalisation by the root of a mean of squares."""
    square = variance.input.owner
    if not isinstance(square, MulOp | PowOp) or only_user(square.result) is not variance:
        return None
    base = square.lhs
    is_square = square.rhs is base if isinstance(square, MulOp) else _number(square.rhs, store) == 2
    shifted = only_user(variance.result)
    if not is_square or not isinstance(shifted, AddOp):
        return None
    epsilon = _number(_other(shifted, variance.result), store)
    end = _divided(base, shifted, store) if epsilon is not None else None
    if epsilon is None or end is None:
        return None
    centered, mean = base.owner, None
    if isinstance(centered, SubOp) and centered.rhs.owner is not centered.lhs.owner:
        mean = centered.rhs.owner
    if (
        isinstance(mean, ReduceOp)
        and isinstance(centered, SubOp)
        and _is_mean(mean)
        and mean.input is centered.lhs
        and mean.axes == variance.axes
        and only_user(mean.result) is centered
        and {use.operation for use in base.uses} == {square, end}
    ):
        return _Norm(mean.input, mean, epsilon, end)
    return _Norm(base, None, epsilon, end)


def _divided(base: SSAValue, shifted: AddOp, store: WeightStore) -> GraphOp | None:
    """The op that divides `base` by the root of what `shifted` is."""
    root = only_user(shifted.result)
    if isinstance(root, PowOp) and root.lhs is shifted.result and _number(root.rhs, store) == -0.5:
        inverse: GraphOp = root
    elif isinstance(root, SqrtOp):
        user = only_user(root.result)
        if isinstance(user, DivOp) and user.lhs is base and user.rhs is root.result:
            return user
        is_inverse = isinstance(user, ReciprocalOp) or (
            isinstance(user, DivOp) and user.rhs is root.result and _number(user.lhs, store) == 1
        )
        if not is_inverse:
            return None
        inverse = cast("GraphOp", user)
    else:
        return None
    product = only_user(inverse.result)
    if isinstance(product, MulOp) and _other(product, inverse.result) is base:
        return product
    return None


def _followed(
    end: GraphOp, kind: type[MulOp] | type[AddOp], value: SSAValue, axis: int
) -> tuple[GraphOp, SSAValue | None]:
    """The op behind `end` that scales or shifts it along the normalised dims, and by what; `end` if there is none."""
    user = only_user(end.result)
    if not isinstance(user, kind) or shape_of(user.result) != shape_of(value):
        return end, None
    factor = _other(user, end.result)
    shape = shape_of(factor)
    offset = len(shape_of(value)) - len(shape)
    varies = [d for d, extent in enumerate(shape) if extent != 1]
    return (user, factor) if all(d + offset >= axis for d in varies) else (end, None)


def _other(op: AddOp | MulOp, value: SSAValue) -> SSAValue:
    return op.rhs if op.lhs is value else op.lhs


def _number(value: SSAValue, store: WeightStore) -> float | None:
    """The number that a constant with a single element is, None for any other value."""
    array = constant_of(value, store)
    return float(array.item()) if array is not None and array.size == 1 else None
