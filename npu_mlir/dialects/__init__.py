"""The dialects of npu-mlir and the registry of those that the tools accept.

A registry line is data, `name: "module:object"`, imported when the first op, attribute or type of the dialect is
parsed or asked for; this keeps the tools' start-up fast.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from npu_mlir.support.registry import table

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect

OWN_DIALECTS: dict[str, str] = {
    "graph": "npu_mlir.dialects.graph:Graph",
    "tile": "npu_mlir.dialects.tile:Tile",
    "npu_isa": "npu_mlir.dialects.npu_isa:NpuIsa",
}
"""Our dialects."""

_UPSTREAM: dict[str, str] = {
    "builtin": "xdsl.dialects.builtin:Builtin",
    "func": "xdsl.dialects.func:Func",
    "arith": "xdsl.dialects.arith:Arith",
    "math": "xdsl.dialects.math:Math",
    "scf": "xdsl.dialects.scf:Scf",
    "tensor": "xdsl.dialects.tensor:Tensor",
    "linalg": "npu_mlir.dialects.linalg:Linalg",
    "memref": "xdsl.dialects.memref:MemRef",
    "affine": "xdsl.dialects.affine:Affine",
}
"""Those that programs of ours are made of."""

DIALECTS = table("dialect", OWN_DIALECTS | _UPSTREAM)
"""Every dialect that our tools accept, those of plugins included."""


def dialect_factory(name: str) -> Callable[[], Dialect]:
    """A function that imports the dialect `name` when it is called."""
    module, _, attribute = DIALECTS[name].partition(":")
    return lambda: getattr(import_module(module), attribute)


def register_dialects(ctx: Context) -> None:
    """Register all dialects with `ctx`; none is imported before its first use."""
    for name in DIALECTS:
        ctx.register_dialect(name, dialect_factory(name))
