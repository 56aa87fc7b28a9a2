"""--check-equivalence: run the module before and after each pass and name the first pass that changes a result.

    in.mlir:1:1: error: pass 'tile-apply-schedule' changed result 0 of '@main' at [0, 3]: 0.5 before, 0.75 after
    note: 12 of 200 elements differ by more than 0.0001 * |before| + 1e-05 * 1.25
    note: the inputs are sample 0 of seed 0

Every function with a body runs on random inputs (see `evaluation`) at whatever level the module is at. Integers have to
be equal, unless a pass says how many steps they may be apart. Floats may differ by what another order of summation or
one rounding more makes; a pass that means to change more than that says so, and is held to it::

    class Quantize(ModulePass):
        tolerance: ClassVar[Tolerance] = Tolerance(rtol=2e-2, atol=2e-2)

NaN and infinities have to stay what they are. Once a module is free of hazards (races, misused flags, reads of memory
that nothing wrote), passes may not introduce any. A pass that makes it so declares `synchronizes = True`.

Does not handle: hazards of modules with kernels that are not instructions yet; effects other than results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, FunctionType, ModuleOp, ShapedType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from npu_mlir.dialects import npu_isa, tile
from npu_mlir.pass_infra.pass_manager import PassInstrument
from npu_mlir.support.diagnostics import Note, SourceLocation, UserError
from npu_mlir.support.dtypes import is_integer
from npu_mlir.support.levels import level_of
from npu_mlir.support.tolerance import Tolerance
from npu_mlir.validation.evaluation import (
    INTEGERS,
    LAUNCHER,
    SAMPLES,
    ExecutionError,
    evaluate,
    functions_of,
    random_inputs,
    runnable,
)

WIDE = Tolerance(rtol=1e-4, atol=1e-5)
NARROW = Tolerance(rtol=1e-2, atol=1e-2)
"""What a pass that declares nothing may change, in modules without and with floats of 16 bits. `atol` is relative to
the largest value of a result, since that is what the rounding of sums depends on."""

SEED = 0


@dataclass(frozen=True)
class Behaviour:
    """What a function computes."""

    type: FunctionType
    private: bool
    integers: tuple[int, int]
    """The range of the integers among the inputs."""
    outputs: list[list[np.ndarray]]
    """The results for each sample of the inputs."""


@dataclass(frozen=True)
class Snapshot:
    """What a module computes, and whether it is known to be free of hazards."""

    functions: dict[str, Behaviour]
    narrow: bool
    """Whether it has floats of 16 bits."""
    flags: bool
    """Whether instructions are synchronized."""
    safe: bool


@dataclass(frozen=True)
class Difference:
    """The worst element of a result that two runs disagree on."""

    index: tuple[int, ...]
    before: Any
    after: Any
    count: int
    """How many elements differ too much."""
    allowed: str


class EquivalenceError(UserError):
    """A pass that changed what the module computes: as `kind` says, a "result", a "type", whether it can "run" or a
    "hazard"."""

    def __init__(
        self,
        pass_: ModulePass,
        kind: str,
        what: str,
        *,
        notes: Sequence[str | Note] = (),
        loc: Operation | SourceLocation | None = None,
    ) -> None:
        super().__init__(f"pass '{pass_.name}' changed {what}", notes=notes, loc=loc)
        self.pass_name = pass_.name
        self.kind = kind


class EquivalenceChecker(PassInstrument):
    """Compares what the module computes before and after each pass, or only those that `applies` is true of."""

    def __init__(self, seed: int = SEED, applies: Callable[[ModulePass], bool] = lambda pass_: True):
        self.seed = seed
        self.applies = applies
        self._latest: tuple[ModuleOp, Snapshot] | None = None

    def before_pass(self, pass_: ModulePass, op: Operation) -> None:
        """Run the module, unless it is as the pass before left it."""
        module = _root(op)
        if not self.applies(pass_):
            self._latest = None
            return
        if self._latest is not None and self._latest[0] is module:
            return
        try:
            snapshot = self._run(module)
        except UserError as error:
            error.message = f"the module cannot run before pass '{pass_.name}': {error.message}"
            raise
        if not snapshot.functions:
            raise UserError("--check-equivalence: the module has no function or kernel to run", loc=module)
        safe = snapshot.flags and not any(_hazards(runnable(module), self.seed))
        self._latest = module, replace(snapshot, safe=safe)

    def after_pass(self, pass_: ModulePass, op: Operation) -> None:
        """Run the module again and compare."""
        if not self.applies(pass_):
            return
        assert self._latest is not None
        module, (_, before) = _root(op), self._latest
        try:
            after = self._run(module, before)
        except UserError as error:
            what = f"the module so that it cannot run: {error.message}"
            raise EquivalenceError(pass_, "run", what, notes=error.notes, loc=error.loc) from error
        self._compare(pass_, module, before, after)
        safe = before.safe or (not before.flags and getattr(pass_, "synchronizes", False))
        if safe:
            for name, error in _hazards(runnable(module), self.seed):
                error.message = f"pass '{pass_.name}' changed '@{name}': it has a hazard now: {error.message}"
                raise error
        self._latest = module, replace(after, safe=safe)

    def _run(self, module: ModuleOp, before: Snapshot | None = None) -> Snapshot:
        """Run all functions, those that `before` knows on the same inputs."""
        module = runnable(module)
        functions: dict[str, Behaviour] = {}
        for function in functions_of(module):
            name = function.sym_name.data
            ranges = (before.functions[name].integers,) if before and name in before.functions else INTEGERS
            for integers in ranges:
                try:
                    functions[name] = self._run_function(module, function, integers)
                    break
                except ExecutionError:
                    if integers == ranges[-1]:
                        raise
        return Snapshot(functions, _is_narrow(module), _has_flags(module), safe=False)

    def _run_function(self, module: ModuleOp, function: FuncOp, integers: tuple[int, int]) -> Behaviour:
        inputs = [random_inputs(function, self.seed, sample, integers) for sample in range(SAMPLES)]
        outputs = [evaluate(module, function, values) for values in inputs]
        private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        return Behaviour(function.function_type, private, integers, outputs)

    def _compare(self, pass_: ModulePass, module: ModuleOp, before: Snapshot, after: Snapshot) -> None:
        default = NARROW if before.narrow or after.narrow else WIDE
        tolerance: Tolerance = getattr(pass_, "tolerance", default)
        for name, old in before.functions.items():
            new = after.functions.get(name)
            function = next((f for f in functions_of(module) if f.sym_name.data == name), module)
            if new is None:
                # Kernels get a caller and unused private functions go: both is fine.
                if not old.private and not name.startswith(LAUNCHER):
                    raise EquivalenceError(pass_, "type", f"the module: '@{name}' is gone", loc=module)
            elif old.type.inputs == new.type.inputs and len(old.type.outputs) == len(new.type.outputs):
                self._compare_results(pass_, function, name, old, new, tolerance)
            elif not old.private:
                what = f"the type of '@{name}' from {old.type} to {new.type}"
                raise EquivalenceError(pass_, "type", what, loc=function)

    def _compare_results(
        self,
        pass_: ModulePass,
        loc: Operation,
        name: str,
        old: Behaviour,
        new: Behaviour,
        tolerance: Tolerance,
    ) -> None:
        for sample, results in enumerate(zip(old.outputs, new.outputs, strict=True)):
            for i, (before, after) in enumerate(zip(*results, strict=True)):
                worst = find_difference(before, after, tolerance)
                if worst is None:
                    continue
                raise EquivalenceError(
                    pass_,
                    "result",
                    f"result {i} of '@{name}' at {list(worst.index)}: {worst.before} before, {worst.after} after",
                    notes=[
                        f"{worst.count} of {before.size} elements differ{worst.allowed}",
                        f"the inputs are sample {sample} of seed {self.seed}",
                    ],
                    loc=loc,
                )


def find_difference(before: np.ndarray, after: np.ndarray, tolerance: Tolerance) -> Difference | None:
    """The element in which two results differ most, if that is too much.

    >>> find_difference(np.array([1, 2]), np.array([1, 3]), WIDE).index
    (1,)
    """
    if before.shape != after.shape or before.dtype != after.dtype:
        return Difference((), _described(before), _described(after), after.size, "")
    if before.size == 0:
        return None
    if before.dtype.kind == "b" or is_integer(before.dtype):
        excess, allowed = _integer_excess(before, after, tolerance.steps)
    else:
        excess, allowed = _float_excess(before, after, tolerance)
    wrong = excess > 1
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(np.argmax(excess), excess.shape))
    return Difference(index, before[index].item(), after[index].item(), int(np.count_nonzero(wrong)), allowed)


def _integer_excess(before: np.ndarray, after: np.ndarray, steps: int) -> tuple[np.ndarray, str]:
    """Zero where two integers agree, more than one where they do not; what is allowed, in words."""
    distance = np.abs(before.astype(np.float64) - after.astype(np.float64))
    allowed = f" by more than {steps}" if steps else "; integers have to be equal"
    same = (before == after) | ((distance > 0) & (distance <= steps))
    return np.where(same, 0.0, 1.0 + np.maximum(distance, 1.0)), allowed


def _float_excess(before: np.ndarray, after: np.ndarray, tolerance: Tolerance) -> tuple[np.ndarray, str]:
    """The distance of two floats, as a multiple of what is allowed; what that is, in words."""
    a, b = before.astype(np.float64), after.astype(np.float64)
    scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    limit = tolerance.rtol * np.abs(a) + tolerance.atol * scale + np.finfo(np.float64).tiny
    with np.errstate(invalid="ignore", over="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        excess = np.where(same, 0.0, np.abs(a - b) / np.where(np.isfinite(limit), limit, 1.0))
    excess = np.where(np.isnan(excess), np.inf, excess)
    return excess, f" by more than {tolerance.rtol:g} * |before| + {tolerance.atol:g} * {scale:g}"


def _described(array: np.ndarray) -> str:
    return "x".join([*map(str, array.shape), str(array.dtype)])


def _root(op: Operation) -> ModuleOp:
    root = op.get_toplevel_object()
    assert isinstance(root, ModuleOp)
    return root


def _is_narrow(module: ModuleOp) -> bool:
    """Whether the module computes with floats of 16 bits anywhere."""
    return any(_is_narrow_type(result.type) for op in module.walk() for result in op.results)


def _is_narrow_type(type_: Attribute) -> bool:
    element = type_.get_element_type() if isinstance(type_, ShapedType) else type_  # type: ignore[attr-defined]
    return isinstance(element, Float16Type | BFloat16Type)


def _has_flags(module: ModuleOp) -> bool:
    return any(isinstance(op, npu_isa.FlagInstruction | npu_isa.BarrierOp) for op in module.walk())


def _hazards(module: ModuleOp, seed: int) -> Iterator[tuple[str, UserError]]:
    """What the simulator finds wrong, by the function in which it does."""
    if level_of(module) != "isa":
        return

    from npu_mlir.simulator import simulate
    from npu_mlir.simulator.errors import SimulationError

    for function in functions_of(module):
        if not any(isinstance(op, tile.LaunchOp) for op in function.walk()):
            continue
        name = function.sym_name.data
        try:
            # Hazards depend on the program only, so one sample finds them.
            simulate(module, random_inputs(function, seed, 0), function=name)
        except SimulationError as error:
            yield name, error
        except UserError:
            # What the simulator cannot run (weights that have no file, say) has no verdict.
            continue
