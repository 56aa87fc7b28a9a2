"""Running a module: blocks are made into lists of steps once, then executed.

    interp = Interpreter(module, weights=store)
    outputs = interp.call("main", inputs)

Values are NumPy arrays (tensors; memrefs, which are written in place), Python integers (integers, index) and
NumPy scalars (floats). A value is dropped after its last use in the block that defines it, so a long host
function needs the memory of its live tensors only.

Does not handle: unstructured control flow (`cf.br`); a block runs from its first operation to its terminator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from npu_mlir.interpreters import registry
from npu_mlir.interpreters.numerics import quiet
from npu_mlir.interpreters.registry import Results, Step
from npu_mlir.ir.functions import body_of
from npu_mlir.support.diagnostics import UserError

_Plan = tuple[list[int], list[tuple[Step, list[int], list[int], list[int]]], list[int]]
"""Slots of the block arguments; per operation its step and its operand, result and dropped slots; end slots."""


class Interpreter:
    """Executes operations of one module. `state` is free for dialects (the core a kernel runs on, ...)."""

    def __init__(self, module: ModuleOp, weights: Any = None):
        self.module = module
        self.weights = weights
        self.state: dict[str, Any] = {}
        self._symbols: dict[str, Operation] | None = None
        self._slots: dict[SSAValue, int] = {}
        self._plans: dict[Block, _Plan] = {}
        self._env: dict[int, Any] = {}

    def symbol(self, name: str | StringAttr | SymbolRefAttr) -> Operation:
        """The operation of the module with this symbol name."""
        if isinstance(name, SymbolRefAttr):
            name = name.root_reference
        if isinstance(name, StringAttr):
            name = name.data
        if self._symbols is None:
            self._symbols = {
                attr.data: op for op in self.module.ops if isinstance(attr := _symbol_name(op), StringAttr)
            }
        if name not in self._symbols:
            raise UserError(f"the module has no symbol '@{name}'")
        return self._symbols[name]

    def get(self, value: SSAValue) -> Any:
        """The current value of an SSA value that is visible where the running operation stands."""
        return self._env[self._slot(value)]

    def run_block(self, block: Block, args: Sequence[Any] = ()) -> Results:
        """Run a block that sees the values around it; returns the operand values of its terminator."""
        plan = self._plans.get(block)
        if plan is None:
            plan = self._plans[block] = self._plan(block)
        arg_slots, steps, out_slots = plan
        env = self._env
        for slot, arg in zip(arg_slots, args, strict=True):
            env[slot] = arg
        for step, operands, results, dead in steps:
            values = step(tuple([env[slot] for slot in operands]))
            for slot, value in zip(results, values, strict=True):
                env[slot] = value
            for slot in dead:
                del env[slot]
        return tuple([env[slot] for slot in out_slots])

    def run_isolated(self, block: Block, args: Sequence[Any]) -> Results:
        """Run a block that sees none of the values around it (the body of a function or kernel)."""
        outer, self._env = self._env, {}
        try:
            return self.run_block(block, args)
        finally:
            self._env = outer

    def call(self, name: str, args: Sequence[Any]) -> Results:
        """Call the function `name`."""
        function = self.symbol(name)
        if not isinstance(function, FuncOp) or not function.body.blocks:
            raise UserError(f"'@{name}' is not a function with a body")
        return self.run_isolated(body_of(function), args)

    def step(self, op: Operation) -> Step:
        """The operation made ready to run."""
        implementation, preparer = registry.find(op)
        if preparer is not None:
            return preparer(self, op)
        if implementation is None:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            raise UserError(f"'{name}' cannot be run: it has no interpretation", loc=op)
        return partial(implementation, self, op)

    def _slot(self, value: SSAValue) -> int:
        return self._slots.setdefault(value, len(self._slots))

    def _plan(self, block: Block) -> _Plan:
        terminator = block.last_op
        body = [op for op in block.ops if op is not terminator]
        dead = _last_uses(block)
        steps = [
            (
                self.step(op),
                [self._slot(v) for v in op.operands],
                [self._slot(v) for v in op.results],
                [self._slot(v) for v in dead.get(op, ())],
            )
            for op in body
        ]
        ends = terminator.operands if terminator is not None else ()
        return [self._slot(v) for v in block.args], steps, [self._slot(v) for v in ends]


def _symbol_name(op: Operation) -> Any:
    return op.properties.get("sym_name") or op.attributes.get("sym_name")


def _last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """The values defined by operations of `block` that nothing uses after each operation."""
    order = {op: i for i, op in enumerate(block.ops)}
    last: dict[Operation, list[SSAValue]] = {}
    for op in block.ops:
        for value in op.results:
            users = [block.find_ancestor_op_in_block(use.operation) or op for use in value.uses]
            end = max(users, key=order.__getitem__, default=op)
            if end is not block.last_op:
                last.setdefault(end, []).append(value)
    return last


def run_function(
    module: ModuleOp, name: str, inputs: Sequence[np.ndarray], weights: Any = None
) -> list[np.ndarray]:
    """Run the function `name` of `module` on arrays, after a check of their number, shapes and element types.

    Without `weights`, those of the module (see `npu_mlir.ir.weights`) are used where an operation asks for one.
    """
    interp = Interpreter(module, weights)
    function = interp.symbol(name)
    if isinstance(function, FuncOp):
        check_inputs(function, inputs)
    with quiet():
        return list(interp.call(name, inputs))


def check_inputs(function: FuncOp, inputs: Sequence[np.ndarray]) -> None:
    """Raise a `UserError` that names the first input that does not fit the function's signature."""
    from npu_mlir.support.dtypes import numpy_dtype, static_shape

    types = function.function_type.inputs.data
    if len(types) != len(inputs):
        raise UserError(f"'@{function.sym_name.data}' takes {len(types)} inputs, got {len(inputs)}")
    for i, (type_, array) in enumerate(zip(types, inputs, strict=True)):
        shape, dtype = static_shape(type_), numpy_dtype(type_)
        if isinstance(array, int) and not shape and dtype.kind in "iub":
            # Scalars that are integers are numbers of Python.
            continue
        if tuple(array.shape) != shape or array.dtype != dtype:
            raise UserError(
                f"input {i} of '@{function.sym_name.data}' is {_describe(array.shape, array.dtype)}, "
                f"expected {_describe(shape, dtype)}"
            )


def _describe(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    return "x".join([*map(str, shape), str(dtype)])
