"""npu-mlir: a multi-level IR compiler for NPUs, with a simulator for its last level.

The package imports nothing by itself, so that tools start fast; `npu_mlir.compile` and `npu_mlir.Target` are loaded on
use.

Its folders and root modules are rooms with an order (`ROOMS`). A module imports only from its own room and those
before it, also inside functions, so that each room can be read, tested and changed knowing only what is below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npu_mlir.api import Program as Program
    from npu_mlir.api import compile as compile
    from npu_mlir.targets.target import Target as Target

__version__ = "0.1.0"

ROOMS = {
    "support": "messages, locations, files, registries",
    "dialects": "the ops and types of every level",
    "targets": "machines, each a TOML file",
    "ir": "modules as text, weights, verification",
    "analysis": "algorithms that change no IR",
    "frontends": "models, and what they should give",
    "interpreters": "what ops compute, in NumPy",
    "passes": "one file each, a folder for a level",
    "simulator": "values, time, races, attribution",
    "pass_infra": "pass manager, instruments, crashes",
    "validation": "equivalence, comparison, reducer",
    "report": "reports as tables, pages, traces",
    "pipeline": "the default pipeline, as a list",
    "api": "npu_mlir.compile, Program",
    "universe": "what xdsl-opt sees",
    "tools": "command lines",
}
"""The rooms, bottom up, and what each holds. `tests/unit/test_rooms.py` holds the order, docs/rooms.py draws it."""

_WHERE = {
    "Program": "npu_mlir.api",
    "Target": "npu_mlir.targets.target",
    "compile": "npu_mlir.api",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'npu_mlir' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
