"""The registry of meanings: operation name -> function.

An operation gets its meaning in one of two ways::

    @impl("arith.addf")                      # called on each execution
    def addf(interp, op, args): return (args[0] + args[1],)

    @prepare("linalg.generic")               # called once per operation, returns what each execution calls
    def generic(interp, op):
        plan = ...
        return lambda args: plan(*args)

Both may be used from anywhere, which is how a plugin gives its operations a meaning.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType

from npu_mlir.support.registry import table

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from npu_mlir.interpreters.framework import Interpreter

Results: TypeAlias = tuple[Any, ...]
"""One value per result: an array (tensor, memref), an `int` (integers, index) or a NumPy scalar (floats)."""

Step: TypeAlias = Callable[[Results], Results]
"""One operation made ready to run: operand values in, result values out."""

Impl: TypeAlias = "Callable[[Interpreter, Any, Results], Results]"
Preparer: TypeAlias = "Callable[[Interpreter, Any], Step]"

Make: TypeAlias = "Callable[[Any], Callable[..., Any]]"

_F = TypeVar("_F", bound=Callable[..., Any])
_impls: dict[str, Impl] = {}
_preparers: dict[str, Preparer] = {}
_elementwise: dict[str, Make] = {}


def impl(name: str) -> Callable[[_F], _F]:
    """Register the decorated function `(interp, op, args) -> results` as the meaning of `name`."""

    def register(function: _F) -> _F:
        _impls[name] = function
        return function

    return register


def prepare(name: str) -> Callable[[_F], _F]:
    """Register the decorated function `(interp, op) -> step` as what makes operations `name` ready to run."""

    def register(function: _F) -> _F:
        _preparers[name] = function
        return function

    return register


def elementwise(*names: str) -> Callable[[Make], Make]:
    """Register the meaning of operations that work on scalars and, element by element, on whole arrays.

    The decorated function is called once per operation and returns a function of the operand values. This is
    what evaluates the body of a `linalg.generic` for all iterations at once.
    """

    def register(make: Make) -> Make:
        for name in names:
            _elementwise[name] = make
            _preparers[name] = _prepare_elementwise(make)
        return make

    return register


def elementwise_function(op: Operation) -> Callable[..., Any] | None:
    """What computes the single result of `op` from scalars or arrays, None when `op` is not elementwise."""
    find(op)
    make = _elementwise.get(op.name)
    return None if make is None else make(op)


def _prepare_elementwise(make: Make) -> Preparer:
    def preparer(interp: Interpreter, op: Any) -> Step:
        function = make(op)
        if isinstance(op.results[0].type, IntegerType | IndexType):
            return lambda args: (_python_int(function(*args)),)
        return lambda args: (function(*args),)

    return preparer


def _python_int(value: Any) -> Any:
    return int(value) if isinstance(value, np.generic) else value


def find(op: Operation) -> tuple[Impl | None, Preparer | None]:
    """The meaning of `op`; imports the module of its dialect when it has not been needed so far."""
    name = op.name
    if name not in _impls and name not in _preparers:
        _load_dialect(name.partition(".")[0])
    return _impls.get(name), _preparers.get(name)


MEANINGS = table("meaning")
"""Modules with the meanings of dialects that plugins bring, by dialect."""


def _load_dialect(dialect: str) -> None:
    module = MEANINGS.get(dialect, f"npu_mlir.interpreters.{dialect}")
    if importlib.util.find_spec(module) is not None:
        importlib.import_module(module)
