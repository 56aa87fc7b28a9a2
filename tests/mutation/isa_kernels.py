"""Kernels on their own: with the arguments that a program gives them, and with loops that run more or less often.

How often a loop runs is changed by its upper bound. Arguments grow so that they hold every element that is touched
then; coordinates below zero are padding as before. Buffers stay as they are: a loop that walks through a buffer can't
run more often than there is room. Such numbers of trips, those that leave something unwritten that is read, and those
that break what flags were left out for make the kernel itself a wrong program, which the simulator reports; they say
nothing about a mutant. Results need not be written completely.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from isa_mutants import Mutant, mutants_of, mutated
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FunctionType, IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.dialects.npu_isa.base import ints
from npu_mlir.interpreters.framework import run_function
from npu_mlir.interpreters.npu_isa.core import Core
from npu_mlir.interpreters.numerics import quiet
from npu_mlir.ir.weights import share_weights
from npu_mlir.simulator.checks.hazard_sink import HazardSink
from npu_mlir.simulator.checks.hazards import Hazards
from npu_mlir.simulator.codegen.generator import generate
from npu_mlir.simulator.errors import SimulationError
from npu_mlir.simulator.execution.values import Decoder, Values
from npu_mlir.simulator.program.blocks import Blocks
from npu_mlir.simulator.program.gm_box import GmBox
from npu_mlir.support.dtypes import numpy_dtype, static_shape
from npu_mlir.targets.target import Target, get_target
from npu_mlir.validation.evaluation import random_inputs

TRIPS = (0, 1, 2, 3, 12)
"""How often each loop runs, in all combinations of up to `MOST` iterations."""

MOST = 1500

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Run:
    """What became of a kernel: the bytes of its arguments afterwards, or what was reported."""

    outputs: tuple[bytes, ...]
    report: SimulationError | None


@dataclass(frozen=True)
class Verdict:
    """How a mutant shows: `kind` is "hazard" or "values" for the kernel as it is compiled, "trips" if only other
    numbers of trips show it, "equivalent" if none does."""

    kind: str
    report: SimulationError | None = None
    trips: Sequence[int] = ()


def run_kernel(kernel: tile.KernelOp, target: Target, arguments: Arrays, complete: bool = True) -> Run:
    """Run with all checks; `complete` says whether every element of the results has to be written."""
    arrays = [np.array(a, order="C") for a in arguments]
    hazards = Hazards(target)
    checks = HazardSink(hazards.enter(kernel))
    generated = generate(Blocks(kernel, target), [checks, Values(Decoder(Core(target)).decode)])
    try:
        with quiet():
            generated.run(arrays, 10**9)
        hazards.end(complete)
    except SimulationError as error:
        return Run((), error)
    return Run(tuple(a.tobytes() for a in arrays), None)


@dataclass(frozen=True)
class Kernel:
    """A kernel, the machine, and the arguments of its launch, those that it writes filled with ones."""

    op: tile.KernelOp
    target: Target
    arguments: Arrays

    @property
    def name(self) -> str:
        """Its symbol."""
        return self.op.sym_name.data

    @cached_property
    def mutants(self) -> list[Mutant]:
        """All its mutants."""
        return mutants_of(self.op)

    @cached_property
    def expected(self) -> Run:
        """What the kernel itself does."""
        return run_kernel(self.op, self.target, self.arguments)

    @cached_property
    def loops(self) -> list[int]:
        """How often each loop runs."""
        return [len(range(*(_constant(v) for v in (op.lb, op.ub, op.step)))) for op in _loops(self.op)]

    @cached_property
    def _found(self) -> list[tuple[Sequence[int], Kernel, Run]]:
        return []

    @cached_property
    def _others(self) -> Iterator[Sequence[int]]:
        return iter(_combinations(len(self.loops)))

    def variants(self) -> Iterator[tuple[Sequence[int], Kernel, Run]]:
        """The kernel with other numbers of trips, where it is a right program, and what it does then."""
        yield from self._found
        for trips in self._others:
            variant = self.with_trips(trips)
            run = run_kernel(variant.op, self.target, variant.arguments, complete=False)
            if run.report is None:
                self._found.append((trips, variant, run))
                yield self._found[-1]

    def with_trips(self, trips: Sequence[int]) -> Kernel:
        """The kernel with other numbers of trips, and arguments of the size that it takes then."""
        op = self.op.clone()
        for loop, count in zip(_loops(op), trips, strict=True):
            upper = arith.ConstantOp(
                IntegerAttr(_constant(loop.lb) + count * _constant(loop.step), loop.ub.type)
            )
            assert loop.parent is not None
            loop.parent.insert_op_before(upper, loop)
            loop.operands[1] = upper.result
        touched = _touched(op, self.target)
        for arg in op.body.block.args:
            if arg in touched and isinstance(arg.type, MemRefType):
                shape = [max(a, b) for a, b in zip(static_shape(arg.type), touched[arg], strict=True)]
                type_ = MemRefType(arg.type.element_type, shape, arg.type.layout, arg.type.memory_space)
                Rewriter.replace_value_with_new_type(arg, type_)
        return Kernel(op, self.target, _random_arguments(op))

    def judge(self, mutant: Mutant) -> Verdict:
        """How a mutant shows."""
        run = run_kernel(mutated(self.op, mutant), self.target, self.arguments)
        if run.report is not None:
            return Verdict("hazard", run.report)
        if run != self.expected:
            return Verdict("values")
        for trips, variant, expected in self.variants():
            run = run_kernel(mutated(variant.op, mutant), self.target, variant.arguments, complete=False)
            if run != expected:
                return Verdict("trips", run.report, trips)
        return Verdict("equivalent")


def kernels_of(module: ModuleOp) -> Iterator[Kernel]:
    """The kernels that a program launches, each with the arguments of its first launch on random inputs."""
    target = get_target(str(module.attributes["npu.target"]).strip('"'))
    seen: set[str] = set()
    main = _main(module)
    inputs = random_inputs(main, 0, 0)
    for number, launch in enumerate(op for op in main.walk() if isinstance(op, tile.LaunchOp)):
        name = launch.kernel.string_value()
        if name in seen:
            continue
        seen.add(name)
        op = next(op for op in module.ops if isinstance(op, tile.KernelOp) and op.sym_name.data == name)
        operands = run_function(_until(module, number), "main", inputs)
        results = [_ones(arg.type) for arg in op.body.block.args[len(operands) :]]
        yield Kernel(op, target, [*operands, *results])


def _main(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def _until(module: ModuleOp, number: int) -> ModuleOp:
    """The program that returns the operands of a launch."""
    copy = module.clone()
    share_weights(module, copy)
    main = _main(copy)
    launch = [op for op in main.walk() if isinstance(op, tile.LaunchOp)][number]
    operands = list(launch.operands)
    block = main.body.block
    while block.last_op is not None and block.last_op is not launch:
        block.erase_op(block.last_op)
    block.erase_op(launch)
    block.add_op(ReturnOp(*operands))
    types = [value.type for value in operands]
    main.function_type = FunctionType.from_lists(main.function_type.inputs.data, types)
    return copy


def _loops(kernel: tile.KernelOp) -> list[scf.ForOp]:
    return [op for op in kernel.walk() if isinstance(op, scf.ForOp)]


def _constant(value: SSAValue) -> int:
    assert isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr)
    return value.owner.value.value.data


def _combinations(loops: int) -> list[Sequence[int]]:
    every = itertools.product(TRIPS, repeat=loops)
    return sorted((t for t in every if prod(max(n, 1) for n in t) <= MOST), key=lambda t: prod(t) == 0)


def _touched(kernel: tile.KernelOp, target: Target) -> dict[SSAValue, list[int]]:
    """The extents that hold every element of each argument that is touched, found by running through the loops."""
    extents: dict[SSAValue, list[int]] = {}

    def decode(op: npu_isa.Instruction) -> Any:
        if not isinstance(op, npu_isa.GmLoad | npu_isa.GmStore):
            return lambda *args: None
        store = isinstance(op, npu_isa.GmStore)
        box, skip = GmBox(op), 2 if store else 1
        needed = extents.setdefault(op.dest if store else op.source, [1] * len(box.extents))

        def note(*args: Any) -> None:
            origin = box.origin(*args[skip : skip + len(op.indices)])
            for i, (start, dim, step) in enumerate(zip(origin, box.dims, box.steps)):
                reach = 0 if dim is None else (ints(op.shape)[dim] - 1) * step
                needed[i] = max(needed[i], start + reach + 1)

        return note

    generated = generate(Blocks(kernel, target), [Values(decode)])
    generated.run([None] * len(kernel.body.block.args), 10**9)
    return extents


def _random_arguments(kernel: tile.KernelOp) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    args = kernel.body.block.args
    arrays: list[np.ndarray] = []
    for arg in args[: len(args) - kernel.outputs]:
        dtype = numpy_dtype(arg.type)
        array = random.standard_normal(static_shape(arg.type)) * (4 if dtype.kind in "iu" else 1)
        arrays.append((array > 0 if dtype.kind == "b" else np.abs(array)).astype(dtype))
    return arrays + [_ones(arg.type) for arg in args[len(args) - kernel.outputs :]]


def _ones(type_: Attribute) -> np.ndarray:
    """An array whose bits are ones, as the simulator fills results."""
    dtype, shape = numpy_dtype(type_), static_shape(type_)
    return np.full(prod(shape) * dtype.itemsize, 0xFF, np.uint8).view(dtype).reshape(shape)
