"""Which flags order the pipes of a kernel: per-slot tokens, pruned, with event ids.

The pipes of a core run on their own; two instructions on different pipes that touch the same bytes, one of them
writing, need a flag between them. A kernel is a tree of blocks here; what comes out are edges of one block:

    for i:                                      wait(V -> MTE2, i mod 2)      back edge: the slot is free again
      load  x[i mod 2]      MTE2                load
                                                set (MTE2 -> V, i mod 2)      forward edge: the slot is full
                                                wait(MTE2 -> V, i mod 2)
      exp   x[i mod 2]      V                   exp
                                                set (V -> MTE2, i mod 2)

A pair of accesses becomes a *forward* edge (set after the first, wait before the second) and, in a loop, a *back* edge
(set after the second, wait before the first of a later iteration), both between the ancestors of the two in their
innermost common block. Accesses to one slot of a buffer by the same slot value use a range of ids that the same value
indexes, which makes the distance between the iterations implicit: the edge is right for any nest and any trip counts.
The ids of a back edge are set once before the outermost loop, and waited for once after it, so that zero-trip loops
and conditionals balance. All other conflicts are ordered iteration by iteration by one id.

What the scalar unit (pipe S) reads needs a flag to it, but none from it: it issues nothing before it is through.

What loops are known to run is made use of to leave flags out; nothing else depends on trip counts.

Every set stands before its wait in program order, so no deadlock is possible.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from npu_mlir.analysis.boxes import Box, may_overlap
from npu_mlir.analysis.sync_edges import Edge, merge
from npu_mlir.analysis.sync_paths import Inside, LoopTree, PathPlace, fork
from npu_mlir.analysis.sync_prune import prune


@dataclass(frozen=True)
class SlotValue:
    """Which copy of a buffer an access goes to: `value mod count`. `value` identifies an index value by a number."""

    buffer: Hashable
    value: int
    count: int
    changing: frozenset[Hashable] = frozenset()
    """The keys of loops whose bodies use different copies in consecutive executions, also of several runs of a loop."""


@dataclass(frozen=True)
class SyncAccess:
    """Bytes `low..high` of a memory, and of these only those of a `box` if there is one.

    In a slot, they are the range over all slots, `offset` the one within the slot.
    """

    memory: Hashable
    low: int
    high: int
    write: bool
    slot: SlotValue | None = None
    offset: tuple[int, int] = (0, 0)
    box: Box | None = None


@dataclass(eq=False)
class SyncInstruction:
    """An instruction as far as ordering is concerned."""

    pipe: str
    accesses: Sequence[SyncAccess]


@dataclass(eq=False)
class Block:
    """A sequence of instructions and of items with blocks in them."""

    items: list[SyncInstruction | Nested] = field(default_factory=list["SyncInstruction | Nested"])


@dataclass(eq=False)
class Nested:
    """A loop or a conditional."""

    blocks: list[Block]
    loop: bool
    runs: int = 0
    """How often a loop is known to run, at least."""
    key: Hashable = None
    """What slots and boxes call the loop by."""


class Flag(NamedTuple):
    """One pair of set and wait in `block`: set after item `edge.set_item`, wait before item `edge.wait_item`.

    Its ids are `event` to `event + slots - 1`; `edge.slot` selects one of them, None stands for a single id.
    """

    block: Block
    edge: Edge
    event: int

    @property
    def slots(self) -> int:
        """How many ids the flag uses."""
        return self.edge.ids


@dataclass
class Plan:
    """What to insert: flags, and barriers before the items of blocks."""

    flags: list[Flag] = field(default_factory=list[Flag])
    barriers: list[tuple[Block, int]] = field(default_factory=list[tuple[Block, int]])
    candidates: int = 0


SCALAR = "S"
"""The pipe that issues what all others execute, and nothing before its own instructions are over."""

Pair = tuple[str, str]
"""The pipe that sets and the one that waits."""


def plan_sync(root: Block, event_ids: int, reserved: Mapping[Pair, int] | None = None) -> Plan:
    """The flags that make the kernel free of races, at most `event_ids` ids for each pair of pipes, and of some as many
    fewer as are `reserved`.

    Too many ids: edges that lie close together are merged, then buffers lose their slots, one at a time (their
    iterations are serialised), then edges become barriers, which always fits.
    """

    def free(pair: Pair) -> int:
        return event_ids - (reserved or {}).get(pair, 0)

    kernel = _Kernel(root)
    unslotted: set[tuple[str, str, Hashable]] = set()
    surrounded = True
    while True:
        found = kernel.edges(unslotted)
        nest = LoopTree(kernel.in_loop, kernel.nested, surrounded)
        kept = nest.edges
        # Blocks have higher numbers than those around them.
        for b in sorted(found, reverse=True):
            kept[b] = prune(found[b], b, nest)
        crowded = [pair for pair in _pairs(kept) if not _merge_until(kept, pair, free(pair))]
        victim = _widest_slot(kept, crowded)
        if victim is not None:
            unslotted.add(victim)
        elif crowded and surrounded:
            # Back edges that become barriers no longer order what is before a loop and what is behind it.
            surrounded = False
        else:
            break
    plan = Plan(barriers=list(kernel.barriers), candidates=sum(map(len, found.values())))
    for pair in crowded:
        _use_barriers(kernel, kept, pair, free(pair), plan)
    _number(kernel, kept, plan)
    return plan


def _pairs(kept: dict[int, list[Edge]]) -> list[Pair]:
    return sorted({e.pair for edges in kept.values() for e in edges})


def _ids(kept: dict[int, list[Edge]], pair: Pair) -> int:
    return sum(e.ids for edges in kept.values() for e in edges if e.pair == pair)


def _merge_until(kept: dict[int, list[Edge]], pair: Pair, event_ids: int) -> bool:
    """Merge edges of a pair of pipes until its ids suffice, those that lose least first; whether they suffice."""
    while _ids(kept, pair) > event_ids:
        options = [
            (cost, b, one, other, merged)
            for b, edges in kept.items()
            for one, other in combinations([e for e in edges if e.pair == pair], 2)
            for cost, merged in merge(one, other)
        ]
        if not options:
            return False
        _, b, one, other, merged = min(options, key=lambda option: option[:2])
        kept[b] = [e for e in kept[b] if e not in (one, other, merged)] + [merged]
    return True


def _widest_slot(kept: dict[int, list[Edge]], crowded: Sequence[Pair]) -> tuple[str, str, Hashable] | None:
    """The slotted edges that take most ids between two pipes which have too few."""
    ids: dict[tuple[str, str, Hashable], int] = {}
    for edges in kept.values():
        for edge in edges:
            if edge.slot is not None and edge.pair in crowded:
                one, other = sorted(edge.pair)
                key = (one, other, edge.slot)
                ids[key] = ids.get(key, 0) + edge.ids
    return max(ids, key=ids.__getitem__, default=None)


def _use_barriers(
    kernel: _Kernel, kept: dict[int, list[Edge]], pair: Pair, event_ids: int, plan: Plan
) -> None:
    """Replace edges of a pair of pipes by barriers, those that run least often first, until its ids suffice."""
    edges = [(b, e) for b, es in kept.items() for e in es if e.pair == pair]
    edges.sort(key=lambda item: (kernel.depth[item[0]], item[1].wait_item))
    while _ids(kept, pair) > event_ids:
        b, edge = edges.pop(0)
        kept[b].remove(edge)
        barrier = (kernel.blocks[b], edge.wait_item)
        if barrier not in plan.barriers:
            plan.barriers.append(barrier)


def _number(kernel: _Kernel, kept: dict[int, list[Edge]], plan: Plan) -> None:
    """Give every edge its own range of ids."""
    used: dict[Pair, int] = {}
    for b in sorted(kept):
        for edge in kept[b]:
            event = used.get(edge.pair, 0)
            used[edge.pair] = event + edge.ids
            plan.flags.append(Flag(kernel.blocks[b], edge, event))


class _Kernel:
    """A kernel's blocks, numbered, and its conflicts."""

    def __init__(self, root: Block):
        self.blocks: list[Block] = []
        self.in_loop: list[bool] = []
        self.loops: list[Hashable] = []
        """The keys of the loops whose bodies the blocks are, None for other blocks."""
        self.depth: list[int] = []
        self.nested: list[dict[int, Inside]] = []
        self._places: dict[SyncAccess, dict[str, list[PathPlace]]] = {}
        self._add(root, (), False, None)
        self._conflicts = list(self._find_conflicts())
        self.barriers = self._exclusive()

    def _add(self, block: Block, path: tuple[tuple[int, int], ...], in_loop: bool, loop: Hashable) -> None:
        number = len(self.blocks)
        self.blocks.append(block)
        self.in_loop.append(in_loop)
        self.loops.append(loop)
        self.depth.append(len(path))
        self.nested.append({})
        for i, item in enumerate(block.items):
            here = (*path, (number, i))
            if isinstance(item, Nested):
                blocks: list[int] = []
                for inner in item.blocks:
                    blocks.append(len(self.blocks))
                    self._add(inner, here, in_loop or item.loop, _loop_key(item))
                self.nested[number][i] = Inside(tuple(blocks), item.loop, item.runs)
                continue
            for access in item.accesses:
                self._places.setdefault(access, {}).setdefault(item.pipe, []).append(
                    PathPlace(here, item.pipe)
                )

    def _find_conflicts(self) -> Iterator[tuple[PathPlace, PathPlace, SlotValue | None]]:
        """The pairs of accesses that need an order, in program order."""
        by_memory: dict[Hashable, list[SyncAccess]] = {}
        for access in self._places:
            by_memory.setdefault(access.memory, []).append(access)
        for accesses in by_memory.values():
            pairs = [*combinations(accesses, 2), *((a, a) for a in accesses if a.write)]
            for one, other in pairs:
                if not (one.write or other.write) or one.low >= other.high or other.low >= one.high:
                    continue
                slot = _common_slot(one, other)
                if slot is not None and not _overlap(one.offset, other.offset):
                    continue
                yield from self._pairs(one, other, slot)

    def _pairs(
        self, one: SyncAccess, other: SyncAccess, slot: SlotValue | None
    ) -> Iterator[tuple[PathPlace, PathPlace, SlotValue | None]]:
        for pipe, firsts in self._places[one].items():
            for other_pipe, seconds in self._places[other].items():
                if pipe == other_pipe or (one is other and pipe > other_pipe):
                    continue
                for a in firsts:
                    for b in seconds:
                        if self._may_meet(one.box, a, other.box, b):
                            yield (a, b, slot) if a.path < b.path else (b, a, slot)

    def _may_meet(self, one: Box | None, a: PathPlace, other: Box | None, b: PathPlace) -> bool:
        """Whether two accesses at these places may touch the same element of an array, in any iterations."""
        if one is None or other is None:
            return True
        depth = fork(a, b)
        if a.path[depth][0] == b.path[depth][0]:
            return may_overlap(one, other)
        # In different branches, they are never executed in the same iteration.
        loops = [self.loops[block] for block, _ in a.path[:depth]]
        return may_overlap(one, other, [loop for loop in loops if loop is not None])

    def _exclusive(self) -> list[tuple[Block, int]]:
        """Barriers before the conditionals in loops whose branches conflict with each other, iteration by iteration."""
        found: dict[tuple[int, int], None] = {}
        for first, second, _ in self._conflicts:
            depth = fork(first, second)
            if first.path[depth][0] != second.path[depth][0] and self.in_loop[first.path[depth - 1][0]]:
                found[first.path[depth - 1]] = None
        return [(self.blocks[b], item) for b, item in found]

    def edges(
        self, unslotted: set[tuple[str, str, Hashable]]
    ) -> dict[int, dict[Edge, list[tuple[PathPlace, PathPlace]]]]:
        """The edges of each block, each once, with the conflicts that they are for."""
        found: dict[int, dict[Edge, list[tuple[PathPlace, PathPlace]]]] = {}
        for first, second, slot in self._conflicts:
            depth = fork(first, second)
            (block, start), (other, end) = first.path[depth], second.path[depth]
            if block != other:
                continue
            one, two = sorted((first.pipe, second.pipe))
            key, ids = (None, 1) if slot is None else ((slot.value, slot.count), slot.count)
            if (one, two, key) in unslotted:
                key, ids = None, 1
            edges = found.setdefault(block, {})
            changing = key is not None and slot is not None and self.loops[block] in slot.changing
            if first.pipe != SCALAR:
                forward = Edge(first.pipe, second.pipe, start, end, False, key, ids, changing)
                edges.setdefault(forward, []).append((first, second))
            if self.in_loop[block] and second.pipe != SCALAR:
                back = Edge(second.pipe, first.pipe, end, start, True, key, ids, changing)
                edges.setdefault(back, []).append((second, first))
        return {block: _with_fewer_slots(edges) for block, edges in found.items()}


def _with_fewer_slots(
    edges: dict[Edge, list[tuple[PathPlace, PathPlace]]],
) -> dict[Edge, list[tuple[PathPlace, PathPlace]]]:
    """The edges, those of a slot value with many slots as edges of the same value with fewer, where there are such.

    Where the number of slots divides that of others, iterations with the same of these have the same slot as well: the
    flags that order the slots of one buffer order those of the other.
    """
    counts: dict[tuple[str, str, bool, int], dict[int, bool]] = {}
    for edge in edges:
        if edge.slot is not None:
            value, count = edge.slot
            counts.setdefault((*edge.pair, edge.back, value), {})[count] = edge.changing
    found: dict[Edge, list[tuple[PathPlace, PathPlace]]] = {}
    for edge, conflicts in edges.items():
        if edge.slot is not None:
            value, count = edge.slot
            fewer = counts[(*edge.pair, edge.back, value)]
            ids = min(other for other in fewer if count % other == 0)
            edge = edge._replace(slot=(value, ids), ids=ids, changing=fewer[ids])
        found.setdefault(edge, []).extend(conflicts)
    return found


def _loop_key(item: Nested) -> Hashable:
    """What to call a loop by, None for what is no loop."""
    if not item.loop:
        return None
    return id(item) if item.key is None else item.key


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _common_slot(one: SyncAccess, other: SyncAccess) -> SlotValue | None:
    """The slot that two accesses share by name, None if only their addresses say what they share."""
    return one.slot if one.slot is not None and one.slot == other.slot else None
