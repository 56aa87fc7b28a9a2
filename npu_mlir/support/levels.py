"""The levels of a module, and how to tell which one it is at."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

LEVELS = ("graph", "linalg", "tile", "tile-memref", "isa")
"""From the model to the instructions: the names that `--emit` takes."""


def level_of(module: ModuleOp) -> str:
    """The level of a module, told by its ops: the lowest that all kernels have reached, or that of the host
    function while it still computes something itself."""
    host = "isa"
    kernels: list[Operation] = []
    for op in module.body.block.ops:
        if op.name == "tile.kernel":
            kernels.append(op)
        else:
            host = _higher(host, _host_level(op))
    if host != "isa":
        return host
    level = "isa"
    for kernel in kernels:
        level = _higher(level, _kernel_level(kernel))
    return level


def _higher(a: str, b: str) -> str:
    return min(a, b, key=LEVELS.index)


ANY_LEVEL = ("graph.weight", "graph.host_call")
"""Graph ops that stay in the host function at every level."""


def _host_level(op: Operation) -> str:
    """graph or linalg while an op within still belongs there, isa if there is none.

    Rows that are put into a whole tensor (`tile.scatter`) are no kernel yet."""
    level = "isa"
    for nested in _without_calls(op):
        dialect = nested.name.partition(".")[0]
        if dialect == "graph" and nested.name not in ANY_LEVEL:
            return "graph"
        computes = _computes_tensor(nested, dialect) and not _is_step(nested)
        if dialect == "linalg" or nested.name == "tile.scatter" or computes:
            level = "linalg"
    return level


def _without_calls(op: Operation) -> Iterator[Operation]:
    """An op and those within, but for what is left to the host on purpose."""
    yield op
    if op.name != "tile.host":
        for region in op.regions:
            for block in region.blocks:
                for nested in block.ops:
                    yield from _without_calls(nested)


_ON_HOST = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.empty", "tensor.from_elements")
"""What the host does itself with tensors: the same bytes under another shape, and scalars as tensors."""


def _computes_tensor(op: Operation, dialect: str) -> bool:
    """Whether an op of tensor, arith or math makes a new tensor, for which there has to be a kernel."""
    if dialect not in ("tensor", "arith", "math") or op.name in ("arith.constant", *_ON_HOST):
        return False
    return any(isinstance(result.type, TensorType) for result in op.results)


_STEPS = ("tensor.extract_slice", "tensor.insert_slice")
"""What a loop of the host does with tensors: it takes the part of an iteration, and puts one into its place."""

IN_PLACE = "npu.in_place"
"""The attribute of such ops, outside of loops, that move nothing: the part lies in the whole."""


def _is_step(op: Operation) -> bool:
    """Whether an op only says which part of a tensor is meant: what an iteration of a loop around it is about, or what
    lies there."""
    around = op.parent_op()
    while around is not None and around.name == "tile.program":
        around = around.parent_op()
    in_loop = around is not None and around.name == "scf.for"
    return op.name in _STEPS and (in_loop or IN_PLACE in op.attributes)


def _kernel_level(kernel: Operation) -> str:
    """tile as long as the kernel has values on chip, isa once it has instructions, tile-memref in between."""
    level = "tile-memref"
    for nested in kernel.walk():
        if any(isinstance(result.type, TensorType) for result in nested.results):
            return "tile"
        if nested.name.startswith("npu_isa."):
            level = "isa"
    return level
