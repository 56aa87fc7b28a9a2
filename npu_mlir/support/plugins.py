"""Passes, dialects, meanings, costs, targets and frontends from outside.

A single file, for work in progress:

    npu-opt --load-pass-plugin my_pass.py in.mlir --my-pass

Each `ModulePass` and each `Dialect` that the file defines can be used by its name, and what a `Plugin` in it brings;
converters of ONNX operators, meanings and costs register themselves when the file is imported
(`npu_mlir.frontends.onnx.node.converts`, `npu_mlir.interpreters.impl`, `npu_mlir.targets.cost.cost`).

An installed package, through an entry point of the group `npu_mlir.plugins`:

    [project.entry-points."npu_mlir.plugins"]
    my_package = "my_package:PLUGIN"

    PLUGIN = Plugin(passes={"my-pass": "my_package.my_pass:MyPass"}, dialects={"my": "my_package.my:My"},
                    meanings={"my": "my_package.meanings"}, targets={"my-npu": "my_package/my_npu.toml"},
                    frontends={".mine": "my_package.frontend:MINE"},
                    operators={"com.example::Mine": "my_package.operators:mine"})

Installed plugins are looked for only when a name is not ours: finding entry points takes longer than the start of a
tool.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from npu_mlir.support.diagnostics import SourceLocation, UserError, register_source
from npu_mlir.support.files import note_input
from npu_mlir.support.registry import add_names, table

GROUP = "npu_mlir.plugins"
"""The entry point group of installed plugins."""

LOADED_FILES: list[str] = []
"""The plugin files of this run, so that a reproducer can name them."""


@dataclass(frozen=True)
class Plugin:
    """What an installed package adds; all of it is imported on use."""

    passes: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{"pass-name": "module:Class"}`"""
    dialects: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{"dialect": "module:Object"}`"""
    meanings: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{"dialect": "module"}`: a module that registers what the ops do, and what they cost."""
    targets: Mapping[str, str | Path] = field(default_factory=dict[str, "str | Path"])
    """`{"name": "file.toml"}`"""
    frontends: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{".suffix": "module:FRONTEND"}`, or with `"module.Class"` of models that are objects in place of a suffix"""
    references: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{"name": "module:Class"}`: what `--compare` takes"""
    operators: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{"domain::Operator": "module:function"}`: functions that say what an operator of ONNX models is"""


def add_plugin(plugin: Plugin) -> None:
    """Make what the plugin brings known; a name that is taken is an error."""
    add_names("pass", plugin.passes)
    add_names("dialect", plugin.dialects)
    add_names("meaning", plugin.meanings)
    add_names("target", {name: str(path) for name, path in plugin.targets.items()})
    add_names("frontend", plugin.frontends)
    add_names("reference", plugin.references)
    add_names("operator", plugin.operators)


@cache
def load_installed_plugins() -> int:
    """Add the plugins of all installed packages, once; returns how many there are."""
    from importlib.metadata import entry_points

    entries = entry_points(group=GROUP)
    for entry in entries:
        try:
            plugin = entry.load()
        except Exception as error:
            raise UserError(
                f"the plugin '{entry.name}' ({entry.value}) cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(plugin, Plugin):
            raise UserError(
                f"the plugin '{entry.name}' ({entry.value}) is not a npu_mlir.support.plugins.Plugin"
            )
        add_plugin(plugin)
    return len(entries)


def load_plugin_file(path: str) -> Plugin:
    """Import a file and add the passes, dialects, operators and plugins that it defines; returns what there was."""
    module = _import_file(path)
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

    passes: dict[str, str] = {}
    dialects: dict[str, str] = {}
    plugins: list[Plugin] = []
    for name, value in vars(module).items():
        if isinstance(value, Plugin):
            plugins.append(value)
        elif isinstance(value, Dialect):
            dialects[value.name] = f"{module.__name__}:{name}"
        elif (
            isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == module.__name__
        ):
            if not isinstance(getattr(value, "name", None), str):
                raise UserError(f"the pass {name} in '{path}' has no name (name = \"my-pass\")")
            passes[value.name] = f"{module.__name__}:{name}"
    operators = {
        name: where for name, where in table("operator").items() if where.startswith(f"{module.__name__}:")
    }
    if not passes and not dialects and not plugins and not operators:
        raise UserError(
            f"the plugin '{path}' defines no pass: a class derived from xdsl.passes.ModulePass",
            notes=["and no xdsl.ir.Dialect or npu_mlir.support.plugins.Plugin either"],
        )
    plugin = Plugin(passes, dialects, operators=operators)
    for brought in (plugin, *plugins):
        add_plugin(brought)
    LOADED_FILES.append(path)
    return plugin


def _import_file(path: str) -> ModuleType:
    file = Path(path)
    note_input(path)
    if not file.is_file():
        raise UserError(f"cannot read the plugin '{path}': no such file")
    name = f"npu_mlir_plugin_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise UserError(f"the plugin '{path}' is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Classes find their module by its name: options of passes are evaluated there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except Exception as error:
        del sys.modules[name]
        raise _import_error(path, file, error) from error
    return module


def _import_error(path: str, file: Path, error: Exception) -> UserError:
    """Which line of the plugin is to blame: where its syntax is wrong, or the innermost of its lines on the stack."""
    message = f"the plugin cannot be imported: {type(error).__name__}: {error}"
    register_source(path, file.read_text(errors="replace"))
    own = str(file.resolve())
    if isinstance(error, SyntaxError) and error.filename == own:
        message = f"the plugin cannot be imported: {error.msg}"
        return UserError(message, loc=SourceLocation(path, error.lineno or 1, error.offset or 1))
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    if not lines:
        return UserError(f"{path}: {message}")
    return UserError(message, loc=SourceLocation(path, lines[-1].lineno or 1, (lines[-1].colno or 0) + 1))
