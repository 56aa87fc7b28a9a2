"""Give every on-chip tile of a kernel a buffer, by destination passing.

Rules for the result of an operation:

1. a destination that is a `tensor.empty` becomes a buffer of its own, unless
2. the operation is elementwise and an operand of the same type, read element by element, dies in it: its buffer is
   reused, that of a tile from GM only if there is no other, since loads would wait until the result has left;
3. a destination with contents that nobody reads later is overwritten in its buffer;
4. otherwise its contents are copied to a new buffer first.

Values carried around a loop stay in one buffer.

Before:

    %t = tile.load %a[%i] ... : memref<60x64xf32, gm> -> tensor<16x64xf32, ub>
    %e = tensor.empty() : tensor<16x64xf32, ub>
    %r = linalg.generic ... ins(%t) outs(%e) -> tensor<16x64xf32, ub>
    tile.store %r, %b[%i] ...

After:

    %t = tile.alloc : memref<16x64xf32, ub>
    tile.load %a[%i] into %t ... : memref<60x64xf32, gm>, memref<16x64xf32, ub>
    linalg.generic ... ins(%t) outs(%t)
    tile.store %t, %b[%i] ...

Leaves alone: operands that only give extents (windows); the host function, whose tensors live in GM.
Does not handle: copies between matrix memories (L0A, L0B, L0C); no schedule needs one.
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref, scf, tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from npu_mlir.analysis.structured.nest import is_reduction, maps_of
from npu_mlir.dialects import tile
from npu_mlir.dialects.tile import Space, buffer_type, space_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located

Tensor = TensorType[Attribute]
_MATRIX = (Space.L0A, Space.L0B, Space.L0C)


class Bufferize(ModulePass):
    """Turn on-chip tensors into buffers."""

    name = "tile-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp):
                bufferize_kernel(kernel)


def bufferize_kernel(kernel: tile.KernelOp) -> None:
    """Turn the on-chip tensors of one kernel into buffers."""
    bufferizer = _Bufferizer()
    bufferizer.block(kernel.body.block)
    bufferizer.erase_tensors()


class _Bufferizer:
    """Works through a kernel in program order; `buffers` gives the buffer of every tensor value seen so far."""

    def __init__(self) -> None:
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.last_use: dict[SSAValue, Operation | None] = {}
        self.dead: list[Operation] = []
        self.bodies: list[Block] = []

    def block(self, block: Block) -> None:
        self._find_last_uses(block)
        for op in list(block.ops):
            with located(op):
                self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case tile.LoadOp() if op.result is not None:
                self._load(op)
                self.dead.append(op)
            case tile.GatherOp() if op.result is not None:
                self._gather(op)
                self.dead.append(op)
            case tile.StoreOp():
                for i, value in enumerate(op.operands):
                    op.operands[i] = self.buffers.get(value, value)
            case tile.InsertOp() if op.result is not None:
                self._insert(op)
                self.dead.append(op)
            case tile.ScatterOp():
                op.operands[0] = self.buffers.get(op.value, op.value)
                op.operands[len(op.operands) - 1] = self.buffers.get(op.rows, op.rows)
            case linalg.FillOp() | linalg.GenericOp() if op.results:
                self._structured(op)
                self.dead.append(op)
            case scf.ForOp():
                self._loop(op)
            case tensor.EmptyOp():
                if space_of(op.tensor.type) is None:
                    self._window(op)
                self.dead.append(op)
            case _:
                pass

    def erase_tensors(self) -> None:
        """Remove the operations on tensors, once all have been replaced."""
        for op in reversed(self.dead):
            op.detach()
            op.erase()
        for body in self.bodies:
            for arg in list(body.args[1:]):
                body.erase_arg(arg)

    def _find_last_uses(self, block: Block) -> None:
        order = {op: i for i, op in enumerate(block.ops)}
        values = [*block.args, *(r for op in block.ops for r in op.results)]
        for value in values:
            users = [block.find_ancestor_op_in_block(use.operation) for use in value.uses]
            self.last_use[value] = max(
                (u for u in users if u is not None), key=order.__getitem__, default=None
            )

    def _dies(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value defined in the operation's block is used for the last time by it."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return home is op.parent and self.last_use.get(value) is op

    def _alloc(self, value: SSAValue, before: Operation) -> SSAValue:
        type_ = cast("Tensor", value.type)
        space = space_of(type_)
        if space is None:
            raise UserError(f"a tile of type {type_} has no memory space", loc=before)
        buffer = buffer_type(type_.get_shape(), type_.element_type, space)
        alloc = tile.AllocOp(buffer, 1, _matrix_rows(value) if space in _MATRIX else None)
        cast("Block", before.parent).insert_op_before(alloc, before)
        alloc.buffer.name_hint = value.name_hint
        return alloc.buffer

    def _window(self, op: tensor.EmptyOp) -> None:
        """An operand that only gives extents: a buffer of no space, which nothing ever reads."""
        type_ = op.tensor.type
        alloc = memref.AllocOp([], [], MemRefType(type_.element_type, type_.get_shape()))
        cast("Block", op.parent).insert_op_before(alloc, op)
        self.buffers[op.tensor] = alloc.memref

    def _load(self, op: tile.LoadOp) -> None:
        result = op.results[0]
        dest = self._alloc(result, op)
        source = self.buffers.get(op.source, op.source)
        row = None if op.scales is None else self.buffers.get(op.scales, op.scales)
        new = tile.LoadOp(
            source, list(op.indices), op.map, None, dest, op.pad, op.epilogue, row, op.scale_dims
        )
        new.attributes |= op.attributes
        cast("Block", op.parent).insert_op_before(new, op)
        self.buffers[result] = dest

    def _gather(self, op: tile.GatherOp) -> None:
        result = op.results[0]
        dest = self._alloc(result, op)
        rows = self.buffers.get(op.rows, op.rows)
        new = tile.GatherOp(op.source, list(op.indices), rows, op.axis.value.data, op.map, None, dest, op.pad)
        new.attributes |= op.attributes
        cast("Block", op.parent).insert_op_before(new, op)
        self.buffers[result] = dest

    def _insert(self, op: tile.InsertOp) -> None:
        dest = self._owned(op.dest, op)
        new = tile.InsertOp(self.buffers.get(op.value, op.value), dest, list(op.indices), op.map)
        new.attributes |= op.attributes
        cast("Block", op.parent).insert_op_before(new, op)
        self.buffers[op.results[0]] = dest

    def _structured(self, op: linalg.FillOp | linalg.GenericOp) -> None:
        dest = self._destination(op)
        inputs = [self.buffers.get(v, v) for v in op.inputs]
        if isinstance(op, linalg.FillOp):
            new: Operation = linalg.FillOp(inputs, [dest], [])
        else:
            body = op.detach_region(op.body)
            new = linalg.GenericOp(inputs, [dest], body, op.indexing_maps, op.iterator_types)
        new.attributes |= op.attributes
        cast("Block", op.parent).insert_op_before(new, op)
        self.buffers[op.results[0]] = dest

    def _destination(self, op: linalg.FillOp | linalg.GenericOp) -> SSAValue:
        init = op.outputs[0]
        if isinstance(init.owner, tensor.EmptyOp):
            dying = self._dying_operand(op) if isinstance(op, linalg.GenericOp) else None
            return dying if dying is not None else self._alloc(op.results[0], op)
        return self._owned(init, op)

    def _owned(self, value: SSAValue, op: Operation) -> SSAValue:
        """A buffer with the contents of `value` that `op` may overwrite; a new one for a `tensor.empty`."""
        if isinstance(value.owner, tensor.EmptyOp):
            return self._alloc(value, op)
        if self._dies(value, op) and value in self.buffers:
            return self.buffers[value]
        return self._copy(value, op)

    def _copy(self, value: SSAValue, before: Operation) -> SSAValue:
        """A new buffer with the contents of `value`."""
        copy = self._alloc(value, before)
        self._move(value, copy, before)
        return copy

    def _move(self, value: SSAValue, dest: SSAValue, before: Operation) -> None:
        identity = AffineMap.identity(len(cast("Tensor", value.type).get_shape()))
        load = tile.LoadOp(self.buffers[value], [], identity, None, dest)
        cast("Block", before.parent).insert_op_before(load, before)

    def _dying_operand(self, op: linalg.GenericOp) -> SSAValue | None:
        """The buffer of an operand that the elementwise operation may overwrite."""
        if any(is_reduction(op)) or space_of(op.outputs[0].type) is not Space.UB:
            return None
        maps = maps_of(op)
        for value, map_ in sorted(zip(op.inputs, maps, strict=False), key=lambda pair: _from_gm(pair[0])):
            buffer = self.buffers.get(value)
            alike = value.type == op.results[0].type and map_ == maps[-1]
            same = [m for v, m in zip(op.inputs, maps, strict=False) if v is value]
            if buffer is not None and alike and all(m == map_ for m in same) and self._dies(value, op):
                return buffer
        return None

    def _loop(self, op: scf.ForOp) -> None:
        """Process the body; carried tensors stay in the buffer that they start from."""
        body = op.body.block
        carried = list(zip(op.iter_args, body.args[1:], op.results, strict=True))
        for init, arg, result in carried:
            buffer = self._owned(init, op)
            self.buffers[arg] = self.buffers[result] = buffer
        self.block(body)
        terminator = cast("scf.YieldOp", body.last_op)
        places = [self.buffers[arg] for _, arg, _ in carried]
        moved = [(v, p) for v, p in zip(terminator.operands, places, strict=True) if self.buffers[v] is not p]
        for value, _ in moved:
            # Values that change places pass each other in new buffers.
            if self.buffers[value] in places:
                self.buffers[value] = self._copy(value, terminator)
        for value, place in moved:
            self._move(value, place, terminator)
        if carried:
            _drop_carried(op)
            self.dead.append(op)
            self.bodies.append(body)


def _from_gm(value: SSAValue) -> bool:
    """Whether a value is a tile as it was loaded from GM."""
    return isinstance(value.owner, tile.LoadOp) and space_of(value.owner.source.type) is Space.GM


def _drop_carried(op: scf.ForOp) -> None:
    """Put a loop without carried values before a loop and move its body there."""
    body = op.body.block
    terminator = cast("Operation", body.last_op)
    terminator.detach()
    terminator.erase()
    body.add_op(scf.YieldOp())
    region = op.detach_region(op.body)
    new = scf.ForOp(op.lb, op.ub, op.step, [], region)
    new.attributes |= op.attributes
    cast("Block", op.parent).insert_op_before(new, op)


def _matrix_rows(value: SSAValue) -> int:
    """How many leading dims of a tile in L0A, L0B or L0C are the rows of a matrix, read off the operation using it."""
    pending = [value]
    while pending:
        value = pending.pop()
        for use in list(value.uses):
            op = use.operation
            if isinstance(op, linalg.GenericOp):
                maps = [[e.position for e in m.results] for m in maps_of(op)]  # type: ignore[attr-defined]
                a, _, out = maps
                rows = sum(d in out for d in a)
                return len(a) - rows if use.index == 1 else rows
            if isinstance(op, scf.ForOp):
                pending += [op.body.block.args[1 + i] for i, v in enumerate(op.iter_args) if v is value]
                pending += [r for r, v in zip(op.results, op.iter_args, strict=True) if v is value]
            elif isinstance(op, linalg.FillOp):
                pending += op.results
    raise UserError("a tile in a matrix memory is not used by a matrix product")
