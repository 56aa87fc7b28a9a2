"""A module imports only from its own room and those before it: `npu_mlir.ROOMS`, and the rooms within rooms.

Imports inside functions count. Those for type annotations alone may point upward: they say what is passed around, not
what is needed to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import npu_mlir
import rooms
from npu_mlir import simulator

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = rooms.read_imports()

UPWARD = {
    # As xDSL's trait does it: the patterns are looked up when the canonicalizer asks for them.
    ("npu_mlir.dialects.graph.base", "npu_mlir.passes.canonicalization_patterns.graph"),
}
"""Imports against the order of rooms."""

FOLDERS = ("graph", "linalg", "tile", "npu_isa")
"""The folders of passes: none imports from another. What they share is a module beside them, or in a room below."""


def against(order: Sequence[str], package: str) -> Iterable[str]:
    """The imports within a package against the order of its rooms, as `file:line imports module`."""
    depth = package.count(".") + 1
    for found in IMPORTS:
        parts = [name.split(".") for name in (found.source, found.target)]
        if not all(name[:depth] == package.split(".") and len(name) > depth for name in parts):
            continue
        source, target = (order.index(name[depth]) for name in parts)
        known = (found.source, found.target) in UPWARD or found.for_types
        if target > source and not known:
            yield f"{found.source}:{found.line} imports {found.target}"


def names_in(package: str) -> set[str]:
    """The modules and folders of a package."""
    folder = ROOT / package.replace(".", "/")
    paths = [path for path in folder.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"]
    return {path.stem for path in paths} - {"__init__"}


def test_every_module_is_in_a_room():
    assert names_in("npu_mlir") == set(npu_mlir.ROOMS)
    assert names_in("npu_mlir.simulator") == set(simulator.ROOMS)


def test_order_of_rooms():
    assert list(against(list(npu_mlir.ROOMS), "npu_mlir")) == []


def test_order_in_the_simulator():
    assert list(against(simulator.ROOMS, "npu_mlir.simulator")) == []


def test_passes_of_a_level_do_not_import_those_of_another():
    prefixes = {f"npu_mlir.passes.{folder}" for folder in FOLDERS}
    assert {path.name for path in (ROOT / "npu_mlir" / "passes").iterdir() if path.is_dir()} - {
        "__pycache__"
    } == {
        *FOLDERS,
        "canonicalization_patterns",
    }

    def level(module: str) -> str | None:
        prefix = ".".join(module.split(".")[:3])
        return prefix if prefix in prefixes else None

    crossing = {
        (found.source, found.target)
        for found in IMPORTS
        if level(found.target) and level(found.source) != level(found.target)
        and found.source.startswith("npu_mlir.passes")
    }  # fmt: skip
    assert crossing == set()


def test_exceptions_are_needed():
    """An exception that no import uses any longer goes."""
    assert {(found.source, found.target) for found in IMPORTS} >= UPWARD


def test_no_circles():
    """Of modules that import each other when they are loaded."""
    graph = TopologicalSorter[str]()
    for found in IMPORTS:
        if not found.in_function and not found.for_types and found.source != found.target:
            graph.add(found.source, found.target)
    try:
        graph.prepare()
    except CycleError as error:
        raise AssertionError(f"circle of imports: {' <- '.join(error.args[1])}") from None


def test_the_reader_sees_every_kind_of_import(tmp_path: Path):
    source = tmp_path / "module.py"
    source.write_text(
        "import npu_mlir.api\n"
        "from npu_mlir.support import files\n"
        "from npu_mlir.support.files import read_text\n"
        "if TYPE_CHECKING:\n    from npu_mlir import pipeline\n"
        "def f():\n    from npu_mlir.simulator import simulate\n"
        "lambda: __import__('os')\n"
    )
    found = {
        (i.target, i.line, i.in_function, i.for_types)
        for i in rooms._imports("m", source, rooms.module_files())
    }
    assert found == {
        ("npu_mlir.api", 1, False, False),
        ("npu_mlir.support.files", 2, False, False),
        ("npu_mlir.support.files", 3, False, False),
        ("npu_mlir.pipeline", 5, False, True),
        ("npu_mlir.simulator.simulate", 7, True, False),
    }


def test_picture_is_up_to_date():
    """If not: python docs/rooms.py"""
    assert rooms.PICTURE.read_text() == rooms.draw()


def test_where_names_paths_that_exist():
    page = (ROOT / "docs" / "where.md").read_text()
    paths = re.findall(r"`((?:npu_mlir|tests|docs)/[^`]*)`", page)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert page.count("?**") == 15


def test_classes_have_names_of_their_own():
    """What is no op, attribute or type, whose dialect tells it from those of the same name, and is not private."""
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "npu_mlir").rglob("*.py")):
        if "dialects" not in path.parts:
            for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE):
                places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
