"""linalg-fuse-elementwise: put an elementwise generic into the elementwise generic that alone reads it.

    %1 = linalg.generic ... ins(%x, %b) ... { addf }        // both (d0, d1), parallel
    %2 = linalg.generic ... ins(%1) ... { maximumf 0 }
  becomes
    %2 = linalg.generic ... ins(%x, %b) ... { addf, maximumf 0 }

Nothing is computed twice: the producer has one consumer, and both run over the same iteration space (the consumer
reads it through a permutation of all its loops). A producer that only broadcasts (a copy with an increasing projection)
goes into all its consumers, reductions included, since reading through another map costs nothing.

What reads a tensor at places that are data stays as it is: rows of a table are moved, not computed.

An op stays apart as well if it alone tells the extent of a dim of the consumer.

Two matrix products never meet in one generic: a producer that reads one stays apart from a consumer that already does,
so that each product keeps its own epilogue. Of several producers that read products, the last goes into the consumer:
that product's kernel is where the consumer will be computed, and the others hand over what their epilogues have
narrowed.

The body of a producer that goes is not copied: the consumer's is put behind it, so a chain takes time in proportion
to its length. A body stops growing at `max-ops` operations: tiling gives each of them a tile, whichever generic it is
in, and what only reads one value of a kernel is in that kernel anyway.

Does not handle: producers or consumers with several results, producers that permute dims (that copy is work
which tiling places).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass

from npu_mlir.analysis.affine_maps import plain_dims
from npu_mlir.analysis.structured.nest import is_indirect, sums_products
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.structure import (
    Generic,
    is_parallel,
    replace,
    substitute,
    take_apart,
)
from npu_mlir.support.locations import fill_locations, hand_down


@dataclass(frozen=True)
class FuseElementwise(ModulePass):
    """Fuse elementwise producers into their elementwise consumers."""

    name = "linalg-fuse-elementwise"

    max_ops: int = 256
    """Operations that a fused body may have."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        generics = [o for o in op.walk() if isinstance(o, GenericOp)]
        fusion = _Fusion(self.max_ops, {generic: i for i, generic in enumerate(generics)})
        for generic in generics:
            if generic.parent is not None:
                fusion.fuse_producers(generic)
        erase_dead_ops(op)


class _Fusion:
    """What is known about the generics of a module while they are fused."""

    def __init__(self, max_ops: int, order: dict[GenericOp, int]):
        self._max_ops = max_ops
        self._order = order
        """Places of the generics; what is fused stands where its consumer stood."""
        self._sizes: dict[GenericOp, int] = {}
        """Operations in the bodies of generics, without the terminators."""
        self._fused: set[GenericOp] = set()
        """Results of fusion: the operations in them know where they come from."""
        self._positional: dict[GenericOp, bool] = {}
        """Whether bodies compute with positions."""

    def fuse_producers(self, op: GenericOp) -> None:
        """Fuse what can be fused into `op`, until nothing can. Producers stand before it, so they are done already."""
        if is_indirect(op):
            return
        while (consumer := take_apart(op)) is not None:
            for value in dict.fromkeys(consumer.inputs):
                producer = _fusible(consumer, value)
                if producer is None or self._size(producer.op) + self._size(op) > self._max_ops:
                    continue
                if self._yields(producer, consumer):
                    continue
                if _is_broadcast(producer) or not self._has_positions(producer.op):
                    op = self._fuse(producer, consumer, value)
                    break
            else:
                return

    def _yields(self, producer: Generic, consumer: Generic) -> bool:
        """Whether a producer that reads a product stays apart for a later one that does, too."""
        if _is_broadcast(producer) or not _reads_contraction(producer):
            return False
        last = self._order[producer.op]
        rivals = (value.owner for value in dict.fromkeys(consumer.inputs))
        return any(
            isinstance(rival, GenericOp)
            and self._order.get(rival, -1) > last
            and (parts := _fusible(consumer, rival.results[0])) is not None
            and not _is_broadcast(parts)
            and _reads_contraction(parts)
            for rival in rivals
        )

    def _size(self, op: GenericOp) -> int:
        if op not in self._sizes:
            self._sizes[op] = sum(1 for _ in op.body.block.ops) - 1
        return self._sizes[op]

    def _has_positions(self, op: GenericOp) -> bool:
        if op not in self._positional:
            self._positional[op] = any(isinstance(inner, IndexOp) for inner in op.body.block.ops)
        return self._positional[op]

    def _fuse(self, producer: Generic, consumer: Generic, value: SSAValue) -> GenericOp:
        """Put the producer in wherever the consumer reads it."""
        size = self._size(producer.op) + self._size(consumer.op)
        positional = self._has_positions(consumer.op)
        for op in (producer.op, consumer.op):
            if op not in self._fused:
                hand_down(op)
                fill_locations(op, consumer.op.location)
        goes = all(use.operation is consumer.op for use in value.uses)
        if goes and consumer.inputs.count(value) == 1:
            _append(producer, consumer, consumer.inputs.index(value))
        else:
            while value in consumer.inputs:
                k = consumer.inputs.index(value)
                _read(consumer, k, _inline(producer, consumer, consumer.maps[k]))
        fused = replace(consumer, (), producer.op, located_body=True)
        self._fused.add(fused)
        self._order[fused] = self._order[consumer.op]
        self._sizes[fused] = size
        self._positional[fused] = positional
        if goes:
            # At once, so that what it read has one use less.
            producer.op.detach()
            producer.op.erase()
        return fused


def _fusible(consumer: Generic, value: SSAValue) -> Generic | None:
    """The producer of an input of the consumer, when the two can be one."""
    if not isinstance(value.owner, GenericOp) or value.owner.parent is not consumer.op.parent:
        return None
    if is_indirect(value.owner):
        return None
    producer = take_apart(value.owner)
    if producer is None or not is_parallel(producer) or value is consumer.init:
        return None
    if not isinstance(producer.init.owner, tensor.EmptyOp) or producer.block.args[-1].uses:
        return None
    if plain_dims(producer.result_exprs) != list(range(producer.num_dims)):
        return None
    if not _spans_all(producer, consumer, value):
        return None
    if _is_broadcast(producer):
        return producer
    if not is_parallel(consumer) or any(use.operation is not consumer.op for use in value.uses):
        return None
    if _reads_contraction(producer) and _reads_contraction(consumer):
        return None
    for read, exprs in zip(consumer.inputs, consumer.maps, strict=False):
        if read is value and sorted(plain_dims(exprs) or []) != list(range(consumer.num_dims)):
            return None
    return producer


def _spans_all(producer: Generic, consumer: Generic, value: SSAValue) -> bool:
    """Whether the consumer's operands still tell the extents of all its dims when it reads what the producer reads."""
    maps = [exprs for read, exprs in zip(consumer.inputs, consumer.maps, strict=False) if read is not value]
    maps.append(consumer.maps[-1])
    for read, exprs in zip(consumer.inputs, consumer.maps, strict=False):
        if read is value:
            maps += [substitute(map_, exprs, consumer.num_dims) for map_ in producer.maps[:-1]]
    told = {expr.position for exprs in maps for expr in exprs if isinstance(expr, AffineDimExpr)}
    return len(told) == consumer.num_dims


def _is_broadcast(producer: Generic) -> bool:
    """Whether the producer copies its one input along new dims."""
    last = producer.block.last_op
    if not isinstance(last, YieldOp) or len(producer.inputs) != 1:
        return False
    dims = plain_dims(producer.maps[0])
    return last.operands[0] is producer.block.args[0] and dims is not None and dims == sorted(set(dims))


def _reads_contraction(parts: Generic) -> bool:
    return any(isinstance(v.owner, Operation) and sums_products(v.owner) for v in parts.inputs)


def _read(consumer: Generic, k: int, value: SSAValue) -> None:
    """Let the consumer's body read a value in place of its argument `k`, which goes."""
    arg = consumer.block.args[k]
    arg.replace_all_uses_with(value)
    consumer.block.erase_arg(arg)
    del consumer.inputs[k], consumer.maps[k]


def _append(producer: Generic, consumer: Generic, k: int) -> None:
    """Make one body of the producer's and, behind it, that of the consumer, which reads it as its input `k`."""
    loops = consumer.maps[k]
    block = producer.block
    last = block.last_op
    assert isinstance(last, YieldOp)
    _read(consumer, k, last.operands[0])
    block.erase_op(last)
    identity = plain_dims(loops) == list(range(consumer.num_dims))
    read = producer.maps if identity else [substitute(m, loops, consumer.num_dims) for m in producer.maps]
    inputs, init = list(block.args[:-1]), block.args[-1]
    *present, accumulator = consumer.block.args
    arguments: dict[tuple[SSAValue, tuple[AffineExpr, ...]], BlockArgument] = {}
    for i, arg in enumerate(present):
        new = _moved(arg, block, i)
        arguments.setdefault((consumer.inputs[i], tuple(consumer.maps[i])), new)
    block.erase_arg(init)
    for value, exprs, arg in zip(producer.inputs, read, inputs, strict=False):
        known = arguments.setdefault((value, tuple(exprs)), arg) if arg.uses else None
        if known is arg:
            consumer.maps.insert(len(consumer.inputs), exprs)
            consumer.inputs.append(value)
            continue
        if known is not None:
            arg.replace_all_uses_with(known)
        block.erase_arg(arg)
    _moved(accumulator, block, len(block.args))
    for op in list(consumer.block.ops):
        op.detach()
        block.add_op(op)
    producer.op.body.detach_block(block)
    consumer.block = block


def _moved(arg: BlockArgument, block: Block, index: int) -> BlockArgument:
    """An argument of another block in place of one."""
    new = block.insert_arg(arg.type, index)
    arg.replace_all_uses_with(new)
    return new


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
