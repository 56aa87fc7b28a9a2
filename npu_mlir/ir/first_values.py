"""What scalars are in the first iterations of all loops around them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import cast

from xdsl.dialects import affine, arith, scf
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.ir.loop_bounds import constant_index

_ARITHMETIC: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
}

_COMPARED: dict[int, Callable[[int, int], bool]] = {
    0: operator.eq,
    1: operator.ne,
    2: operator.lt,
    3: operator.le,
    4: operator.gt,
    5: operator.ge,
    6: operator.lt,
    7: operator.le,
    8: operator.gt,
    9: operator.ge,
}


def first_value(value: SSAValue) -> int | None:
    """What a scalar is in the first iterations of all loops around it; None if that is not known."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if isinstance(loop, scf.ForOp) and value is owner.args[0]:
            return constant_index(loop.lb)
        return None
    constant = constant_index(value)
    if constant is not None:
        return constant
    operands = [first_value(operand) for operand in owner.operands]
    if None in operands:
        return None
    known = cast("list[int]", operands)
    match owner:
        case affine.ApplyOp():
            map_ = owner.map.data
            return map_.eval(known[: map_.num_dims], known[map_.num_dims :])[0]
        case arith.CmpiOp():
            return int(_COMPARED[owner.predicate.value.data](*known))
        case _ if type(owner) in _ARITHMETIC:
            return _ARITHMETIC[type(owner)](*known)
        case _:
            return None
