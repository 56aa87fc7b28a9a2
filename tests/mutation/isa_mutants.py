"""Mutants of a kernel of instructions: what a wrong sync pass, planner or lowering would do, one change at a time.

    pair     the sets and waits of one range of event ids are gone, those around the loop included
    shift    one use of an address is 32 bytes further on: what every buffer is aligned to
    swap     one use of a slot takes the next slot of its buffer

A use is an operand of one instruction; other instructions with the same address keep theirs. An address that several
instructions compute theirs from is shifted for all of them, too. All functions leave their kernel as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from npu_mlir.dialects import npu_isa, tile

KINDS = ("pair", "shift", "swap")


class Ids(NamedTuple):
    """A range of event ids of a pair of pipes."""

    pipes: tuple[npu_isa.Pipe, npu_isa.Pipe]
    event: int
    slots: int


@dataclass(frozen=True)
class Mutant:
    """A change of a kernel, by the numbers of ops and operands, so that it fits every copy of the kernel."""

    kind: str
    text: str
    """The flags or the instruction that it is about."""
    ops: Sequence[int]
    operand: int = -1


def mutants_of(kernel: tile.KernelOp) -> list[Mutant]:
    """All mutants of a kernel."""
    return [*_pairs(kernel), *_shifts(kernel), *_swaps(kernel)]


def mutated(kernel: tile.KernelOp, mutant: Mutant) -> tile.KernelOp:
    """A copy of the kernel with the mutant's change."""
    copy = kernel.clone()
    ops = numbered(copy)
    chosen = [ops[i] for i in mutant.ops]
    if mutant.kind == "pair":
        for op in chosen:
            op.detach()
            op.erase()
        return copy
    (op,) = chosen
    address = op.operands[mutant.operand]
    op.operands[mutant.operand] = _shifted(op, address) if mutant.kind == "shift" else _swapped(op, address)
    return copy


def numbered(kernel: tile.KernelOp) -> list[Operation]:
    """The ops of a kernel by number. Constants have none, so that bounds of loops may change."""
    return [op for op in kernel.walk() if not isinstance(op, arith.ConstantOp)]


# ---- pairs ---------------------------------------------------------------------------------------------------------


def flag_ranges(kernel: tile.KernelOp) -> dict[Ids, list[int]]:
    """The numbers of the sets and waits of each range of ids."""
    flags = [(i, op) for i, op in enumerate(numbered(kernel)) if isinstance(op, npu_isa.FlagInstruction)]
    ranges: dict[Ids, list[int]] = {}
    # The wide ones first: those of a single id that belong to them stand before and behind loops.
    for i, op in sorted(flags, key=lambda flag: -flag[1].slots.value.data):
        event = op.event.value.data
        own = Ids(op.pipes, event, op.slots.value.data)
        wider = (r for r in ranges if r.pipes == op.pipes and r.event <= event < r.event + r.slots)
        ranges.setdefault(next(wider, own), []).append(i)
    return ranges


def _pairs(kernel: tile.KernelOp) -> Iterator[Mutant]:
    for ids, ops in flag_ranges(kernel).items():
        last = f" to {ids.event + ids.slots - 1}" if ids.slots > 1 else ""
        yield Mutant("pair", f"{ids.pipes[0]} -> {ids.pipes[1]}, id {ids.event}{last}", tuple(sorted(ops)))


# ---- uses of addresses -----------------------------------------------------------------------------------------------


def _uses(kernel: tile.KernelOp) -> Iterator[tuple[int, int, Operation]]:
    for i, op in enumerate(numbered(kernel)):
        if isinstance(op, npu_isa.Instruction):
            for j, value in enumerate(op.operands):
                if isinstance(value.type, npu_isa.AddrType):
                    yield i, j, op
        elif isinstance(op, npu_isa.AtOp) and len(list(op.result.uses)) > 1:
            yield i, 0, op


def _shifts(kernel: tile.KernelOp) -> Iterator[Mutant]:
    for i, j, op in _uses(kernel):
        yield Mutant("shift", f"operand {j} of {_text(op)}", (i,), j)


def _swaps(kernel: tile.KernelOp) -> Iterator[Mutant]:
    for i, j, op in _uses(kernel):
        slot = _slot_of(op.operands[j])
        if slot is not None and _buffer_of(slot).slots.value.data > 1:
            yield Mutant("swap", f"operand {j} of {_text(op)}", (i,), j)


def _shifted(op: Operation, address: SSAValue) -> SSAValue:
    return _inserted(op, npu_isa.AtOp(address, constant=tile.ROW_ALIGNMENT))


def _swapped(op: Operation, address: SSAValue) -> SSAValue:
    """The same place in the next slot."""
    owner = address.owner
    if isinstance(owner, npu_isa.AtOp):
        base = _swapped(op, owner.base)
        return _inserted(op, npu_isa.AtOp(base, owner.offset, owner.constant.value.data))
    assert isinstance(owner, npu_isa.SlotOp)
    one = arith.ConstantOp.from_int_and_width(1, owner.index.type)  # pyright: ignore[reportArgumentType]
    index = arith.AddiOp(owner.index, _inserted(op, one))
    return _inserted(op, npu_isa.SlotOp(owner.buffer, _inserted(op, index)))


def _inserted(before: Operation, new: Operation) -> SSAValue:
    assert before.parent is not None
    before.parent.insert_op_before(new, before)
    return new.results[0]


def _slot_of(address: SSAValue) -> npu_isa.SlotOp | None:
    owner = address.owner
    if isinstance(owner, npu_isa.AtOp):
        return _slot_of(owner.base)
    return owner if isinstance(owner, npu_isa.SlotOp) else None


def _buffer_of(slot: npu_isa.SlotOp) -> npu_isa.BufferOp:
    assert isinstance(slot.buffer.owner, npu_isa.BufferOp)
    return slot.buffer.owner


def _text(op: Operation) -> str:
    return " ".join(str(op).split()).split(" {")[0]
