"""tile-copy-for-loops: give what loops of the host put together memory of its own.

A loop puts the results of the functions that it calls together without a copy: the launch of a result writes its row
of the whole. So a result that no kernel of the function computes for it alone gets a copy, which will be a kernel:
arguments, constants, results of loops, results that are put together twice.

    func.func private @step(%s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0 = linalg.generic ... ins(%s)
      func.return %0, %s                                           // in a loop: %all = tensor.insert_slice %s ...
    }
  becomes
      %0 = linalg.generic ... ins(%s)
      %1 = linalg.generic {yields its operand} ins(%s)
      func.return %0, %1

Leaves alone: what kernels compute, seen under another shape or not; what the host computes, which puts it into place
itself; results that are not put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.context import Context
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, TensorType, UnrealizedConversionCastOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, Use
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.dialects import tile
from npu_mlir.dialects.graph import HostCallOp
from npu_mlir.ir.functions import body_of
from npu_mlir.support.locations import inherit_location, located

_VIEWS = (tensor.CollapseShapeOp, tensor.ExpandShapeOp, UnrealizedConversionCastOp)
_MADE = (linalg.GenericOp, tile.LaunchOp, tile.HostOp, HostCallOp)
"""What makes a tensor that nothing else has."""


class CopyForLoops(ModulePass):
    """Copy what loops of the host put together and no kernel computes."""

    name = "tile-copy-for-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp) and not f.is_declaration}
        put: dict[FuncOp, set[int]] = {}
        calls: dict[FuncOp, CallOp] = {}
        for call in _calls_in_loops(op):
            if (function := functions.get(call.callee.string_value())) is not None:
                put.setdefault(function, set()).update(_put_together(call))
                calls[function] = call
        for function, results in put.items():
            _copy_returned(function, results, calls[function])


def _calls_in_loops(module: ModuleOp) -> Iterator[CallOp]:
    for op in module.walk():
        if isinstance(op, CallOp) and isinstance(op.parent_op(), scf.ForOp):
            yield op


def _put_together(call: CallOp) -> set[int]:
    """The results of a call that are put into their places among those of all iterations."""
    return {
        i
        for i, result in enumerate(call.results)
        if any(isinstance(use.operation, tensor.InsertSliceOp) for use in _uses_of_views(result))
    }


def _uses_of_views(value: SSAValue) -> Iterator[Use]:
    for use in value.uses:
        yield use
        if isinstance(use.operation, _VIEWS):
            yield from _uses_of_views(use.operation.results[0])


def _copy_returned(function: FuncOp, put: set[int], call: CallOp) -> None:
    """Copy those of the results that are put together and need it; a call says what for."""
    last = cast("ReturnOp", body_of(function).last_op)
    seen: set[SSAValue] = set()
    for i in sorted(put):
        source = _origin(last.operands[i])
        if not isinstance(source.owner, _MADE) or source in seen:
            last.operands[i] = _copy(last.operands[i], last, call)
        seen.add(source)


def _origin(value: SSAValue) -> SSAValue:
    """The value that a view, or a view of one, shows."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operands[0]
    return value


def _copy(value: SSAValue, before: Operation, user: Operation) -> SSAValue:
    """A tensor with the same elements, computed before an op; it comes from where `user` does."""
    type_ = cast("TensorType[Attribute]", value.type)
    rank = len(type_.get_shape())
    with located(user):
        empty = tensor.EmptyOp([], type_)
        body = Block(arg_types=[type_.element_type] * 2)
        body.add_op(linalg.YieldOp(body.args[0]))
        identity = AffineMapAttr(AffineMap.identity(rank))
        parallel = ArrayAttr([IteratorTypeAttr.parallel()] * rank)
        copy = linalg.GenericOp(
            [value], [empty.tensor], Region(body), ArrayAttr([identity] * 2), parallel, [type_]
        )
    inherit_location(copy, user)
    cast("Block", before.parent).insert_ops_before([empty, copy], before)
    return copy.results[0]
