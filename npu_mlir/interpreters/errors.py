"""What goes wrong in a run because of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.locations import closest_node


class IndexOutOfRange(UserError):
    """An index that depends on the inputs lies outside of what it picks from: `what`, at an operation."""

    def __init__(self, what: str, op: Operation, node: str | None = None):
        self.what = what
        self.op = op
        self.node = node or closest_node(op)
        super().__init__(f"{what} (of '{self.node}')" if self.node else what, loc=op)

    def launched_by(self, launch: Operation) -> IndexOutOfRange:
        """The error for one launch of a kernel, which may have been made for another node."""
        node = closest_node(launch)
        if node is None or self.node in node.split("+"):
            return self
        return IndexOutOfRange(self.what, self.op, node)


def index_among(index: int, extent: int, op: Operation) -> int:
    """The index counted from the start of `extent` positions. Raises `IndexOutOfRange` for one that is none of them."""
    if -extent <= index < extent:
        return index if index >= 0 else index + extent
    raise IndexOutOfRange(f"index {index} is out of range: there are {extent} rows", op)


def index_out_of_range(
    extents: Sequence[int], indices: Sequence[Any], op: Operation, *, from_end: bool = True
) -> IndexOutOfRange:
    """The error about the first index (number or array) that is none of its extent, counted from its start or, with
    `from_end`, from either end."""
    for axis, (extent, index) in enumerate(zip(extents, indices, strict=True)):
        values = np.atleast_1d(index)
        wrong = values[(values < -extent * from_end) | (values >= extent)]
        if wrong.size:
            message = f"index {wrong.flat[0]} is out of range: axis {axis} has {extent} elements"
            return IndexOutOfRange(message, op)
    return IndexOutOfRange(f"no element of {tuple(extents)} lies at these indices", op)
