"""Integers without a sign as signless ones, with the sign in the operations, for `convert-graph-to-linalg`.

Integers of fewer than 8 bits that graph ops compute become numbers of a byte: i4 and ui4 are i8, and so are i2 and ui2.

    func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> {         // bodies have arith.maxui, arith.uitofp, ... already
      %0 = linalg.generic ... ins(%x : tensor<4xui8>) ...
  becomes
    func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> {
      %1 = builtin.unrealized_conversion_cast %x : tensor<4xui8> to tensor<4xi8>
      %0 = linalg.generic ... ins(%1 : tensor<4xi8>) ...

The signature, weights and calls keep their types; the casts are the same bytes, which the host hands on, or
for narrow integers the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npu_mlir.dialects.graph import HostCallOp, WeightOp
from npu_mlir.ir.constants import dense, dense_array
from npu_mlir.ir.functions import body_of
from npu_mlir.support.dtypes import is_narrow_integer, numpy_dtype

BYTE = 8


def is_unsigned(type_: Attribute) -> bool:
    """Whether a type, or that of the elements, is an integer type without a sign."""
    element = type_.element_type if isinstance(type_, TensorType) else type_
    return isinstance(element, IntegerType) and element.signedness.data == Signedness.UNSIGNED


def is_narrow(type_: Attribute) -> bool:
    """Whether a type is that of integers of 2 to 7 bits."""
    return isinstance(type_, IntegerType) and 1 < type_.width.data < BYTE


def signless(type_: Attribute) -> Attribute:
    """The signless type of the same width, at least 8 bits unless it is i1; other types as they are."""
    if isinstance(type_, TensorType):
        element = signless(type_.element_type)
        return type_ if element == type_.element_type else TensorType(element, type_.get_shape())
    if isinstance(type_, IntegerType) and (is_unsigned(type_) or is_narrow(type_)):
        return IntegerType(max(type_.width.data, BYTE))
    return type_


Changes = Callable[[Attribute], bool]
"""Whether a type is changed."""


def _changes(type_: Attribute) -> bool:
    return signless(type_) != type_


def make_signless(function: FuncOp, narrow: bool) -> None:
    """Change all types inside a function of one block; `narrow` says whether those of narrow integers too."""
    changes = _changes if narrow else is_unsigned
    block = body_of(function)
    inside = list(block.walk())
    if not any(changes(value.type) for value in (*block.args, *(r for op in inside for r in op.results))):
        return
    taken = {op: [v.type for v in op.operands] for op in inside if isinstance(op, HostCallOp | CallOp)}
    for op in inside:
        if not isinstance(op, _KEPT):
            _change(op, changes)
    first, last = block.first_op, block.last_op
    assert first is not None and last is not None
    for arg in block.args:
        _cast_uses(arg, changes, lambda cast: block.insert_op_before(cast, first))
    for op in inside:
        if isinstance(op, _KEPT):
            for result in op.results:
                _cast_uses(result, changes, lambda cast, op=op: _insert_after(op, cast))
    for op, types in taken.items():
        for at, type_ in enumerate(types):
            if changes(type_):
                _cast_operand(op, at, type_)
    for at, type_ in enumerate(function.function_type.outputs.data):
        if changes(type_):
            _cast_operand(last, at, type_)


_KEPT = (WeightOp, HostCallOp, CallOp)
"""Ops whose types say what lies in a file, goes to another program or to a function, whose signature stays."""


def _insert_after(op: Operation, cast: Operation) -> None:
    """Insert an op behind another one, which may be in a loop."""
    block = op.parent
    assert block is not None
    block.insert_op_after(cast, op)


def _cast_operand(op: Operation, at: int, type_: Attribute) -> None:
    cast = UnrealizedConversionCastOp.get([op.operands[at]], [type_])
    block = op.parent
    assert block is not None
    block.insert_op_before(cast, op)
    op.operands[at] = cast.results[0]


def _cast_uses(value: SSAValue, changes: Changes, insert: Any) -> None:
    if changes(value.type):
        cast = UnrealizedConversionCastOp.get([value], [signless(value.type)])
        value.replace_all_uses_with(cast.results[0])
        cast.operands[0] = value
        insert(cast)


def _change(op: Operation, changes: Changes) -> None:
    values = [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]
    if isinstance(op, arith.ConstantOp):
        op.properties["value"] = _constant(op.value, changes)
    for value in values:
        if changes(value.type):
            Rewriter.replace_value_with_new_type(value, signless(value.type))


def _constant(attr: Attribute, changes: Changes) -> Attribute:
    """A constant with the same bits, or the same number."""
    if isinstance(attr, DenseIntOrFPElementsAttr) and changes(attr.get_type()):
        array = dense_array(attr)
        dtype = numpy_dtype(signless(attr.get_type()))
        return dense(
            array.astype(dtype) if is_narrow_integer(array.dtype) else np.ascontiguousarray(array).view(dtype)
        )
    if isinstance(attr, IntegerAttr) and changes(attr.type):
        return IntegerAttr(attr.value.data, signless(attr.type), truncate_bits=True)  # pyright: ignore
    return attr
