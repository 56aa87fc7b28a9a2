"""linalg: structured operations, on tensors (a new array) and memrefs (written in place)."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import BroadcastOp, FillOp
from xdsl.ir import Block

from npu_mlir.dialects.linalg import Linalg, MapOp, PackOp, ReduceOp, SoftmaxOp, UnPackOp
from npu_mlir.dialects.linalg.generic_form import generic_of
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.registry import Results, Step, prepare
from npu_mlir.interpreters.structured.evaluate import structured_step
from npu_mlir.support.dtypes import numpy_dtype, static_shape

for _op in Linalg.operations:
    if issubclass(_op, LinalgStructuredOperation):
        prepare(_op.name)(structured_step)


@prepare("linalg.fill")
def fill(interp: Interpreter, op: FillOp) -> Step:
    type_ = op.outputs[0].type
    if isinstance(type_, MemRefType):

        def store(args: Results) -> Results:
            args[1][...] = args[0]
            return ()

        return store
    dtype: np.dtype[Any] = numpy_dtype(type_)
    shape = static_shape(type_)
    if min(shape, default=0) < 0:
        return lambda args: (np.full(args[1].shape, args[0], dtype),)
    return lambda args: (np.broadcast_to(np.asarray(args[0], dtype), shape),)


@prepare("linalg.map")
@prepare("linalg.reduce")
@prepare("linalg.broadcast")
def through_generic(interp: Interpreter, op: MapOp | ReduceOp | BroadcastOp) -> Step:
    """What the `linalg.generic` of the same meaning does."""
    # The operation itself must not get users or lose its body.
    stand_ins, body = Block(arg_types=op.operand_types), op.regions[0].clone().detach_block(0)
    return structured_step(interp, generic_of(op, stand_ins.args, body))


@prepare("linalg.softmax")
def softmax(interp: Interpreter, op: SoftmaxOp) -> Step:
    """Computed in f32 or wider, rounded once."""
    axis = op.dimension.value.data

    def step(args: Results) -> Results:
        value = args[0].astype(np.result_type(args[0], np.float32))
        powers = np.exp(value - value.max(axis=axis, keepdims=True))
        return ((powers / powers.sum(axis=axis, keepdims=True)).astype(args[0].dtype),)

    return step


@prepare("linalg.pack")
def pack(interp: Interpreter, op: PackOp) -> Step:
    packing = op.packing
    widths = [(0, m - n) for n, m in zip(packing.shape, packing.padded, strict=True)]

    def step(args: Results) -> Results:
        value = args[0] if len(args) == 2 else np.pad(args[0], widths, constant_values=args[2])
        return (value.reshape(packing.split).transpose(packing.permutation),)

    return step


@prepare("linalg.unpack")
def unpack(interp: Interpreter, op: UnPackOp) -> Step:
    packing = op.packing
    inverse = np.argsort(packing.permutation)

    def step(args: Results) -> Results:
        padded = args[0].transpose(inverse).reshape(packing.padded)
        return (padded[tuple(slice(n) for n in packing.shape)],)

    return step
