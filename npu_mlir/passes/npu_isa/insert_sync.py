"""npu-isa-insert-sync: set and wait for flags, so that the pipes of the core may run on their own.

    scf.for %i = %c0 to %c8 step %c1 {
      %s = npu_isa.slot %x[%i]                                2 slots
      npu_isa.load_ub %A[%i] -> %s ...
      npu_isa.vunary exp %s, %s ...
      npu_isa.store_ub %s -> %B[%i] ...
    }
  becomes
    npu_isa.set_flag [MTE3, MTE2, 0]                          both slots are free
    npu_isa.set_flag [MTE3, MTE2, 1]
    scf.for %i = %c0 to %c8 step %c1 {
      %s = npu_isa.slot %x[%i]
      npu_isa.wait_flag [MTE3, MTE2, 0 + %i mod 2]
      npu_isa.load_ub %A[%i] -> %s ...
      npu_isa.set_flag [MTE2, V, 0 + %i mod 2]
      npu_isa.wait_flag [MTE2, V, 0 + %i mod 2]
      npu_isa.vunary exp %s, %s ...
      npu_isa.set_flag [V, MTE3, 0 + %i mod 2]
      npu_isa.wait_flag [V, MTE3, 0 + %i mod 2]
      npu_isa.store_ub %s -> %B[%i] ...
      npu_isa.set_flag [MTE3, MTE2, 0 + %i mod 2]
    }
    npu_isa.wait_flag [MTE3, MTE2, 0]
    npu_isa.wait_flag [MTE3, MTE2, 1]

Where the flags go is computed by `npu_mlir.analysis.sync`; this pass reads what the instructions touch, and writes the
flags. Kernels that have flags or barriers already are left alone. What a load and a store touch in GM is a box, which
loops move: boxes that never share an element need no order.

Where a kernel has a `tile.boundary`, flags take its place that order it behind the sections of programs that may come
before it; see `npu_mlir.analysis.sections`.

    npu_isa.set_flag [MTE1, MTE2, 7]                          L1 is free again
    npu_isa.wait_flag [MTE1, MTE2, 7]
    npu_isa.load_l1 %w[] -> %x ...
    npu_isa.set_flag [MTE3, MTE2, 7]                          everything is stored
    npu_isa.wait_flag [MTE3, MTE2, 7]
    npu_isa.set_flag [MTE2, V, 7]
    npu_isa.wait_flag [MTE2, V, 7]
    ...

Does not handle: conflicts between two arguments of a kernel that are one buffer (the results of a launch are fresh),
conflicts between cores, addresses that are carried by loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis import sync
from npu_mlir.analysis.gm_boxes import gm_box
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.analysis.sections import LOADS, BoundaryWaits, Span, Usage, boundary_waits
from npu_mlir.analysis.value_numbers import Materializer, ValueNumbers
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile.programs import ops_before
from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.ir.sections import sections_before
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located
from npu_mlir.targets.module_target import target_of
from npu_mlir.targets.target import Target


class InsertSync(ModulePass):
    """Order the pipes of every kernel by flags."""

    name = "npu-isa-insert-sync"
    synchronizes = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        sections = Sections(op, target)
        for kernel in op.ops:
            if isinstance(kernel, tile.KernelOp) and not has_sync(kernel):
                insert_sync(kernel, target, sections.before(kernel))


def has_sync(kernel: tile.KernelOp) -> bool:
    """Whether a kernel has flags or barriers."""
    return any(isinstance(op, npu_isa.FlagInstruction | npu_isa.BarrierOp) for op in kernel.walk())


def insert_sync(kernel: tile.KernelOp, target: Target, before: Sequence[Usage] = ()) -> None:
    """Insert what makes a kernel free of races, in place; also with the sections that may come `before` it, if it has a
    boundary."""
    reader = _Reader(kernel, target)
    root = reader.block(kernel.body.block)
    boundary = next((op for op in kernel.body.block.ops if isinstance(op, tile.BoundaryOp)), None)
    # One id of each pair of pipes belongs to boundaries, in all kernels: reusing it is then an order of its own.
    ids = target.event_ids - (boundary is not None)
    plan = sync.plan_sync(root, ids)
    _Writer(reader, boundary).write(plan)
    if boundary is not None:
        _write_boundary(
            boundary, boundary_waits(_head(boundary, target), _usage(kernel, target), before), ids
        )


def _write_boundary(boundary: tile.BoundaryOp, waits: BoundaryWaits, event: int) -> None:
    """Put flags in the place of a boundary and in front of its head."""
    block = boundary.parent
    assert block is not None
    head = next((op for op in block.ops if op is boundary or isinstance(op, npu_isa.GmLoad)), boundary)

    def order(src: str, dst: str, anchor: Operation) -> None:
        pipes = npu_isa.Pipe(src), npu_isa.Pipe(dst)
        _before(anchor, npu_isa.SetFlagOp(*pipes, event))
        _before(anchor, npu_isa.WaitFlagOp(*pipes, event))

    with located(boundary):
        for pipe in waits.head:
            order(pipe, LOADS, head)
        for pipe in waits.body:
            order(pipe, LOADS, boundary)
        for pipe in (*waits.head, *waits.body):
            order(LOADS, pipe, boundary)
    block.erase_op(boundary)


class Sections:
    """The kernels of a module as sections of its programs."""

    def __init__(self, module: ModuleOp, target: Target):
        self._kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, tile.KernelOp)}
        self._target = target
        self._usages: dict[str, Usage] = {}
        self._before: dict[str, set[str]] = {}
        for program in [op for op in module.walk() if isinstance(op, tile.ProgramOp)]:
            for launch, last in sections_before(program).items():
                names = {other.kernel.string_value() for other in last}
                self._before.setdefault(launch.kernel.string_value(), set()).update(names)

    def before(self, kernel: tile.KernelOp) -> list[Usage]:
        """What the kernels use that may run directly before this one, in the same program."""
        names = sorted(self._before.get(kernel.sym_name.data, ()))
        return [self._usage(name) for name in names]

    def _usage(self, name: str) -> Usage:
        if name not in self._usages:
            self._usages[name] = _usage(self._kernels[name], self._target)
        return self._usages[name]


def _usage(kernel: tile.KernelOp, target: Target) -> Usage:
    """The pipes of a kernel, and the bytes on chip that each of them touches."""
    found: dict[str, list[Span]] = {}
    for op in kernel.walk():
        if isinstance(op, npu_isa.Instruction) and op.PIPE is not npu_isa.Pipe.S:
            found.setdefault(op.PIPE, []).extend(_spans(op, target))
    return {pipe: list(dict.fromkeys(spans)) for pipe, spans in found.items()}


def _spans(op: npu_isa.Instruction, target: Target, write: bool = False) -> Iterator[Span]:
    """The buffers that an instruction touches, or those that it writes, as a whole."""
    for access in op.accesses(target.cube):
        if access.extent is not None and (access.write or not write):
            buffer = _buffer_of(access.operand)
            if buffer is None:
                raise UserError(
                    "flags need to know the buffer: a loop or conditional carries this address", loc=op
                )
            start, size, slots = (a.value.data for a in (buffer.address, buffer.bytes, buffer.slots))
            yield Span(buffer.result.type.space.data, start, start + size * slots)


def _buffer_of(address: SSAValue) -> npu_isa.BufferOp | None:
    owner = address.owner
    while isinstance(owner, npu_isa.AtOp | npu_isa.SlotOp):
        owner = (owner.base if isinstance(owner, npu_isa.AtOp) else owner.buffer).owner
    return owner if isinstance(owner, npu_isa.BufferOp) else None


def _head(boundary: tile.BoundaryOp, target: Target) -> list[Span]:
    """What the loads before a boundary write."""
    loads = [op for op in ops_before(boundary) if isinstance(op, npu_isa.GmLoad)]
    return [span for op in loads for span in _spans(op, target, write=True)]


class _Reader:
    """A kernel's blocks and instructions as `analysis.sync` wants them."""

    def __init__(self, kernel: tile.KernelOp, target: Target):
        self.numbers = ValueNumbers()
        self.forms = ScalarForms()
        self.ops: dict[int, list[Operation]] = {}
        """The op of each item, by the `id` of the block."""
        self._cube = target.cube
        self._kernel = kernel
        self._shared = self._shared_arguments()

    def _shared_arguments(self) -> set[SSAValue]:
        """The arguments in GM that one pipe writes and another one touches."""
        pipes: dict[SSAValue, set[str]] = {}
        written: set[SSAValue] = set()
        for op in self._kernel.walk():
            if isinstance(op, npu_isa.Instruction):
                for access in op.accesses(self._cube):
                    if access.extent is None:
                        pipes.setdefault(access.operand, set()).add(op.PIPE)
                        written |= {access.operand} if access.write else set()
        return {value for value in written if len(pipes[value]) > 1}

    def block(self, ir: Block) -> sync.Block:
        """Read a block."""
        block = sync.Block()
        ops = self.ops[id(block)] = []
        for op in ir.ops:
            item = self._item(op)
            if item is not None:
                block.items.append(item)
                ops.append(op)
        return block

    def _item(self, op: Operation) -> sync.SyncInstruction | sync.Nested | None:
        if isinstance(op, npu_isa.Instruction):
            accesses = [self._access(a, op) for a in op.accesses(self._cube)]
            return sync.SyncInstruction(op.PIPE, [a for a in accesses if a is not None])
        if isinstance(op, scf.ForOp | scf.IfOp):
            blocks = [self.block(b) for region in op.regions for b in region.blocks]
            loop = isinstance(op, scf.ForOp)
            trips = constant_trips(op) if isinstance(op, scf.ForOp) else None
            return sync.Nested(blocks, loop, len(trips or ()), op)
        if op.regions:
            raise UserError(f"flags cannot be placed in '{op.name}'", loc=op)
        return None

    def _access(self, access: npu_isa.Access, op: Operation) -> sync.SyncAccess | None:
        address = access.operand
        if access.extent is None:
            if address not in self._shared:
                return None
            box = gm_box(op, self.forms) if isinstance(op, npu_isa.GmLoad | npu_isa.GmStore) else None
            return sync.SyncAccess(address, 0, 1, access.write, box=box)
        low: int | None = 0
        while isinstance(address.owner, npu_isa.AtOp):
            moved = address.owner.constant.value.data if address.owner.offset is None else None
            low = None if low is None or moved is None else low + moved
            address = address.owner.base
        index: SSAValue | None = None
        if isinstance(address.owner, npu_isa.SlotOp):
            index, address = address.owner.index, address.owner.buffer
        buffer = address.owner
        if not isinstance(buffer, npu_isa.BufferOp):
            raise UserError(
                "flags need to know the buffer: a loop or conditional carries this address", loc=op
            )
        size = buffer.bytes.value.data
        span = (0, size) if low is None else (low, low + access.extent.end)
        return self._place(buffer, span, index, access.write)

    def _place(
        self, buffer: npu_isa.BufferOp, span: tuple[int, int], index: SSAValue | None, write: bool
    ) -> sync.SyncAccess:
        memory = buffer.result.type.space.data
        start, size, slots = (a.value.data for a in (buffer.address, buffer.bytes, buffer.slots))
        fixed = 0 if index is None or slots == 1 else constant_index(index)
        if index is None or fixed is not None:
            start += size * ((fixed or 0) % slots)
            return sync.SyncAccess(memory, start + span[0], start + span[1], write)
        loops = [op for op in _around(index) if self.forms.changes(index, op, slots)]
        slot = sync.SlotValue(buffer, self.numbers.number(index), slots, frozenset(loops))
        return sync.SyncAccess(memory, start, start + size * slots, write, slot, span)


def _around(value: SSAValue) -> Iterator[scf.ForOp]:
    """The loops around the definition of a value."""
    op = value.owner.parent_op()
    while op is not None:
        if isinstance(op, scf.ForOp):
            yield op
        op = op.parent_op()


class _Writer:
    """Writes flags and barriers into the kernel that a reader has read."""

    def __init__(self, reader: _Reader, boundary: tile.BoundaryOp | None = None):
        self._ops = reader.ops
        self._values = Materializer(reader.numbers)
        self._boundary = boundary
        self._head = set(ops_before(boundary)) if boundary is not None else set[Operation]()

    def write(self, plan: sync.Plan) -> None:
        """Insert everything."""
        for block, item in plan.barriers:
            op = self._ops[id(block)][item]
            with located(op):
                _before(op, npu_isa.BarrierOp())
        for flag in plan.flags:
            ops = self._ops[id(flag.block)]
            source, sink = ops[flag.edge.set_item], ops[flag.edge.wait_item]
            after = source.next_op
            if source in self._head and self._boundary is not None:
                # Only there is it known that nobody waits for the id any more.
                after = self._boundary.next_op
            assert after is not None
            # Whoever waits is why there is a flag.
            with located(sink):
                _before(after, self._flag(npu_isa.SetFlagOp, flag, source, after))
                _before(sink, self._flag(npu_isa.WaitFlagOp, flag, sink, sink))
                if flag.edge.back:
                    self._surround(_outermost_loop(source), flag)

    def _flag(
        self, kind: type[npu_isa.FlagInstruction], flag: sync.Flag, anchor: Operation, before: Operation
    ) -> npu_isa.FlagInstruction:
        index = None
        if flag.edge.slot is not None:
            index = self._values.value(flag.edge.slot[0], anchor, before)
        src, dst = (npu_isa.Pipe(p) for p in flag.edge.pair)
        return kind(src, dst, flag.event, flag.slots, index)

    def _surround(self, loop: Operation, flag: sync.Flag) -> None:
        """Set the ids of a back edge before the loop, and wait for them after it."""
        src, dst = (npu_isa.Pipe(p) for p in flag.edge.pair)
        for n in range(flag.slots):
            _before(loop, npu_isa.SetFlagOp(src, dst, flag.event + n))
        after = loop.next_op
        assert after is not None
        for n in range(flag.slots):
            _before(after, npu_isa.WaitFlagOp(src, dst, flag.event + n))


def _before(op: Operation, new: Operation) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)


def _outermost_loop(op: Operation) -> Operation:
    loop: Operation | None = None
    around = op.parent_op()
    while around is not None:
        if isinstance(around, scf.ForOp):
            loop = around
        around = around.parent_op()
    assert loop is not None
    return loop
