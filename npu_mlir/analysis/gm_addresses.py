"""Where the values of a host function lie in GM: the same bytes for a tensor and each view of it.

    %w = graph.weight                                          behind the arena, one value after the other
    %y = tile.launch @k(%x, %w) {result_offsets = [0]}         in the arena, at its offset
    %v = tensor.collapse_shape %y                              where %y is

Results with planned offsets lie in the arena, from address 0 on, and may lie where others did before. All else, the
inputs, weights, what the host computes, has a place of its own behind it.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from npu_mlir.analysis.gm_boxes import Transfer, argument_of, covers_all
from npu_mlir.analysis.residency import GmTouch
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.dialects import tile
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.dialects.tile import element_bits, storage_bytes
from npu_mlir.support.arithmetic import round_up

ALIGNMENT = 512
"""Bytes to which values in GM are aligned: a line of L2 on the machines that have one."""

VIEWS = (tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.ReshapeOp, tensor.CastOp)
"""Ops whose result is the first operand in another shape."""


class GmAddresses:
    """The places of the values of a module's host functions, found on demand."""

    def __init__(self, module: ModuleOp):
        self._ranges: dict[SSAValue, range] = {}
        self._end = 0
        for op in module.walk():
            if isinstance(op, tile.LaunchOp) and op.result_offsets is not None:
                for offset, result in zip(ints(op.result_offsets), op.results, strict=True):
                    self._ranges[result] = range(offset, offset + tensor_bytes(result))
                    self._end = max(self._end, offset + tensor_bytes(result))

    def of(self, value: SSAValue) -> range:
        """The bytes of a tensor."""
        root = viewed(value)
        if root not in self._ranges:
            start = round_up(self._end, ALIGNMENT)
            self._end = start + tensor_bytes(root)
            self._ranges[root] = range(start, self._end)
        return self._ranges[root]


def viewed(value: SSAValue) -> SSAValue:
    """The tensor that a value is a view of; itself if it is none."""
    while isinstance(value, OpResult) and isinstance(value.op, VIEWS):
        value = value.op.operands[0]
    return value


def tensor_bytes(value: SSAValue) -> int:
    """The bytes of a tensor in GM."""
    return gm_bytes(value.type)


def gm_bytes(type_: Attribute) -> int:
    """The bytes that a value of a tensor or memref type takes in GM."""
    assert isinstance(type_, TensorType | MemRefType)
    return storage_bytes(prod(type_.get_shape()), element_bits(type_.element_type))


class KernelTouches:
    """What a kernel does with each of its arguments: whether it touches it, and all of it."""

    def __init__(self, kernel: tile.KernelOp):
        forms = ScalarForms()
        count = len(kernel.body.block.args)
        results = range(count - kernel.outputs, count)
        self.touched = [i in results for i in range(count)]
        # The simulator sees to it that results are written completely.
        self.whole = [i in results for i in range(count)]
        for op in kernel.walk():
            for value in op.operands:
                if value.owner is kernel.body.block:
                    self.touched[cast("BlockArgument", value).index] = True
            number = argument_of(op) if isinstance(op, Transfer) else None
            if isinstance(op, Transfer) and number is not None and not self.whole[number]:
                self.whole[number] = covers_all(op, forms)

    def at(self, places: list[range]) -> list[GmTouch]:
        """The touches of a launch whose arguments lie at these places."""
        return [
            GmTouch(place if touched else range(place.start, place.start), whole)
            for place, touched, whole in zip(places, self.touched, self.whole, strict=True)
        ]
