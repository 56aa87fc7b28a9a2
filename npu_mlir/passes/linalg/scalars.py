"""Scalars that linalg ops read, for `linalg-normalize`: constants move into bodies, others are read from tensors.

    %s = tensor.extract %t[%c2] : tensor<4xf32>
    %0 = linalg.generic {maps = [(d0) -> (d0), (d0) -> (), ...]} ins(%x, %s : tensor<8xf32>, f32)
  becomes
    %0 = linalg.generic {maps = [(d0) -> (d0), (d0) -> (2), ...]} ins(%x, %t : tensor<8xf32>, tensor<4xf32>)

A scalar that is no such element (an argument, the result of scalar arithmetic) is put into a tensor of rank 0 by
`tensor.from_elements`, which the host does.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, TensorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap

from npu_mlir.passes.linalg.generics import Builder
from npu_mlir.passes.linalg.tensor_types import element_of, shape_of, tensor_type


def filled(b: Builder, scalar: SSAValue, like: SSAValue) -> SSAValue:
    """A tensor like another one, filled with a scalar that is not a constant."""
    element, shape = element_of(like), shape_of(like)
    source, place = _in_tensor(b, scalar)
    return b.map([source], [place], shape, element, lambda body, x: body.cast(x, element))


def _in_tensor(b: Builder, scalar: SSAValue) -> tuple[SSAValue, tuple[AffineExpr, ...]]:
    """A tensor that holds a scalar, and where."""
    op = scalar.owner
    place = _place(op) if isinstance(op, tensor.ExtractOp) else None
    if place is not None:
        return cast("tensor.ExtractOp", op).tensor, tuple(AffineConstantExpr(n) for n in place)
    type_ = tensor_type(scalar.type, ())
    return b.add(tensor.FromElementsOp.create(operands=[scalar], result_types=[type_])), ()


def _place(op: tensor.ExtractOp) -> list[int] | None:
    """The indices of an element, if they are constants."""
    constants = [v.owner.value for v in op.indices if isinstance(v.owner, arith.ConstantOp)]
    numbers = [c.value.data for c in constants if isinstance(c, IntegerAttr)]
    return numbers if len(numbers) == len(op.indices) else None


def without_scalars(op: GenericOp) -> GenericOp:
    """Read tensors alone: inputs that are scalars, and scalars that the body reads from outside."""
    captured = _captured(op)
    if not captured and all(isinstance(value.type, TensorType) for value in op.inputs):
        return op
    b, block, rank = Builder(), op.body.block, len(op.iterator_types)
    inputs, maps = list(op.inputs), list(op.indexing_maps.data)
    for k, value in reversed(list(enumerate(op.inputs))):
        if isinstance(value.type, TensorType):
            continue
        if isinstance(value.owner, arith.ConstantOp):
            constant = value.owner.clone()
            block.insert_op_before(constant, cast("Operation", block.first_op))
            block.args[k].replace_all_uses_with(constant.results[0])
            block.erase_arg(block.args[k])
            del inputs[k], maps[k]
        else:
            inputs[k], place = _in_tensor(b, value)
            maps[k] = AffineMapAttr(AffineMap(rank, 0, place))
    for value in captured:
        k = len(inputs)
        arg = block.insert_arg(value.type, k)
        value.replace_uses_with_if(arg, lambda use: use.operation.parent is block)
        source, place = _in_tensor(b, value)
        inputs.append(source)
        maps.insert(k, AffineMapAttr(AffineMap(rank, 0, place)))
    return _rebuilt(b, op, inputs, maps)


def _captured(op: GenericOp) -> list[SSAValue]:
    """The scalars from outside that the body reads, but for constants."""
    block = op.body.block
    return list(
        dict.fromkeys(
            value
            for inner in block.ops
            for value in inner.operands
            if not isinstance(value.type, TensorType)
            and not isinstance(value.owner, arith.ConstantOp)
            and block not in (value.owner, value.owner.parent)
        )
    )


def _rebuilt(b: Builder, op: GenericOp, inputs: list[SSAValue], maps: list[AffineMapAttr]) -> GenericOp:
    """The op with other inputs and the maps of all operands; its body has their arguments already."""
    body = op.body.detach_block(0)
    new = GenericOp(
        inputs, list(op.outputs), Region(body), maps, op.iterator_types.data, [r.type for r in op.results]
    )
    new.attributes.update(op.attributes)
    parent = cast("Block", op.parent)
    parent.insert_ops_before([*b.ops, new], op)
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    parent.erase_op(op)
    return new
