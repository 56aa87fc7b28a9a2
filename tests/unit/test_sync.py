"""Sync insertion on plain data: random programs are run event by event and checked for races and misused flags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_mlir.analysis.boxes import Coordinate, Term
from npu_mlir.analysis.sync import Block, Nested, Plan, SlotValue, SyncAccess, SyncInstruction, plan_sync

PIPES = ("MTE1", "MTE2", "MTE3", "M", "V", "FIX")


@dataclass
class Buffer:
    name: int
    address: int
    size: int
    slots: int

    def access(
        self, write: bool, low: int = 0, high: int | None = None, value: Any = None, changing: Any = ()
    ) -> SyncAccess:
        """The whole buffer or a part of one slot; `value` is the tuple of the loops whose count selects the slot."""
        high = self.size if high is None else high
        end = self.address + self.size * self.slots
        if value is None or self.slots == 1:
            return SyncAccess("ub", self.address + low, self.address + high, write)
        slot = SlotValue(self.name, value, self.slots, frozenset(changing))
        return SyncAccess("ub", self.address, end, write, slot, (low, high))


class Race(AssertionError):
    """Two accesses without an order."""


class FlagMisuse(AssertionError):
    """A wait without a set before it, or a set of a flag that may still be set."""


@dataclass
class Machine:
    """Happens-before by vector clocks: `now[p][q]` is how many events of q precede the next event of p."""

    trips: dict[int, int]
    plan: Plan
    now: dict[str, dict[str, int]] = field(
        default_factory=lambda: {p: dict.fromkeys(PIPES, 0) for p in PIPES}
    )
    flags: dict[Any, dict[str, int]] = field(default_factory=dict)
    lowered: dict[Any, tuple[str, int]] = field(default_factory=dict)
    writes: dict[int, tuple[str, int]] = field(default_factory=dict)
    reads: dict[int, dict[str, int]] = field(default_factory=dict)

    def run(self, root: Block) -> None:
        self.block(root, {})
        if self.flags:
            raise FlagMisuse(f"flags left over: {list(self.flags)}")

    def block(self, block: Block, ivs: dict[int, int]) -> None:
        here = [f for f in self.plan.flags if f.block is block]
        for i, item in enumerate(block.items):
            outermost = isinstance(item, Nested) and item.loop and not any(k in ivs for k in self.trips)
            around = [f for f in self.plan.flags if f.edge.back and outermost and _holds(item, f.block)]
            if any(b is block and j == i for b, j in self.plan.barriers):
                self.barrier()
            for flag in here:
                if flag.edge.wait_item == i:
                    self.wait(flag, self.index(flag, ivs))
            for flag in around:
                for n in range(flag.slots):
                    self.set(flag, n)
            self.item(item, ivs)
            for flag in around:
                for n in range(flag.slots):
                    self.wait(flag, n)
            for flag in here:
                if flag.edge.set_item == i:
                    self.set(flag, self.index(flag, ivs))

    def item(self, item: SyncInstruction | Nested, ivs: dict[int, int]) -> None:
        if isinstance(item, SyncInstruction):
            self.execute(item, ivs)
        elif not item.loop:
            chosen = sum(ivs.values()) % len(item.blocks)
            self.block(item.blocks[chosen], ivs)
        else:
            for n in range(self.trips[id(item)]):
                self.block(item.blocks[0], ivs | {id(item): n})

    def count(self, loops: tuple[int, ...], ivs: dict[int, int]) -> int:
        total = 0
        for loop in loops:
            total = total * self.trips[loop] + ivs[loop]
        return total

    def index(self, flag: Any, ivs: dict[int, int]) -> int:
        if flag.edge.slot is None:
            return 0
        value, count = flag.edge.slot
        return self.count(value, ivs) % count

    def tick(self, pipe: str) -> int:
        self.now[pipe][pipe] += 1
        return self.now[pipe][pipe]

    def set(self, flag: Any, n: int) -> None:
        key = (flag.edge.pair, flag.event + n)
        src = flag.edge.src
        if key in self.flags:
            raise FlagMisuse(f"{key} set twice")
        if key in self.lowered and self.now[src][self.lowered[key][0]] < self.lowered[key][1]:
            raise FlagMisuse(f"{key} set before its wait")
        self.tick(src)
        self.flags[key] = dict(self.now[src])

    def wait(self, flag: Any, n: int) -> None:
        key = (flag.edge.pair, flag.event + n)
        dst = flag.edge.dst
        if key not in self.flags:
            raise FlagMisuse(f"wait for {key}, which is not set")
        clock = self.flags.pop(key)
        self.now[dst] = {p: max(self.now[dst][p], clock[p]) for p in PIPES}
        self.lowered[key] = (dst, self.tick(dst))

    def barrier(self) -> None:
        joined = {p: max(self.now[q][p] for q in PIPES) for p in PIPES}
        self.now = {p: dict(joined) for p in PIPES}

    def execute(self, instruction: SyncInstruction, ivs: dict[int, int]) -> None:
        pipe = instruction.pipe
        time = self.tick(pipe)
        for access in instruction.accesses:
            for cell in self.cells(access, ivs):
                others = list(self.reads.get(cell, {}).items()) if access.write else []
                for other, when in [*others, self.writes.get(cell, (pipe, 0))]:
                    if other != pipe and self.now[pipe][other] < when:
                        raise Race(f"{pipe} and {other} at byte {cell}")
        for access in instruction.accesses:
            for cell in self.cells(access, ivs):
                if access.write:
                    self.writes[cell] = (pipe, time)
                    self.reads[cell] = {}
                else:
                    self.reads.setdefault(cell, {})[pipe] = time

    def cells(self, access: SyncAccess, ivs: dict[int, int]) -> Iterable[Any]:
        if access.box is not None:
            ranges: list[list[int]] = []
            for c in access.box:
                assert c is not None
                start = c.constant + sum(t.coefficient * ivs[cast("int", t.loop)] for t in c.terms)
                ranges.append([e for k in range(c.count) if 0 <= (e := start + c.step * k) < c.extent])
            return product(*ranges)
        if access.slot is None:
            return range(access.low, access.high)
        size = (access.high - access.low) // access.slot.count
        start = access.low + size * (self.count(access.slot.value, ivs) % access.slot.count)
        return range(start + access.offset[0], start + access.offset[1])


def _holds(item: Nested, block: Block) -> bool:
    return any(
        b is block or any(isinstance(i, Nested) and _holds(i, block) for i in b.items) for b in item.blocks
    )


@st.composite
def programs(draw: Any) -> tuple[Block, dict[int, int]]:
    """A kernel and the trip counts of its loops."""
    buffers = [
        Buffer(i, draw(st.integers(0, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3)))
        for i in range(draw(st.integers(1, 4)))
    ]
    if draw(st.booleans()):
        for buffer, before in zip(buffers[1:], buffers, strict=False):
            buffer.address = before.address + before.size * before.slots
    pipes = draw(st.lists(st.sampled_from(PIPES), min_size=2, max_size=4, unique=True))
    trips: dict[int, int] = {}
    loops: list[Nested] = []
    known = draw(st.booleans())

    def box(inside: tuple[int, ...]) -> SyncAccess:
        coordinates: list[Coordinate] = []
        for extent in (8, 3):
            loops = draw(st.lists(st.sampled_from(inside), max_size=2, unique=True)) if inside else []
            terms = [Term(n, draw(st.integers(-2, 4)), trips[n] if known else None) for n in loops]
            start, count, step = (
                draw(st.integers(-1, extent)),
                draw(st.integers(1, 4)),
                draw(st.integers(1, 2)),
            )
            coordinates.append(Coordinate(start, tuple(terms), count, step, extent))
        return SyncAccess("gm", 0, 1, draw(st.booleans()), box=tuple(coordinates))

    def instruction(inside: tuple[int, ...], always: bool) -> SyncInstruction:
        accesses = [box(inside) for _ in range(draw(st.sampled_from([0, 0, 1])))]
        for _ in range(draw(st.integers(1, 2))):
            buffer = draw(st.sampled_from(buffers))
            low = draw(st.integers(0, buffer.size - 1))
            high = draw(st.integers(low + 1, buffer.size))
            kind = draw(st.sampled_from(["count", "count", "outer", "inner", "whole"]))
            value = {
                "count": inside,
                "outer": inside[:1],
                "inner": inside[-1:],
                "whole": None,
            }[kind]
            # A count over all loops is another one in each execution of the innermost, if none is left out.
            changing = inside[-1:] if known and always and value == inside else ()
            accesses.append(buffer.access(draw(st.booleans()), low, high, value or None, changing))
        return SyncInstruction(draw(st.sampled_from(pipes)), accesses)

    def block(inside: tuple[int, ...], depth: int, always: bool) -> Block:
        made = Block()
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(["instruction", "instruction", "loop", "if"]))
            if kind == "instruction" or depth == 3:
                made.items.append(instruction(inside, always))
                continue
            item = Nested([], kind == "loop")
            item.key = id(item)
            if item.loop:
                loops.append(item)
                trips[id(item)] = draw(st.sampled_from([0, 1, 2, 3, 12] if depth < 2 else [0, 1, 2, 3]))
                item.runs = trips[id(item)] if known else 0
                item.blocks.append(block((*inside, id(item)), depth + 1, always))
            else:
                item.blocks += [block(inside, depth + 1, False) for _ in range(draw(st.integers(1, 2)))]
            made.items.append(item)
        return made

    root = block((), 0, True)
    root.items.append(instruction((), True))
    return root, trips


@settings(max_examples=400, deadline=None)
@given(programs(), st.sampled_from([8, 8, 3, 2, 1]))
def test_random_programs_have_no_race(program: tuple[Block, dict[int, int]], event_ids: int) -> None:
    root, trips = program
    plan = plan_sync(root, event_ids)
    ids: dict[Any, int] = {}
    for flag in plan.flags:
        ids[flag.edge.pair] = ids.get(flag.edge.pair, 0) + flag.slots
    assert all(n <= event_ids for n in ids.values())
    Machine(trips, plan).run(root)


def gemm() -> tuple[Block, dict[int, int]]:
    """A product with two slots everywhere: loads to L1, to L0, product, result; three loops and their trip counts."""
    l1 = [Buffer(0, 0, 4, 2), Buffer(1, 8, 4, 2)]
    l0 = [Buffer(2, 16, 2, 2), Buffer(3, 20, 2, 2)]
    l0c = Buffer(4, 24, 2, 2)
    inner, middle, outer = Nested([Block()], True), Nested([Block()], True), Nested([Block()], True)
    m, mk, k0 = (id(outer),), (id(outer), id(middle)), (id(inner),)
    inner.blocks[0].items = [
        SyncInstruction("MTE1", [l1[0].access(False, value=mk), l0[0].access(True, value=k0)]),
        SyncInstruction("MTE1", [l1[1].access(False, value=mk), l0[1].access(True, value=k0)]),
        SyncInstruction(
            "M",
            [
                l0[0].access(False, value=k0),
                l0[1].access(False, value=k0),
                l0c.access(False, value=m),
                l0c.access(True, value=m),
            ],
        ),
    ]
    middle.blocks[0].items = [
        SyncInstruction("MTE2", [l1[0].access(True, value=mk)]),
        SyncInstruction("MTE2", [l1[1].access(True, value=mk)]),
        inner,
    ]
    outer.blocks[0].items = [middle, SyncInstruction("FIX", [l0c.access(False, value=m)])]
    return Block([outer]), {id(outer): 3, id(middle): 3, id(inner): 4}


def test_a_product_gets_the_six_pairs_that_one_writes_by_hand() -> None:
    root, trips = gemm()
    plan = plan_sync(root, 8)
    Machine(trips, plan).run(root)
    assert sorted((*f.edge.pair, f.slots, f.edge.back) for f in plan.flags) == [
        ("FIX", "M", 2, True),
        ("M", "FIX", 2, False),
        ("M", "MTE1", 2, True),
        ("MTE1", "M", 2, False),
        ("MTE1", "MTE2", 2, True),
        ("MTE2", "MTE1", 2, False),
    ]
    assert not plan.barriers


def test_every_pair_of_a_product_is_needed() -> None:
    root, trips = gemm()
    plan = plan_sync(root, 8)
    for flag in plan.flags:
        with pytest.raises((Race, FlagMisuse)):
            Machine(trips, Plan([f for f in plan.flags if f is not flag])).run(root)


@pytest.mark.parametrize("event_ids", [1, 2, 3])
def test_few_ids_cost_slots_first_and_barriers_last(event_ids: int) -> None:
    root, trips = gemm()
    plan = plan_sync(root, event_ids)
    Machine(trips, plan).run(root)
    assert len(plan.flags) == 6 and not plan.barriers
    assert all(f.slots == min(event_ids, 2) for f in plan.flags)


def loads_then_sums(count: int) -> tuple[Block, dict[int, int]]:
    """A loop with `count` loads to buffers of two slots, each followed much later by its use."""
    loop = Nested([Block()], True)
    value = (id(loop),)
    buffers = [Buffer(i, 4 * i, 2, 2) for i in range(count)]
    loop.blocks[0].items = [
        *[SyncInstruction("MTE2", [b.access(True, value=value)]) for b in buffers],
        *[SyncInstruction("V", [b.access(False, value=value)]) for b in buffers],
    ]
    return Block([loop]), {id(loop): 5}


def test_slots_of_two_buffers_share_their_ids() -> None:
    """A loop fills two and six slots by the same count: the flags of the two order the six as well."""
    few, many = Buffer(0, 0, 4, 2), Buffer(1, 8, 4, 6)
    value = (0,)
    load = [SyncInstruction("MTE2", [b.access(True, value=value, changing=("k",))]) for b in (few, many)]
    use = [SyncInstruction("MTE1", [b.access(False, value=value, changing=("k",))]) for b in (few, many)]
    body = Block([load[1], load[0], use[0], use[1]])
    root = Block([Nested([body], True, 12, "k")])
    plan = plan_sync(root, 8)
    assert sorted((*f.edge.pair, f.slots, f.edge.back) for f in plan.flags) == [
        ("MTE1", "MTE2", 2, True),
        ("MTE2", "MTE1", 2, False),
    ]


def test_edges_that_lie_together_are_merged_before_slots_are_lost() -> None:
    root, trips = loads_then_sums(6)
    plan = plan_sync(root, 8)
    Machine(trips, plan).run(root)
    assert not plan.barriers and all(f.slots == 2 for f in plan.flags)


def test_branches_that_exclude_each_other_are_ordered_by_a_barrier() -> None:
    buffer = Buffer(0, 0, 2, 1)
    either = Nested(
        [Block([SyncInstruction(p, [buffer.access(True)])]) for p in ("V", "MTE2")],
        False,
    )
    loop = Nested([Block([either])], True)
    root = Block([loop])
    plan = plan_sync(root, 8)
    assert not plan.flags and plan.barriers == [(loop.blocks[0], 0)]
    Machine({id(loop): 4}, plan).run(root)
    with pytest.raises(Race):
        Machine({id(loop): 4}, Plan()).run(root)


def test_equal_looking_blocks_each_get_their_barriers() -> None:
    buffer = Buffer(0, 0, 2, 1)

    def loop() -> Nested:
        either = Nested([Block([SyncInstruction(p, [buffer.access(True)])]) for p in ("V", "MTE2")], False)
        return Nested([Block([either])], True)

    first, second = loop(), loop()
    plan = plan_sync(Block([first, second]), 8)
    assert [b for b, _ in plan.barriers] == [first.blocks[0], second.blocks[0]]
    Machine({id(first): 3, id(second): 3}, plan).run(Block([first, second]))


X, Y = Buffer(0, 0, 4, 1), Buffer(1, 4, 4, 1)


def pairs_of(plan: Plan) -> list[tuple[str, str, bool]]:
    return sorted((*flag.edge.pair, flag.edge.back) for flag in plan.flags)


def loads_and_use(runs: int) -> tuple[Block, Nested, Nested]:
    """A loop that loads one buffer, and in an inner loop another, which is used with the first there."""
    inner, outer = Nested([Block()], True, runs), Nested([Block()], True)
    inner.blocks[0].items = [
        SyncInstruction("MTE2", [Y.access(True)]),
        SyncInstruction("V", [X.access(False), Y.access(False)]),
    ]
    outer.blocks[0].items = [SyncInstruction("MTE2", [X.access(True)]), inner]
    return Block([outer]), outer, inner


def test_a_load_before_a_loop_is_waited_for_with_those_in_it() -> None:
    _, _, inner = loads_and_use(0)
    root = Block([SyncInstruction("MTE2", [X.access(True)]), inner])
    plan = plan_sync(root, 8)
    assert pairs_of(plan) == [("MTE2", "V", False), ("V", "MTE2", True)]
    for trips in (0, 1, 2, 3, 12):
        Machine({id(inner): trips}, plan).run(root)


def test_the_last_waits_of_a_loop_order_what_is_behind_it() -> None:
    _, _, inner = loads_and_use(0)
    root = Block(
        [SyncInstruction("MTE2", [X.access(True)]), inner, SyncInstruction("MTE2", [X.access(True)])]
    )
    plan = plan_sync(root, 8)
    assert pairs_of(plan) == [("MTE2", "V", False), ("V", "MTE2", True)]
    for trips in (0, 1, 2, 3, 12):
        Machine({id(inner): trips}, plan).run(root)


@pytest.mark.parametrize("known", [0, 1, 2, 3])
def test_a_loop_that_is_known_to_run_is_ordered_by_what_is_in_it(known: int) -> None:
    root, outer, inner = loads_and_use(known)
    plan = plan_sync(root, 8)
    # The flag that says that the first buffer is full guards the one that says that it is free, too.
    forward = 1 if known else 2
    assert pairs_of(plan) == [("MTE2", "V", False)] * forward + [("V", "MTE2", True)] * 2
    for trips in (0, 1, 2, 3, 12):
        if trips >= known:
            Machine({id(outer): 3, id(inner): trips}, plan).run(root)
