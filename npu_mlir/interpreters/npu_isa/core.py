"""The memories of one NPU core, addressed in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from npu_mlir.dialects.tile import Space
from npu_mlir.support.diagnostics import UserError
from npu_mlir.support.dtypes import numpy_dtype
from npu_mlir.targets.target import Target

ON_CHIP = (Space.L1, Space.L0A, Space.L0B, Space.L0C, Space.UB)


class Core:
    """Bytes of every on-chip memory. They start as 0xff, which is NaN in every float type."""

    def __init__(self, target: Target):
        self.target = target
        self.memory = {space: np.full(target.capacity(space), 0xFF, np.uint8) for space in ON_CHIP}
        self._scratch: dict[int, np.ndarray] = {}

    def view(
        self, space: Space, address: int, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]
    ) -> np.ndarray:
        """The strided elements at an address; `strides` count elements."""
        size = dtype.itemsize
        steps = tuple(s * size for s in strides)
        try:
            return np.ndarray(tuple(shape), dtype, self.memory[space].data, address, steps)
        except (TypeError, ValueError) as error:
            raise UserError(
                f"elements {list(shape)} of {dtype} at byte {address} are not inside {space}, "
                f"which has {self.target.capacity(space)} bytes"
            ) from error

    def scratch(self, number: int, size: int) -> np.ndarray:
        """So many f32 numbers to compute with; the array of each number is the same for all instructions."""
        if number not in self._scratch or len(self._scratch[number]) < size:
            self._scratch[number] = np.empty(size, np.float32)
        return self._scratch[number][:size]

    def matrix(self, space: Space, address: int, sides: tuple[int, int], element: Attribute) -> np.ndarray:
        """A row-major matrix in L0A, L0B or L0C, its sides padded to steps of the cube."""
        rows, columns = self.target.cube.padded(space, sides, element)
        return self.view(space, address, (rows, columns), (columns, 1), numpy_dtype(element))
