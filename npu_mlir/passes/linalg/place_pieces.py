"""linalg-place-pieces: join tensors without moving them, by letting what makes the pieces write where they belong.

    %c = tensor.concat dim(1) %x, %y : (tensor<8x32xf16>, tensor<8x64xf16>) -> tensor<8x96xf16>
  becomes
    %d = tensor.empty() : tensor<8x96xf16>
    %x = linalg.generic ...
    %1 = tensor.insert_slice %x into %d[0, 0] [8, 32] [1, 1] {npu.in_place} : tensor<8x32xf16> into tensor<8x96xf16>
    %y = linalg.generic ...
    %c = tensor.insert_slice %y into %1[0, 32] [8, 64] [1, 1] {npu.in_place} : tensor<8x64xf16> into tensor<8x96xf16>

Each piece is inserted as soon as it is there. `npu.in_place` says that nothing moves: `tile-plan-memory` gives the
launch that makes a piece its place in the whole, with the strides of the whole. A joined tensor that is a run of the
pieces of another, as in a network in which each layer reads all before it, is a slice of that one, in place as well:

    %b = tensor.concat dim(1) %x, %y                       // read by what makes %z
    %c = tensor.concat dim(1) %x, %y, %z                   // %b is its first part, taken before %z is inserted

Which tensors are put together is decided by `npu_mlir.analysis.joins`. What no operation makes for that place (an
argument, a weight, a slice, a piece that lies elsewhere already) is copied there, if it pays; otherwise the
tensor is joined by `linalg-normalize`, as a sum of padded pieces.

Leaves alone: functions that loops of the host call; elements that share bytes; insertions that overlap, leave gaps or
are cut along several axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis.joins import Home, Join, Piece, homes, pays
from npu_mlir.analysis.placed_parts import is_in_place, part_of, row_major, set_in_place, strides_behind
from npu_mlir.analysis.structured.nest import is_indirect
from npu_mlir.dialects.tile import element_bits, storage_bytes
from npu_mlir.ir.functions import body_of
from npu_mlir.passes.dce import erase_dead_ops
from npu_mlir.passes.linalg.generics import LOCATION, Builder
from npu_mlir.passes.linalg.insertions import chain_to, following
from npu_mlir.passes.linalg.reshapes import without_units
from npu_mlir.passes.linalg.tensor_types import Shape, element_of, ints, segments, shape_of, tensor_type
from npu_mlir.support.locations import fill_locations
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class PlacePieces(ModulePass):
    """Put joined tensors together in place."""

    name = "linalg-place-pieces"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        called = {o.callee.string_value() for o in op.walk() if isinstance(o, CallOp)}
        for function in op.ops:
            if (
                isinstance(function, FuncOp)
                and not function.is_declaration
                and function.sym_name.data not in called
            ):
                _Placer(body_of(function), target).run()
        erase_dead_ops(op)


@dataclass
class _Placer:
    """Places the pieces of one function."""

    block: Block
    target: Target
    numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The places of the operations in the block."""
    taken: set[SSAValue] = field(default_factory=set[SSAValue])
    """What lies in a tensor already."""
    copied: dict[SSAValue, set[int]] = field(default_factory=dict[SSAValue, set[int]])
    """The pieces that have to be copied, of each tensor."""

    def run(self) -> None:
        """Put together all that pays."""
        self.numbers = {op: number for number, op in enumerate(self.block.ops)}
        for home in homes(list(_joins(self.block)), self._accept):
            self._build(home)

    def _accept(self, join: Join) -> bool:
        """Whether a tensor is put together in place; what lies in it is then taken."""
        result, pieces = cast("SSAValue", join.key), [cast("SSAValue", piece) for piece in join.pieces]
        strides = row_major(shape_of(result))
        own: dict[SSAValue, int] = {}
        for number, piece in enumerate(pieces):
            root = self._maker(piece)
            if (
                root is not None
                and root not in self.taken
                and strides_behind(piece, root, strides) is not None
            ):
                own.setdefault(root, number)
        made = set(own.values())
        shape = shape_of(result)
        behind = prod(shape[: join.axis])
        sizes = [
            Piece(_bytes(piece), _bytes(piece) // behind, number not in made)
            for number, piece in enumerate(pieces)
        ]
        row = storage_bytes(shape[-1] if shape else 1, element_bits(element_of(result)))
        if not pays(sizes, row, self.target):
            return False
        self.taken.update(own)
        self.copied[result] = set(range(len(pieces))) - made
        return True

    def _maker(self, value: SSAValue) -> SSAValue | None:
        """The result of the operation whose memory a value is, if a kernel will make it for itself."""
        while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            value = value.owner.operands[0]
        made = (
            isinstance(value.owner, GenericOp)
            and value.owner in self.numbers
            and not is_indirect(value.owner)
        )
        return value if made else None

    def _build(self, home: Home) -> None:
        result = cast("SSAValue", home.join.key)
        pieces = [cast("SSAValue", piece) for piece in home.join.pieces]
        join, axis, shape = cast("Operation", result.owner), home.join.axis, shape_of(result)
        starts = [0]
        for piece in pieces:
            starts.append(starts[-1] + shape_of(piece)[axis])
        inserts: dict[int, tensor.InsertSliceOp] = {}
        whole: SSAValue | None = None
        for k in sorted(range(len(pieces)), key=lambda k: self._number(pieces[k])):
            builder = Builder(join.attributes.get(LOCATION))
            whole = builder.empty(shape, element_of(result)) if whole is None else whole
            value = pieces[k]
            if k in self.copied[result]:
                value = _copy(builder, value)
            last = next(reversed(inserts.values()), None)
            inserts[k] = _insertion(value, whole, axis, starts[k])
            whole = builder.add(inserts[k])
            self._add(builder, join, pieces[k], last)
        order = list(inserts)
        for key, (first, count) in home.parts.items():
            version = inserts[max(range(first, first + count), key=order.index)]
            self._replace(cast("SSAValue", key), version, axis, starts[first])

    def _number(self, value: SSAValue) -> int:
        """The place of what makes a value in the block, -1 for an argument."""
        return self.numbers[value.owner] if isinstance(value.owner, Operation) else -1

    def _add(self, builder: Builder, join: Operation, value: SSAValue, last: Operation | None) -> None:
        """Put operations behind what makes a value and behind the `last` insertion."""
        for op in builder.ops:
            fill_locations(op, join.location)
        owner = value.owner
        behind = owner if isinstance(owner, Operation) else None
        if last is not None and (behind is None or behind.is_before_in_block(last)):
            behind = last
        if behind is not None:
            self.block.insert_ops_after(builder.ops, behind)
        elif self.block.first_op is not None:
            self.block.insert_ops_before(builder.ops, self.block.first_op)

    def _replace(self, value: SSAValue, version: tensor.InsertSliceOp, axis: int, start: int) -> None:
        """Read a version of the whole, or a part of it, in place of a joined tensor."""
        join, new = cast("Operation", value.owner), version.result
        if shape_of(value) != shape_of(new):
            builder = Builder(join.attributes.get(LOCATION))
            offsets, sizes = _at(start, axis, len(shape_of(value))), shape_of(value)
            part = tensor.ExtractSliceOp.create(
                operands=[new],
                result_types=[value.type],
                properties={
                    "static_offsets": ints(offsets),
                    "static_sizes": ints(sizes),
                    "static_strides": ints((1,) * len(sizes)),
                    "operandSegmentSizes": segments(1, 0, 0, 0),
                },
            )
            set_in_place(part)
            new = builder.add(part)
            fill_locations(part, join.location)
            self.block.insert_op_after(part, version)
        value.replace_all_uses_with(new)


def _copy(b: Builder, value: SSAValue) -> SSAValue:
    """A copy of a piece, made without the dims of size 1 that a reshape gives it: rows of one element are slow."""
    shape = shape_of(value)
    while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
        source = value.owner.operands[0]
        if without_units(shape_of(source)) != without_units(shape):
            break
        value = source
    rank = range(len(shape_of(value)))
    return b.reshape(b.map([value], [rank], shape_of(value), element_of(value), lambda body, x: x), shape)


def _insertion(value: SSAValue, whole: SSAValue, axis: int, start: int) -> tensor.InsertSliceOp:
    """The insertion of a piece, which moves nothing."""
    sizes = shape_of(value)
    insert = tensor.InsertSliceOp.create(
        operands=[value, whole],
        result_types=[tensor_type(element_of(whole), shape_of(whole))],
        properties={
            "static_offsets": ints(_at(start, axis, len(sizes))),
            "static_sizes": ints(sizes),
            "static_strides": ints((1,) * len(sizes)),
            "operandSegmentSizes": segments(1, 1, 0, 0, 0),
        },
    )
    set_in_place(insert)
    return insert


def _at(start: int, axis: int, rank: int) -> Shape:
    return tuple(start if d == axis else 0 for d in range(rank))


def _joins(block: Block) -> Iterator[Join]:
    """The tensors of a block that are joined of whole pieces along one axis."""
    for op in block.ops:
        if isinstance(op, tensor.ConcatOp):
            join = Join(op.result, op.dim.value.data, tuple(op.inputs))
        elif isinstance(op, tensor.InsertSliceOp) and not is_in_place(op) and following(op) is None:
            found = _chain(op)
            if found is None:
                continue
            join = found
        else:
            continue
        types = [cast("TensorType[Attribute]", cast("SSAValue", v).type) for v in (*join.pieces, join.key)]
        whole = all(min(type_.get_shape(), default=0) > 0 for type_ in types)
        if len(join.pieces) > 1 and whole and element_bits(types[-1].element_type) % 8 == 0:
            yield join


def _chain(op: tensor.InsertSliceOp) -> Join | None:
    """The tensor that a chain of insertions makes, if its pieces are all of it along one axis."""
    chain = chain_to(op)
    parts = [part_of(insert) for insert in chain or ()]
    if chain is None or len(parts) < 2 or any(part is None for part in parts):
        return None
    known = sorted(
        ((part, insert.source) for part, insert in zip(parts, chain, strict=True) if part is not None),
        key=lambda pair: pair[0].start,
    )
    axis, shape = known[0][0].axis, shape_of(op.result)
    if any(part.axis != axis for part, _ in known) or sum(part.size for part, _ in known) != shape[axis]:
        return None
    return Join(op.result, axis, tuple(source for _, source in known))


def _bytes(value: SSAValue) -> int:
    return storage_bytes(prod(shape_of(value)), element_bits(element_of(value)))
