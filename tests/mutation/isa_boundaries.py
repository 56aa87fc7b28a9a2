"""Mutants of linked programs: what orders a section behind those before it is gone, or comes too early.

    pair     flags between two pipes at the start of a section are gone
    all      all of them are
    stored   what the next section begins with is said to be stored an iteration earlier

A mutant shows as a hazard that the simulator reports; values can't tell. One that doesn't show is redundant in this
program: another flag orders the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isa_cases import CASES, Case, compiled
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa import Pipe
from npu_mlir.ir.loop_bounds import constant_index
from npu_mlir.simulator import SimulationError, simulate
from npu_mlir.targets.module_target import target_of


@dataclass(frozen=True)
class BoundaryMutant:
    """A change of a linked program, and what the simulator says about it."""

    case: Case
    kernel: str
    kind: str
    text: str
    report: str | None

    def __str__(self) -> str:
        return f"{self.case.name}, {self.kernel}: {self.kind}, {self.text}"


def linked_cases(part: str = "") -> Iterator[tuple[Case, ModuleOp]]:
    """The cases of several kernels, as programs, with `part` in their names."""
    for case in [case for case in CASES if part in case.name]:
        module = compiled(case, link=True)
        if any(isinstance(op, tile.ProgramOp) for op in module.walk()):
            yield case, module


def report_of(module: ModuleOp) -> str | None:
    """What the simulator reports."""
    try:
        simulate(module, values=False)
    except SimulationError as error:
        return error.message
    return None


def judged_boundaries(case: Case, module: ModuleOp) -> Iterator[BoundaryMutant]:
    """All mutants of a program, of which nothing may be reported as it is."""
    report = report_of(module)
    if report is not None:
        raise AssertionError(f"{case.name} is reported without a change: {report}")
    event = target_of(module).event_ids - 1
    for kernel in [op for op in module.ops if isinstance(op, tile.KernelOp)]:
        pairs = list(dict.fromkeys(frozenset(op.pipes) for op in flags_of(kernel, event)))
        for pair in pairs:
            yield _judged(case, module, kernel, "pair", [pair])
        if pairs:
            yield _judged(case, module, kernel, "all", pairs)
        if _guard(kernel, event - 1) is not None:
            yield _judged(case, module, kernel, "stored", [])


def _judged(
    case: Case, module: ModuleOp, kernel: tile.KernelOp, kind: str, pairs: Sequence[frozenset[Pipe]]
) -> BoundaryMutant:
    """A program with a change of a kernel, judged."""
    copy = module.clone()
    name = kernel.sym_name.data
    changed = next(op for op in copy.ops if isinstance(op, tile.KernelOp) and op.sym_name.data == name)
    event = target_of(copy).event_ids - 1
    if kind == "stored":
        _earlier(changed, event - 1)
    for op in flags_of(changed, event):
        if frozenset(op.pipes) in pairs:
            op.detach()
            op.erase()
    text = ", ".join(" and ".join(sorted(pair)) for pair in pairs)
    return BoundaryMutant(case, name, kind, text, report_of(copy))


def flags_of(kernel: tile.KernelOp, event: int) -> list[npu_isa.FlagInstruction]:
    """The flags of a kernel with an event of handshakes or of what is stored."""
    flags = [op for op in kernel.walk() if isinstance(op, npu_isa.FlagInstruction) and op.index is None]
    return [op for op in flags if op.event.value.data == event]


def _guard(kernel: tile.KernelOp, event: int) -> arith.CmpiOp | None:
    """The comparison that tells when all is stored that the next section begins with, unless it is the first time."""
    for op in flags_of(kernel, event):
        around = op.parent_op()
        if isinstance(op, npu_isa.SetFlagOp) and op.pipes[1] is Pipe.MTE2 and isinstance(around, scf.IfOp):
            compare = around.cond.owner
            if isinstance(compare, arith.CmpiOp) and constant_index(compare.rhs):
                return compare
    return None


def _earlier(kernel: tile.KernelOp, event: int) -> None:
    """Say that all is stored an iteration earlier."""
    compare = _guard(kernel, event)
    assert compare is not None and compare.parent is not None
    number = constant_index(compare.rhs)
    assert number is not None
    less = arith.ConstantOp(IntegerAttr.from_index_int_value(number - 1))
    compare.parent.insert_op_before(less, compare)
    compare.operands[1] = less.result
