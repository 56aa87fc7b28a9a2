"""graph-fold-batch-norm: take normalisation with known statistics into the convolution before it.

    %0 = graph.conv %x, %w ... : ... -> tensor<1x8x4x4xf32>
    %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance epsilon 1.0e-05 : ...
  becomes
    %1 = graph.conv %x, %w1, %b1 ... : ... -> tensor<1x8x4x4xf32>

in two steps. A batch norm is `x * s + t` with `s = scale / sqrt(variance + epsilon)` and `t = bias - mean * s`, so it
becomes a multiplication and an addition. Then multiplications, divisions, additions and subtractions of a constant
that has one value for each channel move into the weights and the bias of a convolution whose only use they are.

Does not handle: batch norm before a convolution, or after a matrix product (both stay elementwise); convolutions of
integers, which have no bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from npu_mlir.dialects.graph import (
    AddOp,
    BatchNormOp,
    BinaryOp,
    ConvOp,
    DivOp,
    GraphOp,
    Layout,
    MulOp,
    ReshapeOp,
    SqrtOp,
    SubOp,
    element_of,
    location_of,
    shape_of,
)
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.ir.constants import constant_of
from npu_mlir.ir.functions import body_of
from npu_mlir.ir.weights import WeightStore, weights_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.graph.fold_constants import fold
from npu_mlir.passes.graph.rewriting import (
    WeightReleaser,
    functions,
    graph_ops,
    insert_before,
    insert_constant,
    join_locations,
    only_user,
    replace,
)
from npu_mlir.support.dtypes import numpy_dtype


class FoldBatchNorm(ModulePass):
    """Turn normalisation into arithmetic, and arithmetic after a convolution into weights."""

    name = "graph-fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(op)
        interpreter = Interpreter(op)
        releaser = WeightReleaser(op)
        for function in functions(op):
            for candidate in graph_ops(body_of(function)):
                if isinstance(candidate, BatchNormOp):
                    _expand(candidate, store, interpreter)
            for candidate in graph_ops(body_of(function)):
                if isinstance(candidate, ConvOp) and isinstance(element_of(candidate.result), AnyFloat):
                    _absorb_users(candidate, store, releaser)
        erase_dead_ops(op)
        releaser.finish()


def _expand(op: BatchNormOp, store: WeightStore, interpreter: Interpreter) -> None:
    """Write a batch norm as multiplication and addition; on constant statistics their factors are constants."""
    epsilon = np.asarray(op.epsilon.value.data, numpy_dtype(op.result.type))
    shape = (shape_of(op.scale)[0], *(1,) * (len(shape_of(op.input)) - 2))
    statistics = [constant_of(value, store) for value in (op.scale, op.bias, op.mean, op.variance)]
    if all(array is not None for array in statistics):
        # Most batch norms by far: what folding the ops below would give, without making them.
        factor, offset, mean, variance = (np.asarray(array) for array in statistics)
        with np.errstate(all="ignore"):
            factor = factor / np.sqrt(variance + epsilon)
            offset = offset - mean * factor
        name = location_of(op) or op.name
        times = insert_constant(op, store, factor.reshape(shape), f"{name}.scale")
        scaled = insert_before(op, MulOp(op.input, times))
        plus = insert_constant(op, store, offset.reshape(shape), f"{name}.shift")
        replace(op, insert_before(op, AddOp(scaled, plus)))
        return

    def emit(new: GraphOp) -> SSAValue:
        value = insert_before(op, new)
        return fold(new, interpreter) or value

    deviation = emit(SqrtOp(emit(AddOp(op.variance, insert_constant(op, store, epsilon, "epsilon")))))
    scale = emit(DivOp(op.scale, deviation))
    shift = emit(SubOp(op.bias, emit(MulOp(op.mean, scale))))
    scaled = emit(MulOp(op.input, emit(ReshapeOp(scale, shape))))
    replace(op, emit(AddOp(scaled, emit(ReshapeOp(shift, shape)))))


@dataclass
class _Affine:
    """`x * scale + shift`, one factor for each output channel, in double precision."""

    scale: np.ndarray
    shift: np.ndarray

    def then(self, op: BinaryOp, constant: np.ndarray, constant_first: bool) -> _Affine | None:
        """This followed by `op` with a constant; None if that is not of this form."""
        match op:
            case AddOp():
                return _Affine(self.scale, self.shift + constant)
            case SubOp() if constant_first:
                return _Affine(-self.scale, constant - self.shift)
            case SubOp():
                return _Affine(self.scale, self.shift - constant)
            case MulOp():
                return _Affine(self.scale * constant, self.shift * constant)
            case DivOp() if not constant_first and np.all(constant != 0):
                return _Affine(self.scale / constant, self.shift / constant)
            case _:
                return None


def _absorb_users(conv: ConvOp, store: WeightStore, releaser: WeightReleaser) -> None:
    """Replace a convolution and the per-channel arithmetic after it by one convolution."""
    weight = constant_of(conv.weight, store)
    bias = None if conv.bias is None else constant_of(conv.bias, store)
    if weight is None or (conv.bias is not None and bias is None):
        return
    out_axis = 0 if conv.layout.data is Layout.NCHW else weight.ndim - 1
    channels = weight.shape[out_axis]
    affine = _Affine(np.ones(channels), np.zeros(channels))
    absorbed: list[BinaryOp] = []
    value: SSAValue = conv.result
    while (found := _next(value, affine, conv.layout.data, channels, store)) is not None:
        user, affine = found
        absorbed.append(user)
        value = user.result
    if not absorbed:
        return
    last = absorbed[-1]
    factors = affine.scale.reshape([-1 if axis == out_axis else 1 for axis in range(weight.ndim)])
    # Computed in double precision, some thousand elements at a time.
    new_weight = np.empty_like(weight)
    np.multiply(weight, factors, out=new_weight, dtype=np.float64, casting="same_kind")
    new_bias = affine.shift + (0 if bias is None else bias.astype(np.float64) * affine.scale)
    name = location_of(conv) or conv.name
    changed = bool(np.any(affine.scale != 1))
    new = ConvOp(
        conv.input,
        insert_constant(last, store, new_weight, f"{name}.weight") if changed else conv.weight,
        insert_constant(last, store, new_bias.astype(weight.dtype), f"{name}.bias"),
        strides=conv.strides.get_values(),
        pads=conv.pads.get_values(),
        dilations=conv.dilations.get_values(),
        group=conv.group.value.data,
        layout=conv.layout.data,
    )
    join_locations(new, conv, *absorbed)
    read = [value for op in (conv, *absorbed) for value in op.operands]
    replace(last, insert_before(last, new))
    for op in [*reversed(absorbed[:-1]), conv]:
        op.detach()
        op.erase()
    releaser.release(read)


def _next(
    value: SSAValue, affine: _Affine, layout: Layout, channels: int, store: WeightStore
) -> tuple[BinaryOp, _Affine] | None:
    """The only user of `value` if it is arithmetic with a constant for each channel, and what it makes of `affine`."""
    user = only_user(value)
    if not isinstance(user, BinaryOp) or shape_of(user.result) != shape_of(value):
        return None
    constant_first = user.rhs is value
    array = constant_of(user.lhs if constant_first else user.rhs, store)
    if array is None:
        return None
    vector = _per_channel(array, layout, len(shape_of(value)), channels)
    after = None if vector is None else affine.then(user, vector, constant_first)
    return None if after is None else (user, after)


def _per_channel(array: np.ndarray, layout: Layout, rank: int, channels: int) -> np.ndarray | None:
    """The values for each channel, if the array broadcasts along all other dimensions."""
    axis = 1 if layout is Layout.NCHW else rank - 1
    full = (1,) * (rank - array.ndim) + array.shape
    if any(extent != 1 for at, extent in enumerate(full) if at != axis):
        return None
    return np.broadcast_to(array.reshape(-1).astype(np.float64), (channels,))
