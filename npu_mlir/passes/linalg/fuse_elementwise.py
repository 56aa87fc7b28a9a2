"""linalg-fuse-elementwise: put an elementwise generic into the elementwise generic that alone reads it.

    %1 = linalg.generic ... ins(%x, %b) ... { addf }        // both (d0, d1), parallel
    %2 = linalg.generic ... ins(%1) ... { maximumf 0 }
  becomes
    %2 = linalg.generic ... ins(%x, %b) ... { addf, maximumf 0 }

Nothing is computed twice: the producer has one consumer, and both run over the same iteration space (the consumer
reads it through a permutation of all its loops). A producer that only broadcasts (a copy with an increasing projection)
goes into all its consumers, reductions included, since reading through another map costs nothing.

Two matrix products never meet in one generic: a producer that reads one stays apart from a consumer that already does,
so that each product keeps its own epilogue.

Does not handle: producers or consumers with several results, producers that permute dims (that copy is work
which tiling places).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from npu_mlir.support.locations import hand_down
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.structure import (
    Generic,
    is_contraction,
    is_parallel,
    plain_dims,
    replace,
    substitute,
    take_apart,
)


class FuseElementwise(ModulePass):
    """Fuse elementwise producers into their elementwise consumers."""

    name = "linalg-fuse-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in [o for o in op.walk() if isinstance(o, GenericOp)]:
            if generic.parent is not None:
                _fuse_producers(generic)
        erase_dead_ops(op)


def _fuse_producers(op: Operation) -> None:
    """Fuse what can be fused into `op`, until nothing can. Producers stand before it, so they are done already."""
    while True:
        consumer = take_apart(op)
        if consumer is None:
            return
        for value in dict.fromkeys(consumer.inputs):
            producer = _fusible(consumer, value)
            if producer is not None:
                op = _fuse(producer, consumer, value)
                break
        else:
            return


def _fusible(consumer: Generic, value: SSAValue) -> Generic | None:
    """The producer of an input of the consumer, when the two can be one."""
    if not isinstance(value.owner, GenericOp) or value.owner.parent is not consumer.op.parent:
        return None
    producer = take_apart(value.owner)
    if producer is None or not is_parallel(producer) or value is consumer.init:
        return None
    if not isinstance(producer.init.owner, tensor.EmptyOp) or producer.block.args[-1].uses:
        return None
    if plain_dims(producer.result_exprs) != list(range(producer.num_dims)):
        return None
    if _is_broadcast(producer):
        return producer
    if not is_parallel(consumer) or any(use.operation is not consumer.op for use in value.uses):
        return None
    if any(isinstance(op, IndexOp) for op in producer.block.ops):
        return None
    if _reads_contraction(producer) and _reads_contraction(consumer):
        return None
    for read, exprs in zip(consumer.inputs, consumer.maps, strict=False):
        if read is value and sorted(plain_dims(exprs) or []) != list(range(consumer.num_dims)):
            return None
    return producer


def _is_broadcast(producer: Generic) -> bool:
    """Whether the producer copies its one input along new dims."""
    last = producer.block.last_op
    if not isinstance(last, YieldOp) or len(producer.inputs) != 1:
        return False
    dims = plain_dims(producer.maps[0])
    return last.operands[0] is producer.block.args[0] and dims is not None and dims == sorted(set(dims))


def _reads_contraction(parts: Generic) -> bool:
    return any(isinstance(v.owner, Operation) and is_contraction(v.owner) for v in parts.inputs)


def _fuse(producer: Generic, consumer: Generic, value: SSAValue) -> GenericOp:
    """Inline the producer wherever the consumer reads it."""
    hand_down(producer.op)
    hand_down(consumer.op)
    while value in consumer.inputs:
        k = consumer.inputs.index(value)
        arg = consumer.block.args[k]
        arg.replace_all_uses_with(_inline(producer, consumer, consumer.maps[k]))
        consumer.block.erase_arg(arg)
        del consumer.inputs[k], consumer.maps[k]
    fused = replace(consumer, (), producer.op)
    if not value.uses:
        # At once, so that what it read has one use less.
        producer.op.detach()
        producer.op.erase()
    return fused


def _inline(producer: Generic, consumer: Generic, loops: list[AffineExpr]) -> SSAValue:
    """Copy the producer's body to the start of the consumer's; `loops` are the producer's, over the consumer's."""
    mapping: dict[SSAValue, SSAValue] = {}
    for value, exprs, arg in zip(producer.inputs, producer.maps, producer.block.args, strict=False):
        if arg.uses:
            mapping[arg] = _input(consumer, value, substitute(exprs, loops, consumer.num_dims))
    first = consumer.block.first_op
    assert first is not None
    for op in producer.block.ops:
        if isinstance(op, YieldOp):
            return mapping.get(op.operands[0], op.operands[0])
        clone = op.clone(value_mapper=mapping)
        consumer.block.insert_op_before(clone, first)
    raise AssertionError("a body ends in linalg.yield")


def _input(consumer: Generic, value: SSAValue, exprs: list[AffineExpr]) -> BlockArgument:
    """The body argument for an operand read through a map; a new one unless there is one already."""
    for k, (present, present_exprs) in enumerate(zip(consumer.inputs, consumer.maps, strict=False)):
        if present is value and present_exprs == exprs:
            return consumer.block.args[k]
    position = len(consumer.inputs)
    assert isinstance(value.type, TensorType)
    consumer.inputs.append(value)
    consumer.maps.insert(position, exprs)
    return consumer.block.insert_arg(value.type.element_type, position)
