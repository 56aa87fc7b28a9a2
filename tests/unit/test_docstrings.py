"""Public methods say what they are for, unless a base class does; ruff sees to modules, classes and functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import npu_mlir

ROOT = Path(npu_mlir.__file__).parent
MODULES = [
    ".".join(("npu_mlir", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
]


def undocumented(module: ModuleType) -> Iterator[str]:
    """The public methods of public classes of a module that nobody says anything about."""
    for name, cls in vars(module).items():
        if name.startswith("_") or not inspect.isclass(cls) or cls.__module__ != module.__name__:
            continue
        for attribute, value in vars(cls).items():
            plain = isinstance(value, classmethod | staticmethod | property) or inspect.isfunction(value)
            if attribute.startswith("_") or not plain or value.__doc__:
                continue
            if not any(attribute in vars(base) for base in cls.__mro__[1:]):
                yield f"{name}.{attribute}"


def test_the_search_finds_what_is_missing():
    module = ModuleType("found")

    class Base:
        def said(self) -> None:
            """Say it."""

    class Some(Base):
        def said(self) -> None: ...

        def silent(self) -> None: ...

        @property
        def quiet(self) -> int:
            return 1

    Base.__module__ = Some.__module__ = module.__name__
    vars(module).update(Base=Base, Some=Some)
    assert list(undocumented(module)) == ["Some.silent", "Some.quiet"]


@pytest.mark.parametrize("name", MODULES)
def test_public_methods_have_docstrings(name: str):
    try:
        module = import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("npu_mlir"):
            raise
        pytest.skip(f"needs {error.name}")
    assert list(undocumented(module)) == []
