"""Run the functions of a module, at any level, on random inputs: what a check that no pass changes a result needs.

    module = runnable(module)                       kernels that nothing launches get a function that does
    for function in functions_of(module):
        inputs = random_inputs(function, seed=0, sample=0)
        outputs = evaluate(module, function, inputs)

A function may take and return tensors, memrefs and scalars. What it leaves in its memrefs counts as results too.
Dimensions that are not static get the size `DYNAMIC_SIZE`; the weights of a module without a file for them are random.

Does not handle: functions on other types; they are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from npu_mlir.dialects import tile
from npu_mlir.dialects.graph import WeightOp
from npu_mlir.interpreters.errors import IndexOutOfRange
from npu_mlir.interpreters.framework import Interpreter
from npu_mlir.interpreters.numerics import quiet
from npu_mlir.ir.weights import WeightStore, share_weights, weights_of
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import is_integer, numpy_dtype, static_shape

DYNAMIC_SIZE = 5
"""The size of dimensions that are not static: odd and more than one, so that tails and broadcasts show."""

SAMPLES = 2
"""How many kinds of inputs there are, see `random_inputs`."""

INTEGERS = ((0, 16), (0, 2), (1, 2))
"""The ranges of random integers (the ends excluded): most are indices, shapes or bytes. Where the first leads out of
some memory or to a division by zero, the next one is tried."""

LAUNCHER = "launch."
"""What the names of functions begin with that are made to launch a kernel."""


class ExecutionError(UserError):
    """A function cannot run to its end on these inputs."""


def runnable(module: ModuleOp) -> ModuleOp:
    """`module`, or a copy of it in which each kernel that nothing launches is launched by a function `@launch.NAME`."""
    launched = {op.kernel.string_value() for op in module.walk() if isinstance(op, tile.LaunchOp)}
    idle = [op for op in module.ops if isinstance(op, tile.KernelOp) and op.sym_name.data not in launched]
    if not idle:
        return module
    copy = module.clone()
    share_weights(module, copy)
    copy.body.block.add_ops([_launcher(kernel) for kernel in idle])
    return copy


def _launcher(kernel: tile.KernelOp) -> FuncOp:
    """A function that takes the operands of a kernel and returns its results."""
    types = [_tensor_of(arg.type) for arg in kernel.body.block.args]
    inputs, outputs = types[: len(types) - kernel.outputs], types[len(types) - kernel.outputs :]
    block = Block(arg_types=inputs)
    launch = tile.LaunchOp(kernel.sym_name.data, block.args, outputs)
    block.add_ops([launch, ReturnOp(*launch.results)])
    function = FuncOp(f"{LAUNCHER}{kernel.sym_name.data}", (inputs, outputs), Region(block))
    function.location = kernel.location
    return function


def _tensor_of(type_: Attribute) -> Attribute:
    if not isinstance(type_, MemRefType):
        return type_
    memref = cast("MemRefType[Attribute]", type_)
    return TensorType(memref.element_type, memref.shape)


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of the module that have a body."""
    return [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]


def random_inputs(
    function: FuncOp, seed: int, sample: int, integers: tuple[int, int] = INTEGERS[0]
) -> list[Any]:
    """Inputs of a function that depend on nothing but the seed and the number of the sample.

    Sample 0 has normally distributed floats, sample 1 negative ones: a maximum that starts from 0 instead of -inf goes
    unnoticed otherwise.
    """
    generator = np.random.default_rng([seed, sample])
    return [
        _random(type_, generator, sample, integers, function) for type_ in function.function_type.inputs.data
    ]


def _random(
    type_: Attribute,
    generator: np.random.Generator,
    sample: int,
    integers: tuple[int, int],
    function: FuncOp,
) -> Any:
    shape = tuple(DYNAMIC_SIZE if size < 0 else size for size in static_shape(type_))
    try:
        dtype = numpy_dtype(type_)
    except TypeError:
        name = function.sym_name.data
        raise UserError(f"cannot make random inputs of '@{name}': it takes {type_}", loc=function) from None
    if dtype.kind == "b":
        array = generator.integers(0, 2, shape).astype(dtype)
    elif is_integer(dtype):
        array = generator.integers(*integers, shape).astype(dtype)
    else:
        normal = generator.standard_normal(shape, np.float32)
        array = (-np.abs(normal) - np.float32(0.25) if sample else normal).astype(dtype)
    if isinstance(type_, TensorType | MemRefType):
        return np.asarray(array)
    return dtype.type(array) if dtype.kind not in "iub" else int(array)


def evaluate(module: ModuleOp, function: FuncOp, inputs: Sequence[Any]) -> list[np.ndarray]:
    """What a function returns and leaves in its memrefs. Whatever goes wrong is a `UserError`."""
    name = function.sym_name.data
    args = [np.array(value) if isinstance(value, np.ndarray) else value for value in inputs]
    try:
        with quiet():
            results = Interpreter(module, _weights(module)).call(name, args)
    except IndexOutOfRange as error:
        raise ExecutionError(error.message, loc=error.loc) from error
    except UserError:
        raise
    except Exception as error:
        # Wrong IR makes NumPy and the meanings of operations fail in all kinds of ways.
        reason = " ".join(str(error).split()) or "no reason given"
        raise ExecutionError(
            f"running it fails with {type(error).__name__}: {reason}", loc=function
        ) from error
    memrefs = [
        arg for arg, type_ in zip(args, function.function_type.inputs) if isinstance(type_, MemRefType)
    ]
    return [np.array(value) for value in (*results, *memrefs)]


class _RandomWeights:
    """A weight store for a module that names no file."""

    def __init__(self, module: ModuleOp):
        self._store = weights_of(module)
        self._present = self._store.names()
        self._types = {op.entry_name: op.result.type for op in module.walk() if isinstance(op, WeightOp)}

    def get(self, name: str) -> np.ndarray:
        """The entry of the module's own store, or random numbers that depend on the name."""
        if name in self._present:
            return self._store.get(name)
        type_ = self._types[name]
        generator = np.random.default_rng(list(name.encode()))
        return generator.standard_normal(static_shape(type_), np.float32).astype(numpy_dtype(type_))


def _weights(module: ModuleOp) -> WeightStore | _RandomWeights:
    store = weights_of(module)
    return _RandomWeights(module) if store.path is None else store
