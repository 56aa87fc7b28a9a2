"""npu-mlir: a multi-level IR compiler for NPUs, with a simulator for its last level.

The package imports nothing by itself, so that tools start fast; `npu_mlir.compile` is loaded on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npu_mlir.api import Program as Program
    from npu_mlir.api import compile as compile

__version__ = "0.1.0"

_API = ("Program", "compile")


def __getattr__(name: str) -> Any:
    if name not in _API:
        raise AttributeError(f"module 'npu_mlir' has no attribute '{name}'")
    from npu_mlir import api

    return getattr(api, name)
