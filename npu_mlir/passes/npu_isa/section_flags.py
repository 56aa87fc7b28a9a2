"""The flags with which a kernel begins as a section of a program, for `npu-isa-insert-sync`.

Which pipes shake hands is decided by `npu_mlir.analysis.sections`. All pipes but MTE2 wait for the others at once; MTE2
waits before each load of the head for those that use what it overwrites or wait for it, and for the rest at the
boundary. Of `tile.stored` and `tile.await_stored`, one is a set and one a wait of a flag between sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.analysis.sections import LOADS, Pair, SectionUse, Span, handshakes, together
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.tile import Space
from npu_mlir.dialects.tile.programs import ops_before
from npu_mlir.ir.loop_bounds import constant_index, constant_trips
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import located
from npu_mlir.targets.target import Target

STORES = {Space.UB: "MTE3", Space.L0C: "FIX"}
"""The pipes that store to GM."""

RESERVED: Mapping[Pair, int] = {(pipe, LOADS): 1 for pipe in STORES.values()}
"""Ids beside the one of handshakes: that of what is stored for the next section."""


def boundary_of(kernel: tile.KernelOp) -> tile.BoundaryOp | None:
    """The boundary of a kernel, if it has one."""
    return next((op for op in kernel.body.block.ops if isinstance(op, tile.BoundaryOp)), None)


def head_of(boundary: tile.BoundaryOp) -> list[Operation]:
    """The ops before a boundary, in their order."""
    return list(reversed(list(ops_before(boundary))))


class SplitLoad(NamedTuple):
    """A load whose first execution stands in the head, and the others, alone or in a conditional, in a conditional."""

    first: npu_isa.GmLoad
    others: npu_isa.GmLoad | scf.IfOp


def split_loads(kernel: tile.KernelOp, head: Sequence[Operation]) -> dict[Operation, SplitLoad]:
    """The loads that are split, by the conditionals that leave out the first execution."""
    found: dict[Operation, SplitLoad] = {}
    loads = [op for op in head if isinstance(op, npu_isa.GmLoad)]
    for guard in [op for op in kernel.walk() if isinstance(op, scf.IfOp)] if loads else ():
        others = _guarded(guard)
        inside = _only_load(others) if isinstance(others, scf.IfOp) else others
        if inside is None or others is None:
            continue
        taken = {split.first for split in found.values()}
        for load in loads:
            if _same(load, inside) and load not in taken:
                found[guard] = SplitLoad(load, others)
                break
    begun = set(_begun(kernel.body.block, found))
    return {guard: split for guard, split in found.items() if guard in begun}


def _begun(block: Block, split: Mapping[Operation, SplitLoad]) -> Iterator[Operation | None]:
    """The conditionals of loads that come first in a block, before any other load is executed; None at the end."""
    for op in block.ops:
        if op in split:
            yield op
        elif isinstance(op, scf.ForOp):
            for inner in _begun(op.body.block, split):
                yield inner
                if inner is None:
                    return
            if len(constant_trips(op) or range(2)) > 1 and _loads(op):
                yield None
                return
        elif _loads(op) and not _is_in_head(op):
            yield None
            return


def _loads(op: Operation) -> bool:
    return any(isinstance(inner, npu_isa.GmLoad) for inner in op.walk())


def _is_in_head(op: Operation) -> bool:
    behind: Operation | None = op
    while behind is not None and not isinstance(behind, tile.BoundaryOp):
        behind = behind.next_op
    return behind is not None


def _guarded(guard: scf.IfOp) -> npu_isa.GmLoad | scf.IfOp | None:
    """The load, or the conditional with one, in a conditional that is executed in all iterations but the first."""
    owner = guard.cond.owner
    if not isinstance(owner, Operation) or owner.name != "arith.cmpi" or guard.results:
        return None
    if owner.properties["predicate"].value.data != UGE or constant_index(owner.operands[1]) != 1:  # type: ignore[attr-defined]
        return None
    found = _only(guard)
    if isinstance(found, scf.IfOp):
        return found if _only_load(found) is not None else None
    return found if isinstance(found, npu_isa.GmLoad) else None


def _only_load(guard: scf.IfOp) -> npu_isa.GmLoad | None:
    found = _only(guard)
    return found if isinstance(found, npu_isa.GmLoad) else None


def _only(guard: scf.IfOp) -> Operation | None:
    """What a conditional executes, if it is one instruction or conditional."""
    if guard.results or (guard.false_region.blocks and len(list(guard.false_region.block.ops)) > 1):
        return None
    found = [op for op in guard.true_region.block.ops if op.regions or isinstance(op, npu_isa.Instruction)]
    return found[0] if len(found) == 1 else None


UGE = 9
"""The predicate of `arith.cmpi`."""


def _same(load: npu_isa.GmLoad, other: npu_isa.GmLoad) -> bool:
    """Whether two loads bring parts of the same size of one array to the same buffer."""
    # Constant indices are part of the map.
    names = ("shape", "strides", "pad")
    return (
        type(load) is type(other)
        and load.source is other.source
        and all(load.properties.get(name) == other.properties.get(name) for name in names)
        and buffer_of(load.dest) is buffer_of(other.dest)
    )


def buffer_of(address: SSAValue) -> npu_isa.BufferOp | None:
    """The buffer that an address lies in; None if a loop or conditional carries it."""
    owner = address.owner
    while isinstance(owner, npu_isa.AtOp | npu_isa.SlotOp):
        owner = (owner.base if isinstance(owner, npu_isa.AtOp) else owner.buffer).owner
    return owner if isinstance(owner, npu_isa.BufferOp) else None


LateLoads = Mapping[npu_isa.GmLoad, Sequence[str]]
"""Loads of the head that stand behind one that is split, with the pipes that read what they bring. They have flags of
their own, since those in the loop, which come behind them in its first iteration, are set before them in the head."""


def late_loads(head: Sequence[Operation], split: Mapping[Operation, SplitLoad]) -> LateLoads:
    """The late loads of a head."""
    first = {load.first for load in split.values()}
    found: dict[npu_isa.GmLoad, Sequence[str]] = {}
    behind = False
    for op in head:
        behind |= op in first
        if behind and isinstance(op, npu_isa.GmLoad) and op not in first:
            found[op] = sorted({user.PIPE for user in _users(op.dest) if user.PIPE != LOADS})
    return found


def _users(address: SSAValue) -> Iterator[npu_isa.Instruction]:
    """The instructions that touch the buffer of an address."""
    buffer = buffer_of(address)
    pending: list[SSAValue] = [] if buffer is None else [buffer.result]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, npu_isa.AtOp | npu_isa.SlotOp):
                pending.append(use.operation.results[0])
            elif isinstance(use.operation, npu_isa.Instruction):
                yield use.operation


def write_late(late: LateLoads, kernel: tile.KernelOp, target: Target) -> None:
    """Flags from late loads to what reads them first at the top of the kernel, or to the loop around that."""
    top = kernel.body.block
    # Below the id of handshakes.
    free: dict[str, int] = {}
    order = {op: i for i, op in enumerate(top.ops)}
    for load, pipes in late.items():
        for pipe in pipes:
            event = free.get(pipe, target.event_ids - 2)
            free[pipe] = event - 1
            readers = [top.find_ancestor_op_in_block(user) for user in _users(load.dest) if pipe == user.PIPE]
            first = min((op for op in readers if op is not None), key=order.__getitem__)
            after = load.next_op
            assert after is not None
            with located(load):
                _set(LOADS, pipe, event, after)
                _wait(LOADS, pipe, event, first)


# ---- what kernels use ------------------------------------------------------------------------------------------------


def use_of(kernel: tile.KernelOp, flags: Iterable[Pair], target: Target) -> SectionUse:
    """What a kernel touches, and the pairs of pipes that it has flags between."""
    spans: dict[str, set[Span]] = {}
    for op in kernel.walk():
        if isinstance(op, npu_isa.Instruction) and op.PIPE is not npu_isa.Pipe.S:
            spans.setdefault(op.PIPE, set()).update(spans_of(op, target))
    return together([SectionUse({pipe: frozenset(own) for pipe, own in spans.items()}, frozenset(flags))])


def spans_of(op: npu_isa.Instruction, target: Target) -> Iterator[Span]:
    """The buffers that an instruction touches, as a whole; all of GM is one."""
    for access in op.accesses(target.cube):
        if access.extent is None:
            yield Span("gm", 0, 1, access.write)
            continue
        buffer = buffer_of(access.operand)
        if buffer is None:
            raise UserError(
                "flags need to know the buffer: a loop or conditional carries this address", loc=op
            )
        start, size, slots = (a.value.data for a in (buffer.address, buffer.bytes, buffer.slots))
        yield Span(buffer.result.type.space.data, start, start + size * slots, access.write)


def used_before(module: ModuleOp, uses: Mapping[str, SectionUse]) -> dict[str, SectionUse]:
    """For each kernel that is launched as a section which others come before, what these use."""
    found: dict[str, SectionUse] = {}
    for program in [op for op in module.walk() if isinstance(op, tile.ProgramOp)]:
        own: dict[str, SectionUse] = {}
        _follow(program.body.block, {}, uses, own)
        for name, use in own.items():
            found[name] = together([found[name], use]) if name in found else use
    return found


def _follow(
    block: Block, seen: dict[str, SectionUse], uses: Mapping[str, SectionUse], found: dict[str, SectionUse]
) -> None:
    """Go through the launches of a block, behind those of the kernels `seen`, of which `""` has the sum."""
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            # In all iterations but the first, the whole body comes before.
            for _ in range(2):
                _follow(op.body.block, seen, uses, found)
        elif isinstance(op, tile.LaunchOp):
            name = op.kernel.string_value()
            if seen:
                found[name] = seen[""]
            if name not in seen:
                seen[name] = uses[name]
                seen[""] = together([seen[""], uses[name]]) if "" in seen else uses[name]


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_boundary(
    boundary: tile.BoundaryOp,
    own: SectionUse,
    before: SectionUse | None,
    readers: Mapping[npu_isa.GmLoad, set[str]],
    back: Set[Pair],
    target: Target,
) -> None:
    """Put flags in the place of a boundary, around its head.

    `readers` are the pipes that wait for loads of the head, `back` the pairs with flags that are set in front of loops.
    A pipe waits for one that is through later than itself only before it does something, behind its sets for others.
    """
    event = target.event_ids - 1
    head = head_of(boundary)
    first = next((op for op in head if isinstance(op, npu_isa.GmLoad | tile.AwaitStoredOp)), boundary)
    waiting: list[str] = []
    with located(boundary):
        for one, other in handshakes(own, before) if before is not None else ():
            # Loads of the head first: the scalar unit issues one after the other.
            at = first if one == LOADS else boundary
            _set(one, other, event, at)
            _wait(one, other, event, at)
            _set(other, one, event, at)
            if one == LOADS:
                waiting.append(other)
            else:
                # An id that it sets for the other has to be free.
                soon = boundary if (one, other) in back else _first_of(one, boundary)
                _wait(other, one, event, soon)
        for op in head:
            if isinstance(op, npu_isa.GmLoad) and before is not None:
                for pipe in _blocking(op, waiting, before, readers.get(op, set()), target):
                    waiting.remove(pipe)
                    _wait(pipe, LOADS, event, op)
        for pipe in waiting:
            _wait(pipe, LOADS, event, boundary)
    _erase(boundary)


def _first_of(pipe: str, boundary: tile.BoundaryOp) -> Operation:
    """The first op behind a boundary in which a pipe does something."""
    op = boundary.next_op
    while op is not None:
        if any(isinstance(inner, npu_isa.Instruction) and pipe == inner.PIPE for inner in op.walk()):
            return op
        op = op.next_op
    return boundary


def _blocking(
    load: npu_isa.GmLoad, waiting: Sequence[str], before: SectionUse, readers: set[str], target: Target
) -> list[str]:
    """The pipes that a load of the head can't come before: those that use what it overwrites, and those that its flag
    is for, which may still wait for an earlier one with the same id."""
    written = [span for span in spans_of(load, target) if span.write]
    return [pipe for pipe in waiting if pipe in readers or before.meets(pipe, written)]


def write_handovers(kernel: tile.KernelOp, target: Target) -> None:
    """Flags instead of `tile.stored` and `tile.await_stored`."""
    event = target.event_ids - 2
    for op in list(kernel.walk()):
        with located(op):
            if isinstance(op, tile.StoredOp):
                _set(_store_before(op), LOADS, event, op)
                _erase(op)
            elif isinstance(op, tile.AwaitStoredOp):
                _wait(STORES[op.space.data], LOADS, event, op)
                _erase(op)


def _store_before(op: Operation) -> str:
    """The pipe of the store that an op stands behind, which may be in a loop of its own."""
    around: Operation | None = op
    while around is not None and not isinstance(around, tile.KernelOp):
        before = around.prev_op
        while before is not None:
            stores = [op for op in before.walk() if isinstance(op, npu_isa.GmStore)]
            if stores:
                return stores[-1].PIPE
            before = before.prev_op
        around = around.parent_op()
    raise UserError("nothing is stored before this", loc=op)


def _set(src: str, dst: str, event: int, anchor: Operation) -> None:
    _insert(npu_isa.SetFlagOp(npu_isa.Pipe(src), npu_isa.Pipe(dst), event), anchor)


def _wait(src: str, dst: str, event: int, anchor: Operation) -> None:
    _insert(npu_isa.WaitFlagOp(npu_isa.Pipe(src), npu_isa.Pipe(dst), event), anchor)


def _insert(op: Operation, anchor: Operation) -> None:
    assert anchor.parent is not None
    anchor.parent.insert_op_before(op, anchor)


def _erase(op: Operation) -> None:
    assert op.parent is not None
    op.parent.erase_op(op)
