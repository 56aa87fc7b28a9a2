"""The compiler as a library: `npu_mlir.compile(model, ...)` gives a `Program`, which runs at any level.

program = npu_mlir.compile("model.onnx", target="ascend-910", precision="f16")
outputs = program.run({"x": x})
result = program.simulate({"x": x})        # outputs, cycles, one entry per kernel
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npu_mlir.dialects.context import make_context
from npu_mlir.frontends import frontend_of, is_module_file
from npu_mlir.ir.verification import verify
from npu_mlir.pass_infra.pipeline_parser import PassNest
from npu_mlir.pipeline import PRECISIONS, phase_pipelines
from npu_mlir.support.accuracy import allow_fast, formulas_in
from npu_mlir.support.arrays import declared_as
from npu_mlir.support.diagnostics import Note, PassCrash, UserError, closest
from npu_mlir.support.levels import LEVELS, level_of
from npu_mlir.support.locations import closest_node
from npu_mlir.support.node_names import parts
from npu_mlir.targets.module_target import check_target, named_target, set_target
from npu_mlir.targets.target import DEFAULT_TARGET, Target

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from npu_mlir.pass_infra.pass_manager import PassInstrument
    from npu_mlir.simulator import SimulationResult

MAIN = "main"

FALLBACKS = ("host",)
"""Who runs what cannot be compiled, if anybody may."""

FALLBACK_HINT = "--fallback host leaves such nodes to the host"
"""What can be done about a node that cannot be compiled."""


@dataclass(frozen=True)
class Signature:
    """An input or output of the host function."""

    name: str
    shape: tuple[int, ...]
    """-1 for an extent of an output that is only known in a run."""
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{'x'.join('?' if n < 0 else str(n) for n in self.shape) or 'scalar'} {self.dtype}"


@dataclass(frozen=True)
class Program:
    """A module at one of the levels, ready to run."""

    ctx: Context
    module: ModuleOp

    @property
    def level(self) -> str:
        """One of `npu_mlir.support.levels.LEVELS`."""
        return level_of(self.module)

    @property
    def target(self) -> str | None:
        """The machine that the module is for: kernels of a module that names none are for the default one."""
        own = named_target(self.module)
        has_kernels = LEVELS.index(self.level) > LEVELS.index("linalg")
        return DEFAULT_TARGET if own is None and has_kernels else own

    @property
    def formulas(self) -> list[str]:
        """The fast formulas in the module, with their errors."""
        return formulas_in(self.module)

    @property
    def precision(self) -> str:
        """The precision that the module was compiled with."""
        return _string(self.module, "npu.precision") or "f32"

    @property
    def inputs(self) -> list[Signature]:
        """What the host function takes."""
        return _signatures(self.module, "input_names")

    @property
    def outputs(self) -> list[Signature]:
        """What the host function returns."""
        return _signatures(self.module, "output_names")

    def run(self, inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, for inputs by name or in order."""
        if self.level == "isa":
            return self.named(self.simulate(inputs).outputs)

        from npu_mlir.interpreters import run_function

        return self.named(
            run_function(self.module, _main_of(self.module).sym_name.data, self.arrange(inputs))
        )

    def named(self, outputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Outputs in order, by their names."""
        return {output.name: np.asarray(value) for output, value in zip(self.outputs, outputs)}

    def simulate(
        self, inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray] | None = None, **options: Any
    ) -> SimulationResult:
        """Execute the instructions: outputs in order, cycles and what each kernel took.

        Without inputs, time alone: neither data nor weights are needed. The options are those of
        `npu_mlir.simulator.simulate`: `explain=True` attributes every cycle, `record=True` keeps every instruction.
        """
        if self.level != "isa":
            raise UserError(f"only instructions can be simulated, this module is at level '{self.level}'")

        from npu_mlir.simulator import simulate

        if inputs is None:
            return simulate(self.module, values=False, **options)
        function = _main_of(self.module).sym_name.data
        return simulate(self.module, self.arrange(inputs), function=function, **options)

    def lower(self, level: str, instruments: Sequence[PassInstrument] = ()) -> Program:
        """Run the default pipeline from this program's level to `level`; changes and returns this program."""
        _check_choice("level", level, LEVELS)
        return ModelSource(self, self.level).lower(level, instruments)

    def arrange(self, inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray]) -> list[np.ndarray]:
        """The inputs in order, after a check of names, shapes and element types."""
        signatures = self.inputs
        if not isinstance(inputs, Mapping):
            if len(inputs) != len(signatures):
                raise UserError(f"the model takes {len(signatures)} inputs, got {len(inputs)}")
            inputs = {signature.name: value for signature, value in zip(signatures, inputs)}
        names = [signature.name for signature in signatures]
        for name in inputs:
            if name not in names:
                raise UserError(
                    f"the model has no input '{name}'{closest(name, names)}",
                    notes=[f"its inputs: {', '.join(names)}"],
                )
        return [_checked(signature, inputs) for signature in signatures]

    def random_inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Inputs that depend on nothing but the seed: normal floats, small non-negative integers.

        Raises UserError for a negative seed."""
        if seed < 0:
            raise UserError(f"a seed for random inputs is at least 0, got {seed}")
        generator = np.random.default_rng(seed)
        return {signature.name: _random(signature, generator) for signature in self.inputs}

    def save(self, path: str | Path) -> None:
        """Write the module to `path` and its weights beside it."""
        from npu_mlir.ir.module_io import save_module

        save_module(self.module, str(path))


@dataclass
class ModelSource:
    """A program as it was read, and what takes it further."""

    program: Program
    level: str | None
    """None for what was just imported: nothing has been done about it yet."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """Options of passes, by their names."""
    reread: Callable[[Collection[str]], Program] | None = None
    """Reads the model again with the nodes of these names left to the host, where it may be."""
    left: set[str] = field(default_factory=set[str])
    """Nodes that are left to the host because a pass could not compile them."""

    def pipelines(self, emit: str, extra: Sequence[ModulePass] = ()) -> list[tuple[str, PassNest]]:
        """The passes to a level, phase by phase; an extra one stands behind the pass that it names in `runs_after`."""
        _check_choice("level", emit, LEVELS)
        return phase_pipelines(self.level, emit, dict(self.options), extra)

    def lower(
        self,
        emit: str,
        instruments: Sequence[PassInstrument] = (),
        extra: Sequence[ModulePass] = (),
        reached: Callable[[str], None] | None = None,
    ) -> Program:
        """Run the passes to a level, verifying the module at the end of each phase; `reached` is called with its level.

        Changes the program, and returns it: another one where nodes that a pass refused are left to the host.
        """
        attributes = dict(self.program.module.attributes)
        while True:
            try:
                return self._lower(emit, instruments, extra, reached)
            except UserError as error:
                if (
                    self.level is not None
                    or isinstance(error, PassCrash)
                    or not isinstance(error.loc, Operation)
                ):
                    raise
                nodes = set(parts(closest_node(error.loc) or "")) - self.left
                if not nodes or self.reread is None:
                    if nodes:
                        error.notes.append(Note(FALLBACK_HINT))
                    raise
                self.left |= nodes
                self.program = self.reread(self.left)
                # What was decided since it was read the first time, as numbers of the machine.
                self.program.module.attributes.update(attributes)

    def _lower(
        self,
        emit: str,
        instruments: Sequence[PassInstrument],
        extra: Sequence[ModulePass],
        reached: Callable[[str], None] | None,
    ) -> Program:
        from npu_mlir.pass_infra.pass_manager import PassManager

        pipelines = self.pipelines(emit, extra)
        for i, (level, pipeline) in enumerate(pipelines):
            rest = [nest for _, nest in pipelines[i + 1 :]]
            # The default pipeline is known to be right.
            manager = PassManager(pipeline, verify_each=bool(extra), instruments=instruments, rest=rest)
            manager.run(self.program.ctx, self.program.module)
            verify(self.program.module)
            if reached is not None:
                reached(level)
        return self.program


def compile(
    model: object,
    *,
    target: str | Path | Target | None = None,
    emit: str = "isa",
    precision: str = "f32",
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    bake: Mapping[str, np.ndarray | float] | None = None,
    fallback: str | None = None,
    unroll: int | None = None,
    prefetch: str | int | None = None,
    fast_math: bool = False,
    link: bool | None = None,
    effort: int | None = None,
    instruments: Sequence[PassInstrument] = (),
) -> Program:
    """Compile a model: an `.onnx` file or its `ModelProto`, what else a frontend reads, or a `.mlir` file of any level.

    `dims` gives sizes to named dynamic dimensions, `shapes` whole shapes to inputs. `target` is a
    machine, its name or its TOML file; a `.mlir` file that names its target keeps it. `bake` has inputs that become
    constants. With `fallback="host"` the host runs the nodes that cannot be compiled; its time is not counted.
    Recurrences and loops of up to `unroll` steps are written out; without it, as few as that pays for.
    `effort` says how schedules are chosen: 1 by estimates, 2 (the default) by measuring what was misjudged as well, 3
    by measuring many.
    `prefetch` says how far ahead weights are brought to L2, in bytes or as `8MiB`; `off` for not at all. Unless
    `link` is false, launches that follow each other become programs, which the core runs without coming to rest.
    With `fast_math`, formulas of functions may be off by more than 1 ulp in f16 and 4 in f32 (`Program.formulas`).
    """
    _check_choice("level", emit, LEVELS)
    source = read(
        model,
        target=target,
        precision=precision,
        dims=dims,
        shapes=shapes,
        bake=bake,
        fallback=fallback,
        unroll=unroll,
        prefetch=prefetch,
        fast_math=fast_math,
        link=link,
        effort=effort,
    )
    return source.lower(emit, instruments)


def read(
    model: object,
    *,
    target: str | Path | Target | None = None,
    precision: str = "f32",
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    bake: Mapping[str, np.ndarray | float] | None = None,
    fallback: str | None = None,
    unroll: int | None = None,
    prefetch: str | int | None = None,
    fast_math: bool = False,
    link: bool | None = None,
    effort: int | None = None,
) -> ModelSource:
    """The program of a model, before any pass; see `compile`."""
    _check_choice("precision", precision, PRECISIONS)
    if fallback is not None:
        _check_choice("fallback", fallback, FALLBACKS)
    if isinstance(model, str | Path) and is_module_file(str(model)):
        program = load(model, target=target)
        if fast_math:
            allow_fast(program.module, program.level)
        return ModelSource(program, program.level, _choices(prefetch, link, effort))

    machine = as_target(target or DEFAULT_TARGET)
    frontend = frontend_of(model)
    options: dict[str, Any] = {"bake": bake or None, "fallback": fallback, "unroll": unroll}
    options = {name: value for name, value in options.items() if value is not None}
    for name in options:
        if name not in frontend.options:
            raise UserError(f"--{name} is not for {frontend.name} models")

    def import_(left: Collection[str] = ()) -> Program:
        further = {"left": left} if left else {}
        load: Any = frontend.load
        module = load(model, dict(dims or {}), dict(shapes or {}), **options, **further)
        set_target(module, machine)
        if precision != "f32":
            module.attributes["npu.precision"] = StringAttr(precision)
        if fast_math:
            allow_fast(module, "graph")
        return Program(make_context(), module)

    passes = {
        "graph-quantize-ops": f"precision={precision}",
        "graph-set-precision": f"precision={precision}",
        **_choices(prefetch, link, effort),
    }
    return ModelSource(import_(), None, passes, import_ if fallback and "left" in frontend.options else None)


def _choices(prefetch: str | int | None, link: bool | None, effort: int | None) -> dict[str, str]:
    """The options of the passes that place prefetches, link kernels and choose schedules."""
    options: dict[str, str] = {}
    if effort is not None:
        options["tile-form-kernels"] = options["tile-choose-schedule"] = f"effort={effort}"
    if prefetch is not None:
        options["tile-prefetch-weights"] = f"window={0 if prefetch == 'off' else prefetch}"
    if link is not None:
        options["tile-link-kernels"] = f"enable={str(link).lower()}"
    return options


def load(path: str | Path, *, target: str | Path | Target | None = None) -> Program:
    """The program in a `.mlir` file; a `target` other than its own is an error."""
    from npu_mlir.ir.module_io import load_module

    ctx = make_context()
    module = load_module(ctx, str(path))
    verify(module)
    if target is not None:
        asked = as_target(target)
        check_target(module, asked)
        if named_target(module) is None:
            set_target(module, asked)
    return Program(ctx, module)


def as_target(target: str | Path | Target) -> Target:
    """The machine itself, or the one of that name or TOML file."""
    return target if isinstance(target, Target) else Target.load(target)


def _check_choice(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UserError(
            f"unknown {what} '{value}'{closest(value, choices)}", notes=[f"one of {', '.join(choices)}"]
        )


def _string(module: ModuleOp, name: str) -> str | None:
    value = module.attributes.get(name)
    return value.data if isinstance(value, StringAttr) else None


def _main_of(module: ModuleOp) -> FuncOp:
    """The function to run: `@main`, or the only one that has a body."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]
    for function in functions:
        if function.sym_name.data == MAIN:
            return function
    if len(functions) == 1:
        return functions[0]
    names = ", ".join(f"@{function.sym_name.data}" for function in functions)
    notes = [f"its functions: {names}"] if names else []
    raise UserError(f"the module has no function '@{MAIN}' to run", loc=module, notes=notes)


def _signatures(module: ModuleOp, names_attribute: str) -> list[Signature]:
    """The inputs or outputs of the host function; those without a recorded name are called by their number."""
    from npu_mlir.support.dtypes import numpy_dtype, static_shape

    function = _main_of(module)
    is_input = names_attribute == "input_names"
    types = function.function_type.inputs if is_input else function.function_type.outputs
    for type_ in types.data if is_input else ():
        if min(static_shape(type_), default=0) < 0:
            raise UserError(f"'@{function.sym_name.data}' has a dynamic shape: {type_}", loc=function)
    attribute = function.attributes.get(names_attribute)
    entries: list[Any] = list(attribute.data) if isinstance(attribute, ArrayAttr) else []
    names = [entry.data for entry in entries if isinstance(entry, StringAttr)]
    if len(names) != len(types.data):
        names = [f"{'input' if is_input else 'output'}{i}" for i in range(len(types.data))]
    shapes = [tuple(max(extent, -1) for extent in static_shape(type_)) for type_ in types.data]
    return [Signature(n, shape, numpy_dtype(t)) for n, shape, t in zip(names, shapes, types.data)]


def _checked(signature: Signature, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    name = signature.name
    if name not in inputs:
        raise UserError(f"the input '{name}' is missing ({signature})")
    value = declared_as(np.asarray(inputs[name]), signature.dtype)
    if value.shape != signature.shape:
        found = "x".join(map(str, value.shape)) or "scalar"
        expected = "x".join(map(str, signature.shape)) or "scalar"
        raise UserError(f"the input '{name}' has the shape {found}, the model expects {expected}")
    if value.dtype != signature.dtype:
        raise UserError(f"the input '{name}' is {value.dtype}, the model expects {signature.dtype}")
    return value


def _random(signature: Signature, generator: np.random.Generator) -> np.ndarray:
    from npu_mlir.support.dtypes import is_integer

    if signature.dtype.kind == "b":
        return generator.integers(0, 2, signature.shape).astype(signature.dtype)
    if is_integer(signature.dtype):
        return generator.integers(0, 16, signature.shape).astype(signature.dtype)
    return generator.standard_normal(signature.shape, np.float32).astype(signature.dtype)
