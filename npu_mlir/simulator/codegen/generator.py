"""A kernel as one Python function: loops and index arithmetic become Python, an instruction a call for each purpose.

    scf.for %i = %c0 to %c64 step %c16 {                    for v3 in range(0, 64, 16):
      %s = npu_isa.slot %x[%count]                              v5 = 4096 + v4 % 2 * 1024
      npu_isa.load_ub %A[%i] -> %s<64, 1> over [16, 64]         S = t1(S + 2, 80, 200, 0)       # time
    }                                                           x1(g0, v3, v5)                  # values
                                                                S += 1

What an entry becomes is up to the sinks (`sink.py`). `S` is the time of the scalar unit: each scalar operation and
each iteration of a loop costs the issue cycles, constants and buffers are free. The function returns `S` and how often
each block ran, from which all counters follow.

Does not handle: `cf` branches; for scalars see `scalar_code.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from npu_mlir.analysis.loop_periods import loop_periods
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.ir.loop_bounds import constant_trips, iterations
from npu_mlir.simulator.codegen.scalar_code import ScalarCode, literal, timing_values
from npu_mlir.simulator.codegen.sink import Entry, Event, Op, Sink, canonical
from npu_mlir.simulator.codegen.source import SourceWriter
from npu_mlir.simulator.codegen.steady_state import SteadyState
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.program.blocks import BlockInfo, Blocks, blocks_within

UNROLLED = 64
"""Entries that an unrolled loop may have."""


@dataclass(frozen=True)
class Generated:
    """A kernel's function: `run(arguments, budget, scalar time = 0) -> (scalar time, executions of each block)`."""

    run: Callable[..., tuple[int, list[int]]]
    blocks: list[BlockInfo]
    source: str


def generate(blocks: Blocks, sinks: Sequence[Sink], *, skip: bool = False) -> Generated:
    """Make the function of a kernel with the code of all sinks, in their order at each entry.

    With `skip`, iterations that only repeat what was seen are skipped, if all sinks can do without.
    """
    generator = _Generator(blocks, sinks, skip and all(sink.skips for sink in sinks))
    generator.kernel()
    source = "\n".join(generator.source.lines)
    names = generator.source.names
    exec(compile(source, f"<kernel {blocks.kernel.sym_name.data}>", "exec"), names)
    # Taken out, so that no cycle keeps everything that is bound alive.
    return Generated(names.pop("kernel"), list(generator.infos.values()), source)


class _Generator:
    def __init__(self, blocks: Blocks, sinks: Sequence[Sink], skip: bool):
        self.blocks = blocks
        self.op = kernel = blocks.kernel
        self.sinks = sinks
        self.addresses = any(sink.needs_addresses for sink in sinks)
        self.in_place = all(sink.in_place for sink in sinks)
        self.source = SourceWriter()
        self.source.names["over_budget"] = over_budget
        self.line = self.source.line
        self.scalars = ScalarCode(self.source, None if self.addresses else timing_values(kernel))
        self.issue = blocks.target.latencies["issue"]
        self.infos = blocks.infos
        self.numbers = {block: i for i, block in enumerate(self.infos)}
        self.executions = ["1"] * len(self.infos)
        """Of each block, an expression at the end of the function."""
        self.periods = loop_periods(kernel) if skip else {}
        """Of loops whose iterations may be skipped."""
        self.firsts = {loop: "" for load in blocks.loads.values() for loop in load.loops}
        """Of loops in whose first iterations loads may miss, the condition that it is one."""

    # ---- the sinks

    def settle(self) -> None:
        for sink in self.sinks:
            sink.settle()

    def scalar(self) -> None:
        """The scalar unit takes the issue cycles for something."""
        for sink in self.sinks:
            sink.scalar(self.issue)

    def now(self) -> str:
        """An expression for the time of the scalar unit."""
        return next((text for sink in self.sinks if (text := sink.now()) is not None), "0")

    def entry(self, op: Op) -> Entry[Op]:
        """What sinks are told of an entry."""
        first = self.first(op)
        if not self.addresses:
            return Entry(op, self.now, first=first)
        values = self.scalars.values
        bases = [self.scalars.base(op, v) for v in op.operands]
        slots = [values[base] for base in bases if base is not None]
        operands, results = [values[v] for v in op.operands], [self.scalars.define(v) for v in op.results]
        return Entry(op, self.now, operands, bases, slots, first, results)

    def first(self, op: Operation) -> str:
        """The condition that all loops are in their first iterations that decide what a load takes."""
        load = self.blocks.loads.get(op) if isinstance(op, npu_isa.Instruction) else None
        conditions = [self.firsts[loop] for loop in load.loops] if load is not None else []
        if "False" in conditions:
            return "False"
        return " and ".join(c for c in conditions if c != "True") or "True"

    # ---- structure

    def kernel(self) -> None:
        body = self.op.body.block
        self.source.lines.append("def kernel(arguments, budget, S=0):")
        arguments = [self.scalars.define(arg) for arg in body.args]
        self.line("steps = 0")
        self.line(f"{', '.join(arguments)}, = arguments")
        position = len(self.source.lines)
        for sink in self.sinks:
            sink.begin(self.source, self.blocks)
        self.block(body)
        counters = [f"n{i}" for i, text in enumerate(self.executions) if text == f"n{i}"]
        if counters:
            self.source.insert(position, " = ".join(counters) + " = 0")
        for sink in self.sinks:
            sink.end()
        self.line(f"return S, [{', '.join(self.executions)}]")

    def block(self, block: Block) -> None:
        """The code of a block, settled."""
        for op in block.ops:
            self.operation(op)
        self.settle()

    def counter(self, block: Block) -> str:
        """The variable that counts the executions of a block."""
        number = self.numbers[block]
        self.executions[number] = f"n{number}"
        return f"n{number}"

    def operation(self, op: Operation) -> None:
        match op:
            case tile.ReturnOp() | scf.YieldOp():
                pass
            case npu_isa.Instruction():
                entry = self.entry(op)
                for name in entry.results:
                    self.line(f"{name} = 0")
                for sink in self.sinks:
                    sink.instruction(entry)
            case npu_isa.SetFlagOp():
                entry, event = self.entry(op), self.event(op)
                for sink in self.sinks:
                    sink.set_flag(entry, event)
            case npu_isa.WaitFlagOp():
                entry, event = self.entry(op), self.event(op)
                for sink in self.sinks:
                    sink.wait_flag(entry, event)
            case npu_isa.BarrierOp():
                entry = self.entry(op)
                for sink in self.sinks:
                    sink.barrier(entry)
            case scf.ForOp():
                self.loop(op)
            case scf.IfOp():
                self.conditional(op)
            case _:
                if self.scalars.emit(op):
                    self.scalar()

    # ---- loops

    def loop(self, op: scf.ForOp) -> None:
        unrolled = self.unrolled(op)
        if unrolled is not None:
            self.unroll(op, unrolled)
            return
        self.settle()
        values, body = self.scalars.values, op.body.block
        carried = {
            i: self.scalars.define(arg) for i, arg in enumerate(body.args[1:]) if self.scalars.needs(arg)
        }
        for i, name in carried.items():
            self.line(f"{name} = {values[op.iter_args[i]]}")
        index, trips = self.scalars.define(body.args[0]), self.source.name("r")
        bounds = ", ".join(values[v] for v in (op.lb, op.ub, op.step))
        constant = constant_trips(op) is not None
        make = "range" if constant else self.source.bind("l", partial(iterations, op))
        self.line(f"{trips} = {make}({bounds})")
        self.line(f"{self.counter(body)} += len({trips})")
        self.line(f"steps += len({trips}) * {self.steps(body)}")
        self.line("if steps > budget: over_budget(budget)")
        if op in self.firsts:
            self.firsts[op] = self.source.name("h")
            self.line(f"{self.firsts[op]} = True")
        head = len(self.source.lines)
        self.loop_body(op, carried)
        if op in self.periods:
            self.source.insert(head, *self.watch(op, trips, index, list(carried.values())))
        else:
            self.source.insert(head, f"for {index} in {trips}:")
        for i, name in carried.items():
            values[op.results[i]] = self.source.name("v")
            self.line(f"{values[op.results[i]]} = {name}")

    def loop_body(self, op: scf.ForOp, carried: Mapping[int, str]) -> None:
        """An iteration; `carried` are the variables of the values that it hands on, by number."""
        body = op.body.block
        size = len(self.source.lines)
        self.source.indent += 1
        self.scalar()
        self.block(body)
        if carried and body.last_op is not None:
            yielded = [self.scalars.values[body.last_op.operands[i]] for i in carried]
            self.line(f"{', '.join(carried.values())}, = {', '.join(yielded)},")
        if first := self.firsts.get(op):
            self.line(f"{first} = False")
        if len(self.source.lines) == size:
            self.line("pass")
        self.source.indent -= 1

    def steps(self, block: Block) -> int:
        """The steps of one execution of a block, unrolled loops included."""
        steps = self.infos[block].steps
        for op in block.ops:
            if isinstance(op, scf.ForOp) and (trips := self.unrolled(op)) is not None:
                steps += len(trips) * self.steps(op.body.block)
        return steps

    def watch(self, op: scf.ForOp, trips: str, index: str, carried: Sequence[str]) -> list[str]:
        """The head of a loop whose iterations may be skipped. What counts grows alike in what is repeated: how often
        the blocks inside are executed, and what is carried."""
        _, *inside = (self.executions[self.numbers[block]] for block in blocks_within(op.body.block))
        counters = [*(text for text in inside if text.startswith("n")), *carried]
        counters += [name for sink in self.sinks for name in sink.counters()]
        parts = [part for sink in self.sinks if (part := sink.loop(op)) is not None]
        watcher = SteadyState(self.periods[op], parts, first=op in self.firsts)
        repeats, x = self.source.bind("w", watcher), self.source.name("i")
        skip = [f"{name} += g[{i + 2}]" for i, name in enumerate(counters)]
        times = [text for sink in self.sinks for text in sink.times()]
        state = f"({''.join(f'{name}, ' for name in times)})"
        return [
            f"{repeats}.begin(len({trips}))",
            f"{x} = 0",
            f"while {x} < len({trips}):",
            f"    if {x} == {repeats}.next:",
            f"        g = {repeats}.look({x}, S, ({''.join(f'{name}, ' for name in counters)}), {state})",
            "        if g is not None:",
            f"            {'; '.join([f'{x} += g[0]', 'S += g[1]', *skip])}",
            *(f"            {line}" for sink in self.sinks for line in sink.shift("g[1]")),
            "            continue",
            f"    {index} = {trips}[{x}]",
            f"    {x} += 1",
        ]

    def unrolled(self, op: scf.ForOp) -> range | None:
        """The values of the index of a loop that is worth unrolling."""
        if not self.in_place or op in self.periods:
            return None
        trips = constant_trips(op)
        if trips is None:
            return None
        entries = 0
        for inner in op.body.block.ops:
            if isinstance(inner, scf.IfOp | npu_isa.BarrierOp) or _waits_for_pipe(inner):
                return None
            if isinstance(inner, scf.ForOp):
                inner_trips = self.unrolled(inner)
                if inner_trips is None:
                    return None
                entries += len(inner_trips) * (self.steps(inner.body.block) - 1)
        entries += self.infos[op.body.block].steps - 1
        return trips if 0 < len(trips) * entries <= UNROLLED else None

    def unroll(self, op: scf.ForOp, trips: range) -> None:
        """The iterations of a loop, one behind the other."""
        values, body = self.scalars.values, op.body.block
        around = op.parent_block()
        assert around is not None
        self.executions[self.numbers[body]] = f"{len(trips)} * {self.executions[self.numbers[around]]}"
        carried = [values.get(init, "") for init in op.iter_args]
        for index in trips:
            if op in self.firsts:
                self.firsts[op] = str(index == trips[0])
            values[body.args[0]] = literal(index)
            values |= zip(body.args[1:], carried, strict=True)
            self.scalar()
            for inner in body.ops:
                self.operation(inner)
            if body.last_op is not None:
                carried = [values.get(v, "") for v in body.last_op.operands]
        values |= zip(op.results, carried, strict=True)

    def conditional(self, op: scf.IfOp) -> None:
        self.scalar()
        self.settle()
        values = self.scalars.values
        kept = [i for i, result in enumerate(op.results) if self.scalars.needs(result)]
        results = [self.source.name("v") for _ in kept]
        for region, head in ((op.true_region, f"if {values[op.cond]}:"), (op.false_region, "else:")):
            if not region.blocks:
                continue
            self.line(head)
            self.source.indent += 1
            self.line(f"{self.counter(region.block)} += 1")
            self.block(region.block)
            if results and region.block.last_op is not None:
                yielded = [values[region.block.last_op.operands[i]] for i in kept]
                self.line(f"{', '.join(results)}, = {', '.join(yielded)},")
            self.source.indent -= 1
        values |= {op.results[i]: name for i, name in zip(kept, results, strict=True)}

    def event(self, op: npu_isa.FlagInstruction) -> Event:
        """The event of a flag."""
        first = op.event.value.data
        if op.index is None:
            return Event(first)
        return canonical(first, *self.scalars.parts(op.index), op.slots.value.data)


def _waits_for_pipe(op: Operation) -> bool:
    """Whether the scalar unit waits for a flag."""
    return isinstance(op, npu_isa.WaitFlagOp) and op.pipes[1] is npu_isa.Pipe.S


def over_budget(budget: int) -> None:
    """Stop a program that runs for too long."""
    raise SimulationError(f"the kernel takes more than {budget} steps; does it end?")
