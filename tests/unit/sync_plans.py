"""Which flags and barriers the compiler places in kernels made up at random, as text.

That they suffice is tested elsewhere (`test_sync`); these are the decisions: which of the edges are needed, which are
merged, lose their slots or become barriers where event ids are few, and how ids are numbered. `make snapshots` writes
them to `sync_plans.txt` after a change that is meant to change them.
"""

from __future__ import annotations

import random
from pathlib import Path

from npu_mlir.analysis.sync import Block, Nested, SlotValue, SyncAccess, SyncInstruction, plan_sync

EXPECTED = Path(__file__).with_name("sync_plans.txt")
PROGRAMS = range(30)
EVENT_IDS = (8, 3, 1)
PIPES = ("MTE1", "MTE2", "MTE3", "M", "V", "FIX")
SLOT_BYTES = 8


class _Maker:
    """Makes a kernel; buffers have up to three slots, which the count over all loops or over the innermost selects."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.pipes = self.random.sample(PIPES, 2 + self.number(3))
        self.slots = [1 + self.number(3) for _ in range(2 + self.number(3))]
        self.loops = 0

    def number(self, end: int) -> int:
        return self.random.randrange(end)

    def access(self, inside: tuple[int, ...]) -> SyncAccess:
        buffer = self.number(len(self.slots))
        # Neighbours of two slots overlap in one of them.
        start = SLOT_BYTES * (sum(self.slots[:buffer]) - (self.number(4) == 0 and buffer > 0))
        low = self.number(2) * SLOT_BYTES // 2
        span = (low, low + SLOT_BYTES // 2 if self.number(2) else SLOT_BYTES)
        write = self.number(2) == 0
        if not inside or self.slots[buffer] == 1 or self.number(4) == 0:
            return SyncAccess("ub", start + span[0], start + span[1], write)
        value = inside[-1] if self.number(3) else 100 + inside[-1]
        slot = SlotValue(buffer, value, self.slots[buffer])
        return SyncAccess("ub", start, start + SLOT_BYTES * self.slots[buffer], write, slot, span)

    def instruction(self, inside: tuple[int, ...]) -> SyncInstruction:
        pipe = self.pipes[self.number(len(self.pipes))]
        return SyncInstruction(pipe, [self.access(inside) for _ in range(1 + self.number(2))])

    def block(self, inside: tuple[int, ...] = (), depth: int = 0) -> Block:
        block = Block()
        for _ in range(2 + self.number(3)):
            kind = self.number(6) if depth < 3 else 0
            if kind < 3:
                block.items.append(self.instruction(inside))
            elif kind < 5:
                self.loops += 1
                body = self.block((*inside, self.loops), depth + 1)
                block.items.append(Nested([body], True, (0, 1, 4)[self.number(3)]))
            else:
                branches = [self.block(inside, depth + 1) for _ in range(1 + self.number(2))]
                block.items.append(Nested(branches, False))
        return block


def _numbers(root: Block) -> dict[int, int]:
    """The blocks by `id`, in the order of their starts."""
    numbers = {id(root): 0}
    pending = [root]
    while pending:
        block = pending.pop(0)
        for item in block.items:
            if isinstance(item, Nested):
                pending += item.blocks
                numbers |= {id(b): len(numbers) + i for i, b in enumerate(item.blocks)}
    return numbers


def snapshot(seed: int) -> str:
    """The plans for one kernel, a line for each number of event ids.

    `2:V.0>M.1* 0+2%3` is a back edge (`*`) in block 2 from V behind item 0 to M before item 1, with the ids from 0 on
    of two slots that value 3 selects.
    """
    lines = [f"kernel {seed}"]
    for event_ids in EVENT_IDS:
        root = _Maker(seed).block()
        numbers = _numbers(root)
        plan = plan_sync(root, event_ids)
        parts = [f"  {event_ids} of {plan.candidates}"]
        for flag in plan.flags:
            edge = flag.edge
            ends = f"{edge.src}.{edge.set_item}>{edge.dst}.{edge.wait_item}{'*' * edge.back}"
            slot = f"%{edge.slot[0]}" if edge.slot is not None else ""
            parts.append(f"{numbers[id(flag.block)]}:{ends} {flag.event}+{flag.slots}{slot}")
        parts += [f"{numbers[id(block)]}:barrier.{item}" for block, item in plan.barriers]
        lines.append(", ".join(parts))
    return "\n".join(lines)


def all_snapshots() -> str:
    """The plans for all kernels."""
    return "\n\n".join(map(snapshot, PROGRAMS)) + "\n"


if __name__ == "__main__":
    EXPECTED.write_text(all_snapshots())
