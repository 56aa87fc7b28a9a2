"""Chains of `tensor.insert_slice`, each the only user of the one before, that join pieces to one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import tensor

from npu_mlir.analysis.placed_parts import is_in_place, numbers
from npu_mlir.passes.linalg.tensor_types import shape_of


def before(op: tensor.InsertSliceOp) -> list[tensor.InsertSliceOp]:
    """The insertions that `op` goes on from, each used by the next alone, and `op`."""
    ops = [op]
    while isinstance(owner := ops[-1].dest.owner, tensor.InsertSliceOp) and following(owner) is not None:
        if is_in_place(owner):
            break
        ops.append(owner)
    return ops[::-1]


def following(op: tensor.InsertSliceOp) -> tensor.InsertSliceOp | None:
    """The insertion that alone uses the result of `op`, to insert into it."""
    uses = list(op.result.uses)
    user = uses[0].operation if len(uses) == 1 else None
    if not isinstance(user, tensor.InsertSliceOp) or is_in_place(user):
        return None
    return user if user.dest is op.result else None


def joined(ops: Sequence[tensor.InsertSliceOp]) -> int:
    """How many insertions from the first on can be pieces of one tensor: disjoint ones of an empty tensor."""
    if not isinstance(ops[0].dest.owner, tensor.EmptyOp):
        return 0
    sides = (len(ops), len(shape_of(ops[0].result)))
    first = np.array([numbers(op.static_offsets) for op in ops], np.int64).reshape(sides)
    end = first + np.array([numbers(op.static_sizes) for op in ops], np.int64).reshape(sides)
    for number, op in enumerate(ops):
        earlier = slice(0, number)
        overlaps = np.all((first[earlier] < end[number]) & (first[number] < end[earlier]), axis=1)
        if overlaps.any() or not is_plain(op):
            return number
    return len(ops)


def chain_to(op: tensor.InsertSliceOp) -> list[tensor.InsertSliceOp] | None:
    """The insertions, each used by the next alone, from an empty tensor to `op`; their boxes are disjoint."""
    ops = before(op)
    return ops if joined(ops) == len(ops) else None


def is_plain(op: tensor.InsertSliceOp) -> bool:
    """Whether a slice is inserted at a static place, without gaps."""
    return not (op.offsets or op.sizes or op.strides) and set(numbers(op.static_strides)) <= {1}
