"""What goes wrong in a run because of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from npu_mlir.support.diagnostics import UserError


class IndexOutOfRange(UserError):
    """An index that depends on the inputs lies outside of what it picks from."""


def index_out_of_range(extents: Sequence[int], indices: Sequence[Any], op: Operation) -> IndexOutOfRange:
    """The error about the first index (number or array) that is none of its extent, counted from either end."""
    for axis, (extent, index) in enumerate(zip(extents, indices, strict=True)):
        values = np.atleast_1d(index)
        wrong = values[(values < -extent) | (values >= extent)]
        if wrong.size:
            message = f"index {wrong.flat[0]} is out of range: axis {axis} has {extent} elements"
            return IndexOutOfRange(message, loc=op)
    return IndexOutOfRange(f"no element of {tuple(extents)} lies at these indices", loc=op)
