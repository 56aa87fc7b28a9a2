"""graph-form-sigmoid: say half of one more than a hyperbolic tangent as the sigmoid that it is.

    %0 = graph.mul %c, %w                        // %c = dense<0.797884583>
    %1 = graph.tanh %0
    %2 = graph.add %1, %one
    %3 = graph.mul %2, %half
  becomes
    %0 = graph.mul %d, %w                        // %d = dense<1.59576917>
    %3 = graph.sigmoid %0

since `(1 + tanh(v)) / 2 = 1 / (1 + exp(-2v))`. The half may also be a factor of what the sum is multiplied by, before
or after: `x / 2 (1 + tanh(v))`, as GELU is spelled. Doubling is exact; it is a factor of its own where `v` is no
product with a constant. The sum cancels for negative `v`, the sigmoid doesn't: results differ by its rounding, and
are the exact ones to 4 ulp of f32, with a third of the instructions.

Leaves alone: tangents and sums that something else reads too, and constants with more than one value.
Does not handle: `1 - tanh(v)`, quarters and the like.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import AddOp, MulOp, SigmoidOp, TanhOp, shape_of
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


class FormSigmoid(ModulePass):
    """Turn `(1 + tanh(v)) / 2` into `sigmoid(2v)`."""

    name = "graph-form-sigmoid"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(op)
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                if isinstance(candidate, TanhOp):
                    _rewrite(candidate, store)
        erase_dead_ops(op)


def _rewrite(tanh: TanhOp, store: WeightStore) -> None:
    more = only_user(tanh.result)
    if not isinstance(more, AddOp) or _number(_other(more, tanh.result), store) != 1:
        return
    product = only_user(more.result)
    if not isinstance(product, MulOp) or shape_of(tanh.result) != shape_of(more.result):
        return
    factor = _other(product, more.result)
    half = _half(factor, product, store)
    if half is None:
        return
    gate = SigmoidOp(_doubled(tanh, store))
    join_locations(gate, tanh, more, *([half] if half is product else []))
    value = insert_before(more, gate)
    if half is product:
        replace(product, value)
        return
    # The product stays, of the sigmoid and of what was to be halved.
    product.operands[product.operands.index(more.result)] = value
    join_locations(product, product, half)
    kept = next(v for v in half.operands if _number(v, store) != 0.5)
    if half is factor.owner:
        product.operands[product.operands.index(factor)] = kept
    else:
        replace(half, product.result)


def _half(factor: SSAValue, product: MulOp, store: WeightStore) -> MulOp | None:
    """The multiplication by a half: the product itself, that of its other factor, or the one behind it."""
    if _number(factor, store) == 0.5:
        return product
    for op in (factor.owner, only_user(product.result)):
        if isinstance(op, MulOp) and sum(_number(v, store) == 0.5 for v in op.operands) == 1:
            whole = next(v for v in op.operands if _number(v, store) != 0.5)
            alone = op is not factor.owner or only_user(factor) is product
            if alone and shape_of(whole) == shape_of(op.result):
                return op
    return None


def _doubled(tanh: TanhOp, store: WeightStore) -> SSAValue:
    """Twice what the tangent is of, with the factor taken into one that is there."""
    value, dtype = tanh.input, numpy_dtype(tanh.input.type)
    source = value.owner
    if isinstance(source, MulOp) and only_user(value) is tanh:
        for constant, rest in ((source.lhs, source.rhs), (source.rhs, source.lhs)):
            number = _number(constant, store)
            if number is None or shape_of(rest) != shape_of(value):
                continue
            twice = dtype.type(2) * dtype.type(number)
            if np.isfinite(twice):
                return _times(tanh, rest, twice, store, source)
    return _times(tanh, value, dtype.type(2), store, tanh)


def _times(
    anchor: Operation, value: SSAValue, factor: np.generic, store: WeightStore, source: Operation
) -> SSAValue:
    op = MulOp(insert_constant(anchor, store, np.asarray(factor), "factor"), value)
    join_locations(op, source)
    return insert_before(anchor, op)


def _other(op: AddOp | MulOp, value: SSAValue) -> SSAValue:
    return op.rhs if op.lhs is value else op.lhs


def _number(value: SSAValue, store: WeightStore) -> float | None:
    """The number that a constant with a single element is, None for any other value."""
    array = constant_of(value, store)
    return float(array.item()) if array is not None and array.size == 1 else None
