"""A kernel as one Python function: loops and index arithmetic become Python, an instruction two calls.

    scf.for %i = %c0 to %c64 step %c16 {                    for v3 in range(0, 64, 16):
      %s = npu_isa.slot %x[%count]                              v5 = 4096 + v4 % 2 * 1024
      npu_isa.load_ub %A[%i] -> %s<64, 1> over [16, 64]         S = t1(S + 2, 80, 200, 0)       # time
    }                                                           x1(g0, v3, v5)                  # values
                                                                S += 1

`S` is the time of the scalar unit: each scalar operation and each iteration of a loop costs the issue cycles, constants
and buffers are free. The function returns `S` and how often each block ran, from which all counters follow.

Does not handle: `cf` branches, scalars that are loaded from memory, floats in scalar code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.analysis.affine_maps import python_expression
from npu_mlir.diagnostics import UserError
from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.interpreters.arith import constant_value
from npu_mlir.interpreters.registry import elementwise_function
from npu_mlir.simulator.debugger import Debugger
from npu_mlir.simulator.errors import SimulationError, wait_without_set
from npu_mlir.simulator.hazards import Hazards
from npu_mlir.simulator.observer import Observer
from npu_mlir.simulator.periods import loop_periods
from npu_mlir.simulator.pipes import Clock
from npu_mlir.simulator.repeats import Repeats
from npu_mlir.targets.cost import Cost, cost_of
from npu_mlir.targets.target import Target

_INFIX: dict[type[Operation], str] = {
    arith.AddiOp: "{} + {}",
    arith.SubiOp: "{} - {}",
    arith.MuliOp: "{} * {}",
    arith.FloorDivSIOp: "{} // {}",
    arith.DivUIOp: "{} // {}",
    arith.RemUIOp: "{} % {}",
    arith.CeilDivSIOp: "-(-{} // {})",
    arith.CeilDivUIOp: "-(-{} // {})",
    arith.MinSIOp: "min({}, {})",
    arith.MinUIOp: "min({}, {})",
    arith.MaxSIOp: "max({}, {})",
    arith.MaxUIOp: "max({}, {})",
    arith.AndIOp: "{} & {}",
    arith.OrIOp: "{} | {}",
    arith.XOrIOp: "{} ^ {}",
    arith.SelectOp: "{1} if {0} else {2}",
    arith.IndexCastOp: "{}",
}
"""Scalar code, exact for the index values that programs have (no overflow, unsigned ones not negative)."""

_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Mode:
    """What a generated function does."""

    values: bool
    time: bool
    checks: Hazards | None = None
    observer: Observer | None = None
    """Explains the time; there only with `time`."""
    debugger: Debugger | None = None
    """Asked before each instruction."""
    extrapolate: bool = True
    """Skip what repeats, where nothing but time is asked for."""

    @property
    def skips(self) -> bool:
        """Whether iterations of loops may be skipped."""
        return (
            self.extrapolate
            and self.time
            and not (self.values or self.checks or self.observer or self.debugger)
        )


@dataclass
class BlockInfo:
    """What one execution of a block amounts to, without the blocks inside."""

    instructions: int = 0
    flags: int = 0
    works: list[npu_isa.CubeWork] = field(default_factory=list[npu_isa.CubeWork])


@dataclass(frozen=True)
class Generated:
    """A kernel's function: `run(arguments, budget) -> (scalar time, executions of each block)`."""

    run: Callable[[Sequence[Any], int], tuple[int, list[int]]]
    blocks: list[BlockInfo]
    source: str


def generate(
    kernel: tile.KernelOp,
    target: Target,
    clock: Clock,
    decode: Callable[[npu_isa.Instruction], Callable[..., None]],
    mode: Mode,
) -> Generated:
    """Make the function of a kernel."""
    generator = _Generator(target, clock, decode, mode)
    generator.kernel(kernel)
    source = "\n".join(generator.lines)
    exec(compile(source, f"<kernel {kernel.sym_name.data}>", "exec"), generator.names)
    return Generated(generator.names["kernel"], generator.blocks, source)


class _Generator:
    def __init__(
        self,
        target: Target,
        clock: Clock,
        decode: Callable[[npu_isa.Instruction], Callable[..., None]],
        mode: Mode,
    ):
        self.target = target
        self.clock = clock
        self.decode = decode
        self.mode = mode
        self.lines: list[str] = []
        self.blocks: list[BlockInfo] = []
        self.names: dict[str, Any] = {"over_budget": over_budget}
        self.values: dict[SSAValue, str] = {}
        self.bases: dict[SSAValue, SSAValue] = {}
        self.indent = 1
        self.pending = 0
        self.fresh = 0
        self.issue = target.latencies["issue"]
        self.periods: dict[scf.ForOp, int] = {}
        """Of loops whose iterations may be skipped."""

    # ---- text

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def bind(self, prefix: str, value: Any) -> str:
        """A global of the function that holds `value`."""
        name = self.name(prefix)
        self.names[name] = value
        return name

    def define(self, value: SSAValue) -> str:
        self.values[value] = name = self.name("v")
        return name

    def assign(self, value: SSAValue, text: str) -> None:
        self.line(f"{self.define(value)} = {text}")

    def flush(self) -> None:
        """Account for the scalar operations so far."""
        if self.pending and self.mode.time:
            self.line(f"S += {self.pending}")
        self.pending = 0

    def now(self) -> str:
        """The scalar time at which the next entry is issued."""
        text = f"S + {self.pending}" if self.pending else "S"
        self.pending = 0
        return text

    # ---- structure

    def kernel(self, op: tile.KernelOp) -> None:
        if self.mode.skips:
            self.periods = loop_periods(op)
        self.lines.append("def kernel(arguments, budget):")
        arguments = [self.define(arg) for arg in op.body.block.args]
        self.line("S = steps = 0")
        self.line(f"{', '.join(arguments)}, = arguments")
        position = len(self.lines)
        counter = self.block(op.body.block)
        self.line(f"{counter} = 1")
        counters = [f"n{i}" for i in range(len(self.blocks))]
        self.lines.insert(position, "    " + " = ".join(counters) + " = 0")
        self.line(f"return S, [{', '.join(counters)}]")

    def block(self, block: Block, end: Callable[[], None] | None = None) -> str:
        """The code of a block; returns the name of the counter of its executions."""
        counter = f"n{len(self.blocks)}"
        info = BlockInfo()
        self.blocks.append(info)
        for op in block.ops:
            self.operation(op, info)
        if end is not None:
            end()
        self.flush()
        return counter

    def operation(self, op: Operation, info: BlockInfo) -> None:
        match op:
            case tile.ReturnOp() | scf.YieldOp():
                pass
            case npu_isa.Instruction():
                self.instruction(op, info)
            case npu_isa.SetFlagOp():
                info.flags += 1
                self.set_flag(op)
            case npu_isa.WaitFlagOp():
                info.flags += 1
                self.wait_flag(op)
            case npu_isa.BarrierOp():
                self.barrier(op)
            case scf.ForOp():
                self.loop(op)
            case scf.IfOp():
                self.conditional(op)
            case _:
                self.scalar(op)

    def loop(self, op: scf.ForOp) -> None:
        self.flush()
        carried = [self.define(arg) for arg in op.body.block.args[1:]]
        for name, init in zip(carried, op.iter_args, strict=True):
            self.line(f"{name} = {self.values[init]}")
        lower, upper, step = (self.values[v] for v in (op.lb, op.ub, op.step))
        trips = self.name("r")
        self.line(f"{trips} = range({lower}, {upper}, {step})")
        head = len(self.lines)
        period = self.periods.get(op)
        if period is None:
            self.line(f"for {self.define(op.body.block.args[0])} in {trips}:")
        self.indent += 1
        self.pending = self.issue
        last = op.body.block.last_op
        yielded = list(last.operands) if last is not None else []

        def carry() -> None:
            if carried:
                self.line(f"{', '.join(carried)}, = {', '.join(self.values[v] for v in yielded)},")

        if period is not None:
            self.define(op.body.block.args[0])
        size = len(self.lines)
        counter = self.block(op.body.block, carry)
        if len(self.lines) == size:
            self.line("pass")
        self.indent -= 1
        indent = "    " * self.indent
        number = int(counter[1:])
        info = self.blocks[number]
        lines = [
            f"{counter} += len({trips})",
            f"steps += len({trips}) * {1 + info.instructions + info.flags}",
            "if steps > budget: over_budget(budget)",
        ]
        if period is not None:
            inner = [f"n{i}" for i in range(number + 1, len(self.blocks))]
            index = self.values[op.body.block.args[0]]
            lines += self.watch(trips, index, [*inner, *carried], period)
        self.lines[head:head] = [indent + line for line in lines]
        for name, result in zip(carried, op.results, strict=True):
            self.assign(result, name)

    def watch(self, trips: str, index: str, counters: Sequence[str], period: int) -> list[str]:
        """The head of a loop whose iterations may be skipped; all `counters` grow alike in what is repeated."""
        repeats, x = self.bind("w", Repeats(self.clock, period)), self.name("i")
        skip = [f"{name} += g[{i + 2}]" for i, name in enumerate(counters)]
        return [
            f"{repeats}.begin(len({trips}))",
            f"{x} = 0",
            f"while {x} < len({trips}):",
            f"    if {x} == {repeats}.next:",
            f"        g = {repeats}.look({x}, S, ({''.join(f'{name}, ' for name in counters)}))",
            "        if g is not None:",
            f"            {'; '.join([f'{x} += g[0]', 'S += g[1]', *skip])}",
            "            continue",
            f"    {index} = {trips}[{x}]",
            f"    {x} += 1",
        ]

    def conditional(self, op: scf.IfOp) -> None:
        self.pending += self.issue
        self.flush()
        results = [self.define(result) for result in op.results]
        for region, head in ((op.true_region, f"if {self.values[op.cond]}:"), (op.false_region, "else:")):
            if not region.blocks:
                continue
            self.line(head)
            self.indent += 1
            block = region.block
            position = len(self.lines)

            def finish(block: Block = block) -> None:
                if results and block.last_op is not None:
                    yielded = ", ".join(self.values[v] for v in block.last_op.operands)
                    self.line(f"{', '.join(results)}, = {yielded},")

            counter = self.block(block, finish)
            self.lines.insert(position, "    " * self.indent + f"{counter} += 1")
            self.indent -= 1

    # ---- scalar unit

    def scalar(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                value = op.value.value.data
                self.values[op.result] = str(value) if value >= 0 else f"({value})"
                return
            case arith.ConstantOp():
                self.values[op.result] = self.bind("k", constant_value(op.value))
                return
            case npu_isa.BufferOp():
                self.values[op.result] = str(op.address.value.data)
                self.bases[op.result] = op.result
                return
            case npu_isa.SlotOp():
                buffer = op.buffer.owner
                assert isinstance(buffer, npu_isa.BufferOp)
                slots, size = buffer.slots.value.data, buffer.bytes.value.data
                index = self.values[op.index]
                self.assign(op.result, f"{self.values[op.buffer]} + {index} % {slots} * {size}")
                self.bases[op.result] = op.result
            case npu_isa.AtOp():
                terms = [self.values[v] for v in op.operands]
                if op.constant.value.data:
                    terms.append(str(op.constant.value.data))
                self.assign(op.result, " + ".join(terms))
                if op.base in self.bases:
                    self.bases[op.result] = self.bases[op.base]
            case affine.ApplyOp():
                names = [self.values[v] for v in op.mapOperands]
                map_ = op.map.data
                dims, symbols = names[: map_.num_dims], names[map_.num_dims :]
                self.assign(op.result, python_expression(map_.results[0], dims, symbols))
            case arith.CmpiOp():
                lhs, rhs = self.values[op.lhs], self.values[op.rhs]
                self.assign(op.result, f"{lhs} {_PREDICATES[op.predicate.value.data]} {rhs}")
            case _:
                self.other_scalar(op)
        self.pending += self.issue

    def other_scalar(self, op: Operation) -> None:
        operands = [self.values[v] for v in op.operands]
        if type(op) in _INFIX:
            self.assign(op.results[0], _INFIX[type(op)].format(*operands))
            return
        function = elementwise_function(op)
        if function is None or len(op.results) != 1:
            raise UserError(f"the scalar unit has no '{op.name}'", loc=op)
        self.assign(op.results[0], f"{self.bind('f', function)}({', '.join(operands)})")

    # ---- instructions

    def instruction(self, op: npu_isa.Instruction, info: BlockInfo) -> None:
        info.instructions += 1
        work = op.work()
        if isinstance(work, npu_isa.CubeWork):
            info.works.append(work)
        operands = [self.values[v] for v in op.operands]
        self.pause(op)
        if self.mode.time:
            self.timed(op, cost_of(work, self.target))
        if self.mode.checks is not None:
            bases = [self.base(op, v) for v in op.operands]
            check = self.bind("c", self.mode.checks.instruction(op, bases))
            starts = [self.values[base] for base in bases if base is not None]
            self.line(f"{check}({', '.join([*operands, *starts])})")
        if self.mode.values:
            self.line(f"{self.bind('x', self.decode(op))}({', '.join(operands)})")

    def timed(self, op: npu_isa.Instruction, cost: Cost) -> None:
        """The issue of an instruction; an observer also gets the slots that it uses."""
        observer = self.mode.observer
        step = self.clock.pipes[op.PIPE].run if observer is None else observer.instruction(op, cost)
        arguments = [self.now(), str(cost.occupancy), str(cost.latency), str(cost.head)]
        if observer is not None:
            bases = [self.base(op, value) for value in op.operands]
            arguments += [self.values[base] for base in bases if base is not None]
        self.line(f"S = {self.bind('t', step)}({', '.join(arguments)})")

    def base(self, op: Operation, value: SSAValue) -> SSAValue | None:
        """The slot that an address lies in, None if the value is not an address."""
        if not isinstance(value.type, npu_isa.AddrType):
            return None
        if value not in self.bases:
            raise UserError("an address has to come from npu_isa.buffer, npu_isa.slot or npu_isa.at", loc=op)
        return self.bases[value]

    def event(self, op: npu_isa.FlagInstruction) -> str:
        event = str(op.event.value.data)
        if op.index is None:
            return event
        return f"{event} + {self.values[op.index]} % {op.slots.value.data}"

    def pause(self, op: Operation) -> None:
        """Let the debugger look at what is about to be executed."""
        if self.mode.debugger is not None:
            stop = self.bind("b", self.mode.debugger.before(op))
            self.line(f"{stop}({', '.join([f'S + {self.pending}', *(self.values[v] for v in op.operands)])})")

    def set_flag(self, op: npu_isa.SetFlagOp) -> None:
        self.pause(op)
        if self.mode.checks is not None:
            self.line(f"{self.bind('c', self.mode.checks.set_flag(op))}({self.event(op)})")
        if self.mode.time:
            observer = self.mode.observer
            step = _timed_set(self.clock, *op.pipes) if observer is None else observer.set_flag(op)
            self.line(f"S = {self.bind('t', step)}({self.now()}, {self.event(op)})")

    def wait_flag(self, op: npu_isa.WaitFlagOp) -> None:
        self.pause(op)
        if self.mode.checks is not None:
            self.line(f"{self.bind('c', self.mode.checks.wait_flag(op))}({self.event(op)})")
        if self.mode.time:
            observer = self.mode.observer
            step = _timed_wait(self.clock, op, *op.pipes) if observer is None else observer.wait_flag(op)
            self.line(f"S = {self.bind('t', step)}({self.now()}, {self.event(op)})")

    def barrier(self, op: npu_isa.BarrierOp) -> None:
        self.pause(op)
        self.pending += self.issue
        if self.mode.checks is not None:
            self.line(f"{self.bind('c', self.mode.checks.barrier)}()")
        if self.mode.time:
            observer = self.mode.observer
            step = self.clock.idle if observer is None else observer.barrier(op)
            self.line(f"S = {self.bind('t', step)}({self.now()})")


def _timed_set(clock: Clock, src: Pipe, dst: Pipe) -> Callable[[int, int], int]:
    set_flag, flags = clock.pipes[src].set_flag, clock.flags
    # A flag is found by its key, which is made once for each event.
    keys = [(src, dst, event) for event in range(_EVENTS)]

    def step(now: int, event: int) -> int:
        now, flags[keys[event] if event < _EVENTS else (src, dst, event)] = set_flag(now)
        return now

    return step


def _timed_wait(clock: Clock, op: npu_isa.WaitFlagOp, src: Pipe, dst: Pipe) -> Callable[[int, int], int]:
    wait_flag, pop = clock.pipes[dst].wait_flag, clock.flags.pop
    keys = [(src, dst, event) for event in range(_EVENTS)]

    def step(now: int, event: int) -> int:
        raised = pop(keys[event] if event < _EVENTS else (src, dst, event), None)
        if raised is None:
            raise wait_without_set(op, event)
        return wait_flag(now, raised)

    return step


_EVENTS = 16
"""Event ids whose keys are at hand; more are allowed."""


def over_budget(budget: int) -> None:
    """Stop a program that runs for too long."""
    raise SimulationError(f"the kernel takes more than {budget} steps; does it end?")
