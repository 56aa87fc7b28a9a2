"""Change a line of a module while it is loaded.

    with planted("npu_mlir.passes.tile.plan_memory", "max(numbers[a][1]", "min(numbers[a][1]"):
        ...

The function around the line is compiled anew and gets the new code, wherever it has been imported to; at the end it
gets its own back. This is how planted bugs and mutants are made without another process and without touching files.

Does not handle: code outside of functions.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any


@contextmanager
def planted(module_name: str, old: str, new: str) -> Iterator[None]:
    """Replace the text `old`, which has to occur once in the module's source, by `new`."""
    module = importlib.import_module(module_name)
    source = inspect.getsource(module)
    if source.count(old) != 1:
        raise ValueError(f"{module_name} has the text {old!r} {source.count(old)} times, expected one")
    with changed(module, ast.parse(source.replace(old, new)), source[: source.index(old)].count("\n") + 1):
        yield


@contextmanager
def changed(module: ModuleType, tree: ast.Module, line: int) -> Iterator[None]:
    """Give the function around a line the code that it has in `tree`."""
    name = function_at(tree, line)
    if name is None:
        raise ValueError(f"line {line} of {module.__name__} is outside of functions")
    code = compile(tree, inspect.getfile(module), "exec")
    function = resolve(module, name)
    original, changed_code = function.__code__, find_code(code, name)
    if changed_code.co_freevars != original.co_freevars:
        raise ValueError(f"{name} has other free variables then")
    function.__code__ = changed_code
    clear_caches(module)
    try:
        yield
    finally:
        function.__code__ = original
        clear_caches(module)


def function_at(tree: ast.Module, line: int) -> str | None:
    """The qualified name of the outermost function around a line."""
    found: str | None = None

    def visit(node: ast.AST, prefix: str) -> None:
        nonlocal found
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.FunctionDef) and child.lineno <= line <= (child.end_lineno or 0):
                found = prefix + child.name

    visit(tree, "")
    return found


def resolve(module: ModuleType, name: str) -> FunctionType:
    """The function of this name, without what is wrapped around it."""
    owner: Any = module
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    function: Any = inspect.getattr_static(owner, last)
    if isinstance(function, property):
        function = function.fget
    if isinstance(function, functools.cached_property):
        function = function.func
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    function = inspect.unwrap(function)
    assert isinstance(function, FunctionType)
    return function


def find_code(code: CodeType, name: str) -> CodeType:
    """The code of the function with this qualified name."""
    pending = [code]
    while pending:
        current = pending.pop()
        if current.co_qualname == name:
            return current
        pending += [constant for constant in current.co_consts if isinstance(constant, CodeType)]
    raise ValueError(f"no function {name}")


def clear_caches(module: ModuleType) -> None:
    """Forget results that functions of the module have remembered."""
    for value in vars(module).values():
        if hasattr(value, "cache_clear") and getattr(value, "__module__", None) == module.__name__:
            value.cache_clear()
