"""The rules of `pipes.py` written out in generated code, where calls would cost more than the arithmetic.

The state of pipe i is in local variables: `f` when it is free, `d` when everything is complete, `g` the gate, and the
list `q` of when the last entries left the queue, oldest first. A flag is `-1` while it is not pending: a variable of
its own, or an element of a list where its event id is computed. Between two points of control flow everything is
symbolic: a time is a variable plus a constant, what is known to be later needs no comparison, a queue is cut and
extended once, and a flag that is set and waited for stays in a variable.

    wait_flag [V, MTE2, 0 + %i mod 2]         e6 = v4 % 2
    load   (keeps MTE2 for 36 cycles,         t5 = F0[e6]
            complete 20 later)                if t5 < 0: m7(e6)
    load                                      a3_0, a3_1, a3_2, a3_3, = q3[:4]
    set_flag [MTE2, V, 0]                     if a3_0 > S + 1: S = a3_0 - 1
                                              t8 = f3 if f3 > S + 2 else S + 2
                                              t9 = t5 if t5 > t8 else t8
                                              if a3_3 > S + 2:
                                                  if a3_1 > S + 2: S = a3_1 - 2
                                                  if a3_2 > S + 3: S = a3_2 - 3
                                                  if a3_3 > S + 4: S = a3_3 - 4
                                              F0[e6] = -1
                                              F1_0 = t9 + 93
                                              del q3[:4]
                                              q3 += (t9, t9 + 1, t9 + 37, t9 + 73)
                                              d3 = t9 + 93
                                              f3 = t9 + 74
                                              S += 5

The loads start when the pipe is free, which is later than their arrival: no comparison.

A load that may hit or miss in L2 has a condition, and what it takes in either case:

    if h2:                        h2: the loop is in its first iteration
        t4 = t3 + 144; t5 = t4 + 200; k1 += 1
    else:
        t4 = t3 + 80; t5 = t4 + 50

Does not handle: observers, which want to see each entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from npu_mlir.dialects import npu_isa
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.simulator.codegen.sink import Entry, Event, Sink
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.errors import wait_without_set
from npu_mlir.simulator.program.blocks import NEVER, Blocks, LoadCost
from npu_mlir.simulator.timing.load_counts import LoadCounts
from npu_mlir.simulator.timing.pipe_code import FlagCode, PipeCode, differ
from npu_mlir.simulator.timing.pipes import EXECUTING, CoreClock, served
from npu_mlir.simulator.timing.symbolic_times import BoundCheck, Time, strongest

Pair = tuple[Pipe, Pipe]

LONGEST = 128
"""Entries in flight at once: what is known of them takes the longer to find out, the more there are."""


class InlinedTiming(Sink):
    """The recurrences as code."""

    skips = in_place = True

    def __init__(self, clock: CoreClock, alone: bool = True, counts: LoadCounts | None = None):
        self.clock = clock
        self.counts = counts
        self.alone = alone
        """No kernel runs before or behind: pipes start empty, and only their ends count."""

    def begin(self, code: SourceWriter, blocks: Blocks) -> None:
        target = blocks.target
        self.source = code
        self.costs = blocks.costs
        self.issue = target.latencies["issue"]
        self.flag = target.latencies["flag"]
        self.depth = target.queue_depth
        self.pipes: dict[Pipe, PipeCode] = {}
        self.flags: dict[Pair, FlagCode] = {}
        self.loads = blocks.loads
        self.missing: dict[npu_isa.Instruction, str] = {}
        """The variables that count the misses of loads, and cycles that they wait for a prefetch."""
        for op, cost in blocks.costs.items():
            if op.PIPE is Pipe.S:
                continue
            pipe = self._pipe(op.PIPE)
            pipe.heads |= cost.head > 0
            pipe.latencies.add(cost.latency)
            if op in self.loads:
                pipe.latencies.add(self.loads[op].miss.latency)
                # Two times for one load: the last to begin need not be the last to be complete.
                pipe.latencies |= {0, 1} if self.loads[op].ready != NEVER else set()
        if not self.alone:
            # All counts for what follows, and barriers wait for pipes that this kernel does not use.
            for name in EXECUTING:
                pipe = self._pipe(name)
                pipe.heads, pipe.latencies = True, pipe.latencies | {0, 1}
        for block in blocks.infos:
            for op in block.ops:
                if isinstance(op, npu_isa.SetFlagOp | npu_isa.WaitFlagOp):
                    self._declare(op)
        self.offset = 0
        """Of the scalar time over `S`."""
        self.checks: list[BoundCheck] = []
        self.checked = 0
        """Of the checks, how many are in the code already."""
        self.opened: int | None = None
        """The line at which the entries in flight begin."""
        self.events: dict[Event, str] = {}
        self.maxima: dict[str, str] = {}
        self._start()

    def _declare(self, op: npu_isa.SetFlagOp | npu_isa.WaitFlagOp) -> None:
        for name in op.pipes:
            if name is not Pipe.S:
                self._pipe(name)
        flags = self.flags.setdefault(op.pipes, FlagCode(f"F{len(self.flags)}"))
        slots = op.slots.value.data
        flags.size = max(flags.size, op.event.value.data + slots)
        flags.computed |= slots > 1

    def _pipe(self, name: Pipe) -> PipeCode:
        return self.pipes.setdefault(name, PipeCode(name, EXECUTING.index(name)))

    # ---- the function as a whole

    def _start(self) -> None:
        line = self.source.line
        self.missing = {op: str(number) for number, op in enumerate(self.loads)}
        if self.loads:
            line(f"{' = '.join(self.counters())} = 0")
        for name, pipe in self.pipes.items():
            if self.alone:
                line(f"{' = '.join(f'{letter}{pipe.number}' for letter in pipe.kept)} = 0")
                line(f"q{pipe.number} = [0] * {self.depth}")
            else:
                state = self.source.bind("p", self.clock.pipes[name].state)
                line(f"{', '.join(f'{letter}{pipe.number}' for letter in 'fdgq')} = {state}()")
        for pair, flags in self.flags.items():
            if self.alone:
                places = [] if flags.computed else [*self._places(flags), "-1"]
                line(" = ".join(places) if places else f"{flags.name} = [-1] * {flags.size}")
                continue
            pop = self.source.bind("p", self.clock.flags(*pair).pop)
            pending = [f"{pop}({event}, -1)" for event in range(flags.size)]
            if flags.computed:
                line(f"{flags.name} = [{', '.join(pending)}]")
            else:
                for place, text in zip(self._places(flags), pending, strict=True):
                    line(f"{place} = {text}")

    def counters(self) -> list[str]:
        return [f"{letter}{number}" for number in self.missing.values() for letter in "kw"]

    def end(self) -> None:
        line = self.source.line
        if self.loads and self.counts is not None:
            add = self.source.bind("p", self.counts.add)
            for op, number in self.missing.items():
                line(f"{add}({self.source.bind('o', op)}, k{number}, w{number})")
        for name, pipe in self.pipes.items():
            if not self.alone:
                letters = ", ".join(f"{letter}{pipe.number}" for letter in "fdgq")
                line(f"{self.source.bind('p', self.clock.pipes[name].go_on)}({letters})")
                continue
            state = self.source.bind("p", self.clock.pipes[name])
            line(f"{state}.free = f{pipe.number}")
            if "d" in pipe.kept:
                line(f"{state}.done = d{pipe.number}")
        for pair, flags in self.flags.items() if not self.alone else ():
            pending = self.source.bind("p", self.clock.flags(*pair))
            for event in range(flags.size):
                place = flags.place(str(event))
                line(f"if {place} >= 0: {pending}[{event}] = {place}")

    def times(self) -> list[str]:
        # A load takes as long as before once its prefetch is over, and else with as much time left.
        names = [str(t) for t in dict.fromkeys(load.ready for load in self.loads.values()) if t != NEVER]
        for pipe in self.pipes.values():
            names += [*(f"{letter}{pipe.number}" for letter in pipe.kept), f"*q{pipe.number}"]
        for flags in self.flags.values():
            names += [f"*{flags.name}"] if flags.computed else self._places(flags)
        return names

    def shift(self, cycles: str) -> list[str]:
        lines: list[str] = []
        for pipe in self.pipes.values():
            lines += [f"{letter}{pipe.number} += {cycles}" for letter in pipe.kept]
            lines.append(f"q{pipe.number} = [t + {cycles} for t in q{pipe.number}]")
        for flags in self.flags.values():
            if flags.computed:
                lines.append(f"{flags.name} = [t + {cycles} if t >= 0 else t for t in {flags.name}]")
            else:
                lines += [f"if {place} >= 0: {place} += {cycles}" for place in self._places(flags)]
        return lines

    def _places(self, flags: FlagCode) -> list[str]:
        return [flags.place(str(event)) for event in range(flags.size)]

    # ---- what is in flight

    def scalar(self, cycles: int) -> None:
        self.offset += cycles

    def now(self) -> str:
        self.settle()
        return "S"

    def settle(self) -> None:
        line = self.source.line
        self._check()
        for flags in self.flags.values():
            self._store(flags)
        for pipe in self.pipes.values():
            self._requeue(pipe)
        # `f` last: the others may refer to what it was.
        for pipe in self.pipes.values():
            for letter in "dgf":
                if letter in pipe.times:
                    line(f"{letter}{pipe.number} = {pipe.times[letter]}")
            pipe.times.clear()
        if self.offset:
            line(f"S += {self.offset}")
        self.offset = 0
        self.opened = None
        self.checks.clear()
        self.checked = 0
        self.events.clear()
        self.maxima.clear()

    def _requeue(self, pipe: PipeCode) -> None:
        """Cut and extend the queue; the oldest entries were taken out before everything in flight."""
        count, queue = len(pipe.starts), f"q{pipe.number}"
        if not count:
            return
        assert self.opened is not None
        old = "".join(f"a{pipe.number}_{i}, " for i in range(min(count, self.depth)))
        if count == 1:
            self.source.insert(self.opened, f"a{pipe.number}_0 = {queue}[0]")
            self.source.line(f"del {queue}[0]")
            self.source.line(f"{queue}.append({pipe.starts[0]})")
        else:
            self.source.insert(self.opened, f"{old}= {queue}[:{count}]")
            if count < self.depth:
                self.source.line(f"del {queue}[:{count}]")
                self.source.line(f"{queue} += ({', '.join(pipe.starts)})")
            else:
                self.source.line(f"{queue}[:] = ({', '.join(pipe.starts[-self.depth :])},)")
        pipe.starts.clear()
        pipe.durations.clear()

    def _limit(self) -> None:
        if len(self.checks) >= LONGEST:
            self.settle()

    def _enter(self, pipe: PipeCode) -> Time:
        """An entry is issued once there is room in the queue; returns its arrival."""
        if self.opened is None:
            self.opened = len(self.source.lines)
        number = len(pipe.starts)
        index = number - self.depth
        old = pipe.starts[index] if index >= 0 else f"a{pipe.number}_{number}"
        self.checks.append(BoundCheck(pipe.name, number, self.offset, old))
        self.offset += self.issue
        return Time("S", self.offset, ((self.offset, len(self.checks)),))

    def _check(self) -> None:
        """Bring `S` up to date; the order of checks does not matter."""
        groups: dict[Pipe, list[BoundCheck]] = {}
        for check in self.checks[self.checked :]:
            groups.setdefault(check.pipe, []).append(check)
        self.checked = len(self.checks)
        for group in groups.values():
            if len(group) > 2:
                # The last of them is the latest: mostly one look is enough.
                self.source.line(f"if {group[-1].text(group[0].offset)}:")
            self.source.indent += len(group) > 2
            for check in group:
                self.source.line(check.line())
            self.source.indent -= len(group) > 2

    def _leave(self, pipe: PipeCode, start: Time, duration: int) -> Time:
        """The entry starts and keeps the pipe; returns when it is free again."""
        behind = ((pipe.name, len(pipe.starts), 0), *(b for b in start.behind if b[0] is not pipe.name))
        pipe.starts.append(str(start))
        pipe.durations.append(duration)
        pipe.times["f"] = free = Time(start.name, start.offset, start.leads, behind).later(duration)
        return free

    def _latest(self, a: Time, b: Time) -> Time:
        """The later of two times, one of which may be the scalar time."""
        if a.name == b.name:
            return a if a.offset >= b.offset else b
        if b.name == "S":
            a, b = b, a
        if a.name == "S":
            if self._not_before(b, a.offset):
                return b
            self._check()
        # `name + a.offset` is the result; the other offset is not less.
        if a.offset > b.offset:
            a, b = b, a
        other = Time(b.name, b.offset - a.offset)
        text = f"{a.name} if {a.name} > {other} else {other}"
        name = self.maxima.get(text)
        if name is None:
            name = self.source.name("t")
            self.source.line(f"{name} = {text}")
            if "S" not in (a.name, b.name):
                self.maxima[text] = name
        behind = {pipe: (pipe, entry, cycles) for pipe, entry, cycles in a.behind}
        behind |= {b[0]: b for b in b.behind if b[0] not in behind or b[1:] > behind[b[0]][1:]}
        return Time(name, a.offset, strongest((*a.leads, *b.leads)), tuple(behind.values()))

    def _not_before(self, time: Time, offset: int) -> bool:
        """Whether a time is known not to be before the scalar time at that offset."""
        counts = [count for lead, count in time.leads if lead >= offset]
        if not counts:
            return False
        return all(self._passes(time, check, offset) for check in self.checks[max(counts) :])

    def _passes(self, time: Time, check: BoundCheck, offset: int) -> bool:
        """Whether a time is not before what a check may make of the scalar time at that offset."""
        durations, oldest = self.pipes[check.pipe].durations, check.entry - self.depth
        for pipe, entry, cycles in time.behind:
            if pipe is check.pipe and entry >= oldest:
                # The old entry and those between have kept the pipe; nothing is known of those before the first.
                return cycles + sum(durations[max(oldest, 0) : entry]) >= offset - check.offset
        return False

    # ---- entries

    def instruction(self, entry: Entry[npu_isa.Instruction]) -> None:
        cost = self.costs[entry.op]
        if entry.op.PIPE is Pipe.S:
            self.scalar(cost.head + cost.occupancy + cost.latency)
            return
        self._limit()
        pipe = self.pipes[entry.op.PIPE]
        start = self._enter(pipe)
        if pipe.heads:
            start = self._latest(start, pipe.get("g")).later(cost.head)
        if entry.op in self.loads and entry.first != "False":
            self._load(entry, pipe, self._latest(start, pipe.get("f")))
            return
        free = self._leave(pipe, self._latest(start, pipe.get("f")), cost.occupancy)
        if "d" in pipe.kept:
            # With one latency for all, the last to begin is the last to be complete.
            done = free.later(cost.latency)
            pipe.times["d"] = done if len(pipe.latencies) == 1 else self._latest(done, pipe.get("d"))

    def _load(self, entry: Entry[npu_isa.Instruction], pipe: PipeCode, start: Time) -> None:
        """A load that may miss."""
        load, number = self.loads[entry.op], self.missing[entry.op]
        line, free, done = self.source.line, self.source.name("t"), self.source.name("t")
        if start.name == "S":
            self._check()
        hit = [f"{free} = {start.later(load.hit.occupancy)}", f"{done} = {free} + {load.hit.latency}"]
        line(f"if {entry.first}:")
        self.source.indent += 1
        self._may_miss(load, number, str(start), free, done, hit)
        self.source.indent -= 1
        if entry.first != "True":
            line(f"else: {'; '.join(hit)}")
        # What is known for certain is what a hit takes.
        known = self._leave(pipe, start, load.hit.occupancy)
        pipe.times["f"] = Time(free, 0, known.leads, known.behind)
        if "d" not in pipe.kept:
            return
        latest = known.later(load.hit.latency)
        pipe.times["d"] = self._latest(Time(done, 0, latest.leads, latest.behind), pipe.get("d"))

    def _may_miss(
        self, load: LoadCost, number: str, start: str, free: str, done: str, hit: Sequence[str]
    ) -> None:
        line, miss = self.source.line, load.miss
        if load.ready == NEVER:
            line(f"{free} = {start} + {miss.occupancy}; {done} = {free} + {miss.latency}; k{number} += 1")
            return
        serve = self.source.bind("s", served)
        costs = ", ".join(self.source.bind("c", cost) for cost in (load.hit, miss))
        line(f"if {start} >= {load.ready}: {'; '.join(hit)}")
        line("else:")
        line(f"    {free}, {done}, z = {serve}({start}, {load.ready}, {costs})")
        line(f"    k{number} += z")
        line(f"    w{number} += {free} - ({start}) - {load.hit.occupancy}")

    def set_flag(self, entry: Entry[npu_isa.SetFlagOp], event: Event) -> None:
        self._limit()
        op = entry.op
        pipe = self.pipes[op.pipes[0]]
        start = self._latest(self._enter(pipe), pipe.get("f"))
        raised = self._leave(pipe, start, self.flag)
        if "d" in pipe.kept:
            raised = self._latest(raised, pipe.get("d"))
        self._overwrite(self.flags[op.pipes], event, raised)

    def wait_flag(self, entry: Entry[npu_isa.WaitFlagOp], event: Event) -> None:
        op = entry.op
        if op.pipes[1] is Pipe.S:
            self._wait(op, event)
            return
        self._limit()
        pipe = self.pipes[op.pipes[1]]
        raised = self._consume(op, event)
        arrival = self._enter(pipe)
        if not pipe.heads:
            self._leave(pipe, self._latest(raised, self._latest(arrival, pipe.get("f"))), self.flag)
            return
        ready = self._latest(raised, arrival)
        self._leave(pipe, self._latest(ready, pipe.get("f")), self.flag)
        pipe.times["g"] = self._latest(ready.later(self.flag), pipe.get("g"))

    def barrier(self, entry: Entry[npu_isa.BarrierOp]) -> None:
        self.scalar(self.issue)
        self.settle()
        ends = [
            f"{letter}{pipe.number}" for pipe in self.pipes.values() for letter in pipe.kept if letter != "g"
        ]
        if ends:
            self.source.line(f"S = max({', '.join(['S', *ends])})")

    # ---- flags

    def _wait(self, op: npu_isa.WaitFlagOp, event: Event) -> None:
        """The scalar unit waits."""
        raised, name = self._consume(op, event), self.source.name("t")
        self.source.line(f"{name} = {raised}")
        self.scalar(self.issue)
        self.settle()
        self.source.line(f"if {name} > S: S = {name}")
        self.scalar(self.flag)

    def _consume(self, op: npu_isa.WaitFlagOp, event: Event) -> Time:
        """When the flag is raised, which is then no longer pending."""
        flags = self.flags[op.pipes]
        self._separate(flags, event)
        raised = flags.known.get(event)
        if raised is None:
            name, place = self.source.name("t"), flags.place(self._id(event))
            value = "-1" if event in flags.known else place
            missing = self.source.bind("m", partial(_missing, op))
            self.source.line(f"{name} = {value}")
            self.source.line(f"if {name} < 0: {missing}({self._id(event)})")
            raised = Time(name)
        flags.known[event] = None
        return raised

    def _overwrite(self, flags: FlagCode, event: Event, raised: Time) -> None:
        self._separate(flags, event)
        # The id is computed now, while the variables of its expression are what they are.
        self._id(event)
        flags.known[event] = raised

    def _id(self, event: Event) -> str:
        """A variable or number for an event id."""
        if event.constant is not None:
            return str(event.constant)
        if event not in self.events:
            self.events[event] = self.source.name("e")
            self.source.line(f"{self.events[event]} = {event}")
        return self.events[event]

    def _separate(self, flags: FlagCode, event: Event) -> None:
        """Store what is known of flags that may be the same as this one, or not."""
        if not all(other == event or differ(other, event) for other in flags.known):
            self._store(flags)

    def _store(self, flags: FlagCode) -> None:
        for event, raised in flags.known.items():
            self.source.line(f"{flags.place(self._id(event))} = {'-1' if raised is None else raised}")
        flags.known.clear()


def _missing(op: npu_isa.WaitFlagOp, event: int) -> None:
    raise wait_without_set(op, event)
