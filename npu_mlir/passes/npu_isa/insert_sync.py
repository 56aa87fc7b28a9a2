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

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from npu_mlir.analysis import sync
from npu_mlir.analysis.gm_boxes import gm_box
from npu_mlir.analysis.scalar_forms import ScalarForms
from npu_mlir.analysis.sections import LOADS, Pair, SectionUse
from npu_mlir.analysis.value_numbers import Materializer, ValueNumbers
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.first_values import first_value
from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.ir.running_count import running_count
from npu_mlir.passes.npu_isa.section_flags import (
    RESERVED,
    LateLoads,
    SplitLoad,
    boundary_of,
    head_of,
    late_loads,
    split_loads,
    use_of,
    used_before,
    write_boundary,
    write_handovers,
    write_late,
)
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
        kernels = [kernel for kernel in op.ops if isinstance(kernel, tile.KernelOp)]
        plans = {kernel: _planned(kernel, target) for kernel in kernels if not has_sync(kernel)}
        uses: dict[str, SectionUse] = {}
        if any(plan.boundary is not None for plan in plans.values()):
            for kernel in kernels:
                flags = plans[kernel].pairs if kernel in plans else _pairs_of(kernel)
                uses[kernel.sym_name.data] = use_of(kernel, flags, target)
        before = used_before(op, uses) if uses else {}
        for kernel, plan in plans.items():
            name = kernel.sym_name.data
            plan.write(uses.get(name), before.get(name))


def has_sync(kernel: tile.KernelOp) -> bool:
    """Whether a kernel has flags or barriers."""
    return any(isinstance(op, npu_isa.FlagInstruction | npu_isa.BarrierOp) for op in kernel.walk())


def _pairs_of(kernel: tile.KernelOp) -> set[Pair]:
    """The pairs of pipes between which a kernel has flags already."""
    return {op.pipes for op in kernel.walk() if isinstance(op, npu_isa.FlagInstruction)}


@dataclass
class _Planned:
    """What to insert in a kernel."""

    kernel: tile.KernelOp
    target: Target
    reader: _Reader
    plan: sync.Plan
    boundary: tile.BoundaryOp | None
    late: LateLoads

    @property
    def pairs(self) -> set[Pair]:
        """The pairs of pipes between which it has flags."""
        late = {(LOADS, pipe) for pipes in self.late.values() for pipe in pipes}
        return {flag.edge.pair for flag in self.plan.flags} | late

    def write(self, own: SectionUse | None, before: SectionUse | None) -> None:
        """Insert it, behind the sections that may come before."""
        writer = _Writer(self.reader, self.boundary is not None)
        writer.write(self.plan)
        for load, pipes in self.late.items():
            writer.readers[load] = set(pipes)
        write_late(self.late, self.kernel, self.target)
        if self.boundary is not None and own is not None:
            back = {flag.edge.pair for flag in self.plan.flags if flag.edge.back}
            write_boundary(self.boundary, own, before, writer.readers, back, self.target)
        write_handovers(self.kernel, self.target)


def _planned(kernel: tile.KernelOp, target: Target) -> _Planned:
    boundary = boundary_of(kernel)
    head = head_of(boundary) if boundary is not None else []
    # Ids that belong to boundaries in all kernels: using them again is then an order of its own.
    reserved = RESERVED if boundary is not None else {}
    split = split_loads(kernel, head)
    while True:
        late = late_loads(head, split)
        reader = _Reader(kernel, target, split, late)
        root = reader.block(kernel.body.block)
        own = Counter((LOADS, pipe) for pipes in late.values() for pipe in pipes)
        taken = {pair: reserved.get(pair, 0) + own[pair] for pair in {*reserved, *own}}
        plan = sync.plan_sync(root, target.event_ids - (boundary is not None), taken)
        whole = _not_split(plan, reader)
        if not whole:
            return _Planned(kernel, target, reader, plan, boundary, late)
        split = {guard: load for guard, load in split.items() if guard not in whole}


def _not_split(plan: sync.Plan, reader: _Reader) -> set[Operation]:
    """The conditional loads whose first execution can't do without what comes before it in the loop."""
    found = {reader.op_at(block, item) for block, item in plan.barriers}
    found |= {reader.op_at(f.block, f.edge.wait_item) for f in plan.flags if not f.edge.back}
    return {op for op in found if op in reader.split}


class _Reader:
    """A kernel's blocks and instructions as `analysis.sync` wants them.

    A load whose first execution stands in the head is taken for one in its loop: `split` has it
    by the conditional around it.
    """

    def __init__(
        self,
        kernel: tile.KernelOp,
        target: Target,
        split: Mapping[Operation, SplitLoad] | None = None,
        late: Collection[npu_isa.GmLoad] = (),
    ):
        self.kernel = kernel
        self.top = kernel.body.block
        self.split = dict(split or {})
        self._ahead = {split.first for split in self.split.values()} | set(late)
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

    @cached_property
    def last_loop(self) -> Operation | None:
        """The loop behind which nothing is done in the kernel, if it ends in one."""
        op = self.top.last_op
        while op is not None and not op.regions and not isinstance(op, npu_isa.Instruction):
            op = op.prev_op
        return op if isinstance(op, scf.ForOp) else None

    def op_at(self, block: sync.Block, item: int) -> Operation:
        """The op of an item."""
        return self.ops[id(block)][item]

    def _item(self, op: Operation) -> sync.SyncInstruction | sync.Nested | None:
        if op in self._ahead:
            return None
        if op in self.split:
            return self._item(self.split[op].others)
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


LATE = ("FIX", "V", "MTE3")
"""The pipes that results go through: they are at work when the others are through with a section."""


class _Unwaited(NamedTuple):
    """Of a flag whose last sets nobody waits for: in how many iterations it is set, and how many ids are used."""

    sets: int
    slots: int


class _Writer:
    """Writes flags and barriers into the kernel that a reader has read."""

    def __init__(self, reader: _Reader, ends: bool = False):
        self._reader = reader
        self._ends = ends
        """Whether another section may come behind the kernel."""
        self._values = Materializer(reader.numbers)
        self._order = {op: i for i, op in enumerate(reader.kernel.walk())}
        self.readers: dict[npu_isa.GmLoad, set[str]] = {}
        """The pipes that wait for flags which are set behind loads at the top of the kernel."""

    def write(self, plan: sync.Plan) -> None:
        """Insert everything."""
        for block, item in plan.barriers:
            op = self._reader.op_at(block, item)
            with located(op):
                _before(op, npu_isa.BarrierOp())
        for flag in plan.flags:
            source = self._reader.op_at(flag.block, flag.edge.set_item)
            sink = self._reader.op_at(flag.block, flag.edge.wait_item)
            # Whoever waits is why there is a flag.
            with located(sink):
                self._set(flag, source)
                self._wait(flag, sink)
                if flag.edge.back:
                    self._surround(_outermost_loop(source), flag, sink, self._unwaited(flag, source))

    def _set(self, flag: sync.Flag, source: Operation) -> None:
        """Set behind an op; if its first execution stands in the head, there and in the conditional."""
        split = self._reader.split.get(source)
        if split is not None and not flag.edge.back:
            # It stands for the loads before it in the loop as well, which may come behind it in the head.
            before = [
                s.first for op, s in self._reader.split.items() if self._order[op] <= self._order[source]
            ]
            self._set_behind(flag, max(before, key=self._order.__getitem__), self._first(flag))
            source = split.others
        elif isinstance(source, npu_isa.GmLoad):
            self.readers.setdefault(source, set()).add(flag.edge.pair[1])
        after = source.next_op
        assert after is not None
        last = self._unwaited(flag, source)
        if last is None:
            _before(after, self._flag(npu_isa.SetFlagOp, flag, source, after))
        elif last.sets:
            self._set_but_last(flag, source, after, last)

    def _set_but_last(self, flag: sync.Flag, source: Operation, after: Operation, last: _Unwaited) -> None:
        """Set, but in the iterations behind which nobody waits."""
        if flag.edge.slot is not None:
            count = self._values.value(flag.edge.slot[0], source, after)
        else:
            assert source.parent is not None
            count = running_count(source.parent, self._reader.top)
        limit = arith.ConstantOp(IntegerAttr(last.sets, IndexType()))
        waited = arith.CmpiOp(count, limit.result, "ult")
        block = Block()
        guard = scf.IfOp(waited.result, [], Region(block))
        for op in (limit, waited, guard):
            _before(after, op)
        end = scf.YieldOp()
        block.add_op(end)
        _before(end, self._flag(npu_isa.SetFlagOp, flag, source, end))

    def _unwaited(self, flag: sync.Flag, source: Operation) -> _Unwaited | None:
        """Of a back edge whose last sets would be waited for behind the loops only, at the end of a section: how many
        sets and slots are needed without these. None if all are to be set: where the loops run often the guard costs
        more, and elsewhere something behind the loops may rely on the order."""
        if (
            not flag.edge.back
            or not self._ends
            or flag.edge.pair[0] not in LATE
            or isinstance(source, scf.IfOp)
        ):
            return None
        if _outermost_loop(source) is not self._reader.last_loop:
            return None
        trips = 1
        expected: dict[scf.ForOp, int] = {}
        around = source.parent_op()
        while isinstance(around, scf.ForOp):
            own = constant_trips(around)
            if not own or own.start:
                return None
            expected[around] = trips
            trips *= len(own)
            around = around.parent_op()
        if around is not self._reader.kernel:
            return None
        if flag.edge.slot is not None:
            form = self._reader.forms.of(self._reader.numbers.values[flag.edge.slot[0]][0])
            once = [loop for loop in expected if len(constant_trips(loop) or ()) == 1]
            wanted = {loop: factor for loop, factor in expected.items() if loop not in once}
            if form.constant or {s: f for s, f in form.terms if s not in once} != wanted:
                return None
        return _Unwaited(max(trips - flag.slots, 0), min(trips, flag.slots))

    def _set_behind(self, flag: sync.Flag, load: npu_isa.GmLoad, number: int) -> None:
        src, dst = (npu_isa.Pipe(p) for p in flag.edge.pair)
        after = load.next_op
        assert after is not None
        _before(after, npu_isa.SetFlagOp(src, dst, flag.event + number))
        self.readers.setdefault(load, set()).add(flag.edge.pair[1])

    def _wait(self, flag: sync.Flag, sink: Operation) -> None:
        """Wait before an op; in the conditional, if its first execution stands in the head."""
        split = self._reader.split.get(sink)
        if split is not None:
            sink = split.others
        _before(sink, self._flag(npu_isa.WaitFlagOp, flag, sink, sink))

    def _first(self, flag: sync.Flag) -> int:
        """Which of its ids a flag has in the first iterations of all loops."""
        if flag.edge.slot is None:
            return 0
        number = first_value(self._reader.numbers.values[flag.edge.slot[0]][0])
        assert number is not None, "a load is split at a first iteration that is known"
        return number % flag.slots

    def _flag(
        self, kind: type[npu_isa.FlagInstruction], flag: sync.Flag, anchor: Operation, before: Operation
    ) -> npu_isa.FlagInstruction:
        index = None
        if flag.edge.slot is not None:
            index = self._values.value(flag.edge.slot[0], anchor, before)
        src, dst = (npu_isa.Pipe(p) for p in flag.edge.pair)
        return kind(src, dst, flag.event, flag.slots, index)

    def _surround(self, loop: Operation, flag: sync.Flag, sink: Operation, last: _Unwaited | None) -> None:
        """Set the ids of a back edge before the loop, and wait for them after it. What doesn't wait the first time
        needs no set for that, and what is not set the last time no wait."""
        src, dst = (npu_isa.Pipe(p) for p in flag.edge.pair)
        spared = self._first(flag) if sink in self._reader.split else -1
        for n in range(flag.slots if last is None else last.slots):
            if n != spared:
                _before(loop, npu_isa.SetFlagOp(src, dst, flag.event + n))
        if last is not None:
            return
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
