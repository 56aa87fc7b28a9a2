"""Which bytes of the scratchpads have been written: a bitmap per slot of a buffer.

Bytes that were never written are poison. Elementwise vector instructions may run over them (the padding lanes of rows)
and hand the poison on; it is an error where it reaches GM, a reduction or the cube. Once an access has been found
clean it stays so until poison is written to its slot, which `version` counts: most accesses cost one comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npu_mlir.dialects.npu_isa import Extent


class SlotBytes:
    """The bytes of one slot of a buffer that hold something."""

    __slots__ = ("bitmap", "start", "version")

    def __init__(self, start: int, size: int):
        self.start = start
        self.bitmap = np.zeros(size, np.bool_)
        self.version = 0

    def view(self, address: int, extent: Extent) -> np.ndarray:
        """The bytes of an extent."""
        shape = (*(count for count, _ in extent.dims), extent.run)
        strides = (*(stride for _, stride in extent.dims), 1)
        return np.ndarray(shape, np.bool_, self.bitmap.data, address - self.start, strides)

    def elements(self, address: int, shape: Sequence[int], strides: Sequence[int], size: int) -> np.ndarray:
        """The bytes of each element of a strided block, innermost."""
        steps = (*(s * size for s in strides), 1)
        return np.ndarray((*shape, size), np.bool_, self.bitmap.data, address - self.start, steps)


def spread(dest: np.ndarray, sources: Sequence[np.ndarray]) -> bool:
    """Mark each element of the destination as written where it is in all sources; whether all of them are."""
    valid = np.ones(dest.shape[:-1], np.bool_)
    for source in sources:
        valid &= source.all(axis=-1)
    dest[...] = valid[..., None]
    return bool(valid.all())
