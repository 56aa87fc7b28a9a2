"""The ops of a host function as if there were no programs: a `tile.program` only says how its launches run."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation

from npu_mlir.dialects import tile


def flattened(block: Block) -> Iterator[Operation]:
    """The ops of a block, those of programs in their places, each in front of its program."""
    for op in block.ops:
        if isinstance(op, tile.ProgramOp):
            yield from flattened(op.body.block)
        yield op


def host_block(op: Operation) -> Block | None:
    """The block that an op stands in, or that the programs around it stand in."""
    around = op.parent_op()
    while isinstance(around, tile.ProgramOp):
        op, around = around, around.parent_op()
    return op.parent


def ancestor_among(order: dict[Operation, int], op: Operation) -> Operation:
    """The op itself or the closest around it that has a number in `order`."""
    found: Operation | None = op
    while found is not None and found not in order:
        found = found.parent_op()
    assert found is not None
    return found
