"""Where the values of a host function lie in GM: the same bytes for a tensor and each view of it.

    %w = graph.weight                                          behind the arena, one value after the other
    %y = tile.launch @k(%x, %w) {result_offsets = [0]}         in the arena, at its offset
    %v = tensor.collapse_shape %y                              where %y is

Results with planned offsets lie in the arena, from address 0 on, and may lie where others did before; in loops, in the
slot of the iteration. All else, the inputs, weights, what the host computes, has a place of its own behind it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    ModuleOp,
    TensorType,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from npu_mlir.analysis.gm_boxes import Transfer, argument_of, covers_all
from npu_mlir.analysis.placed_parts import is_in_place, part_of, whole_of
from npu_mlir.analysis.residency import GmTouch
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile import element_bits, storage_bytes
from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.support.arithmetic import round_up
from npu_mlir.support.diagnostics import UserError

ALIGNMENT = 512
"""Bytes to which values in GM are aligned: a line of L2 on the machines that have one."""

VIEWS = (
    tensor.CollapseShapeOp,
    tensor.ExpandShapeOp,
    tensor.ReshapeOp,
    tensor.CastOp,
    UnrealizedConversionCastOp,
)
"""Ops whose result is the first operand in another shape."""


class GmAddresses:
    """The places of the values of a module's host functions, found on demand.

    In a loop a value has another place in each iteration: `run` follows the host, and what is asked for in between is
    meant then.
    """

    def __init__(self, module: ModuleOp):
        self._ranges: dict[SSAValue, range] = {}
        self._numbers: dict[SSAValue, int] = {}
        """Of the indices of loops, in this iteration."""
        self._end = 0
        for op in module.walk():
            if isinstance(op, tile.LaunchOp):
                for (offset, slots), result in zip(op.places() or (), op.results):
                    self._ranges[result] = range(offset, offset + tensor_bytes(result))
                    self._end = max(self._end, offset + slots * tensor_bytes(result))
            elif isinstance(op, tile.ReserveOp):
                offset, slots = op.place()
                self._end = max(self._end, offset + slots * tensor_bytes(op.result))
                if op.slot is None:
                    self._ranges[op.result] = range(offset, offset + tensor_bytes(op.result))
        self._parts: dict[SSAValue, range] = {}
        """What lies in a tensor with other parts."""
        for op in module.walk():
            if isinstance(op, tensor.InsertSliceOp | tensor.ExtractSliceOp) and is_in_place(op):
                self._add_part(op)

    def _add_part(self, op: tensor.InsertSliceOp | tensor.ExtractSliceOp) -> None:
        """Note where an insertion or extraction in place finds its part. Of a tensor that is cut along an axis, each
        part counts as if its bytes lay together: as many, and no others', are touched with it."""
        whole, part = self.of(whole_of(op)), part_of(op)
        assert part is not None
        value = viewed(op.source) if isinstance(op, tensor.InsertSliceOp) else op.result
        size = element_bits(cast("TensorType[Attribute]", value.type).element_type) // 8
        place = part.elements
        self._parts[value] = range(whole.start + place.start * size, whole.start + place.stop * size)
        self._ranges[value] = self._parts[value]
        if isinstance(op, tensor.InsertSliceOp):
            self._ranges[op.result] = whole

    def of(self, value: SSAValue) -> range:
        """The bytes of a tensor."""
        root = viewed(value)
        if root not in self._ranges:
            start = round_up(self._end, ALIGNMENT)
            self._end = start + tensor_bytes(root)
            self._ranges[root] = range(start, self._end)
        return self._ranges[root]

    def run(self, op: Operation) -> Iterator[Operation]:
        """The launches and prefetches within an op, in the order in which the host comes to them: those in a loop once
        for each iteration. Around those of a program, the program and its `tile.yield`. A `UserError` for a loop with
        launches whose bounds are not known before."""
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    yield from self._run(inner)

    def _run(self, op: Operation) -> Iterator[Operation]:
        match op:
            case tile.KernelOp():
                pass
            case tile.LaunchOp():
                for (offset, slots), slot, result in zip(op.places() or (), op.slots, op.results):
                    self._ranges[result] = self._slot(offset, slots, slot, result)
                self._ranges |= {r: self._parts[r] for r in op.results if r in self._parts}
                yield op
            case tile.PrefetchOp() | npu_isa.PrefetchOp():
                yield op
            case tile.ProgramOp():
                yield op
                yield from self.run(op)
                yield op.yielded
            case tile.ReserveOp():
                self._ranges[op.result] = self._slot(*op.place(), op.slot, op.result)
            case tensor.ExtractSliceOp() if is_row(op):
                start, size = self.of(op.source).start, tensor_bytes(op.result)
                row = self._number(op.offsets[0]) * size
                self._ranges[op.result] = range(start + row, start + row + size)
            case tensor.InsertSliceOp():
                self._ranges[op.result] = self.of(op.dest)
            case scf.ForOp():
                yield from self._loop(op)
            case _:
                yield from self.run(op)

    def _loop(self, loop: scf.ForOp) -> Iterator[Operation]:
        if not any(isinstance(op, _RUN) for op in loop.walk()):
            return
        trips = constant_trips(loop)
        if trips is None:
            raise UserError("how often this loop launches kernels is not known without values", loc=loop)
        block = loop.body.block
        last = block.last_op
        places = [self._place(value) for value in loop.iter_args]
        for number in trips:
            self._numbers[block.args[0]] = number
            self._keep(block.args[1:], places)
            yield from self.run(loop)
            places = [self._place(value) for value in last.operands] if last is not None else []
        self._keep(loop.results, places)

    def _place(self, value: SSAValue) -> range | None:
        return self.of(value) if isinstance(value.type, TensorType) else None

    def _keep(self, values: Sequence[SSAValue], places: Sequence[range | None]) -> None:
        self._ranges |= {v: place for v, place in zip(values, places, strict=True) if place is not None}

    def _slot(self, offset: int, slots: int, index: SSAValue | None, value: SSAValue) -> range:
        size = tensor_bytes(value)
        start = offset + (self._number(index) % slots * size if index is not None else 0)
        return range(start, start + size)

    def _number(self, value: SSAValue) -> int:
        """An index in this iteration."""
        if value in self._numbers:
            return self._numbers[value]
        constant, owner = constant_index(value), value.owner
        if constant is not None:
            return constant
        if type(owner) not in _ARITHMETIC:
            raise UserError("where this lies is not known without values", loc=owner)  # type: ignore[arg-type]
        lhs, rhs = (self._number(operand) for operand in owner.operands)  # type: ignore[union-attr]
        return _ARITHMETIC[type(owner)](lhs, rhs)


_RUN = (tile.LaunchOp, tile.PrefetchOp, npu_isa.PrefetchOp)

_ARITHMETIC: dict[type[object], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivUIOp: operator.floordiv,
    arith.RemUIOp: operator.mod,
}
"""What `tile-plan-memory` and loops of the host compute places with."""


def is_row(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> bool:
    """Whether a slice is one position of the leading dim, known only then: the same bytes, one behind the other."""
    whole = op.source if isinstance(op, tensor.ExtractSliceOp) else op.dest
    assert isinstance(whole.type, TensorType)
    shape = whole.type.get_shape()
    return (
        tuple(op.static_offsets.get_values()) == (DYNAMIC_INDEX, *(0 for _ in shape[1:]))
        and tuple(op.static_sizes.get_values()) == (1, *shape[1:])
        and set(op.static_strides.get_values()) == {1}
    )


def viewed(value: SSAValue) -> SSAValue:
    """The tensor that a value is a view of, or that a program hands on; itself if it is none of these."""
    while isinstance(value, OpResult):
        if isinstance(value.op, tile.ProgramOp):
            value = value.op.yielded.values[value.index]
        elif isinstance(value.op, VIEWS):
            value = value.op.operands[0]
        else:
            break
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
        # The simulator sees to it that results are written completely, but those that lie where an operand does.
        fresh = {i for i, reused in zip(results, kernel.reused, strict=True) if reused is None}
        self.whole = [i in fresh for i in range(count)]
        for number, arg in enumerate(kernel.body.block.args):
            for use in arg.uses:
                self.touched[number] = True
                op = use.operation
                if not self.whole[number] and isinstance(op, Transfer) and argument_of(op) == number:
                    self.whole[number] = covers_all(op, forms)

    def at(self, places: list[range]) -> list[GmTouch]:
        """The touches of a launch whose arguments lie at these places."""
        return [
            GmTouch(place if touched else range(place.start, place.start), whole)
            for place, touched, whole in zip(places, self.touched, self.whole, strict=True)
        ]
